//! The expected results of a chain: every step on the whole image, pixel by pixel, in double precision.

mod color;
mod weights;

use weights::{Rounding, Sum, weights};

use super::super::numbers::{Kind, Span};
use super::super::rasters::{Shape, places};
use super::super::verdict::{Expected, Right};
use super::{Border, Filter, Step};
use color::recolored;

/// Unit roundoff and smallest normal number of `float`.
const UNIT: f64 = 1.0 / 16_777_216.0;
const TINY: f64 = f32::MIN_POSITIVE as f64;

/// Why there are no expected pixels.
enum Not {
    /// The chain must be refused.
    Taken,
    /// The chain may be refused.
    Sure,
}

struct Image {
    shape: Shape,
    kind: Kind,
    spans: Vec<Span>,
}

impl Image {
    fn at(&self, [x, y, channel]: [usize; 3]) -> Span {
        self.spans[(y * self.shape[0] + x) * self.shape[2] + channel]
    }

    /// The pixel that a window reads at a position that may be outside.
    fn seen(&self, [x, y]: [i64; 2], channel: usize, border: Border) -> Span {
        let [width, height, _] = self.shape.map(|extent| extent as i64);
        match (folded(x, width, border), folded(y, height, border), border) {
            (Some(x), Some(y), _) => self.at([x, y, channel]),
            (_, _, Border::Constant(value)) => Span::exact(self.kind.nearest(f64::from(value))),
            // With this border, windows that leave the image are not used.
            _ => Span::any(),
        }
    }
}

/// The position inside the image that replaces one outside: mirrored, wrapped or clamped.
fn folded(mut place: i64, extent: i64, border: Border) -> Option<usize> {
    while !(0..extent).contains(&place) {
        place = match border {
            Border::None | Border::Constant(_) => return None,
            Border::Replicate => place.clamp(0, extent - 1),
            Border::Wrap if place < 0 => place + extent,
            Border::Wrap => place - extent,
            Border::Reflect if place < 0 => -1 - place,
            Border::Reflect => 2 * extent - 1 - place,
            Border::Reflect101 if extent == 1 => 0,
            Border::Reflect101 if place < 0 => -place,
            Border::Reflect101 => 2 * (extent - 1) - place,
        };
    }
    Some(place as usize)
}

pub(super) fn expected(filter: &Filter) -> Expected {
    let (shape, kind) = filter.made();
    let source = filter.source();
    let load = |place| Span::exact(filter.kind.load(&source, filter.from.index(filter.shape(), place)));
    let spans = places(filter.shape()).map(load).collect();
    let mut image = Image { shape: filter.shape(), kind: filter.kind, spans };
    let mut exact = !filter.kind.is_float();
    for step in &filter.steps {
        exact &= !step.sums_in_float(image.kind);
        image = match made(filter, step, &image) {
            Ok(image) => image,
            Err(Not::Taken) => return Expected::Refused,
            Err(Not::Sure) => return Expected::Open,
        };
        exact &= !image.kind.is_float();
    }
    let before = filter.before();
    let mut spans = vec![None; filter.to.elements(shape)];
    for place in places(shape) {
        spans[filter.to.index(shape, place)] = Some(image.at(place));
    }
    Expected::Result(Right { kind, before, spans, same: exact, may_refuse: false })
}

fn made(filter: &Filter, step: &Step, from: &Image) -> Result<Image, Not> {
    let (channels, kind) = step.output(from.shape[2], from.kind).ok_or(Not::Taken)?;
    let shape = [from.shape[0], from.shape[1], channels];
    let size = window(step);
    let weights = weights(step, from.kind)?;
    let pointwise = matches!(step, Step::Convert { .. } | Step::Color(_));
    let alpha = filter.keep_alpha && from.shape[2] == 4 && !pointwise;
    let [rx, ry] = [size[0] / 2, size[1] / 2];
    let spans = places(shape).map(|place| {
        let [x, y, channel] = place;
        let leaves = x < rx || y < ry || x + rx >= shape[0] || y + ry >= shape[1];
        let span = if (alpha && channel == 3) || (leaves && filter.border == Border::None) {
            from.at(place)
        } else {
            value(filter.border, step, &weights, from, place, if alpha { 3 } else { channels })
        };
        span.stored(kind)
    });
    Ok(Image { shape, kind, spans: spans.collect() })
}

fn window(step: &Step) -> [usize; 2] {
    match step {
        Step::Linear { weights, .. } | Step::Real { weights, .. } => weights.size,
        Step::Median(size)
        | Step::Gaussian { size, .. }
        | Step::Unsharp { size, .. }
        | Step::Bilateral { size, .. } => [*size; 2],
        Step::Mean(size) | Step::Extreme { size, .. } => *size,
        Step::Convert { .. } | Step::Color(_) => [1, 1],
        _ => [3, 3],
    }
}

fn value(
    border: Border,
    step: &Step,
    sums: &[Sum],
    from: &Image,
    place: [usize; 3],
    filtered: usize,
) -> Span {
    let [x, y, channel] = place;
    let seen_of = |size: [usize; 2], channel: usize| {
        let [rx, ry] = [size[0] / 2, size[1] / 2].map(|radius| radius as i64);
        let (x, y) = (x as i64, y as i64);
        (-ry..=ry)
            .flat_map(move |dy| (-rx..=rx).map(move |dx| ([dx, dy], [x + dx, y + dy])))
            .map(move |(away, at)| (away, from.seen(at, channel, border)))
    };
    match step {
        Step::Median(size) => {
            let pixels: Vec<Span> = seen_of([*size; 2], channel).map(|(_, span)| span).collect();
            ranked(&pixels, |mut numbers| {
                numbers.sort_by(f64::total_cmp);
                numbers[numbers.len() / 2]
            })
        }
        Step::Extreme { dilate, cross, size } => {
            let pixels: Vec<Span> = seen_of(*size, channel)
                .filter(|([dx, dy], _)| !cross || *dx == 0 || *dy == 0)
                .map(|(_, span)| span)
                .collect();
            ranked(&pixels, |numbers| {
                let first = numbers[0];
                numbers.into_iter().fold(first, |a, b| if *dilate { a.max(b) } else { a.min(b) })
            })
        }
        Step::Bilateral { size, color, space } => {
            let windows: Vec<Vec<([i64; 2], Span)>> =
                (0..filtered).map(|channel| seen_of([*size; 2], channel).collect()).collect();
            bilateral(&windows, channel, *size, [f64::from(*color), f64::from(*space)], from.kind)
        }
        Step::Convert { scale, offset, to } => {
            let span = from.at(place);
            let each = |value: f64| f64::from((value as f32) * scale + offset);
            let mut made = span.map(each);
            if *scale < 0.0 {
                (made.low, made.high) = (made.high, made.low);
            }
            let small = span.value as f32 * scale;
            // A device may flush subnormal numbers.
            let flushes =
                [f64::from(small), span.value, made.value].iter().any(|v| v.abs() < TINY && *v != 0.0);
            if flushes && to.is_float() { made.widened(TINY * (1.0 + f64::from(scale.abs()))) } else { made }
        }
        Step::Color(color) => recolored(*color, from, place),
        Step::Gradient { .. } => {
            let [across, down] = [0, 1].map(|which: usize| {
                let sum = weighted(&sums[which], seen_of(sums[which].size, channel), from.kind, from.kind);
                let [low, high] = [sum.low, sum.high];
                let least = if low < 0.0 && high > 0.0 { 0.0 } else { low.abs().min(high.abs()) };
                if sum.any {
                    sum
                } else {
                    Span { low: least, value: sum.value.abs(), high: low.abs().max(high.abs()), any: false }
                }
            });
            let sum = across.plus(down);
            if from.kind.is_float() { sum.rounded(Kind::F32) } else { sum }
        }
        _ => {
            let (_, to) = step.output(from.shape[2], from.kind).unwrap_or((0, from.kind));
            weighted(&sums[0], seen_of(sums[0].size, channel), from.kind, to)
        }
    }
}

/// A function that does not decrease in any pixel. If a pixel is NaN, so is the result.
fn ranked(pixels: &[Span], rising: impl Fn(Vec<f64>) -> f64) -> Span {
    if pixels.iter().any(|pixel| pixel.any) {
        return Span::any();
    }
    if pixels.iter().any(|pixel| pixel.value.is_nan()) {
        return Span::exact(f64::NAN);
    }
    let all = |which: fn(&Span) -> f64| rising(pixels.iter().map(which).collect());
    Span { low: all(|p| p.low), value: all(|p| p.value), high: all(|p| p.high), any: false }
}

fn weighted(sum: &Sum, seen: impl Iterator<Item = ([i64; 2], Span)>, kind: Kind, to: Kind) -> Span {
    let mut total = Span::exact(0.0);
    let (mut magnitude, mut plain, mut largest, mut taps) = (0.0, 0.0, 0.0f64, 0usize);
    let mut brightest = 0.0f64;
    for ((_, pixel), weight) in seen.zip(&sum.weights) {
        let most = if pixel.any { f64::INFINITY } else { pixel.magnitude() };
        plain += most;
        brightest = brightest.max(most);
        if *weight == 0.0 {
            continue;
        }
        // A weight whose factors have a product below the smallest number may be used or skipped.
        if weight.abs() / sum.divisor < 1e-36 && !pixel.is_finite() {
            return Span::any();
        }
        taps += 1;
        largest = largest.max(most);
        total = total.plus(pixel.times(*weight));
        if !pixel.any && pixel.value.is_finite() {
            magnitude += (weight * most).abs();
        }
    }
    if total.any {
        return total;
    }
    if let Rounding::Float { terms } = sum.rounding {
        taps = terms;
    } else if !kind.is_float() {
        let error = match sum.rounding {
            Rounding::Exact | Rounding::Result(_) | Rounding::Float { .. } => 0.0,
            Rounding::Weights { each } => each * plain,
            // At most the largest pixel times the total error of the weights.
            Rounding::Factors { each: [a, b], sums: [across, down] } => {
                let [width, height] = sum.size.map(|extent| extent as f64);
                (a * width * down + b * height * across + a * width * b * height) * brightest
            }
        };
        total = total.widened(error);
        if !to.is_float() {
            let half = (sum.divisor / 2.0).floor();
            let rounding = sum.rounding;
            let offset = sum.offset;
            let divisor = sum.divisor;
            return match rounding {
                Rounding::Exact => total.map(|sum| ((sum + half) / divisor).floor() + offset),
                Rounding::Result(error) => {
                    let nearest = total.map(|sum| (sum / divisor + 0.5 - 1e-9).floor() + offset);
                    let above = total.map(|sum| (sum / divisor + 0.5 + 1e-9).floor() + offset);
                    Span {
                        low: nearest.low - error,
                        value: nearest.value,
                        high: above.high + error,
                        any: false,
                    }
                }
                _ => Span {
                    low: (total.low / divisor + 0.5 - 1e-9).floor() + offset,
                    value: (total.value / divisor + 0.5).floor() + offset,
                    high: (total.high / divisor + 0.5 + 1e-9).floor() + offset,
                    any: false,
                },
            };
        }
        if let Rounding::Result(error) = sum.rounding {
            total = total.widened(error * sum.divisor);
        }
    }
    if magnitude / sum.divisor > Kind::F32.precision()[2] || largest * sum.passing > Kind::F32.precision()[2]
    {
        // An intermediate sum may exceed the range of `float`; sums of infinite pixels do not count as such.
        if largest.is_finite() || magnitude > Kind::F32.precision()[2] {
            return Span::any();
        }
    }
    let made = total.times(1.0 / sum.divisor).plus(Span::exact(sum.offset));
    let taps = (taps + 1) as f64;
    made.widened(
        2.0 * taps * UNIT * (magnitude / sum.divisor)
            + 2.0 * UNIT * (made.magnitude() + sum.offset.abs())
            + taps * TINY,
    )
}

fn bilateral(
    windows: &[Vec<([i64; 2], Span)>],
    channel: usize,
    size: usize,
    [color, space]: [f64; 2],
    kind: Kind,
) -> Span {
    let radius = (size / 2) as f64;
    let centre = windows[channel].len() / 2;
    let (mut sum, mut total) = (0.0, 0.0);
    let (mut least, mut most, mut exact) = (f64::INFINITY, f64::NEG_INFINITY, true);
    for (index, ([dx, dy], pixel)) in windows[channel].iter().enumerate() {
        let away = (dx * dx + dy * dy) as f64;
        if away > radius * radius {
            continue;
        }
        if windows.iter().any(|window| window[index].1.any) {
            return Span::any();
        }
        // Pixels that are not finite do not count; if the centre is not finite, none does.
        if [index, centre].iter().any(|place| windows.iter().any(|window| !window[*place].1.is_finite())) {
            continue;
        }
        exact &= windows.iter().all(|window| window[index].1.is_exact());
        let difference: f64 =
            windows.iter().map(|window| (window[index].1.value - window[centre].1.value).abs()).sum();
        let near = (-away / (2.0 * space * space)).exp();
        let like = (-difference * difference / (2.0 * color * color)).exp();
        let weight = if kind.is_float() {
            near * like
        } else {
            let like = if difference < 65536.0 { (like * 256.0).round() } else { 0.0 };
            (((near * 256.0).round() * like + 128.0) / 256.0).floor()
        };
        sum += weight * pixel.value;
        total += weight;
        (least, most) = (least.min(pixel.low), most.max(pixel.high));
    }
    if total == 0.0 && kind.is_float() {
        return Span::exact(f64::NAN);
    }
    let largest = least.abs().max(most.abs());
    if !exact {
        // A mean is between the smallest and the largest pixel; nothing more is known if pixels are inexact.
        return Span { low: least, value: sum / total, high: most, any: false }.widened(1e-4 * largest);
    }
    if kind.is_float() {
        if largest * (size * size) as f64 > Kind::F32.precision()[2] {
            return Span::any();
        }
        return Span::exact(sum / total).widened(1e-4 * largest + TINY);
    }
    Span::exact(((sum + (total / 2.0).floor()) / total).floor())
}

/// A weighted sum in `float`, in any order.
fn in_float(terms: &[(f64, Span)]) -> Span {
    let total = terms.iter().fold(Span::exact(0.0), |sum, (weight, span)| sum.plus(span.times(*weight)));
    if total.any {
        return total;
    }
    let magnitude: f64 = terms.iter().map(|(weight, span)| weight.abs() * span.magnitude()).sum();
    if magnitude > Kind::F32.precision()[2] && terms.iter().all(|(_, span)| span.is_finite()) {
        return Span::any();
    }
    if !magnitude.is_finite() {
        return total;
    }
    let taps = (terms.len() + 1) as f64;
    total.widened(2.0 * taps * UNIT * magnitude + UNIT * total.magnitude() + taps * TINY)
}
