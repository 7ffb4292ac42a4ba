//! The stages of a chain.

mod cost;
mod text;
mod weights;

use super::linear::check_window;
use super::{Color, FilterError, Linear, PixelType, Raster, Size};

/// One step of a chain: takes an image and returns an image of the same extents.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// A weighted sum, separately for each channel.
    Linear(Linear),
    /// The length of a gradient, separately for each channel.
    Gradient(Gradient),
    /// The median of the window, 3 x 3 or 5 x 5, separately for each channel. NaN if the window holds
    /// one.
    Median {
        /// Extent of the window, 3 or 5.
        size: usize,
    },
    /// The smallest or largest value of a neighbourhood, separately for each channel. NaN as in [`Stage::Median`].
    Morphology(Morphology),
    /// The pixel of a place in the order of the window, separately for each channel. NaN as in [`Stage::Median`].
    /// [`Stage::ranked`] finds the stage that is fastest.
    Rank(Rank),
    /// An edge-preserving blur.
    Bilateral(Bilateral),
    /// Converts to another element type: `value * scale + offset`, the product and the sum each rounded to `float`,
    /// then rounded to the nearest (ties to even) and saturated. NaN becomes 0 in an integer type. Alpha is scaled
    /// like the other channels.
    Convert {
        /// The type of the result.
        to: PixelType,
        /// Factor.
        scale: f32,
        /// Added after scaling.
        offset: f32,
    },
    /// A conversion of colour or channels.
    Color(Color),
}

/// `|dx| + |dy|` of two derivatives, saturated to the element type of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gradient {
    /// From Sobel derivatives.
    Sobel,
    /// From Scharr derivatives.
    Scharr,
}

impl Gradient {
    /// The two derivatives.
    pub fn derivatives(self) -> [Linear; 2] {
        match self {
            Self::Sobel => [Linear::sobel_x(), Linear::sobel_y()],
            Self::Scharr => [Linear::scharr_x(), Linear::scharr_y()],
        }
    }
}

/// A place in the order of a window's pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Extent of the window.
    pub size: usize,
    /// The number of pixels that are not larger, without the pixel itself: 0 for the smallest, `size * size - 1` for
    /// the largest.
    pub rank: usize,
}

/// Erosion or dilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Morphology {
    /// The smallest value.
    Erode(Neighbourhood),
    /// The largest value.
    Dilate(Neighbourhood),
}

impl Morphology {
    /// The pixels that are read.
    pub fn neighbourhood(self) -> Neighbourhood {
        match self {
            Self::Erode(neighbourhood) | Self::Dilate(neighbourhood) => neighbourhood,
        }
    }
}

/// The pixels of a window that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbourhood {
    /// All pixels.
    Rectangle(Size),
    /// The middle row and the middle column.
    Cross(Size),
}

impl Neighbourhood {
    /// Columns and rows of the window.
    pub fn size(self) -> Size {
        match self {
            Self::Rectangle(size) | Self::Cross(size) => size,
        }
    }

    /// Whether the pixel in column x, row y of the window is used.
    pub fn contains(self, x: usize, y: usize) -> bool {
        match self {
            Self::Rectangle(_) => true,
            Self::Cross(Size { width, height }) => x == width / 2 || y == height / 2,
        }
    }
}

/// A mean of the window in which near pixels of similar colour have the largest weights.
///
/// The weight of a pixel at distance d whose channels differ by c in total (`sum |difference|` over all filtered
/// channels) is `exp(-d^2 / 2 sigma_space^2) exp(-c^2 / 2 sigma_color^2)`. The window is round: pixels with
/// `d > size / 2` do not count. *Integer pixels:* both factors are rounded to multiples of 2^-8
/// ([`Bilateral::space`], [`Bilateral::color`]), a weight is `(space * color + 128) >> 8`, and the result is
/// `(sum weight x pixel + sum weight / 2) / sum weight`, rounded down (towards minus infinity). *Floating-point
/// pixels:* in `float`, within 1e-4 of the largest magnitude in the window. Pixels whose weight is 0 or NaN do not
/// count: those with a channel that is NaN or infinite, and all pixels when the centre has one. The result is NaN
/// when no pixel counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bilateral {
    /// Extent of the window, odd, 3 to 15.
    pub size: usize,
    /// Sigma of the colour difference, in units of the pixels.
    pub sigma_color: f32,
    /// Sigma of the distance, in pixels.
    pub sigma_space: f32,
}

impl Bilateral {
    const SIZE_MAX: usize = 15;

    /// Weight of each position of the window, row by row, in units of 2^-8; 0 outside the circle.
    pub fn space(&self) -> Vec<u16> {
        self.space_exact().iter().map(|weight| (weight * 256.0).round() as u16).collect()
    }

    /// Weight of each position of the window, row by row; 0 outside the circle. Empty for a window over 15, which no
    /// stage accepts.
    pub fn space_exact(&self) -> Vec<f64> {
        if self.size > Self::SIZE_MAX {
            return Vec::new();
        }
        let radius = (self.size / 2) as f64;
        let places =
            (0..self.size * self.size).map(|i| [i % self.size, i / self.size].map(|at| at as f64 - radius));
        let sigma = f64::from(self.sigma_space);
        places
            .map(|[x, y]| x * x + y * y)
            .map(
                |square| if square > radius * radius { 0.0 } else { (-square / (2.0 * sigma * sigma)).exp() },
            )
            .collect()
    }

    /// Weight of each colour difference, starting at 0, in units of 2^-8; all later weights are 0. At most 65536
    /// entries.
    pub fn color(&self) -> Vec<u16> {
        let sigma = f64::from(self.sigma_color);
        (0..65536u32)
            .map(|difference| {
                let ratio = f64::from(difference) / sigma;
                ((-ratio * ratio / 2.0).exp() * 256.0).round() as u16
            })
            .take_while(|weight| *weight > 0)
            .collect()
    }
}

impl Stage {
    /// The pixel at a place in the order of a window, 0 for the smallest: an erosion, a dilation, a median where there
    /// are kernels for them, otherwise a [`Rank`].
    ///
    /// # Errors
    /// A size that is even or over 31; a rank that the window does not have.
    pub fn ranked(size: usize, rank: usize) -> Result<Self, FilterError> {
        let window = Size::square(size);
        check_window(window)?;
        let pixels = size * size;
        Ok(match rank {
            0 => Self::Morphology(Morphology::Erode(Neighbourhood::Rectangle(window))),
            _ if rank >= pixels => return Err(FilterError::Rank { rank, pixels }),
            _ if rank + 1 == pixels => Self::Morphology(Morphology::Dilate(Neighbourhood::Rectangle(window))),
            _ if rank == pixels / 2 && [3, 5].contains(&size) => Self::Median { size },
            _ => Self::Rank(Rank { size, rank }),
        })
    }

    /// 255 for a value above `level`, 0 for others and for NaN, in bytes, whatever the element type. In floating point,
    /// values that exceed the level by less than 2^-118 may become something between.
    ///
    /// # Errors
    /// A level that is not finite.
    pub fn threshold(level: f32) -> Result<Self, FilterError> {
        if !level.is_finite() {
            return Err(FilterError::NotFinite);
        }
        // Products with powers of two are exact, as long as that of the level is finite: differences are then exact in
        // sign, and saturate. Products of larger values may be infinite, and saturate likewise.
        let exponent = if level.abs() < 1.0 { 0 } else { level.abs().log2().floor() as i32 + 1 };
        let scale = (126 - exponent.min(127)) as f32;
        let scale = scale.exp2();
        Ok(Self::Convert { to: PixelType::U8, scale, offset: -level * scale })
    }

    /// Whether [`super::Chain::keep_alpha`] copies alpha for this stage: true for all stages except conversions,
    /// which scale it, and colour, which has its own rules.
    pub fn keeps_alpha(&self) -> bool {
        !matches!(self, Self::Convert { .. } | Self::Color(_))
    }

    /// Columns and rows of its window; 1 x 1 for stages that read one pixel only.
    pub fn window(&self) -> Size {
        match self {
            Self::Linear(linear) => linear.size(),
            Self::Gradient(_) => Size::square(3),
            Self::Median { size } => Size::square(*size),
            Self::Morphology(morphology) => morphology.neighbourhood().size(),
            Self::Rank(rank) => Size::square(rank.size),
            Self::Bilateral(bilateral) => Size::square(bilateral.size),
            Self::Convert { .. } | Self::Color(_) => Size::square(1),
        }
    }

    /// The number of channels and the element type of the result, for those of the source.
    ///
    /// # Errors
    /// A stage with invalid parameters, or one that does not accept this element type or number of channels.
    pub fn output(&self, channels: usize, element: PixelType) -> Result<(usize, PixelType), FilterError> {
        if !matches!(self, Self::Convert { .. } | Self::Color(_)) {
            check_window(self.window())?;
        }
        match self {
            Self::Linear(linear) => {
                if !linear.sums_in_float(element) {
                    linear.fixed(element)?;
                }
                Ok((channels, linear.result(element)))
            }
            Self::Median { size } if ![3, 5].contains(size) => Err(FilterError::MedianSize { found: *size }),
            Self::Rank(Rank { size, rank }) if *rank >= size * size => {
                Err(FilterError::Rank { rank: *rank, pixels: size * size })
            }
            Self::Bilateral(Bilateral { size, .. }) if !(3..=Bilateral::SIZE_MAX).contains(size) => {
                Err(FilterError::Window { size: Size::square(*size), max: Bilateral::SIZE_MAX })
            }
            Self::Bilateral(Bilateral { sigma_color, sigma_space, .. }) => {
                for sigma in [*sigma_color, *sigma_space] {
                    if !(sigma.is_finite() && sigma > 0.0) {
                        return Err(FilterError::Sigma { sigma });
                    }
                }
                Ok((channels, element))
            }
            Self::Gradient(_) | Self::Median { .. } | Self::Morphology(_) | Self::Rank(_) => {
                Ok((channels, element))
            }
            Self::Convert { to, scale, offset } if scale.is_finite() && offset.is_finite() => {
                Ok((channels, *to))
            }
            Self::Convert { .. } => Err(FilterError::NotFinite),
            Self::Color(color) => Ok((color.channels(channels)?, element)),
        }
    }

    /// The image that the stage makes of `from`: packed or planar as `from` is, without gaps.
    ///
    /// # Errors
    /// As [`Self::output`].
    pub fn apply_to(&self, from: &Raster) -> Result<Raster, FilterError> {
        let (channels, element) = self.output(from.channels, from.element)?;
        Ok(Raster::dense(from.layout, from.size(), channels, element))
    }
}
