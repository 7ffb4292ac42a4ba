//! Sums of products in double precision, on all threads.

use std::num::NonZero;
use std::ops::Range;
use std::thread;

/// Rows of A that stay in the second-level cache while all of B is streamed.
const ROWS_AT_ONCE: usize = 32;
/// Columns of B processed at once: with the product and the sum of magnitudes, eight accumulators in registers.
const COLUMNS_AT_ONCE: usize = 4;
/// Below this number of multiply-adds, starting threads costs more than it saves.
const THREADS_FROM: usize = 1 << 18;

/// `A B` and `|A| |B|`, m x n each. A is row-major, B is given as its transpose.
pub fn products(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> (Vec<f64>, Vec<f64>) {
    let (mut sums, mut magnitudes) = (vec![0.0; m * n], vec![0.0; m * n]);
    if m * n * k == 0 {
        return (sums, magnitudes);
    }
    let rows_each = m.div_ceil(threads(m * n * k));
    thread::scope(|scope| {
        let chunks = a.chunks(rows_each * k).zip(sums.chunks_mut(rows_each * n));
        for ((a, sums), magnitudes) in chunks.zip(magnitudes.chunks_mut(rows_each * n)) {
            scope.spawn(move || product(a, b, [n, k], sums, magnitudes));
        }
    });
    (sums, magnitudes)
}

/// Number of threads for this many multiply-adds.
pub(super) fn threads(work: usize) -> usize {
    if work < THREADS_FROM { 1 } else { thread::available_parallelism().map_or(1, NonZero::get) }
}

/// `sums = A B` and `magnitudes = |A| |B|`, B transposed.
fn product(a: &[f64], b: &[f64], [n, k]: [usize; 2], sums: &mut [f64], magnitudes: &mut [f64]) {
    let m = a.len() / k;
    for first_row in (0..m).step_by(ROWS_AT_ONCE) {
        let rows = first_row..m.min(first_row + ROWS_AT_ONCE);
        for (block, b) in b.chunks(COLUMNS_AT_ONCE * k).enumerate() {
            let column = block * COLUMNS_AT_ONCE;
            if let Some((b0, rest)) = b.split_at_checked(k)
                && let [b1, b2, b3] = rest.chunks(k).collect::<Vec<_>>().as_slice()
            {
                for row in rows.clone() {
                    let (sum, magnitude) = dot4(&a[row * k..][..k], [b0, b1, b2, b3]);
                    sums[row * n + column..][..COLUMNS_AT_ONCE].copy_from_slice(&sum);
                    magnitudes[row * n + column..][..COLUMNS_AT_ONCE].copy_from_slice(&magnitude);
                }
            } else {
                product_tail(a, b, [n, k], rows.clone(), column, sums, magnitudes);
            }
        }
    }
}

/// The last columns, fewer than four.
fn product_tail(
    a: &[f64],
    b: &[f64],
    [n, k]: [usize; 2],
    rows: Range<usize>,
    column: usize,
    sums: &mut [f64],
    magnitudes: &mut [f64],
) {
    for row in rows {
        for (j, b) in b.chunks(k).enumerate() {
            let products = a[row * k..][..k].iter().zip(b).map(|(a, b)| a * b);
            sums[row * n + column + j] = products.clone().sum();
            magnitudes[row * n + column + j] = products.map(f64::abs).sum();
        }
    }
}

fn dot4(a: &[f64], b: [&[f64]; 4]) -> ([f64; 4], [f64; 4]) {
    let (mut sum, mut magnitude) = ([0.0; 4], [0.0; 4]);
    let columns = b[0].iter().zip(b[1]).zip(b[2].iter().zip(b[3]));
    for (a, ((b0, b1), (b2, b3))) in a.iter().zip(columns) {
        let products = [a * b0, a * b1, a * b2, a * b3];
        for lane in 0..4 {
            sum[lane] += products[lane];
            magnitude[lane] += products[lane].abs();
        }
    }
    (sum, magnitude)
}
