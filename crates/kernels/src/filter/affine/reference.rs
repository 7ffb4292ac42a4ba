//! The reference for affine maps, slow and plain. It shares no code with what it judges but the rounded numbers of the map.

use super::AffineMap;
use crate::filter::reference::{check_length, load, places, store};
use crate::filter::{Border, FilterError, Interpolation, PixelType, Raster};

/// Computes what [`super::affine`] computes: integers bit-exact, floating-point numbers in `f64`.
///
/// # Errors
/// As [`AffineMap::check`]; a slice that is too short for its raster.
pub fn affine_reference(
    map: &AffineMap,
    interpolation: Interpolation,
    border: Border,
    [from, to]: [&Raster; 2],
    source: &[u8],
    result: &mut [u8],
) -> Result<(), FilterError> {
    let steps = map.check(interpolation, border, [from, to])?;
    check_length("source", from, source)?;
    check_length("result", to, result)?;
    let one = match from.element {
        PixelType::U8 => Some(f64::from(1 << 11)),
        PixelType::I16 | PixelType::U16 => Some(f64::from(1 << 18)),
        PixelType::F16 | PixelType::F32 => None,
    };
    for ([x, y, channel], index) in places(to) {
        let [across, down] = steps.map(|step| {
            let [dx, dy, start] = step.map(i128::from);
            shares(interpolation, dx * x as i128 + dy * y as i128 + start, one)
        });
        let mut sum = 0.0;
        for (row, down) in &down {
            for (column, across) in across.iter().filter(|(_, share)| share * down != 0.0) {
                let places = (border.source(*column, from.width), border.source(*row, from.height));
                let value = match (places, border) {
                    ((Some(column), Some(row)), _) => {
                        load(from.element, source, from.index(column, row, channel))
                    }
                    (_, Border::Constant(value)) => from.element.nearest(f64::from(value)),
                    _ => 0.0,
                };
                sum += across * down * value;
            }
        }
        let value = if one.is_some() { (sum + 0.5).floor() } else { sum };
        store(to.element, result, index, value);
    }
    Ok(())
}

/// The pixels around a place in units of 2^-32, and their weights: multiples of 1 / `one`, or exact.
fn shares(interpolation: Interpolation, place: i128, one: Option<f64>) -> Vec<(isize, f64)> {
    let pixel = 1i128 << 32;
    let (whole, part) = (place.div_euclid(pixel) as isize, place.rem_euclid(pixel));
    let fraction = part as f64 / pixel as f64;
    let weights = match interpolation {
        Interpolation::Nearest => return vec![(whole + isize::from(fraction >= 0.5), 1.0)],
        Interpolation::Cubic => {
            let fraction = (fraction * 65536.0).floor() / 65536.0;
            let weight = |pixel: isize| match (pixel as f64 - fraction).abs() {
                away @ 0.0..=1.0 => 1.25 * away.powi(3) - 2.25 * away.powi(2) + 1.0,
                away => -0.75 * (away.powi(3) - 5.0 * away.powi(2) + 8.0 * away - 4.0),
            };
            (-1..=2).map(|pixel| (pixel, weight(pixel))).collect()
        }
        _ => vec![(0, 1.0 - fraction), (1, fraction)],
    };
    let mut weights: Vec<(isize, f64)> = weights;
    if let Some(one) = one {
        for (_, weight) in &mut weights {
            *weight = (*weight * one + 0.5).floor() / one;
        }
        let others: f64 = weights.iter().filter(|(pixel, _)| *pixel != 0).map(|(_, weight)| weight).sum();
        for (_, weight) in weights.iter_mut().filter(|(pixel, _)| *pixel == 0) {
            *weight = 1.0 - others;
        }
    }
    weights.into_iter().map(|(pixel, weight)| (whole + pixel, weight)).collect()
}
