//! Why a filter does not exist, or does not fit its images.

use thiserror::Error;

use super::{Color, PixelType, Raster, Size};

/// Why a filter is invalid.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FilterError {
    /// A window with invalid extents.
    #[error("a window of {size}: extents must be odd and at most {max}")]
    Window {
        /// Columns and rows.
        size: Size,
        /// The largest extent.
        max: usize,
    },
    /// The number of weights differs from the number of pixels in the window.
    #[error("{found} weights for a window of {want} pixels")]
    Weights {
        /// Pixels of the window.
        want: usize,
        /// Weights given.
        found: usize,
    },
    /// A divisor of 0.
    #[error("the divisor of a filter is 0")]
    Divisor,
    /// A parameter that is NaN or infinite.
    #[error("a weight, scale or offset is not a finite number")]
    NotFinite,
    /// A sigma that is not a finite number above 0.
    #[error("sigma is {sigma}: it must be a finite number above 0")]
    Sigma {
        /// The given value.
        sigma: f32,
    },
    /// A median of an unsupported size.
    #[error("a median over {found}x{found}: only 3x3 and 5x5 are supported")]
    MedianSize {
        /// The given size.
        found: usize,
    },
    /// A place that a window does not have.
    #[error("rank {rank}: the window has {pixels} pixels, so ranks are 0 to {}", pixels - 1)]
    Rank {
        /// The given place.
        rank: usize,
        /// The number of pixels.
        pixels: usize,
    },
    /// Integer weights were requested for sums in `float`.
    #[error("the sums are in float: there are no fixed-point weights")]
    NotInteger,
    /// Sums that exceed 32 bits.
    #[error(
        "the weights are so large that sums overflow 32 bits: divide them, or convert the image to float \
        first"
    )]
    Overflow,
    /// A chain without stages.
    #[error("a chain of filters needs at least one stage")]
    NoStage,
    /// An unknown stage name.
    #[error("unknown filter `{name}`; there are {names}")]
    UnknownStage {
        /// The given name.
        name: String,
        /// The known names.
        names: String,
    },
    /// Numbers that the stage does not accept.
    #[error("`{text}`: want {want}")]
    StageNumbers {
        /// The given text.
        text: String,
        /// What it should look like.
        want: String,
    },
    /// An unknown border name.
    #[error(
        "unknown border `{name}`; there are none, constant[:VALUE], replicate, reflect, reflect101, wrap"
    )]
    UnknownBorder {
        /// The given name.
        name: String,
    },
    /// An unknown interpolation name.
    #[error("unknown interpolation `{name}`; there are nearest, linear, area, cubic, lanczos4")]
    UnknownInterpolation {
        /// The given name.
        name: String,
    },
    /// What affine maps do not offer.
    #[error("an affine map {why}")]
    Affine {
        /// What this one does, or what all do.
        why: &'static str,
    },
    /// A number of channels that is not 1 to 4.
    #[error("{found} channels: an image has 1 to 4")]
    Channels {
        /// The given number.
        found: usize,
    },
    /// A colour conversion that does not accept this number of channels.
    #[error("`{color}` takes images of {takes}, and this one has {found}")]
    ColorChannels {
        /// The conversion.
        color: Color,
        /// The channels it accepts, in words.
        takes: &'static str,
        /// Channels given.
        found: usize,
    },
    /// Rows that overlap.
    #[error("rows are {pitch} elements apart, and each has {want}")]
    Pitch {
        /// Elements from row to row.
        pitch: usize,
        /// Elements in a row.
        want: usize,
    },
    /// Planes that overlap.
    #[error("planes are {plane_pitch} elements apart, and each has {want}")]
    PlanePitch {
        /// Elements from plane to plane.
        plane_pitch: usize,
        /// Elements of a plane.
        want: usize,
    },
    /// More elements than can be addressed.
    #[error("an image of {size} pixels does not fit into memory")]
    TooLarge {
        /// Width and height.
        size: Size,
    },
    /// A slice that is too short for its raster.
    #[error("the {what} has {found} bytes; its pixels take {want}")]
    Length {
        /// Source or result.
        what: &'static str,
        /// Bytes its pixels take.
        want: usize,
        /// Bytes available.
        found: usize,
    },
    /// A region that leaves its image.
    #[error("the region of {size} from ({x}, {y}) is not inside the image of {image}")]
    Region {
        /// First column.
        x: usize,
        /// First row.
        y: usize,
        /// Width and height of the region.
        size: Size,
        /// Width and height of the image.
        image: Size,
    },
    /// The shape of the result differs from what the chain makes.
    #[error(
        "the filter makes {want} pixels of {want_channels} channels of {want_element}; the result has {found} of \
        {found_channels} of {found_element}"
    )]
    Result {
        /// Width and height that the chain makes.
        want: Size,
        /// The number of channels that it makes.
        want_channels: usize,
        /// Their type.
        want_element: PixelType,
        /// Width and height of the result.
        found: Size,
        /// The number of its channels.
        found_channels: usize,
        /// Their type.
        found_element: PixelType,
    },
}

impl FilterError {
    /// A result that is not `want` pixels of `channels` channels of `element`.
    pub fn result(want: Size, channels: usize, element: PixelType, found: &Raster) -> Self {
        Self::Result {
            want,
            want_channels: channels,
            want_element: element,
            found: found.size(),
            found_channels: found.channels,
            found_element: found.element,
        }
    }
}
