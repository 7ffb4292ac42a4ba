//! Linear filters: each pixel a weighted sum of its window.

use super::{Element, FilterError};

/// Largest extent of a window.
pub(super) const WINDOW_MAX: usize = 31;

/// A weighted sum over a window.
///
/// *Integer pixels.* The sum S of integer weights times pixels is exact. The result is
/// `floor((S + divisor / 2) / divisor) + offset`, saturated to the result's type; for a floating-point result type it
/// is `S / divisor + offset` in `float`. *Floating-point pixels.* The result is `S / divisor + offset`, in `float`,
/// summed in any order. The error is at most `2 (taps + 1) u sum |weight x pixel| / divisor`, u = 2^-24, plus half a
/// unit in the last place of the result's type. An integer result is rounded to the nearest (ties to even) and
/// saturated; NaN becomes 0. A pixel whose weight is 0 is not read: infinity and NaN there have no effect. Weights
/// that are not integers are used unchanged on floating-point pixels. For integer pixels they are rounded once, here
/// ([`Linear::fixed`]); a Gaussian blur of bytes is within 1 of the exact one for every size and sigma.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    size: [usize; 2],
    taps: Taps,
    divisor: u32,
    offset: i32,
    to: Option<Element>,
}

/// Along which axis a separable window is summed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Along rows.
    Across,
    /// Along columns.
    Down,
}

/// The weights of a window.
#[derive(Clone, Debug, PartialEq)]
pub enum Taps {
    /// One for each pixel, row by row.
    Full(Vec<i32>),
    /// Their outer product: the weight at (x, y) is `across[x] * down[y]`.
    Separable {
        /// One for each column.
        across: Vec<i32>,
        /// One for each row.
        down: Vec<i32>,
    },
    /// Like `Full`, with real weights.
    FullReal(Vec<f32>),
    /// Like `Separable`, with real weights.
    SeparableReal {
        /// One for each column.
        across: Vec<f32>,
        /// One for each row.
        down: Vec<f32>,
    },
}

/// The integer weights that a linear filter uses for integer pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Columns and rows of the window.
    pub size: [usize; 2],
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
    /// A window of arbitrary integer weights, row by row; the sum is divided by `divisor`.
    ///
    /// # Errors
    /// An extent that is even or over 31; a wrong number of weights; a divisor of 0.
    pub fn full(size: [usize; 2], weights: Vec<i32>, divisor: u32) -> Result<Self, FilterError> {
        Self::new(size, Taps::Full(weights), divisor)
    }

    /// An outer product of integer weights; the sum is divided by `divisor`.
    ///
    /// # Errors
    /// As [`Self::full`].
    pub fn separable(across: Vec<i32>, down: Vec<i32>, divisor: u32) -> Result<Self, FilterError> {
        Self::new([across.len(), down.len()], Taps::Separable { across, down }, divisor)
    }

    /// A window of arbitrary real weights, row by row.
    ///
    /// # Errors
    /// As [`Self::full`]; a weight that is not finite.
    pub fn full_real(size: [usize; 2], weights: Vec<f32>) -> Result<Self, FilterError> {
        Self::new(size, Taps::FullReal(weights), 1)
    }

    /// An outer product of real weights.
    ///
    /// # Errors
    /// As [`Self::full_real`].
    pub fn separable_real(across: Vec<f32>, down: Vec<f32>) -> Result<Self, FilterError> {
        Self::new([across.len(), down.len()], Taps::SeparableReal { across, down }, 1)
    }

    fn new(size: [usize; 2], taps: Taps, divisor: u32) -> Result<Self, FilterError> {
        check_window(size)?;
        let [width, height] = size;
        let (found, want) = match &taps {
            Taps::Full(weights) => (weights.len(), width * height),
            Taps::FullReal(weights) => (weights.len(), width * height),
            Taps::Separable { .. } | Taps::SeparableReal { .. } => (0, 0),
        };
        if found != want {
            return Err(FilterError::Weights { want, found });
        }
        let finite = match &taps {
            Taps::FullReal(weights) => weights.iter().all(|weight| weight.is_finite()),
            Taps::SeparableReal { across, down } => {
                across.iter().chain(down).all(|weight| weight.is_finite())
            }
            Taps::Full(_) | Taps::Separable { .. } => true,
        };
        if !finite {
            return Err(FilterError::NotFinite);
        }
        if divisor == 0 {
            return Err(FilterError::Divisor);
        }
        Ok(Self { size, taps, divisor, offset: 0, to: None })
    }

    /// The same filter with `offset` added to every result, e.g. 128 to show a derivative in 8 bits.
    #[must_use]
    pub fn with_offset(self, offset: i32) -> Self {
        Self { offset, ..self }
    }

    /// The same filter with results of another type, e.g. `I16` for a derivative of 8-bit pixels.
    #[must_use]
    pub fn to(self, element: Element) -> Self {
        Self { to: Some(element), ..self }
    }

    /// The sharpening filter of the ladders: 9 x the pixel - its 8 neighbours.
    pub fn laplace_sharpen() -> Self {
        Self::named([3, 3], vec![-1, -1, -1, -1, 9, -1, -1, -1, -1], 1)
    }

    /// The Laplace operator over 4 neighbours: `0 1 0 / 1 -4 1 / 0 1 0`.
    pub fn laplace4() -> Self {
        Self::named([3, 3], vec![0, 1, 0, 1, -4, 1, 0, 1, 0], 1)
    }

    /// The Laplace operator over 8 neighbours: `1 1 1 / 1 -8 1 / 1 1 1`.
    pub fn laplace8() -> Self {
        Self::named([3, 3], vec![1, 1, 1, 1, -8, 1, 1, 1, 1], 1)
    }

    /// Sharpens over 4 neighbours: `0 -1 0 / -1 5 -1 / 0 -1 0`.
    pub fn sharpen() -> Self {
        Self::named([3, 3], vec![0, -1, 0, -1, 5, -1, 0, -1, 0], 1)
    }

    /// Sobel's derivative along x: `-1 0 1 / -2 0 2 / -1 0 1`.
    pub fn sobel_x() -> Self {
        Self::outer(vec![-1, 0, 1], vec![1, 2, 1], 1)
    }

    /// Sobel's derivative along y.
    pub fn sobel_y() -> Self {
        Self::outer(vec![1, 2, 1], vec![-1, 0, 1], 1)
    }

    /// Scharr's derivative along x: `-3 0 3 / -10 0 10 / -3 0 3`.
    pub fn scharr_x() -> Self {
        Self::outer(vec![-1, 0, 1], vec![3, 10, 3], 1)
    }

    /// Scharr's derivative along y.
    pub fn scharr_y() -> Self {
        Self::outer(vec![3, 10, 3], vec![-1, 0, 1], 1)
    }

    /// The mean of `width` x `height` pixels.
    ///
    /// # Errors
    /// An extent that is even or over 31.
    pub fn mean([width, height]: [usize; 2]) -> Result<Self, FilterError> {
        check_window([width, height])?;
        Self::separable(vec![1; width], vec![1; height], (width * height) as u32)
    }

    /// Gaussian blur over `size` x `size` pixels. `sigma` is in pixels. Without it, sigma is
    /// `0.3 ((size - 1) / 2 - 1) + 0.8`, and sizes 1 to 7 use OpenCV's binomial-like weights (1 2 1, 1 4 6 4 1, 8 28
    /// 56 72 56 28 8).
    ///
    /// # Errors
    /// A size that is even or over 31; a sigma that is not finite or not above 0.
    pub fn gaussian(size: usize, sigma: Option<f32>) -> Result<Self, FilterError> {
        check_window([size, size])?;
        let table: Option<&[i32]> = match (sigma, size) {
            (None, 1) => Some(&[1]),
            (None, 3) => Some(&[1, 2, 1]),
            (None, 5) => Some(&[1, 4, 6, 4, 1]),
            (None, 7) => Some(&[8, 28, 56, 72, 56, 28, 8]),
            _ => None,
        };
        if let Some(weights) = table {
            let sum: i32 = weights.iter().sum();
            return Self::separable(weights.to_vec(), weights.to_vec(), (sum * sum) as u32);
        }
        let half = (size / 2) as f64;
        let sigma = sigma.map_or(0.3 * (half - 1.0) + 0.8, f64::from);
        if !(sigma.is_finite() && sigma > 0.0) {
            return Err(FilterError::Sigma { sigma: sigma as f32 });
        }
        let weights: Vec<f64> =
            (0..size).map(|i| (-(i as f64 - half).powi(2) / (2.0 * sigma * sigma)).exp()).collect();
        let sum: f64 = weights.iter().sum();
        // Some devices flush subnormal weights to 0, which drops the pixel. Set them to 0 on all devices.
        let normal = |weight: f32| if weight < f32::MIN_POSITIVE { 0.0 } else { weight };
        let weights: Vec<f32> = weights.iter().map(|weight| normal((weight / sum) as f32)).collect();
        Self::separable_real(weights.clone(), weights)
    }

    /// Unsharp masking: the pixel + `amount` x (the pixel - its Gaussian blur).
    ///
    /// # Errors
    /// As [`Self::gaussian`]; an amount that is not finite.
    pub fn unsharp(size: usize, sigma: Option<f32>, amount: f32) -> Result<Self, FilterError> {
        let blur = Self::gaussian(size, sigma)?;
        let mut weights: Vec<f32> = blur.real().iter().map(|weight| -amount * weight).collect();
        let centre = weights.len() / 2;
        weights[centre] += 1.0 + amount;
        Self::full_real([size, size], weights)
    }

    fn named(size: [usize; 2], weights: Vec<i32>, divisor: u32) -> Self {
        Self { size, taps: Taps::Full(weights), divisor, offset: 0, to: None }
    }

    fn outer(across: Vec<i32>, down: Vec<i32>, divisor: u32) -> Self {
        let size = [across.len(), down.len()];
        Self { size, taps: Taps::Separable { across, down }, divisor, offset: 0, to: None }
    }

    /// Columns and rows of the window.
    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// The weights as given.
    pub fn taps(&self) -> &Taps {
        &self.taps
    }

    /// The divisor of the sum.
    pub fn divisor(&self) -> u32 {
        self.divisor
    }

    /// The offset added to every result.
    pub fn offset(&self) -> i32 {
        self.offset
    }

    /// The type of the results, for pixels of type `from`.
    pub fn result(&self, from: Element) -> Element {
        self.to.unwrap_or(from)
    }

    /// The weights for floating-point pixels, row by row, already divided by the divisor.
    pub fn real(&self) -> Vec<f32> {
        let divisor = f64::from(self.divisor);
        let outer = |across: &[f64], down: &[f64]| -> Vec<f32> {
            down.iter()
                .flat_map(|down| across.iter().map(move |across| (across * down / divisor) as f32))
                .collect()
        };
        let doubles =
            |weights: &[f32]| -> Vec<f64> { weights.iter().map(|weight| f64::from(*weight)).collect() };
        let integers =
            |weights: &[i32]| -> Vec<f64> { weights.iter().map(|weight| f64::from(*weight)).collect() };
        match &self.taps {
            Taps::Full(weights) => {
                weights.iter().map(|weight| (f64::from(*weight) / divisor) as f32).collect()
            }
            Taps::FullReal(weights) => weights.clone(),
            Taps::Separable { across, down } => outer(&integers(across), &integers(down)),
            Taps::SeparableReal { across, down } => outer(&doubles(across), &doubles(down)),
        }
    }

    /// The factors across and down for floating-point pixels, already divided by the divisor. `None` when the weights
    /// are not an outer product.
    ///
    /// Sums along the axis `first` do not overflow unless the result does: when the factors of the other axis would
    /// reduce large sums again, a power of two moves from the factors of the first axis to those of the other.
    pub fn real_factors(&self, first: Axis) -> Option<[Vec<f32>; 2]> {
        let [mut across, mut down] = match &self.taps {
            Taps::SeparableReal { across, down } => [across.clone(), down.clone()],
            Taps::Separable { across, down } => {
                let divisor = f64::from(self.divisor);
                [
                    across.iter().map(|weight| *weight as f32).collect(),
                    down.iter().map(|weight| (f64::from(*weight) / divisor) as f32).collect(),
                ]
            }
            Taps::Full(_) | Taps::FullReal(_) => return None,
        };
        match first {
            Axis::Across => balance(&mut across, &mut down),
            Axis::Down => balance(&mut down, &mut across),
        }
        Some([across, down])
    }

    /// The integer weights for pixels of an integer type.
    ///
    /// Integer weights are used unchanged. Real weights are rounded to multiples of a power of two. Their
    /// rounded sum is preserved, so that a flat area stays unchanged. Factors of an outer product take 8 to 12 bits
    /// each. Factors down the window take no more than needed: enough that no result is off by more than 1, or as
    /// many as fit in 32 bits. Other weights take as many bits, up to 22, as keep sums below 2^30.
    ///
    /// For 16-bit pixels there are 8 bits per factor (7 for the factors down in `I16`). A result may be off by the
    /// largest pixel times the larger extent / 2^9 (three times as much in `I16`, which has one bit less and twice
    /// the range). For a Gaussian over 31 x 31 pixels that is 6 % in an image with stripes one pixel wide, and next
    /// to nothing in a smooth one.
    ///
    /// # Errors
    /// Floating-point pixels; sums that exceed 32 bits.
    pub fn fixed(&self, element: Element) -> Result<Fixed, FilterError> {
        let Some(range) = element.range() else { return Err(FilterError::NotInteger) };
        let largest = f64::from(range[0].abs().max(range[1]));
        match &self.taps {
            Taps::Full(weights) => self.fixed_from(weights.clone(), None, self.divisor, range),
            Taps::FullReal(weights) => {
                let magnitude = magnitude(weights) * largest;
                let fits = |bits: &u32| magnitude * f64::from(1 << bits) < f64::from(1 << 30);
                let bits = (0..=WEIGHT_BITS).rev().find(fits).ok_or(FilterError::Overflow)?;
                self.fixed_from(rounded(weights, bits), None, 1 << bits, range)
            }
            Taps::Separable { across, down } => {
                self.fixed_from_factors([across.clone(), down.clone()], self.divisor, range)
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

/// Scales `first` so that a sum of pixels with these weights is at most the largest pixel, and `second` by the inverse.
/// Nothing changes when no nonzero factor of `second` is below 1 (the result is then at least as large as the sum), or
/// when a nonzero factor would become subnormal or infinite.
fn balance(first: &mut [f32], second: &mut [f32]) {
    let sum = magnitude(first);
    let shrinks = second.iter().any(|weight| *weight != 0.0 && weight.abs() < 1.0);
    // The weights of a mean add up to 1, except for rounding errors.
    if sum < 1.0 + 1e-5 || !sum.is_finite() || !shrinks {
        return;
    }
    let scale = sum.log2().ceil().exp2();
    let scaled = |weights: &[f32], scale: f64| -> Option<Vec<f32>> {
        let each = weights.iter().map(|weight| (f64::from(*weight) * scale) as f32);
        let each: Vec<f32> = each.collect();
        each.iter().all(|weight| *weight == 0.0 || weight.is_normal()).then_some(each)
    };
    if let (Some(smaller), Some(larger)) = (scaled(first, 1.0 / scale), scaled(second, scale)) {
        first.copy_from_slice(&smaller);
        second.copy_from_slice(&larger);
    }
}

fn magnitude(weights: &[f32]) -> f64 {
    weights.iter().map(|weight| f64::from(weight.abs())).sum()
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

/// # Errors
/// An extent that is even or over 31.
pub(super) fn check_window(size: [usize; 2]) -> Result<(), FilterError> {
    if size.iter().all(|extent| extent % 2 == 1 && *extent <= WINDOW_MAX) {
        Ok(())
    } else {
        Err(FilterError::Window { size, max: WINDOW_MAX })
    }
}
