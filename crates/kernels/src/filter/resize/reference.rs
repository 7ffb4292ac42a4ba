//! The reference for resizing, slow and plain. It shares no code with what it judges: positions, weights and sums are
//! computed independently.

use std::f64::consts::PI;

use super::check;
use crate::filter::reference::{check_length, load, places, store};
use crate::filter::{FilterError, Interpolation, PixelType, Raster};

/// Computes what [`super::resize`] computes: integers bit-exact, floating-point numbers in `f64`.
///
/// # Errors
/// As [`super::resize`]; a slice that is too short for its raster.
pub fn resize_reference(
    interpolation: Interpolation,
    from: &Raster,
    source: &[u8],
    to: &Raster,
    result: &mut [u8],
) -> Result<(), FilterError> {
    check(from, to)?;
    check_length("source", from, source)?;
    check_length("result", to, result)?;
    if to.is_empty() {
        return Ok(());
    }
    let averaged = from.width > 16 * to.width || from.height > 16 * to.height;
    let one = match from.element {
        PixelType::U8 if !(averaged && interpolation == Interpolation::Area) => Some(1 << 11),
        PixelType::U8 | PixelType::I16 | PixelType::U16 => Some(1 << 18),
        PixelType::F16 | PixelType::F32 => None,
    };
    let axis = |from: usize, to: usize| -> Vec<Vec<(usize, f64)>> {
        (0..to).map(|at| shares(interpolation, [from, to], at, one)).collect()
    };
    let [across, down] = [axis(from.width, to.width), axis(from.height, to.height)];
    let all = one.map_or(1.0, |one| (one * one) as f64);
    for ([x, y, channel], index) in places(to) {
        let mut sum = 0.0;
        for (row, down) in &down[y] {
            for (column, across) in &across[x] {
                let pixel = from.index(*column, *row, channel);
                sum += across * down * load(from.element, source, pixel);
            }
        }
        let value = if one.is_some() { (sum / all + 0.5).floor() } else { sum };
        store(to.element, result, index, value);
    }
    Ok(())
}

/// As [`shares`], for kernels of the distance: pixels before the first and after the last are copies of these.
fn spread(
    interpolation: Interpolation,
    [from, to]: [usize; 2],
    at: usize,
    one: Option<i128>,
) -> Vec<(usize, f64)> {
    let centre = (at as f64 + 0.5) * from as f64 / to as f64 - 0.5;
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) };
    let weight = |place: f64| match (interpolation, (place - centre).abs()) {
        (Interpolation::Cubic, away @ 0.0..1.0) => 1.0 - 2.25 * away.powi(2) + 1.25 * away.powi(3),
        (Interpolation::Cubic, away @ 1.0..2.0) => {
            3.0 - 6.0 * away + 3.75 * away.powi(2) - 0.75 * away.powi(3)
        }
        (Interpolation::Lanczos4, away @ 0.0..4.0) => sinc(away) * sinc(away / 4.0),
        _ => 0.0,
    };
    let nearest = centre.floor() as i64;
    let mut weights = vec![0.0; from];
    for place in nearest - 4..=nearest + 5 {
        weights[place.clamp(0, from as i64 - 1) as usize] += weight(place as f64);
    }
    let all: f64 = weights.iter().sum();
    let (mut sum, mut before) = (0.0, 0.0);
    let counts = weights.into_iter().map(|weight| {
        let Some(one) = one else { return weight / all };
        sum += weight / all;
        let rounded = (sum * one as f64 + 0.5).floor();
        let counts = rounded - before;
        before = rounded;
        counts
    });
    counts.enumerate().filter(|(_, counts)| counts.abs() > 1e-15).collect()
}

/// The source pixels that contribute to result pixel `at`, with their weights: in steps of 1 / `one`, or exact.
fn shares(
    interpolation: Interpolation,
    [from, to]: [usize; 2],
    at: usize,
    one: Option<i128>,
) -> Vec<(usize, f64)> {
    let [length, parts, x] = [from, to, at].map(|extent| extent as i128);
    // The total weight of all pixels before `pixel`, as a fraction.
    let ahead = |pixel: i128| -> (i128, i128) {
        match interpolation {
            Interpolation::Nearest => (i128::from(pixel * parts > x * length), 1),
            Interpolation::Bilinear => {
                // The weight of a pixel falls to 0 at the centres of its neighbours and is constant beyond the first
                // and the last centre.
                let place = ((2 * x + 1) * length - parts).clamp(0, 2 * parts * (length - 1));
                ((2 * parts * pixel - place).clamp(0, 2 * parts), 2 * parts)
            }
            _ => ((pixel * parts - x * length).clamp(0, length), length),
        }
    };
    if interpolation.is_signed() {
        return spread(interpolation, [from, to], at, one);
    }
    let counts = |pixel: i128| -> f64 {
        let [(before, of), (after, _)] = [ahead(pixel), ahead(pixel + 1)];
        match one {
            Some(one) => {
                let rounded = |part: i128| (2 * part * one + of).div_euclid(2 * of);
                (rounded(after) - rounded(before)) as f64
            }
            None => (after - before) as f64 / of as f64,
        }
    };
    (0..from).map(|pixel| (pixel, counts(pixel as i128))).filter(|(_, counts)| *counts != 0.0).collect()
}
