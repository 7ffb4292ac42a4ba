//! What a chain computes, slowly and plainly.

use std::ops::Range;

use bytemuck::pod_read_unaligned;
use half::f16;
use thiserror::Error;

use super::{
    Bilateral, Border, Chain, Color, Element, FilterError, Gradient, Linear, Morphology, Raster, Stage,
};

/// Relative error of one rounding to `float`.
const UNIT: f64 = 1.0 / (1u32 << 24) as f64;

/// Runs the stages one after the other. `source` and `result` are elements in host order, placed as the rasters say; only the
/// pixels of `to` are written. Integer results of integer pixels are exact; floating-point arithmetic is in `f64`,
/// rounded when a stage is done.
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

/// Compares a result with what the chain makes of the source: integers made of integers must be equal, everything else lie
/// within the error that the stages state, carried through the stages after them.
///
/// A NaN is wanted where the exact result is one, and only there. Where products or sums leave the range of `float`, anything
/// goes; an error of 2^-126 a tap is granted to devices without subnormal numbers.
///
/// # Errors
/// The first pixel, row by row, that differs; whatever [`apply`] refuses.
pub fn verify(
    chain: &Chain,
    from: &Raster,
    source: &[u8],
    to: &Raster,
    result: &[u8],
) -> Result<(), Mismatch> {
    check_length("result", to, result)?;
    let image = run(chain, from, source, to)?;
    let (mut first, mut count, mut total) = (None, 0, 0);
    for (place, index) in places(to) {
        let (want, found) = (image.at(place), load(to.element, result, index));
        total += 1;
        if !want.holds(found) {
            count += 1;
            first = first.or(Some((place, want, found)));
        }
    }
    let Some(([x, y, channel], want, found)) = first else { return Ok(()) };
    Err(Mismatch::Pixel { x, y, channel, want: [want.low, want.high], found, count, total })
}

/// The first place where a result differs from what it should be.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Mismatch {
    /// There is nothing to compare with.
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
        /// Smallest and largest right value.
        want: [f64; 2],
        /// What it is.
        found: f64,
        /// How many values are wrong.
        count: usize,
        /// How many there are.
        total: usize,
    },
}

/// A value with what correct implementations may make of it.
#[derive(Clone, Copy, Debug)]
struct Spread {
    low: f64,
    value: f64,
    high: f64,
}

impl Spread {
    fn exact(value: f64) -> Self {
        Self { low: value, value, high: value }
    }

    fn is_exact(self) -> bool {
        self.low == self.high
    }

    /// The same function of all three, which must not fall.
    fn map(self, rising: impl Fn(f64) -> f64) -> Self {
        Self { low: rising(self.low), value: rising(self.value), high: rising(self.high) }
    }

    fn widened(self, error: f64) -> Self {
        Self { low: self.low - error, value: self.value, high: self.high + error }
    }

    /// Rounded to the nearest (ties to even) of the element type and saturated.
    fn stored(self, element: Element) -> Self {
        self.map(|value| element.nearest(value))
    }

    fn holds(self, found: f64) -> bool {
        let anything = self.low == f64::NEG_INFINITY && self.high == f64::INFINITY;
        if found.is_nan() { self.value.is_nan() || anything } else { self.low <= found && found <= self.high }
    }
}

/// Packed pixels without gaps.
struct Image {
    width: usize,
    height: usize,
    channels: usize,
    element: Element,
    values: Vec<Spread>,
}

impl Image {
    fn at(&self, [x, y, channel]: [usize; 3]) -> Spread {
        self.values[(y * self.width + x) * self.channels + channel]
    }

    /// What a window sees `offset` away from a pixel of the image.
    fn seen(&self, [x, y, channel]: [usize; 3], offset: [isize; 2], border: Border) -> Spread {
        let across = border.source(x as isize + offset[0], self.width);
        let down = border.source(y as isize + offset[1], self.height);
        match (across, down, border) {
            (Some(x), Some(y), _) => self.at([x, y, channel]),
            (_, _, Border::Constant(value)) => Spread::exact(f64::from(value)).stored(self.element),
            // Not reached: without a border no window that leaves the image is looked at.
            _ => Spread::exact(0.0),
        }
    }
}

/// Places (x, y, channel) of a raster, row by row, and their indices in its slice.
pub(super) fn places(raster: &Raster) -> impl Iterator<Item = ([usize; 3], usize)> {
    let Raster { width, height, channels, .. } = *raster;
    let pixels = (0..height).flat_map(move |y| (0..width).map(move |x| [x, y]));
    pixels.flat_map(move |[x, y]| {
        (0..channels).map(move |channel| ([x, y, channel], raster.index([x, y], channel)))
    })
}

/// Stores a value that the type has, or the nearest to it.
pub(super) fn store(element: Element, bytes: &mut [u8], index: usize, value: f64) {
    let into = &mut bytes[index * element.bytes()..][..element.bytes()];
    match element {
        Element::U8 => into.copy_from_slice(&[value as u8]),
        Element::I16 => into.copy_from_slice(&(value as i16).to_ne_bytes()),
        Element::U16 => into.copy_from_slice(&(value as u16).to_ne_bytes()),
        Element::F16 => into.copy_from_slice(&f16::from_f64(value).to_ne_bytes()),
        Element::F32 => into.copy_from_slice(&(value as f32).to_ne_bytes()),
    }
}

pub(super) fn load(element: Element, bytes: &[u8], index: usize) -> f64 {
    let bytes = &bytes[index * element.bytes()..][..element.bytes()];
    match element {
        Element::U8 => f64::from(bytes[0]),
        Element::I16 => f64::from(pod_read_unaligned::<i16>(bytes)),
        Element::U16 => f64::from(pod_read_unaligned::<u16>(bytes)),
        Element::F16 => pod_read_unaligned::<f16>(bytes).to_f64(),
        Element::F32 => f64::from(pod_read_unaligned::<f32>(bytes)),
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
    let [radius_x, radius_y] = stage.window().map(|extent| extent / 2);
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

/// A stage with what it needs for every pixel.
enum Operation<'s> {
    Linear(Weights),
    Gradient([Weights; 2]),
    Median(usize),
    Morphology(Morphology),
    Bilateral { bilateral: Bilateral, space: Vec<f64>, color: Vec<u16>, channels: usize, integer: bool },
    Convert { scale: f32, offset: f32 },
    Color(&'s Color),
}

impl<'s> Operation<'s> {
    /// `channels` of each pixel are filtered.
    fn new(stage: &'s Stage, from: &Image, channels: usize) -> Result<Self, FilterError> {
        Ok(match stage {
            Stage::Linear(linear) => Self::Linear(Weights::new(linear, from.element)?),
            Stage::Gradient(gradient) => Self::Gradient(Weights::of_gradient(*gradient, from.element)?),
            Stage::Median { size } => Self::Median(*size),
            Stage::Morphology(morphology) => Self::Morphology(*morphology),
            Stage::Bilateral(bilateral) => {
                let integer = !from.element.is_float();
                let space = if integer {
                    bilateral.space().iter().map(|weight| f64::from(*weight)).collect()
                } else {
                    bilateral.space_exact()
                };
                Self::Bilateral { bilateral: *bilateral, space, color: bilateral.color(), channels, integer }
            }
            Stage::Convert { scale, offset, .. } => Self::Convert { scale: *scale, offset: *offset },
            Stage::Color(color) => Self::Color(color),
        })
    }

    /// The result at a place, not yet rounded to the result's type.
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
            Self::Median(size) => {
                let seen = window([*size; 2], |_| true, from, place, border);
                each(&seen, |mut values| {
                    values.sort_by(f64::total_cmp);
                    values[values.len() / 2]
                })
            }
            Self::Morphology(morphology) => {
                let neighbourhood = morphology.neighbourhood();
                let size = neighbourhood.size();
                let seen = window(size, |at| neighbourhood.holds(at), from, place, border);
                each(&seen, |values| match morphology {
                    Morphology::Erode(_) => values.into_iter().fold(f64::INFINITY, f64::min),
                    Morphology::Dilate(_) => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
                })
            }
            Self::Bilateral { bilateral, space, color, channels, integer } => {
                let windows: Vec<Vec<Spread>> = (0..*channels)
                    .map(|channel| {
                        let [x, y, _] = place;
                        window([bilateral.size; 2], |_| true, from, [x, y, channel], border)
                    })
                    .collect();
                let weight = |pixel: usize, difference: f64| {
                    if *integer {
                        let color = color.get(difference as usize).copied().unwrap_or(0);
                        ((space[pixel] * f64::from(color) + 128.0) / 256.0).floor()
                    } else {
                        let ratio = difference / f64::from(bilateral.sigma_color);
                        space[pixel] * (-ratio * ratio / 2.0).exp()
                    }
                };
                let mean = bilateral_mean(&windows, place[2], weight, *integer);
                let seen = &windows[place[2]];
                let largest = seen.iter().map(|pixel| pixel.value.abs()).fold(0.0, f64::max);
                let own = if *integer { 0.0 } else { 1e-4 * largest };
                Spread::exact(mean)
                    .widened(own + bilateral_carried(bilateral, space, &windows, place[2], mean))
            }
            Self::Convert { scale, offset } => convert(from.at(place), *scale, *offset),
            Self::Color(color) => recolor(**color, from, place),
        }
    }
}

/// The pixels of a window that count, row by row.
fn window(
    [width, height]: [usize; 2],
    holds: impl Fn([usize; 2]) -> bool,
    from: &Image,
    place: [usize; 3],
    border: Border,
) -> Vec<Spread> {
    let places = (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
    let offset = |[x, y]: [usize; 2]| [x as isize - (width / 2) as isize, y as isize - (height / 2) as isize];
    places.filter(|at| holds(*at)).map(|at| from.seen(place, offset(at), border)).collect()
}

/// A function that rises with every pixel, of the lowest, the likely and the highest values.
fn each(seen: &[Spread], rising: impl Fn(Vec<f64>) -> f64) -> Spread {
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

/// The weights of a linear filter for pixels of one type.
struct Weights {
    size: [usize; 2],
    each: Vec<f64>,
    divisor: f64,
    offset: f64,
    /// Whether the quotient is rounded down, as it is from integers to integers.
    whole: bool,
}

impl Weights {
    fn new(linear: &Linear, from: Element) -> Result<Self, FilterError> {
        let (size, offset) = (linear.size(), f64::from(linear.offset()));
        if from.is_float() {
            let weights = linear.real().iter().map(|weight| f64::from(*weight)).collect();
            return Ok(Self { size, each: weights, divisor: 1.0, offset, whole: false });
        }
        let fixed = linear.fixed(from)?;
        let weights = fixed.weights.iter().map(|weight| f64::from(*weight)).collect();
        let whole = !linear.result(from).is_float();
        Ok(Self { size, each: weights, divisor: f64::from(fixed.divisor), offset, whole })
    }

    fn of_gradient(gradient: Gradient, from: Element) -> Result<[Self; 2], FilterError> {
        let [across, down] = gradient.derivatives();
        Ok([Self::new(&across, from)?, Self::new(&down, from)?])
    }

    fn sum(&self, from: &Image, place: [usize; 3], border: Border) -> Spread {
        let [width, _] = self.size;
        let holds = |[x, y]: [usize; 2]| self.each[y * width + x] != 0.0;
        let seen = window(self.size, holds, from, place, border);
        let weights = self.each.iter().copied().filter(|weight| *weight != 0.0);
        let terms: Vec<(f64, Spread)> = weights.zip(seen).collect();
        if self.whole {
            let half = (self.divisor / 2.0).floor();
            let sum = weighted(&terms, 0.0);
            return sum.map(|sum| ((sum + half) / self.divisor).floor() + self.offset);
        }
        let terms: Vec<(f64, Spread)> =
            terms.into_iter().map(|(weight, pixel)| (weight / self.divisor, pixel)).collect();
        in_float(&terms, self.offset)
    }
}

/// The sum of weights times values, and `offset`.
fn weighted(terms: &[(f64, Spread)], offset: f64) -> Spread {
    let mut sum = Spread::exact(offset);
    for &(weight, pixel) in terms {
        let (low, high) = if weight < 0.0 { (pixel.high, pixel.low) } else { (pixel.low, pixel.high) };
        sum.low += weight * low;
        sum.value += weight * pixel.value;
        sum.high += weight * high;
    }
    sum
}

/// The same computed in `float`, in any order.
fn in_float(terms: &[(f64, Spread)], offset: f64) -> Spread {
    let sum = weighted(terms, offset);
    let magnitude: f64 = terms.iter().map(|(weight, pixel)| (weight * pixel.value).abs()).sum();
    if !magnitude.is_finite() {
        return Spread::exact(sum.value);
    }
    if magnitude > f64::from(f32::MAX) {
        return Spread { low: f64::NEG_INFINITY, value: sum.value, high: f64::INFINITY };
    }
    let operations = (terms.len() + 1) as f64;
    let subnormal = operations * f64::from(f32::MIN_POSITIVE);
    sum.widened(2.0 * operations * UNIT * magnitude + UNIT * sum.value.abs() + subnormal)
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

/// How far the mean may move when the pixels do, as far as their spreads let them.
///
/// The mean of pixels moved by e each moves by e. Their differences of colour move by 2 e in each channel, and a weight
/// `exp(-c^2 / 2 sigma^2)` by at most `exp(-1/2) / sigma` times that, which moves the mean by as much times the
/// pixel's distance from it: the sum of the weights is at least the centre's, 1.
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

fn recolor(color: Color, from: &Image, [x, y, channel]: [usize; 3]) -> Spread {
    let at = |channel: usize| from.at([x, y, channel]);
    let half = Spread::exact(from.element.chroma_zero());
    let integer = !from.element.is_float();
    // In steps of 2^-15, rounded half up, or in float.
    let sum = |steps: &[i32], factors: &[f32], values: &[Spread]| -> Spread {
        if integer {
            let terms: Vec<(f64, Spread)> =
                steps.iter().map(|step| f64::from(*step)).zip(values.iter().copied()).collect();
            return weighted(&terms, 16384.0).map(|sum| (sum / 32768.0).floor());
        }
        let terms: Vec<(f64, Spread)> =
            factors.iter().map(|factor| f64::from(*factor)).zip(values.iter().copied()).collect();
        in_float(&terms, 0.0)
    };
    let luma = |channels: [usize; 3]| sum(&Color::LUMA_STEPS, &Color::LUMA, &channels.map(at));
    let plus = |a: Spread, sign: f64, b: Spread| {
        let terms = [(1.0, a), (sign, b)];
        if integer { weighted(&terms, 0.0) } else { in_float(&terms, 0.0) }
    };
    match color {
        Color::RgbToGray => luma([0, 1, 2]),
        Color::BgrToGray => luma([2, 1, 0]),
        Color::GrayToRgb => at(0),
        Color::SwapRedBlue => at([2, 1, 0, 3][channel]),
        Color::AddAlpha if channel == 3 => Spread::exact(from.element.white()),
        Color::DropAlpha | Color::AddAlpha => at(channel),
        Color::RgbToYuv => {
            let luma = luma([0, 1, 2]);
            let chroma = |channel: usize, which: usize| {
                let difference = plus(at(channel), -1.0, luma);
                let scaled = sum(&Color::CHROMA_STEPS[which..], &Color::CHROMA[which..], &[difference]);
                plus(scaled, 1.0, half)
            };
            match channel {
                0 => luma,
                1 => chroma(2, 0),
                _ => chroma(0, 1),
            }
        }
        Color::YuvToRgb => {
            let uv = [1, 2].map(|channel| plus(at(channel), -1.0, half));
            let part = |range: Range<usize>, values: &[Spread]| {
                sum(&Color::CHROMA_BACK_STEPS[range.clone()], &Color::CHROMA_BACK[range], values)
            };
            match channel {
                0 => plus(at(0), 1.0, part(3..4, &uv[1..])),
                1 => plus(at(0), -1.0, part(1..3, &uv)),
                _ => plus(at(0), 1.0, part(0..1, &uv[..1])),
            }
        }
    }
}

#[cfg(test)]
mod tests;
