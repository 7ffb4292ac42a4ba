//! Why a filter does not exist, or does not fit its images.

use thiserror::Error;

use super::{Color, PixelType};

/// Why a filter is invalid.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FilterError {
    /// A window with invalid extents.
    #[error("a window of {}x{}: extents must be odd and at most {max}", size[0], size[1])]
    Window {
        /// Columns and rows.
        size: [usize; 2],
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
    #[error("unknown interpolation `{name}`; there are nearest, linear, area")]
    UnknownInterpolation {
        /// The given name.
        name: String,
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
    #[error("an image of {}x{} pixels does not fit into memory", size[0], size[1])]
    TooLarge {
        /// Width and height.
        size: [usize; 2],
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
    #[error(
        "the region of {}x{} from ({}, {}) is not inside the image of {}x{}",
        region[2], region[3], region[0], region[1], image[0], image[1]
    )]
    Region {
        /// x, y, width, height.
        region: [usize; 4],
        /// Width and height.
        image: [usize; 2],
    },
    /// The shape of the result differs from what the chain makes.
    #[error(
        "the filter makes {}x{} pixels of {} channels of {want_element}; the result has {}x{} of {} of {found_element}",
        want[0], want[1], want[2], found[0], found[1], found[2]
    )]
    Result {
        /// Width, height, channels the chain makes.
        want: [usize; 3],
        /// Their type.
        want_element: PixelType,
        /// Width, height, channels of the result.
        found: [usize; 3],
        /// Their type.
        found_element: PixelType,
    },
}
