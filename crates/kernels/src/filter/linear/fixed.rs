//! Weights for pixels of an integer type.

use super::{Linear, Taps};
use crate::filter::{FilterError, PixelType, Size};

/// The integer weights that a linear filter uses for integer pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Columns and rows of the window.
    pub size: Size,
    /// All weights, row by row.
    pub weights: Vec<i32>,
    /// The factors across and down when the weights are an outer product.
    pub factors: Option<[Vec<i32>; 2]>,
    /// The divisor of the sum.
    pub divisor: u32,
    /// Added after the division.
    pub offset: i32,
    /// The smallest and largest sum over all pixel values of the element type. Each sum plus half the divisor fits
    /// `i32`, or `u32` when all weights and pixels are at least 0 and the divisor is not 1. The same holds for every
    /// partial sum.
    pub sums: [i64; 2],
}

/// Maximum number of bits after the binary point, of a weight and of a factor.
const WEIGHT_BITS: u32 = 22;

const FACTOR_BITS: u32 = 12;

impl Linear {
    /// The integer weights for pixels of an integer type.
    ///
    /// Integer weights are used unchanged, but for factors that they have in common with the divisor. Real weights are
    /// rounded to multiples of a power of two. Their rounded sum is preserved, so that a flat area stays unchanged.
    /// Factors of an outer product take 8 to 12 bits each. Factors down the window take no more than needed: enough
    /// that no result is off by more than 1, or as many as fit in 32 bits. Other weights take as many bits, up to 22,
    /// as keep sums below 2^30.
    ///
    /// # Errors
    /// Sums in `float` ([`Linear::sums_in_float`]), or that exceed 32 bits.
    pub fn fixed(&self, element: PixelType) -> Result<Fixed, FilterError> {
        let range =
            element.range().filter(|_| !self.sums_in_float(element)).ok_or(FilterError::NotInteger)?;
        let largest = f64::from(range[0].abs().max(range[1]));
        let mut divisor = self.divisor;
        match &self.taps {
            Taps::Full(weights) => {
                let weights = reduced(weights, &mut divisor);
                self.fixed_from(weights, None, divisor, range)
            }
            Taps::FullReal(weights) => {
                let magnitude = magnitude(weights) * largest;
                let fits = |bits: &u32| magnitude * f64::from(1 << bits) < f64::from(1 << 30);
                let bits = (0..=WEIGHT_BITS).rev().find(fits).ok_or(FilterError::Overflow)?;
                self.fixed_from(rounded(weights, bits), None, 1 << bits, range)
            }
            Taps::Separable { across, down } => {
                let factors = [across, down].map(|factors| reduced(factors, &mut divisor));
                self.fixed_from_factors(factors, divisor, range)
            }
            Taps::SeparableReal { across, down } => {
                let magnitudes = [magnitude(across), magnitude(down)];
                let rounded_to = |[across_bits, down_bits]: [u32; 2]| {
                    let all = magnitudes[0] * magnitudes[1] * f64::from(1 << (across_bits + down_bits));
                    let alone = (magnitudes[0] * f64::from(1 << across_bits))
                        .max(magnitudes[1] * f64::from(1 << down_bits));
                    if all.max(alone) * largest > f64::from(u32::MAX) {
                        return None;
                    }
                    let factors = [rounded(across, across_bits), rounded(down, down_bits)];
                    let error = misses(across, &factors[0], across_bits) * magnitudes[1]
                        + misses(down, &factors[1], down_bits) * magnitudes[0];
                    let divisor = 1 << (across_bits + down_bits);
                    // The sum of the weights is preserved: some weights are too large by as much as others are too
                    // small. Bright pixels can meet only one half of the error.
                    Some((error * largest / 2.0, self.fixed_from_factors(factors, divisor, range).ok()?))
                };
                let mut finest = None;
                for (error, fixed) in fine_bits().filter_map(rounded_to) {
                    finest = Some(fixed);
                    if error <= 1.0 {
                        break;
                    }
                }
                let finest = finest.or_else(|| coarse_bits().find_map(rounded_to).map(|(_, fixed)| fixed));
                finest.ok_or(FilterError::Overflow)
            }
        }
    }

    fn fixed_from_factors(
        &self,
        factors: [Vec<i32>; 2],
        divisor: u32,
        range: [i32; 2],
    ) -> Result<Fixed, FilterError> {
        let weights = factors[1]
            .iter()
            .flat_map(|down| factors[0].iter().map(move |across| i64::from(*across) * i64::from(*down)));
        let weights = weights.map(i32::try_from).collect::<Result<Vec<_>, _>>();
        self.fixed_from(weights.map_err(|_| FilterError::Overflow)?, Some(factors), divisor, range)
    }

    fn fixed_from(
        &self,
        weights: Vec<i32>,
        factors: Option<[Vec<i32>; 2]>,
        divisor: u32,
        [low, high]: [i32; 2],
    ) -> Result<Fixed, FilterError> {
        let extreme = |positive: i32, negative: i32| -> i64 {
            let each = weights
                .iter()
                .map(|&weight| i64::from(weight) * i64::from(if weight > 0 { positive } else { negative }));
            each.sum()
        };
        let sums = [extreme(low, high), extreme(high, low)];
        let half = i64::from(divisor / 2);
        // Partial sums lie between 0 and the extremes over fewer pixels.
        let magnitude: i64 = weights.iter().map(|weight| i64::from(*weight).abs()).sum();
        let largest = magnitude * i64::from(low.abs().max(high)) + half;
        // Results are signed, so an unsigned sum needs a divisor above 1.
        let limit = if low == 0 && divisor > 1 && weights.iter().all(|weight| *weight >= 0) {
            i64::from(u32::MAX)
        } else {
            i64::from(i32::MAX)
        };
        if largest > limit {
            return Err(FilterError::Overflow);
        }
        Ok(Fixed { size: self.size, weights, factors, divisor, offset: self.offset, sums })
    }
}

impl Fixed {
    /// The result for a sum, before it is saturated to the result's type.
    pub fn scale(&self, sum: i64) -> i64 {
        let divisor = i64::from(self.divisor);
        sum.saturating_add(divisor / 2).div_euclid(divisor).saturating_add(i64::from(self.offset))
    }

    /// Whether a sum plus half the divisor may exceed the largest `i32`. No sum is below 0 then.
    pub fn is_unsigned(&self) -> bool {
        self.sums[1] + i64::from(self.divisor / 2) > i64::from(i32::MAX)
    }
}

/// Bits of the factors across and down, cheapest first: the CPU path sums columns in 16 bits when the factors down
/// have 8.
fn fine_bits() -> impl Iterator<Item = [u32; 2]> {
    (8..=FACTOR_BITS).flat_map(|down| [[down, down], [FACTOR_BITS, down]])
}

/// Bits of the factors for sums that have no room for [`fine_bits`].
fn coarse_bits() -> impl Iterator<Item = [u32; 2]> {
    (0..8).rev().flat_map(|down| [[down + 1, down], [down, down]])
}

pub(super) fn magnitude(weights: &[f32]) -> f64 {
    weights.iter().map(|weight| f64::from(weight.abs())).sum()
}

/// The weights and the divisor, both divided by their greatest common divisor. Rounded quotients stay the same: what
/// half the divisor loses is less than a step of the sum.
fn reduced(weights: &[i32], divisor: &mut u32) -> Vec<i32> {
    let mut common = *divisor;
    for weight in weights {
        let mut rest = weight.unsigned_abs();
        while rest != 0 {
            (common, rest) = (rest, common % rest);
        }
    }
    *divisor /= common;
    weights.iter().map(|weight| (i64::from(*weight) / i64::from(common)) as i32).collect()
}

/// The sum of the rounding errors of all weights.
fn misses(weights: &[f32], rounded: &[i32], bits: u32) -> f64 {
    let unit = f64::from(1 << bits);
    let each = weights
        .iter()
        .zip(rounded)
        .map(|(weight, steps)| (f64::from(*weight) - f64::from(*steps) / unit).abs());
    each.sum()
}

/// The weights in steps of 2^-`bits`, with the sum nearest to the exact one. All weights are rounded down. The lost
/// steps then go, one each, to the weights that lost most; among equals, to those nearest to the middle. A symmetric
/// list stays symmetric.
fn rounded(weights: &[f32], bits: u32) -> Vec<i32> {
    let unit = f64::from(1 << bits);
    let exact: Vec<f64> = weights.iter().map(|weight| f64::from(*weight) * unit).collect();
    let mut steps: Vec<i32> = exact.iter().map(|exact| exact.floor() as i32).collect();
    let sum: i64 = steps.iter().map(|steps| i64::from(*steps)).sum();
    let mut left = exact.iter().sum::<f64>().round() as i64 - sum;
    let (count, middle) = (weights.len(), weights.len() / 2);
    let symmetric = count % 2 == 1 && (0..middle).all(|at| weights[at] == weights[count - 1 - at]);
    if symmetric && left % 2 != 0 {
        steps[middle] += 1;
        left -= 1;
    }
    let candidates = if symmetric { 0..middle } else { 0..count };
    let mut order: Vec<usize> = candidates.collect();
    order.sort_by(|a, b| {
        let lost = |at: usize| exact[at] - exact[at].floor();
        lost(*b).total_cmp(&lost(*a)).then(a.abs_diff(middle).cmp(&b.abs_diff(middle)))
    });
    let each = if symmetric { 2 } else { 1 };
    for at in order {
        if left < each {
            break;
        }
        steps[at] += 1;
        left -= 1;
        if symmetric {
            steps[count - 1 - at] += 1;
            left -= 1;
        }
    }
    steps
}
