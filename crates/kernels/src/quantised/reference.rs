//! The product in double precision, from the definition of the formats.

use std::num::NonZero;
use std::thread;

use half::f16;
use thiserror::Error;

use super::description::{Activation, QuantisedProduct};
use super::format::{BLOCK, WeightFormat};
use super::weights::StoredWeights;
use crate::PlanError;

/// The exact result and the error allowed for each element.
///
/// # The bound
/// `2 (k + 4) u S + k t`, with u = 2^-24 and S the sum of the magnitudes that a kernel adds up: |x w| for each weight, and
/// |x| scale (number + 8) with `q4_0`, because a kernel may subtract the 8 after the sum. A term is rounded when it is
/// multiplied, at most k - 1 times when terms are added in any order and in any number of parts, when the eightfold sum of x
/// is subtracted, and when it is multiplied by its scale: at most k + 3 factors of 1 + u, whose product differs from 1 by
/// less than (k + 4) u while k u is small. The 2 allows for arithmetic that truncates. t is what flushing subnormal numbers
/// to 0 may cost in a step: the smallest normal number, times the scale and 15 * 2^28 where a kernel multiplies a number of
/// four bits in the upper bits of a word by an x that is smaller by the same power of two. A y in half precision is rounded
/// once more.
#[derive(Clone, Debug)]
pub struct QuantisedReference {
    expected: Vec<f64>,
    bound: Vec<f64>,
    activation: Activation,
}

/// The first wrong element of a result.
#[derive(Clone, Debug, Error, PartialEq)]
#[error(
    "{count} of {total} elements are wrong, the first at {index}: {found}, expected {want} within {bound}"
)]
pub struct WrongResult {
    /// Index of the first wrong element.
    pub index: usize,
    /// The value found.
    pub found: f64,
    /// The expected value.
    pub want: f64,
    /// The allowed error.
    pub bound: f64,
    /// The number of wrong elements.
    pub count: usize,
    /// The number of elements.
    pub total: usize,
}

impl QuantisedReference {
    /// The product of dense x (m x k) and `weights`.
    ///
    /// # Errors
    /// Operands that do not match the description.
    pub fn new(product: &QuantisedProduct, weights: &StoredWeights, x: &[f64]) -> Result<Self, PlanError> {
        let QuantisedProduct { format, activation, m, n, k, .. } = *product;
        if x.len() != m.saturating_mul(k) {
            return Err(PlanError::Operand { what: format!("x, {m} x {k}"), found: x.len() });
        }
        if weights.extents() != product.weights() || weights.format() != format {
            return Err(PlanError::Operand {
                what: format!("W, {format} weights of {n} outputs with {k} inputs"),
                found: weights.bytes().len(),
            });
        }
        let mut columns = vec![Vec::new(); n];
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let each = if m * n * k < 1 << 18 { n } else { n.div_ceil(threads) }.max(1);
        thread::scope(|scope| {
            for (part, columns) in columns.chunks_mut(each).enumerate() {
                scope.spawn(move || {
                    for (further, column) in columns.iter_mut().enumerate() {
                        *column = outputs(weights, part * each + further, x, k, m);
                    }
                });
            }
        });
        let (mut expected, mut bound) = (Vec::with_capacity(m * n), Vec::with_capacity(m * n));
        let unit = f64::from(f32::EPSILON) / 2.0;
        for i in 0..m {
            for column in &columns {
                let OutputSums { sum, magnitude, flushed } = column[i];
                let mut error = 2.0 * (k as f64 + 4.0) * unit * magnitude + flushed;
                if activation == Activation::F16 {
                    error += (sum.abs() + error) * 2f64.powi(-11) + 2f64.powi(-25);
                }
                // What exceeds the range of `float` is not covered.
                let covered = !magnitude.is_finite() || magnitude < f64::from(f32::MAX) / 4.0;
                expected.push(if magnitude.is_finite() { sum } else { f64::NAN });
                bound.push(if covered { error } else { f64::INFINITY });
            }
        }
        Ok(Self { expected, bound, activation })
    }

    /// The exact result, m x n; NaN where an infinity or NaN contributes.
    pub fn expected(&self) -> &[f64] {
        &self.expected
    }

    /// The allowed error of each element.
    pub fn bound(&self) -> &[f64] {
        &self.bound
    }

    /// Compares a result, m x n without gaps.
    ///
    /// # Errors
    /// The first wrong element; elements that are missing.
    pub fn verify(&self, found: &[f64]) -> Result<(), WrongResult> {
        let total = self.expected.len();
        let value = |index: usize| found.get(index).copied();
        let is_good = |index: &usize| {
            let (want, bound) = (self.expected[*index], self.bound[*index]);
            match value(*index) {
                None => false,
                Some(found) if want.is_nan() => !found.is_finite(),
                // Half precision has its largest number at 65504; from 65520 on, it rounds to infinity.
                Some(found) if found.is_infinite() && self.activation == Activation::F16 => {
                    bound.is_infinite() || want * found.signum() + bound >= 65520.0
                }
                Some(found) => bound.is_infinite() || (want - found).abs() <= bound,
            }
        };
        let wrong: Vec<usize> = (0..total).filter(|index| !is_good(index)).collect();
        match wrong.first() {
            None if found.len() == total => Ok(()),
            first => {
                let index = first.copied().unwrap_or(total);
                let at = |of: &[f64]| of.get(index).copied().unwrap_or(f64::NAN);
                let (want, bound) = (at(&self.expected), at(&self.bound));
                let count = wrong.len().max(1);
                Err(WrongResult { index, found: at(found), want, bound, count, total })
            }
        }
    }
}

/// An element of y, the sum of the magnitudes of its terms, and what flushed subnormal numbers may cost.
#[derive(Clone, Copy, Debug, Default)]
struct OutputSums {
    sum: f64,
    magnitude: f64,
    flushed: f64,
}

/// An output for each vector.
fn outputs(weights: &StoredWeights, output: usize, x: &[f64], k: usize, m: usize) -> Vec<OutputSums> {
    let row = weights.row(output);
    let half = |at: usize| f16::from_ne_bytes([row[at], row[at + 1]]).to_f64();
    let byte = |at: usize| f64::from(row[at] as i8);
    let tiny = f64::from(f32::MIN_POSITIVE);
    let mut sums = vec![OutputSums::default(); m];
    // Scale, weight without scale, magnitude without scale.
    let term = |l: usize| -> (f64, f64, f64) {
        let (block, within) = (l / BLOCK, l % BLOCK);
        match weights.format() {
            WeightFormat::F16 => (1.0, half(2 * l), half(2 * l).abs()),
            WeightFormat::I8 => (f64::from(weights.scales()[output]), byte(l), byte(l).abs()),
            WeightFormat::Q8_0 => {
                let value = byte(34 * block + 2 + within);
                (half(34 * block), value, value.abs())
            }
            WeightFormat::Q4_0 => {
                let both = row[18 * block + 2 + within % 16];
                let number = f64::from(if within < 16 { both & 15 } else { both >> 4 });
                (half(18 * block), number - 8.0, number + 8.0)
            }
        }
    };
    let factor = if weights.format() == WeightFormat::Q4_0 { 15.0 * 2f64.powi(28) } else { 1.0 };
    for l in 0..k {
        let (scale, value, magnitude) = term(l);
        for (i, sums) in sums.iter_mut().enumerate() {
            let x = x[i * k + l];
            sums.sum += scale * (value * x);
            sums.magnitude += (scale * (magnitude * x)).abs();
            sums.flushed += tiny * (1.0 + factor * scale.abs());
        }
    }
    sums
}
