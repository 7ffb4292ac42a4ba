//! Weighted sums, with their errors.

use super::image::{Image, Spread};
use super::{UNIT, window};
use crate::filter::{Border, FilterError, Gradient, Linear, PixelType, Size, Taps};

/// The weights of a linear filter for pixels of one type.
pub(super) struct Weights {
    size: Size,
    each: Vec<f64>,
    divisor: f64,
    offset: f64,
    /// Whether the quotient is rounded down, as from integers to integers.
    whole: bool,
    /// The number of terms of a sum in `float`: an outer product is summed along one axis, then along the other.
    terms: usize,
}

impl Weights {
    pub(super) fn new(linear: &Linear, from: PixelType) -> Result<Self, FilterError> {
        let (size, offset) = (linear.size(), f64::from(linear.offset()));
        let divisor = f64::from(linear.divisor());
        let outer = |across: Vec<f64>, down: Vec<f64>| -> Vec<f64> {
            down.iter().flat_map(|down| across.iter().map(move |across| across * down)).collect()
        };
        let doubles =
            |weights: &[f32]| -> Vec<f64> { weights.iter().map(|weight| f64::from(*weight)).collect() };
        let integers =
            |weights: &[i32]| -> Vec<f64> { weights.iter().map(|weight| f64::from(*weight)).collect() };
        let each = match linear.taps() {
            Taps::Full(weights) => integers(weights),
            Taps::Separable { across, down } => outer(integers(across), integers(down)),
            Taps::FullReal(weights) => doubles(weights),
            Taps::SeparableReal { across, down } => outer(doubles(across), doubles(down)),
        };
        let terms = match linear.taps() {
            Taps::Full(_) | Taps::FullReal(_) => size.width * size.height,
            Taps::Separable { .. } | Taps::SeparableReal { .. } => size.width + size.height,
        };
        let whole = !linear.sums_in_float(from) && !linear.result(from).is_float();
        match linear.taps() {
            Taps::FullReal(_) | Taps::SeparableReal { .. } if !linear.sums_in_float(from) => {
                let fixed = linear.fixed(from)?;
                let each = integers(&fixed.weights);
                Ok(Self { size, each, divisor: f64::from(fixed.divisor), offset, whole, terms })
            }
            _ => Ok(Self { size, each, divisor, offset, whole, terms }),
        }
    }

    pub(super) fn of_gradient(gradient: Gradient, whole: bool) -> [Self; 2] {
        let [side, middle] = match gradient {
            Gradient::Sobel => [1.0, 2.0],
            Gradient::Scharr => [3.0, 10.0],
        };
        let across = [-side, 0.0, side, -middle, 0.0, middle, -side, 0.0, side];
        let down = [-side, -middle, -side, 0.0, 0.0, 0.0, side, middle, side];
        [across, down].map(|each| Self {
            size: Size::square(3),
            each: each.to_vec(),
            divisor: 1.0,
            offset: 0.0,
            whole,
            terms: 6,
        })
    }

    pub(super) fn sum(&self, from: &Image, place: [usize; 3], border: Border) -> Spread {
        let width = self.size.width;
        let holds = |[x, y]: [usize; 2]| self.each[y * width + x] != 0.0;
        let seen = window(self.size, holds, from, place, border);
        let weights = self.each.iter().copied().filter(|weight| *weight != 0.0);
        let terms: Vec<(f64, Spread)> = weights.zip(seen).collect();
        if self.whole {
            let half = (self.divisor / 2.0).floor();
            let sum = weighted(&terms, 0.0);
            return sum.map(|sum| ((sum + half) / self.divisor).floor() + self.offset);
        }
        let terms: Vec<(f64, Spread)> =
            terms.into_iter().map(|(weight, pixel)| (weight / self.divisor, pixel)).collect();
        summed_in_float(&terms, self.offset, self.terms)
    }
}

/// The sum of weights times values, plus `offset`.
pub(super) fn weighted(terms: &[(f64, Spread)], offset: f64) -> Spread {
    let mut sum = Spread::exact(offset);
    for &(weight, pixel) in terms {
        let (low, high) = if weight < 0.0 { (pixel.high, pixel.low) } else { (pixel.low, pixel.high) };
        sum.low += weight * low;
        sum.value += weight * pixel.value;
        sum.high += weight * high;
    }
    sum
}

/// The same sum computed in `float`, in any order.
pub(super) fn in_float(terms: &[(f64, Spread)], offset: f64) -> Spread {
    summed_in_float(terms, offset, terms.len())
}

/// As [`in_float`], when each term passes through at most `count` operations.
fn summed_in_float(terms: &[(f64, Spread)], offset: f64, count: usize) -> Spread {
    let sum = weighted(terms, offset);
    let magnitude: f64 = terms.iter().map(|(weight, pixel)| (weight * pixel.value).abs()).sum();
    if !magnitude.is_finite() {
        return Spread::exact(sum.value);
    }
    if magnitude > f64::from(f32::MAX) {
        return Spread { low: f64::NEG_INFINITY, value: sum.value, high: f64::INFINITY };
    }
    let operations = (count + 1) as f64;
    let subnormal = operations * f64::from(f32::MIN_POSITIVE);
    sum.widened(2.0 * operations * UNIT * magnitude + UNIT * sum.value.abs() + subnormal)
}
