//! Linear filters: each pixel a weighted sum of its window.

mod fixed;

pub use fixed::Fixed;
use fixed::magnitude;

use super::{FilterError, PixelType, Size};

/// Largest extent of a window.
pub(super) const WINDOW_MAX: usize = 31;

/// A weighted sum over a window.
///
/// *Integer pixels.* The sum S of integer weights times pixels is exact. The result is
/// `floor((S + divisor / 2) / divisor) + offset`, saturated to the result's type; for a floating-point result type it
/// is `S / divisor + offset` in `float`. *Floating-point pixels.* The result is `S / divisor + offset`, in `float`,
/// summed in any order. The error is at most `2 (taps + 1) u sum |weight x pixel| / divisor`, u = 2^-24, plus half a
/// unit in the last place of the result's type; for an outer product, taps is columns + rows. An integer result is
/// rounded to the nearest (ties to even) and saturated; NaN becomes 0. A pixel whose weight is 0 is not read: infinity
/// and NaN there have no effect. Weights that are not integers are used unchanged on floating-point pixels, and on
/// 16-bit ones, whose sums are then in `float` too: the result is rounded to the nearest, and paths may differ by one.
/// For bytes they are rounded once, here ([`Linear::fixed`]). A Gaussian blur of integers is within 1 of the exact
/// one for every size and sigma.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    size: Size,
    taps: Taps,
    divisor: u32,
    offset: i32,
    to: Option<PixelType>,
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

impl Linear {
    /// A window of arbitrary integer weights, row by row; the sum is divided by `divisor`.
    ///
    /// # Errors
    /// An extent that is even or over 31; a wrong number of weights; a divisor of 0.
    pub fn full(size: Size, weights: Vec<i32>, divisor: u32) -> Result<Self, FilterError> {
        Self::new(size, Taps::Full(weights), divisor)
    }

    /// An outer product of integer weights; the sum is divided by `divisor`.
    ///
    /// # Errors
    /// As [`Self::full`].
    pub fn separable(across: Vec<i32>, down: Vec<i32>, divisor: u32) -> Result<Self, FilterError> {
        Self::new(Size::new(across.len(), down.len()), Taps::Separable { across, down }, divisor)
    }

    /// A window of arbitrary real weights, row by row.
    ///
    /// # Errors
    /// As [`Self::full`]; a weight that is not finite.
    pub fn full_real(size: Size, weights: Vec<f32>) -> Result<Self, FilterError> {
        Self::new(size, Taps::FullReal(weights), 1)
    }

    /// An outer product of real weights.
    ///
    /// # Errors
    /// As [`Self::full_real`].
    pub fn separable_real(across: Vec<f32>, down: Vec<f32>) -> Result<Self, FilterError> {
        Self::new(Size::new(across.len(), down.len()), Taps::SeparableReal { across, down }, 1)
    }

    fn new(size: Size, taps: Taps, divisor: u32) -> Result<Self, FilterError> {
        check_window(size)?;
        let Size { width, height } = size;
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
    pub fn to(self, element: PixelType) -> Self {
        Self { to: Some(element), ..self }
    }

    /// The sharpening filter of the ladders: 9 x the pixel - its 8 neighbours.
    pub fn laplace_sharpen() -> Self {
        Self::named(Size::square(3), vec![-1, -1, -1, -1, 9, -1, -1, -1, -1], 1)
    }

    /// The Laplace operator over 4 neighbours: `0 1 0 / 1 -4 1 / 0 1 0`.
    pub fn laplace4() -> Self {
        Self::named(Size::square(3), vec![0, 1, 0, 1, -4, 1, 0, 1, 0], 1)
    }

    /// The Laplace operator over 8 neighbours: `1 1 1 / 1 -8 1 / 1 1 1`.
    pub fn laplace8() -> Self {
        Self::named(Size::square(3), vec![1, 1, 1, 1, -8, 1, 1, 1, 1], 1)
    }

    /// Sharpens over 4 neighbours: `0 -1 0 / -1 5 -1 / 0 -1 0`.
    pub fn sharpen() -> Self {
        Self::named(Size::square(3), vec![0, -1, 0, -1, 5, -1, 0, -1, 0], 1)
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

    /// The mean of a window of `size` pixels.
    ///
    /// # Errors
    /// An extent that is even or over 31.
    pub fn mean(size: Size) -> Result<Self, FilterError> {
        check_window(size)?;
        let Size { width, height } = size;
        Self::separable(vec![1; width], vec![1; height], (width * height) as u32)
    }

    /// Gaussian blur over `size` x `size` pixels. `sigma` is in pixels. Without it, sigma is
    /// `0.3 ((size - 1) / 2 - 1) + 0.8`, and sizes 1 to 9 have the weights of OpenCV's table (4.10 to 5.0: 1 2 1, 1 4 6
    /// 4 1, 8 28 56 72 56 28 8, 4 13 30 51 60 51 30 13 4).
    ///
    /// # Errors
    /// A size that is even or over 31; a sigma that is not finite or not above 0.
    pub fn gaussian(size: usize, sigma: Option<f32>) -> Result<Self, FilterError> {
        check_window(Size::square(size))?;
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
        if (sigma, size) == (None, 9) {
            // Real weights: sums of `i16` pixels with integer ones exceed 32 bits.
            let weights = [4.0, 13.0, 30.0, 51.0, 60.0, 51.0, 30.0, 13.0, 4.0].map(|weight| weight / 256.0);
            return Self::separable_real(weights.to_vec(), weights.to_vec());
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
        Self::full_real(Size::square(size), weights)
    }

    fn named(size: Size, weights: Vec<i32>, divisor: u32) -> Self {
        Self { size, taps: Taps::Full(weights), divisor, offset: 0, to: None }
    }

    fn outer(across: Vec<i32>, down: Vec<i32>, divisor: u32) -> Self {
        let size = Size::new(across.len(), down.len());
        Self { size, taps: Taps::Separable { across, down }, divisor, offset: 0, to: None }
    }

    /// Columns and rows of the window.
    pub fn size(&self) -> Size {
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
    pub fn result(&self, from: PixelType) -> PixelType {
        self.to.unwrap_or(from)
    }

    /// Whether sums of such pixels are in `float`: floating-point pixels, and 16-bit ones with real weights, which
    /// integer weights are too coarse for when sums have 32 bits.
    pub fn sums_in_float(&self, from: PixelType) -> bool {
        let real = matches!(self.taps, Taps::FullReal(_) | Taps::SeparableReal { .. });
        from.is_float() || real && from != PixelType::U8
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

/// # Errors
/// An extent that is even or over 31.
pub(super) fn check_window(size: Size) -> Result<(), FilterError> {
    if [size.width, size.height].iter().all(|extent| extent % 2 == 1 && *extent <= WINDOW_MAX) {
        Ok(())
    } else {
        Err(FilterError::Window { size, max: WINDOW_MAX })
    }
}
