//! Colour conversions.

use std::ops::Range;

use super::image::{Image, Spread};
use super::weights::{in_float, weighted};
use crate::filter::{Color, PixelType};

/// The BT.601 coefficients with OpenCV's digits and steps. First the weights of red, green and blue in luma. Then,
/// for each of OpenCV's two forms of chroma: the weights of B - Y and R - Y; and for the inverse, the weight of the
/// blue difference in blue, of both in green, and of the red difference in red.
const LUMA: [f64; 3] = [0.299, 0.587, 0.114];
const GRAY_STEPS: [f64; 3] = [9798.0, 19235.0, 3735.0];
const LUMA_STEPS: [f64; 3] = [4899.0, 9617.0, 1868.0];
const YUV: [f64; 6] = [0.492, 0.877, 2.032, -0.395, -0.581, 1.140];
const YUV_STEPS: [f64; 6] = [8061.0, 14369.0, 33292.0, -6472.0, -9519.0, 18678.0];
const YCRCB: [f64; 6] = [0.564, 0.713, 1.773, -0.344, -0.714, 1.403];
const YCRCB_STEPS: [f64; 6] = [9241.0, 11682.0, 29049.0, -5636.0, -11698.0, 22987.0];

pub(super) fn recolor(color: Color, from: &Image, [x, y, channel]: [usize; 3]) -> Spread {
    let at = |channel: usize| from.at([x, y, channel]);
    let (half, white) = match from.element {
        PixelType::U8 => (128.0, 255.0),
        PixelType::U16 => (32768.0, 65535.0),
        PixelType::I16 => (0.0, 32767.0),
        PixelType::F16 | PixelType::F32 => (0.5, 1.0),
    };
    let half = Spread::exact(half);
    let integer = !from.element.is_float();
    // Rounded half up to whole numbers, or in float.
    let sum = |unit: f64, steps: &[f64], factors: &[f64], values: &[Spread]| -> Spread {
        let terms = |weights: &[f64]| weights.iter().copied().zip(values.iter().copied()).collect::<Vec<_>>();
        if integer {
            weighted(&terms(steps), unit / 2.0).map(|sum| (sum / unit).floor())
        } else {
            in_float(&terms(factors), 0.0)
        }
    };
    let plus = |a: Spread, sign: f64, b: Spread| {
        let terms = [(1.0, a), (sign, b)];
        if integer { weighted(&terms, 0.0) } else { in_float(&terms, 0.0) }
    };
    let gray = |channels: [usize; 3]| sum(32768.0, &GRAY_STEPS, &LUMA, &channels.map(at));
    let luma = || sum(16384.0, &LUMA_STEPS, &LUMA, &[0, 1, 2].map(at));
    let (steps, factors, order) = match color {
        Color::RgbToYcrcb | Color::YcrcbToRgb => (YCRCB_STEPS, YCRCB, [2, 1]),
        _ => (YUV_STEPS, YUV, [1, 2]),
    };
    let part =
        |which: Range<usize>, values: &[Spread]| sum(16384.0, &steps[which.clone()], &factors[which], values);
    match color {
        Color::RgbToGray => gray([0, 1, 2]),
        Color::BgrToGray => gray([2, 1, 0]),
        Color::GrayToRgb => at(0),
        Color::SwapRedBlue => at([2, 1, 0, 3][channel]),
        Color::AddAlpha if channel == 3 => Spread::exact(white),
        Color::DropAlpha | Color::AddAlpha => at(channel),
        Color::RgbToYuv | Color::RgbToYcrcb if channel == 0 => luma(),
        Color::RgbToYuv | Color::RgbToYcrcb if channel == order[0] => {
            plus(part(0..1, &[plus(at(2), -1.0, luma())]), 1.0, half)
        }
        Color::RgbToYuv | Color::RgbToYcrcb => plus(part(1..2, &[plus(at(0), -1.0, luma())]), 1.0, half),
        Color::YuvToRgb | Color::YcrcbToRgb => {
            let [blue, red] = order.map(|channel| plus(at(channel), -1.0, half));
            let added = match channel {
                0 => part(5..6, &[red]),
                1 => part(3..5, &[blue, red]),
                _ => part(2..3, &[blue]),
            };
            plus(at(0), 1.0, added)
        }
    }
}
