//! Sums in half precision, with their bounds.

use std::thread;

use tripipe_launch::ScalarType;

use super::precision;
use crate::gemm::sums::threads;

/// Higham's gamma: the relative error of k roundings, infinite when there is no bound.
pub(super) fn gamma(k: usize, unit: f64) -> f64 {
    let all = k as f64 * unit;
    if all < 1.0 { all / (1.0 - all) } else { f64::INFINITY }
}

/// Standard deviations in the probabilistic bound.
const LAMBDA: f64 = 6.0;

/// Sums in half of chunks along K, summed in float if there are several chunks, each with its bound.
pub(super) fn half_sums(a: &[f64], b: &[f64], [m, n, k]: [usize; 3], chunk: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut sums, mut bounds) = (vec![0.0; m * n], vec![0.0; m * n]);
    if m * n * k == 0 {
        return (sums, bounds);
    }
    let rows_each = m.div_ceil(threads(m * n * k));
    thread::scope(|scope| {
        let rows = a.chunks(rows_each * k).zip(sums.chunks_mut(rows_each * n));
        for ((a, sums), bounds) in rows.zip(bounds.chunks_mut(rows_each * n)) {
            scope.spawn(move || {
                for (row, a) in a.chunks(k).enumerate() {
                    for (column, b) in b.chunks(k).enumerate() {
                        (sums[row * n + column], bounds[row * n + column]) = half_sum(a, b, chunk);
                    }
                }
            });
        }
    });
    (sums, bounds)
}

fn half_sum(a: &[f64], b: &[f64], chunk: usize) -> (f64, f64) {
    let [unit, tiny, largest] = precision(ScalarType::F16);
    let (mut sum, mut of_chunks, mut worst, mut likely_square, mut flushed, mut overflows) =
        (0.0, 0.0f64, 0.0f64, 0.0f64, 0.0f64, false);
    for (a, b) in a.chunks(chunk).zip(b.chunks(chunk)) {
        let k = a.len() as f64;
        let (mut prefix, mut least, mut most) = (0.0f64, 0.0f64, 0.0f64);
        let (mut magnitude, mut square) = (0.0, 0.0);
        for product in a.iter().zip(b).map(|(a, b)| a * b) {
            prefix += product;
            (least, most) = (least.min(prefix), most.max(prefix));
            magnitude += product.abs();
            square += product * product;
            if product.abs() < tiny {
                flushed += product.abs();
            }
            overflows |=
                product.abs() * (1.0 + unit) > largest && a.iter().chain(b).all(|value| value.is_finite());
        }
        let run = most - least;
        let roundings = k * unit;
        let certain =
            if roundings < 1.0 { unit * (k * run + magnitude) / (1.0 - roundings) } else { f64::INFINITY };
        let spread = LAMBDA * unit * k.sqrt();
        let likely = if spread < 1.0 {
            LAMBDA * unit * (k.sqrt() * run + square.sqrt()) / (1.0 - spread)
        } else {
            f64::INFINITY
        };
        overflows |= run.is_finite() && run + certain.min(likely) > largest;
        worst += certain;
        likely_square += likely * likely;
        sum += prefix;
        of_chunks += prefix.abs();
    }
    let bound = worst.min(likely_square.sqrt()) + flushed;
    let chunks = a.len().div_ceil(chunk);
    let across =
        if chunks > 1 { gamma(chunks, precision(ScalarType::F32)[0]) * (of_chunks + bound) } else { 0.0 };
    (sum, if overflows { f64::INFINITY } else { bound + across })
}
