//! Colour conversions.

use super::super::super::numbers::{Kind, Span};
use super::super::Color;
use super::{Image, in_float};

pub(super) fn recolored(color: Color, from: &Image, [x, y, channel]: [usize; 3]) -> Span {
    let at = |channel: usize| from.at([x, y, channel]);
    let integer = !from.kind.is_float();
    let (half, white) = match from.kind {
        Kind::U8 => (128.0, 255.0),
        Kind::U16 => (32768.0, 65535.0),
        Kind::I16 => (0.0, 32767.0),
        _ => (0.5, 1.0),
    };
    // For integers, weights in steps of 2^-15, or of 2^-14 for chroma, and sums rounded half up; otherwise real
    // weights.
    let bits = if matches!(color, Color::RgbToGray | Color::BgrToGray) { 15 } else { 14 };
    let mixed = |terms: &[(f64, f64, Span)]| {
        if integer {
            let half = Span::exact(2f64.powi(bits - 1));
            let sum = terms.iter().fold(half, |sum, (steps, _, span)| sum.plus(span.times(*steps)));
            return sum.map(|sum| (sum / 2f64.powi(bits)).floor());
        }
        let terms: Vec<(f64, Span)> = terms.iter().map(|(_, number, span)| (*number, *span)).collect();
        in_float(&terms)
    };
    let added = |terms: &[(f64, Span)]| {
        if integer {
            return terms.iter().fold(Span::exact(0.0), |sum, (sign, span)| sum.plus(span.times(*sign)));
        }
        in_float(terms)
    };
    let luma = |[red, green, blue]: [usize; 3]| {
        let steps = if bits == 15 { [9798.0, 19235.0, 3735.0] } else { [4899.0, 9617.0, 1868.0] };
        mixed(&[(steps[0], 0.299, at(red)), (steps[1], 0.587, at(green)), (steps[2], 0.114, at(blue))])
    };
    let half = Span::exact(half);
    match color {
        Color::RgbToGray => luma([0, 1, 2]),
        Color::BgrToGray => luma([2, 1, 0]),
        Color::GrayToRgb => at(0),
        Color::SwapRedBlue => at(if channel == 3 { 3 } else { 2 - channel }),
        Color::AddAlpha if channel == 3 => Span::exact(white),
        Color::DropAlpha | Color::AddAlpha => at(channel),
        Color::RgbToYuv | Color::RgbToYcrcb => {
            let y = luma([0, 1, 2]);
            // U from blue, V from red; Cr from red, Cb from blue.
            let (of, steps, number) = match (color, channel) {
                (_, 0) => return y,
                (Color::RgbToYuv, 1) => (at(2), 8061.0, 0.492),
                (Color::RgbToYuv, _) => (at(0), 14369.0, 0.877),
                (_, 1) => (at(0), 11682.0, 0.713),
                _ => (at(2), 9241.0, 0.564),
            };
            let difference = added(&[(1.0, of), (-1.0, y)]);
            added(&[(1.0, mixed(&[(steps, number, difference)])), (1.0, half)])
        }
        Color::YuvToRgb | Color::YcrcbToRgb => {
            let [first, second] = [1, 2].map(|channel| added(&[(1.0, at(channel)), (-1.0, half)]));
            let yuv = color == Color::YuvToRgb;
            let (blue, red) = if yuv { (first, second) } else { (second, first) };
            let part = match (yuv, channel) {
                (true, 0) => mixed(&[(18678.0, 1.14, red)]),
                (true, 1) => mixed(&[(-6472.0, -0.395, blue), (-9519.0, -0.581, red)]),
                (true, _) => mixed(&[(33292.0, 2.032, blue)]),
                (false, 0) => mixed(&[(22987.0, 1.403, red)]),
                (false, 1) => mixed(&[(-5636.0, -0.344, blue), (-11698.0, -0.714, red)]),
                (false, _) => mixed(&[(29049.0, 1.773, blue)]),
            };
            added(&[(1.0, at(0)), (1.0, part)])
        }
    }
}
