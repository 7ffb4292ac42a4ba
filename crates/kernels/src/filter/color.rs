//! Conversions of colour.

use super::FilterError;

/// Conversions of colour, full range, with OpenCV's coefficients: bytes and unsigned 16-bit pixels equal `cvtColor`
/// bit for bit. Integers: in steps of 2^-15 for gray and 2^-14 for [`Chroma`], rounded half up, saturated at the end.
/// Floating point: in `float`, chroma around 0.5 (1.0 is white), within the error of a [`Linear`](super::Linear) with as many terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// 3 or 4 channels R G B (A) to one: `(9798 R + 19235 G + 3735 B + 16384) >> 15`.
    RgbToGray,
    /// The same for B G R (A).
    BgrToGray,
    /// One channel to three equal ones.
    GrayToRgb,
    /// Swaps the first and the third channel; 3 or 4 channels.
    SwapRedBlue,
    /// 3 or 4 channels to 3: drops alpha.
    DropAlpha,
    /// 3 channels to 4: alpha is the largest value, 1.0 for floating point.
    AddAlpha,
    /// R G B to Y U V (3 channels) by [`Chroma::YUV`], `COLOR_RGB2YUV`: `Y = 4899 R + 9617 G + 1868 B + 8192 >> 14`,
    /// `U = ((B - Y) 8061 + 8192 >> 14) + half`, `V = ((R - Y) 14369 + 8192 >> 14) + half`; half is 128 in 8 bits,
    /// 32768 in 16, 0 in signed 16, 0.5 in floating point. These are the U and V of analogue video. JPEG and digital
    /// video use the same names for [`Color::RgbToYcrcb`].
    RgbToYuv,
    /// The inverse, `COLOR_YUV2RGB`: `B = Y + ((U - half) 33292 + 8192 >> 14)`,
    /// `G = Y + ((U - half) -6472 + (V - half) -9519 + 8192 >> 14)`, `R = Y + ((V - half) 18678 + 8192 >> 14)`.
    YuvToRgb,
    /// R G B to Y Cr Cb (3 channels, in this order) by [`Chroma::YCRCB`], `COLOR_RGB2YCrCb`: Y as [`Color::RgbToYuv`],
    /// `Cr = ((R - Y) 11682 + 8192 >> 14) + half`, `Cb = ((B - Y) 9241 + 8192 >> 14) + half`.
    RgbToYcrcb,
    /// The inverse, `COLOR_YCrCb2RGB`: `B = Y + ((Cb - half) 29049 + 8192 >> 14)`,
    /// `G = Y + ((Cb - half) -5636 + (Cr - half) -11698 + 8192 >> 14)`, `R = Y + ((Cr - half) 22987 + 8192 >> 14)`.
    YcrcbToRgb,
}

/// The weights of the colour differences B - Y and R - Y in a conversion, and in its inverse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chroma {
    /// Factors of B - Y and R - Y.
    pub to: [f32; 2],
    /// Factors of the inverse: of the blue difference in blue, of both in green, and of the red difference in red.
    pub back: [f32; 4],
    /// [`Self::to`] in steps of 2^-14.
    pub to_steps: [i32; 2],
    /// [`Self::back`] in steps of 2^-14.
    pub back_steps: [i32; 4],
}

impl Chroma {
    /// U and V of BT.601 as in analogue video, and OpenCV's YUV.
    pub const YUV: Self = Self {
        to: [0.492, 0.877],
        back: [2.032, -0.395, -0.581, 1.14],
        to_steps: [8061, 14369],
        back_steps: [33292, -6472, -9519, 18678],
    };
    /// Cb and Cr of BT.601 in full range, as in JPEG, and OpenCV's `YCrCb`: `0.5 / (1 - 0.114)` and
    /// `0.5 / (1 - 0.299)`, to three digits.
    pub const YCRCB: Self = Self {
        to: [0.564, 0.713],
        back: [1.773, -0.344, -0.714, 1.403],
        to_steps: [9241, 11682],
        back_steps: [29049, -5636, -11698, 22987],
    };
    /// Weights of red, green and blue in luma for these conversions, in steps of 2^-14; [`Color::LUMA`] for floating
    /// point.
    pub const LUMA_STEPS: [i32; 3] = [4899, 9617, 1868];
}

impl Color {
    /// Weights of red, green and blue in luma (BT.601).
    pub const LUMA: [f32; 3] = [0.299, 0.587, 0.114];
    /// [`Self::LUMA`] in steps of 2^-15, for gray; the last one is chosen so that white stays white.
    pub const LUMA_STEPS: [i32; 3] = [9798, 19235, 3735];

    /// The number of result channels for `from` source channels.
    ///
    /// # Errors
    /// The conversion does not accept `from` channels.
    pub fn channels(self, from: usize) -> Result<usize, FilterError> {
        const BOTH: &str = "3 or 4 channels (RGB, RGBA)";
        let (takes, words, gives): (&[usize], _, usize) = match self {
            Self::RgbToGray | Self::BgrToGray => (&[3, 4], BOTH, 1),
            Self::GrayToRgb => (&[1], "1 channel (gray)", 3),
            Self::SwapRedBlue => (&[3, 4], BOTH, from),
            Self::DropAlpha => (&[4], "4 channels (RGBA)", 3),
            Self::AddAlpha => (&[3], "3 channels (RGB)", 4),
            Self::RgbToYuv | Self::YuvToRgb | Self::RgbToYcrcb | Self::YcrcbToRgb => (&[3], "3 channels", 3),
        };
        if takes.contains(&from) {
            Ok(gives)
        } else {
            Err(FilterError::ColorChannels { color: self, takes: words, found: from })
        }
    }
}
