//! The product in double precision with its error bound, and the simple serial product.

use half::f16;

use super::dimensions;
use crate::problem::{Data, Expected, Float, Problem};
use tripipe_kernels::gemm::sums::products;

/// Steps along K whose rounding errors are assumed to add up in the worst case in half precision.
const HALF_STEPS: usize = 4;

/// The product of two operands of the same element type, in f64. Each element comes with the error allowed for a
/// correct kernel.
///
/// The bound is `2 min(k, K) u S + k t`. `S = sum |a||b|`; `u` is the unit roundoff of the type in which the sum is
/// held (2^-24 for float, 2^-11 for half); `t` is its smallest normal number, which flushing denormals to zero may
/// cost in each step. `k u S` bounds the error of a dot product in any order, fused or not, for every k (C.-P.
/// Jeannerod, S. M. Rump, "Improved error bounds for inner products in floating-point arithmetic", SIAM J. Matrix
/// Anal. Appl. 34, 2013, sharpening Higham's `gamma_k`); the factor 2 allows for truncating arithmetic. `K` is
/// unlimited for float. For half, the worst case says nothing at the sizes of interest (k u = 1/2 at 1024), while
/// errors of random operands rounded to nearest do not add up with k at all (Higham and Mary, "Sharper probabilistic
/// backward error analysis for basic linear algebra kernels with random data", SIAM J. Sci. Comput. 42, 2020). So `K`
/// is 4: a proof up to k = 4, and beyond it a tolerance for random operands, four times the largest difference
/// observed for sums in half at k = 1024.
pub(super) fn expected(a: &Data, b: &Data, [m, n, k]: [usize; 3]) -> Expected {
    let float = if matches!(a, Data::F16(_)) { Float::F16 } else { Float::F32 };
    let a = doubles(a);
    let b = transposed(&doubles(b), k, n);
    let (reference, mut bound) = products(&a, &b, [m, n, k]);
    let (unit, tiny, steps) = match float {
        Float::F16 => (f64::from(f16::EPSILON) / 2.0, f64::from(f16::MIN_POSITIVE), k.min(HALF_STEPS)),
        Float::F32 => (f64::from(f32::EPSILON) / 2.0, f64::from(f32::MIN_POSITIVE), k),
    };
    let (factor, offset) = (2.0 * steps as f64 * unit, k as f64 * tiny);
    for bound in &mut bound {
        *bound = factor * *bound + offset;
    }
    Expected::Within { float, reference, bound }
}

fn doubles(data: &Data) -> Vec<f64> {
    match data {
        Data::F16(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Data::F32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Data::I32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Data::U8(values) => values.iter().map(|value| f64::from(*value)).collect(),
    }
}

/// The transpose of a matrix of `rows` rows and `columns` columns.
fn transposed(from: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let mut to = vec![0.0; from.len()];
    // Blocks with the side of a cache line, so that neither matrix is fetched twice.
    for first_row in (0..rows).step_by(8) {
        for first_column in (0..columns).step_by(8) {
            for row in first_row..rows.min(first_row + 8) {
                for column in first_column..columns.min(first_column + 8) {
                    to[column * rows + row] = from[row * columns + column];
                }
            }
        }
    }
    to
}

/// C = A B on one thread, loops in the order i, k, j: the inner loop runs along rows of B and C. Sums are held in
/// f32. Half operands are widened, and each element of C is rounded once at the end, because a CPU has no half
/// arithmetic.
pub(super) fn serial(problem: &Problem, output: &mut Data) {
    let [_, n, k] = dimensions(problem.size);
    match (problem.inputs.as_slice(), output) {
        ([Data::F32(a), Data::F32(b)], Data::F32(c)) => {
            for (a, c) in a.chunks(k).zip(c.chunks_mut(n)) {
                serial_row(a, b, c);
            }
        }
        ([Data::F16(a), Data::F16(b)], Data::F16(c)) => {
            let b: Vec<f32> = b.iter().map(|b| f32::from(*b)).collect();
            let mut sums = vec![0.0; n];
            for (a, c) in a.chunks(k).zip(c.chunks_mut(n)) {
                let a: Vec<f32> = a.iter().map(|a| f32::from(*a)).collect();
                serial_row(&a, &b, &mut sums);
                for (c, sum) in c.iter_mut().zip(&sums) {
                    *c = f16::from_f32(*sum);
                }
            }
        }
        _ => {}
    }
}

fn serial_row(a: &[f32], b: &[f32], c: &mut [f32]) {
    c.fill(0.0);
    for (a, b) in a.iter().zip(b.chunks(c.len())) {
        for (c, b) in c.iter_mut().zip(b) {
            *c += a * b;
        }
    }
}
