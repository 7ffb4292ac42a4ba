//! Linear filters: each pixel a weighted sum of its window.

use super::{Element, FilterError};

/// Largest extent of a window.
pub(super) const WINDOW_MAX: usize = 31;

/// A weighted sum over a window.
///
/// *Integer pixels.* The sum S of integer weights times pixels is exact; the result is
/// `floor((S + divisor / 2) / divisor) + offset`, saturated to the result's type; where that is a floating-point one, `S / divisor + offset`
/// in `float`. *Floating-point pixels.* `S / divisor + offset`, in `float` in any order, so the error is at most
/// `2 (taps + 1) u sum |weight x pixel| / divisor`, u = 2^-24, and half a unit in the last place of the result's type; an integer result
/// is rounded to the nearest (ties to even) and saturated, NaN becomes 0. A pixel whose weight is 0 is not looked at: infinity and NaN there
/// reach nothing. Weights that are not integers are used as they are on floating-point pixels and are rounded once,
/// here, for integer ones ([`Linear::fixed`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    size: [usize; 2],
    taps: Taps,
    divisor: u32,
    offset: i32,
    to: Option<Element>,
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
    /// As `Full`, not integers.
    FullReal(Vec<f32>),
    /// As `Separable`, not integers.
    SeparableReal {
        /// One for each column.
        across: Vec<f32>,
        /// One for each row.
        down: Vec<f32>,
    },
}

/// The integers a linear filter multiplies integer pixels with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Columns and rows of the window.
    pub size: [usize; 2],
    /// All weights, row by row.
    pub weights: Vec<i32>,
    /// The factors across and down, where the weights are an outer product.
    pub factors: Option<[Vec<i32>; 2]>,
    /// What the sum is divided by.
    pub divisor: u32,
    /// What is added after.
    pub offset: i32,
    /// Smallest and largest sum the pixels of the element type can give.
    pub sums: [i64; 2],
}

impl Linear {
    /// Any window of integer weights, row by row; the sum is divided by `divisor`.
    ///
    /// # Errors
    /// An extent that is even or over 31, another number of weights, a divisor of 0.
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

    /// Any window of real weights, row by row.
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

    /// The same with `offset` added to every result, e.g. 128 to see a derivative in 8 bits.
    #[must_use]
    pub fn with_offset(self, offset: i32) -> Self {
        Self { offset, ..self }
    }

    /// The same with results of another type, e.g. `I16` for a derivative of 8-bit pixels.
    #[must_use]
    pub fn to(self, element: Element) -> Self {
        Self { to: Some(element), ..self }
    }

    /// The sharpening form of the ladders: 9 x the pixel - its 8 neighbours.
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
        let divisor = (width.min(WINDOW_MAX + 1) * height.min(WINDOW_MAX + 1)) as u32;
        Self::separable(vec![1; width], vec![1; height], divisor)
    }

    /// Gaussian blur over `size` x `size` pixels. `sigma` in pixels; without one it is `0.3 ((size - 1) / 2 - 1) + 0.8`,
    /// and sizes 1 to 7 take the binomial-like weights OpenCV has for them (1 2 1, 1 4 6 4 1, 8 28 56 72 56 28 8).
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
        let weights: Vec<f32> = weights.iter().map(|weight| (weight / sum) as f32).collect();
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

    /// The weights as they were given.
    pub fn taps(&self) -> &Taps {
        &self.taps
    }

    /// What is added to every result.
    pub fn offset(&self) -> i32 {
        self.offset
    }

    /// The type of the results, for pixels of type `from`.
    pub fn result(&self, from: Element) -> Element {
        self.to.unwrap_or(from)
    }

    /// The weights floating-point pixels are multiplied with, row by row, the divisor worked in.
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

    /// The factors across and down that floating-point pixels are multiplied with, the divisor worked into the second;
    /// nothing where the weights are no outer product.
    pub fn real_factors(&self) -> Option<[Vec<f32>; 2]> {
        match &self.taps {
            Taps::SeparableReal { across, down } => Some([across.clone(), down.clone()]),
            Taps::Separable { across, down } => {
                let divisor = f64::from(self.divisor);
                Some([
                    across.iter().map(|weight| *weight as f32).collect(),
                    down.iter().map(|weight| (f64::from(*weight) / divisor) as f32).collect(),
                ])
            }
            Taps::Full(_) | Taps::FullReal(_) => None,
        }
    }

    /// The integers that pixels of an integer type are multiplied with.
    ///
    /// Integer weights are taken as they are. Real ones become multiples of a power of two: factors of an outer product of
    /// 2^-8 each for 8-bit pixels and of 2^-7 for 16-bit ones, other weights of the smallest power down to 2^-14 with which no sum
    /// leaves 31 bits. Each is rounded to the nearest; what the sum of the weights loses by that goes to the centre, so
    /// that a flat area stays as it is.
    ///
    /// # Errors
    /// Floating-point pixels; sums that leave 32 bits.
    pub fn fixed(&self, element: Element) -> Result<Fixed, FilterError> {
        let Some(range) = element.range() else { return Err(FilterError::NotInteger) };
        let largest = f64::from(range[0].abs().max(range[1]));
        let (factors, divisor) = match &self.taps {
            Taps::Full(weights) => return self.fixed_from(weights.clone(), None, self.divisor, range),
            Taps::FullReal(weights) => {
                let magnitude: f64 =
                    weights.iter().map(|weight| f64::from(weight.abs())).sum::<f64>() * largest;
                let bits = (0..=14).rev().find(|bits| magnitude * f64::from(1 << bits) < f64::from(1 << 30));
                let bits = bits.ok_or(FilterError::Overflow)?;
                let weights = round_to(weights, 1 << bits);
                return self.fixed_from(weights, None, 1 << bits, range);
            }
            Taps::Separable { across, down } => ([across.clone(), down.clone()], self.divisor),
            Taps::SeparableReal { across, down } => {
                let bits = if element == Element::U8 { 8 } else { 7 };
                ([round_to(across, 1 << bits), round_to(down, 1 << bits)], 1 << (2 * bits))
            }
        };
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
        let fits = |sum: i64| i32::try_from(sum).is_ok();
        // Partial sums stay between the extremes taken over fewer pixels, and 0.
        let magnitude: i64 = weights.iter().map(|weight| i64::from(weight.abs())).sum();
        let largest = i64::from(low.abs().max(high));
        if !fits(magnitude * largest + half) || !fits(sums[0] - half) || !fits(sums[1] + half) {
            return Err(FilterError::Overflow);
        }
        Ok(Fixed { size: self.size, weights, factors, divisor, offset: self.offset, sums })
    }
}

impl Fixed {
    /// The result of a sum, before it is saturated to the result's type.
    pub fn scale(&self, sum: i32) -> i32 {
        let divisor = i64::from(self.divisor);
        ((i64::from(sum) + divisor / 2).div_euclid(divisor) as i32).saturating_add(self.offset)
    }
}

/// Multiples of `1 / unit` nearest to the weights, the centre one such that their sum is the nearest to the weights' sum.
fn round_to(weights: &[f32], unit: i32) -> Vec<i32> {
    let scaled = |weight: f64| (weight * f64::from(unit)).round() as i32;
    let mut rounded: Vec<i32> = weights.iter().map(|weight| scaled(f64::from(*weight))).collect();
    let want = scaled(weights.iter().map(|weight| f64::from(*weight)).sum());
    let found: i32 = rounded.iter().sum();
    let centre = weights.len() / 2;
    rounded[centre] += want - found;
    rounded
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
