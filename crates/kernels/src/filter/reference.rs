//! The reference of a chain, slow and plain.
//!
//! Borders, indices, weights, tables and colour coefficients are computed here independently of the code under test.
//! One thing is shared: the integers that real weights are rounded to ([`Linear::fixed`]). Tests compare those with
//! sums in `f64`.

use std::ops::Range;

use bytemuck::pod_read_unaligned;
use half::f16;
use thiserror::Error;

use super::{
    Bilateral, Border, Chain, Color, Element, FilterError, Gradient, Layout, Linear, Morphology,
    Neighbourhood, Raster, Stage, Taps,
};

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

/// A value with the range that correct implementations may return.
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
        self.low == self.high || self.value.is_nan()
    }

    /// Applies a non-decreasing function to all three.
    fn map(self, rising: impl Fn(f64) -> f64) -> Self {
        Self { low: rising(self.low), value: rising(self.value), high: rising(self.high) }
    }

    fn widened(self, error: f64) -> Self {
        Self { low: self.low - error, value: self.value, high: self.high + error }
    }

    /// Rounded to the nearest value of the element type (ties to even) and saturated.
    fn stored(self, element: Element) -> Self {
        self.map(|value| nearest(element, value))
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

    /// The value that a window sees at `offset` from a pixel of the image.
    fn seen(&self, [x, y, channel]: [usize; 3], offset: [isize; 2], border: Border) -> Spread {
        let across = folded(border, x as isize + offset[0], self.width as isize);
        let down = folded(border, y as isize + offset[1], self.height as isize);
        match (across, down, border) {
            (Some(x), Some(y), _) => self.at([x, y, channel]),
            (_, _, Border::Constant(value)) => Spread::exact(f64::from(value)).stored(self.element),
            // Not reached: without a border, windows that leave the image are not evaluated.
            _ => Spread::exact(0.0),
        }
    }
}

/// The coordinate inside the image whose pixel is seen at `place`, folded one border step at a time.
fn folded(border: Border, mut place: isize, extent: isize) -> Option<usize> {
    while place < 0 || place >= extent {
        place = match (border, place < 0) {
            (Border::None | Border::Constant(_), _) => return None,
            (Border::Replicate, true) => 0,
            (Border::Replicate, false) => extent - 1,
            (Border::Wrap, true) => place + extent,
            (Border::Wrap, false) => place - extent,
            (Border::Reflect, true) => -1 - place,
            (Border::Reflect, false) => 2 * extent - 1 - place,
            (Border::Reflect101, _) if extent == 1 => 0,
            (Border::Reflect101, true) => -place,
            (Border::Reflect101, false) => 2 * (extent - 1) - place,
        };
    }
    Some(place as usize)
}

/// The nearest value of the type: integers round ties to even and saturate; NaN becomes 0.
fn nearest(element: Element, value: f64) -> f64 {
    let (low, high) = match element {
        Element::U8 => (0.0, 255.0),
        Element::I16 => (-32768.0, 32767.0),
        Element::U16 => (0.0, 65535.0),
        Element::F16 => return f16::from_f32(value as f32).to_f64(),
        Element::F32 => return f64::from(value as f32),
    };
    if value.is_nan() { 0.0 } else { value.max(low).min(high).round_ties_even() }
}

/// Positions (x, y, channel) of a raster, row by row, with their indices in its slice.
pub(super) fn places(raster: &Raster) -> impl Iterator<Item = ([usize; 3], usize)> {
    let Raster { width, height, channels, layout, offset, pitch, plane_pitch, .. } = *raster;
    let index = move |x: usize, y: usize, channel: usize| match layout {
        Layout::Packed => offset + y * pitch + x * channels + channel,
        Layout::Planar => offset + channel * plane_pitch + y * pitch + x,
    };
    let pixels = (0..height).flat_map(move |y| (0..width).map(move |x| [x, y]));
    pixels.flat_map(move |[x, y]| (0..channels).map(move |channel| ([x, y, channel], index(x, y, channel))))
}

/// Stores a value, rounded to the nearest value of the type if it is not exact.
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

/// A stage with the data it needs for every pixel.
enum Operation<'s> {
    Linear(Weights),
    Gradient([Weights; 2]),
    Median(usize),
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
            Stage::Median { size } => Self::Median(*size),
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
                let holds = |[x, y]: [usize; 2]| match neighbourhood {
                    Neighbourhood::Rectangle(_) => true,
                    Neighbourhood::Cross([width, height]) => 2 * x + 1 == width || 2 * y + 1 == height,
                };
                let seen = window(size, holds, from, place, border);
                each(&seen, |values| match morphology {
                    Morphology::Erode(_) => values.into_iter().fold(f64::INFINITY, f64::min),
                    Morphology::Dilate(_) => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
                })
            }
            Self::Bilateral { bilateral, space, channels, integer } => {
                let windows: Vec<Vec<Spread>> = (0..*channels)
                    .map(|channel| {
                        let [x, y, _] = place;
                        window([bilateral.size; 2], |_| true, from, [x, y, channel], border)
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

/// A function that rises with every pixel, applied to the low, the exact and the high values.
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
    /// Whether the quotient is rounded down, as from integers to integers.
    whole: bool,
}

impl Weights {
    fn new(linear: &Linear, from: Element) -> Result<Self, FilterError> {
        let (size, offset) = (linear.size(), f64::from(linear.offset()));
        let divisor = f64::from(linear.divisor());
        let outer = |across: Vec<f64>, down: Vec<f64>| -> Vec<f64> {
            down.iter().flat_map(|down| across.iter().map(move |across| across * down)).collect()
        };
        let doubles =
            |weights: &[f32]| -> Vec<f64> { weights.iter().map(|weight| f64::from(*weight)).collect() };
        let integers =
            |weights: &[i32]| -> Vec<f64> { weights.iter().map(|weight| f64::from(*weight)).collect() };
        let each = match linear.taps() {
            Taps::Full(weights) => integers(weights),
            Taps::Separable { across, down } => outer(integers(across), integers(down)),
            Taps::FullReal(weights) => doubles(weights),
            Taps::SeparableReal { across, down } => outer(doubles(across), doubles(down)),
        };
        let whole = !from.is_float() && !linear.result(from).is_float();
        match linear.taps() {
            Taps::FullReal(_) | Taps::SeparableReal { .. } if !from.is_float() => {
                let fixed = linear.fixed(from)?;
                let each = integers(&fixed.weights);
                Ok(Self { size, each, divisor: f64::from(fixed.divisor), offset, whole })
            }
            _ => Ok(Self { size, each, divisor, offset, whole }),
        }
    }

    fn of_gradient(gradient: Gradient, whole: bool) -> [Self; 2] {
        let [side, middle] = match gradient {
            Gradient::Sobel => [1.0, 2.0],
            Gradient::Scharr => [3.0, 10.0],
        };
        let across = [-side, 0.0, side, -middle, 0.0, middle, -side, 0.0, side];
        let down = [-side, -middle, -side, 0.0, 0.0, 0.0, side, middle, side];
        [across, down].map(|each| Self {
            size: [3, 3],
            each: each.to_vec(),
            divisor: 1.0,
            offset: 0.0,
            whole,
        })
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

/// The sum of weights times values, plus `offset`.
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

/// The same sum computed in `float`, in any order.
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

fn recolor(color: Color, from: &Image, [x, y, channel]: [usize; 3]) -> Spread {
    let at = |channel: usize| from.at([x, y, channel]);
    let (half, white) = match from.element {
        Element::U8 => (128.0, 255.0),
        Element::U16 => (32768.0, 65535.0),
        Element::I16 => (0.0, 32767.0),
        Element::F16 | Element::F32 => (0.5, 1.0),
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

#[cfg(test)]
mod tests;
