//! The reference of a chain, slow and plain.
//!
//! Borders, indices, weights, tables and colour coefficients are computed here independently of the code under test.
//! One thing is shared: the integers that real weights are rounded to ([`super::Linear::fixed`]). Tests compare those with
//! sums in `f64`.

mod color;
mod image;
mod weights;

use std::ops::Range;

use bytemuck::pod_read_unaligned;
use half::f16;
use thiserror::Error;

use super::{
    Bilateral, Border, Chain, ChannelLayout, Color, FilterError, Morphology, Neighbourhood, PixelType, Rank,
    Raster, Size, Stage,
};
use color::recolor;
use image::{Image, Spread};
use weights::Weights;

/// Relative error of one rounding to `float`.
const UNIT: f64 = 1.0 / (1u32 << 24) as f64;

/// Runs the stages in sequence. `source` and `result` hold elements in host byte order, laid out as the rasters say;
/// only the pixels of `to` are written. Integer results of integer pixels are exact. Floating-point arithmetic is in
/// `f64`, rounded at the end of each stage.
///
/// # Errors
/// As [`Chain::check`]; a slice that is too short for its raster.
pub fn apply(
    chain: &Chain,
    from: &Raster,
    source: &[u8],
    to: &Raster,
    result: &mut [u8],
) -> Result<(), FilterError> {
    check_length("result", to, result)?;
    let image = run(chain, from, source, to)?;
    for (place, index) in places(to) {
        store(to.element, result, index, image.at(place).value);
    }
    Ok(())
}

/// Compares a result with the reference. Integers computed from integers must be equal; everything else must be
/// within the error that the stages state, propagated through the later stages.
///
/// NaN is expected exactly where the exact result is NaN. Where products or sums exceed the range of `float`, any
/// value is accepted. An error of 2^-126 per tap is allowed for devices without subnormal numbers.
///
/// # Errors
/// The first pixel, row by row, that differs; all errors of [`apply`].
pub fn verify(
    chain: &Chain,
    from: &Raster,
    source: &[u8],
    to: &Raster,
    result: &[u8],
) -> Result<(), Mismatch> {
    check_length("result", to, result)?;
    Expected::new(chain, from, source, to)?.verify(result)
}

/// What a chain makes of an image, computed once for results of several kernels.
pub struct Expected {
    image: Image,
    to: Raster,
}

impl Expected {
    /// Runs the stages as [`apply`] does.
    ///
    /// # Errors
    /// As [`apply`].
    pub fn new(chain: &Chain, from: &Raster, source: &[u8], to: &Raster) -> Result<Self, FilterError> {
        Ok(Self { image: run(chain, from, source, to)?, to: *to })
    }

    /// As [`verify`].
    ///
    /// # Errors
    /// As [`verify`].
    pub fn verify(&self, result: &[u8]) -> Result<(), Mismatch> {
        self.verify_rows(result, 0..self.to.height)
    }

    /// As [`verify`], of these rows alone.
    ///
    /// # Errors
    /// As [`verify`].
    pub fn verify_rows(&self, result: &[u8], rows: Range<usize>) -> Result<(), Mismatch> {
        let Self { image, to } = self;
        check_length("result", to, result)?;
        let (mut first, mut count, mut total) = (None, 0, 0);
        for (place, index) in places(to).filter(|([_, y, _], _)| rows.contains(y)) {
            let (want, found) = (image.at(place), load(to.element, result, index));
            total += 1;
            if !want.accepts(found) {
                count += 1;
                first = first.or(Some((place, want, found)));
            }
        }
        let Some(([x, y, channel], want, found)) = first else { return Ok(()) };
        Err(Mismatch::Pixel { x, y, channel, want: [want.low, want.high], found, count, total })
    }
}

/// The first difference between a result and its reference.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Mismatch {
    /// The comparison is not possible.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// A wrong value.
    #[error(
        "{count} of {total} values differ, the first at ({x}, {y}), channel {channel}: {found}, expected {} to {}",
        want[0], want[1]
    )]
    Pixel {
        /// Column.
        x: usize,
        /// Row.
        y: usize,
        /// Channel.
        channel: usize,
        /// Smallest and largest correct value.
        want: [f64; 2],
        /// The value found.
        found: f64,
        /// How many values are wrong.
        count: usize,
        /// Total number of values.
        total: usize,
    },
}

/// Positions (x, y, channel) of a raster, row by row, with their indices in its slice.
pub(super) fn places(raster: &Raster) -> impl Iterator<Item = ([usize; 3], usize)> {
    let Raster { width, height, channels, layout, offset, pitch, plane_pitch, .. } = *raster;
    let index = move |x: usize, y: usize, channel: usize| match layout {
        ChannelLayout::Packed => offset + y * pitch + x * channels + channel,
        ChannelLayout::Planar => offset + channel * plane_pitch + y * pitch + x,
    };
    let pixels = (0..height).flat_map(move |y| (0..width).map(move |x| [x, y]));
    pixels.flat_map(move |[x, y]| (0..channels).map(move |channel| ([x, y, channel], index(x, y, channel))))
}

/// Stores a value, rounded to the nearest value of the type if it is not exact.
pub(super) fn store(element: PixelType, bytes: &mut [u8], index: usize, value: f64) {
    let into = &mut bytes[index * element.bytes()..][..element.bytes()];
    match element {
        PixelType::U8 => into.copy_from_slice(&[value as u8]),
        PixelType::I16 => into.copy_from_slice(&(value as i16).to_ne_bytes()),
        PixelType::U16 => into.copy_from_slice(&(value as u16).to_ne_bytes()),
        PixelType::F16 => into.copy_from_slice(&f16::from_f64(value).to_ne_bytes()),
        PixelType::F32 => into.copy_from_slice(&(value as f32).to_ne_bytes()),
    }
}

pub(super) fn load(element: PixelType, bytes: &[u8], index: usize) -> f64 {
    let bytes = &bytes[index * element.bytes()..][..element.bytes()];
    match element {
        PixelType::U8 => f64::from(bytes[0]),
        PixelType::I16 => f64::from(pod_read_unaligned::<i16>(bytes)),
        PixelType::U16 => f64::from(pod_read_unaligned::<u16>(bytes)),
        PixelType::F16 => pod_read_unaligned::<f16>(bytes).to_f64(),
        PixelType::F32 => f64::from(pod_read_unaligned::<f32>(bytes)),
    }
}

pub(super) fn check_length(what: &'static str, raster: &Raster, bytes: &[u8]) -> Result<(), FilterError> {
    let want = raster.elements()? * raster.element.bytes();
    if bytes.len() >= want { Ok(()) } else { Err(FilterError::Length { what, want, found: bytes.len() }) }
}

fn run(chain: &Chain, from: &Raster, source: &[u8], to: &Raster) -> Result<Image, FilterError> {
    chain.check(from, to)?;
    check_length("source", from, source)?;
    let values = places(from).map(|(_, index)| Spread::exact(load(from.element, source, index))).collect();
    let Raster { width, height, channels, element, .. } = *from;
    let mut image = Image { width, height, channels, element, values };
    for stage in &chain.stages {
        image = step(chain, stage, &image)?;
    }
    Ok(image)
}

fn step(chain: &Chain, stage: &Stage, from: &Image) -> Result<Image, FilterError> {
    let (channels, element) = stage.output(from.channels, from.element)?;
    let Image { width, height, .. } = *from;
    let (radius_x, radius_y) = (stage.window().width / 2, stage.window().height / 2);
    let alpha = chain.keep_alpha && from.channels == 4;
    let operation = Operation::new(stage, from, if alpha { 3 } else { from.channels })?;
    let mut values = Vec::with_capacity(width * height * channels);
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let inside = x >= radius_x && y >= radius_y && x + radius_x < width && y + radius_y < height;
        for channel in 0..channels {
            let place = [x, y, channel];
            let copied = chain.border == Border::None && !inside;
            let kept = alpha && channel == 3 && stage.keeps_alpha();
            let spread =
                if copied || kept { from.at(place) } else { operation.value(from, place, chain.border) };
            values.push(spread.stored(element));
        }
    }
    Ok(Image { width, height, channels, element, values })
}

/// A stage with the data it needs for every pixel.
enum Operation<'s> {
    Linear(Weights),
    Gradient([Weights; 2]),
    Rank(Rank),
    Morphology(Morphology),
    Bilateral { bilateral: Bilateral, space: Vec<f64>, channels: usize, integer: bool },
    Convert { scale: f32, offset: f32 },
    Color(&'s Color),
}

impl<'s> Operation<'s> {
    /// The first `channels` channels of each pixel are filtered.
    fn new(stage: &'s Stage, from: &Image, channels: usize) -> Result<Self, FilterError> {
        Ok(match stage {
            Stage::Linear(linear) => Self::Linear(Weights::new(linear, from.element)?),
            Stage::Gradient(gradient) => {
                Self::Gradient(Weights::of_gradient(*gradient, !from.element.is_float()))
            }
            Stage::Median { size } => Self::Rank(Rank { size: *size, rank: size * size / 2 }),
            Stage::Rank(rank) => Self::Rank(*rank),
            Stage::Morphology(morphology) => Self::Morphology(*morphology),
            Stage::Bilateral(bilateral) => {
                let integer = !from.element.is_float();
                let radius = (bilateral.size / 2) as f64;
                let at = |index: usize| {
                    let [x, y] =
                        [index % bilateral.size, index / bilateral.size].map(|at| at as f64 - radius);
                    let distance = x.hypot(y);
                    // For whole numbers, a distance exceeds the radius exactly when its square exceeds the radius
                    // squared.
                    let weight = bell(distance, bilateral.sigma_space);
                    match (x * x + y * y > radius * radius, integer) {
                        (true, _) => 0.0,
                        (false, true) => (256.0 * weight).round(),
                        (false, false) => weight,
                    }
                };
                let space = (0..bilateral.size.pow(2)).map(at).collect();
                Self::Bilateral { bilateral: *bilateral, space, channels, integer }
            }
            Stage::Convert { scale, offset, .. } => Self::Convert { scale: *scale, offset: *offset },
            Stage::Color(color) => Self::Color(color),
        })
    }

    /// The result at a position, not yet rounded to the result's type.
    fn value(&self, from: &Image, place: [usize; 3], border: Border) -> Spread {
        match self {
            Self::Linear(weights) => weights.sum(from, place, border),
            Self::Gradient(derivatives) => {
                let [across, down] =
                    [0, 1].map(|which: usize| magnitude(derivatives[which].sum(from, place, border)));
                Spread {
                    low: across.low + down.low,
                    value: across.value + down.value,
                    high: across.high + down.high,
                }
            }
            Self::Rank(Rank { size, rank: ahead }) => {
                let seen = window(Size::square(*size), |_| true, from, place, border);
                rank(&seen, |mut values| {
                    values.sort_by(f64::total_cmp);
                    values[*ahead]
                })
            }
            Self::Morphology(morphology) => {
                let neighbourhood = morphology.neighbourhood();
                let size = neighbourhood.size();
                let holds = |[x, y]: [usize; 2]| match neighbourhood {
                    Neighbourhood::Rectangle(_) => true,
                    Neighbourhood::Cross(Size { width, height }) => 2 * x + 1 == width || 2 * y + 1 == height,
                };
                let seen = window(size, holds, from, place, border);
                rank(&seen, |values| match morphology {
                    Morphology::Erode(_) => values.into_iter().fold(f64::INFINITY, f64::min),
                    Morphology::Dilate(_) => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
                })
            }
            Self::Bilateral { bilateral, space, channels, integer } => {
                let windows: Vec<Vec<Spread>> = (0..*channels)
                    .map(|channel| {
                        let [x, y, _] = place;
                        window(Size::square(bilateral.size), |_| true, from, [x, y, channel], border)
                    })
                    .collect();
                let weight = |pixel: usize, difference: f64| {
                    let color = bell(difference, bilateral.sigma_color);
                    if *integer {
                        ((space[pixel] * (256.0 * color).round() + 128.0) / 256.0).floor()
                    } else {
                        space[pixel] * color
                    }
                };
                let mean = bilateral_mean(&windows, place[2], weight, *integer);
                let seen = &windows[place[2]];
                let largest = seen
                    .iter()
                    .map(|pixel| pixel.value.abs())
                    .filter(|value| value.is_finite())
                    .fold(0.0, f64::max);
                let own = if *integer { 0.0 } else { 1e-4 * largest };
                Spread::exact(mean)
                    .widened(own + bilateral_carried(bilateral, space, &windows, place[2], mean))
            }
            Self::Convert { scale, offset } => convert(from.at(place), *scale, *offset),
            Self::Color(color) => recolor(**color, from, place),
        }
    }
}

/// A Gaussian bell with value 1 in the middle.
fn bell(distance: f64, sigma: f32) -> f64 {
    let ratio = distance / f64::from(sigma);
    (-ratio * ratio / 2.0).exp()
}

/// The pixels of a window for which `holds` is true, row by row.
fn window(
    Size { width, height }: Size,
    holds: impl Fn([usize; 2]) -> bool,
    from: &Image,
    place: [usize; 3],
    border: Border,
) -> Vec<Spread> {
    let places = (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
    let offset = |[x, y]: [usize; 2]| [x as isize - (width / 2) as isize, y as isize - (height / 2) as isize];
    places.filter(|at| holds(*at)).map(|at| from.seen(place, offset(at), border)).collect()
}

/// A function that rises with every pixel, applied to the low, the exact and the high values; NaN for a window that
/// holds one.
fn rank(seen: &[Spread], rising: impl Fn(Vec<f64>) -> f64) -> Spread {
    if seen.iter().any(|spread| spread.value.is_nan()) {
        return Spread::exact(f64::NAN);
    }
    Spread {
        low: rising(seen.iter().map(|spread| spread.low).collect()),
        value: rising(seen.iter().map(|spread| spread.value).collect()),
        high: rising(seen.iter().map(|spread| spread.high).collect()),
    }
}

fn magnitude(spread: Spread) -> Spread {
    let [a, b] = [spread.low.abs(), spread.high.abs()];
    let crosses = spread.low < 0.0 && spread.high > 0.0;
    Spread { low: if crosses { 0.0 } else { a.min(b) }, value: spread.value.abs(), high: a.max(b) }
}

/// The product and the sum are each rounded to `float`.
fn convert(pixel: Spread, scale: f32, offset: f32) -> Spread {
    let rising = |value: f64| f64::from((value as f32) * scale + offset);
    let converted = pixel.map(rising);
    if scale < 0.0 {
        return Spread { low: converted.high, high: converted.low, ..converted };
    }
    converted
}

/// `windows` has the window of every filtered channel.
fn bilateral_mean(
    windows: &[Vec<Spread>],
    channel: usize,
    weight: impl Fn(usize, f64) -> f64,
    integer: bool,
) -> f64 {
    let centre = windows[0].len() / 2;
    let (mut sum, mut weights) = (0.0, 0.0);
    for (pixel, seen) in windows[channel].iter().enumerate() {
        let difference: f64 =
            windows.iter().map(|window| (window[pixel].value - window[centre].value).abs()).sum();
        let weight = weight(pixel, difference);
        if weight > 0.0 {
            sum += weight * seen.value;
            weights += weight;
        }
    }
    if integer { ((sum + (weights / 2.0).floor()) / weights).floor() } else { sum / weights }
}

/// The bound on the change of the mean when the pixels move within their spreads.
///
/// If every pixel moves by e, the mean moves by e. The colour differences move by 2 e per channel, and a weight
/// `exp(-c^2 / 2 sigma^2)` by at most `exp(-1/2) / sigma` times that. This moves the mean by that factor times the
/// pixel's distance from it, because the sum of the weights is at least the centre's, 1.
fn bilateral_carried(
    bilateral: &Bilateral,
    space: &[f64],
    windows: &[Vec<Spread>],
    channel: usize,
    mean: f64,
) -> f64 {
    let pixels = || windows.iter().flatten();
    if pixels().all(|pixel| pixel.is_exact()) {
        return 0.0;
    }
    let moved = pixels().map(|pixel| pixel.high - pixel.low).fold(0.0, f64::max);
    let slope = (-0.5f64).exp() / f64::from(bilateral.sigma_color) * 2.0 * windows.len() as f64;
    let apart = windows[channel].iter().map(|pixel| (pixel.value - mean).abs());
    let centre = space[space.len() / 2];
    let distance: f64 = apart.zip(space).map(|(apart, space)| apart * space / centre).sum();
    moved * (1.0 + slope * distance)
}

#[cfg(test)]
mod tests;
