//! The expected results of a chain: every step on the whole image, pixel by pixel, in double precision.

use super::super::numbers::{Kind, Span};
use super::super::rasters::{Shape, places};
use super::super::verdict::{Expected, Right};
use super::{Border, Color, Filter, Step};

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

/// A weighted sum: weights, row by row, divided by a divisor, plus an offset.
struct Sum {
    size: [usize; 2],
    weights: Vec<f64>,
    divisor: f64,
    offset: f64,
    /// The largest intermediate sum of magnitudes, for pixels of 1: a pass over rows may precede the division.
    passing: f64,
    /// How weights may be rounded for integer pixels.
    rounding: Rounding,
}

#[derive(Clone, Copy)]
enum Rounding {
    /// The weights are integers.
    Exact,
    /// The maximum error of the result.
    Result(f64),
    /// The maximum error of each weight.
    Weights { each: f64 },
    /// The maximum error of each factor of the weights, and the sums of the factors' magnitudes.
    Factors { each: [f64; 2], sums: [f64; 2] },
}

/// The weighted sums of a step: one, or two derivatives.
fn weights(step: &Step, kind: Kind) -> Result<Vec<Sum>, Not> {
    let sum = |size: [usize; 2], weights: Vec<f64>, divisor: f64, offset: f64| {
        let passing = weights.iter().map(|weight| weight.abs()).sum();
        Sum { size, weights, divisor, offset, passing, rounding: Rounding::Exact }
    };
    let ones = |weights: &[i64], size| sum(size, weights.iter().map(|w| *w as f64).collect(), 1.0, 0.0);
    let outer = |across: &[f64], down: &[f64]| -> Vec<f64> {
        down.iter().flat_map(|y| across.iter().map(move |x| x * y)).collect()
    };
    let derivative = |scharr: bool, down: bool| {
        let smooth = if scharr { [3.0, 10.0, 3.0] } else { [1.0, 2.0, 1.0] };
        let slope = [-1.0, 0.0, 1.0];
        let weights = if down { outer(&smooth, &slope) } else { outer(&slope, &smooth) };
        sum([3, 3], weights, 1.0, 0.0)
    };
    let sums = match step {
        Step::Linear { weights, divisor, offset, .. } => {
            let all = weights.all().into_iter().map(|weight| weight as f64).collect();
            vec![sum(weights.size, all, f64::from(*divisor), f64::from(*offset))]
        }
        Step::Real { weights, scale, offset, .. } => {
            let (factors, full) = weights.real(*scale);
            let wide = |numbers: &[f32]| numbers.iter().map(|number| f64::from(*number)).collect::<Vec<_>>();
            let size_of = |numbers: &[f32]| numbers.iter().map(|number| f64::from(number.abs())).sum();
            let (all, sizes) = match factors {
                Some([across, down]) => {
                    (outer(&wide(&across), &wide(&down)), Some([size_of(&across), size_of(&down)]))
                }
                None => (wide(&full), None),
            };
            let mut sum = sum(weights.size, all, 1.0, f64::from(*offset));
            sum.rounding = real_rounding(&sum.weights, sizes, kind)?;
            vec![sum]
        }
        Step::Gaussian { size, sigma } => {
            let (numbers, table) = gaussian(*size, *sigma);
            let total: f64 = numbers.iter().sum();
            if table {
                return checked(vec![sum([*size; 2], outer(&numbers, &numbers), total * total, 0.0)], kind);
            }
            let parts: Vec<f64> = numbers.iter().map(|number| number / total).collect();
            let mut sum = sum([*size; 2], outer(&parts, &parts), 1.0, 0.0);
            // The error of a result is at most 1 for bytes; for 16 bits it is the largest pixel times the extent /
            // 2^9, and three times that if signed.
            sum.rounding = match kind {
                Kind::U8 => Rounding::Result(1.0),
                Kind::U16 => Rounding::Result(65535.0 * *size as f64 / 512.0),
                Kind::I16 => Rounding::Result(3.0 * 32768.0 * *size as f64 / 512.0),
                _ => Rounding::Exact,
            };
            vec![sum]
        }
        Step::Unsharp { size, sigma, amount } => {
            let (numbers, _) = gaussian(*size, *sigma);
            let total: f64 = numbers.iter().sum();
            let amount = f64::from(*amount);
            let mut all: Vec<f64> = outer(&numbers, &numbers)
                .into_iter()
                .map(|weight| -amount * weight / (total * total))
                .collect();
            let centre = all.len() / 2;
            all[centre] += 1.0 + amount;
            let mut sum = sum([*size; 2], all, 1.0, 0.0);
            sum.rounding = real_rounding(&sum.weights, None, kind)?;
            vec![sum]
        }
        Step::Mean([width, height]) => {
            vec![sum([*width, *height], vec![1.0; width * height], (width * height) as f64, 0.0)]
        }
        Step::Laplace4 => vec![ones(&[0, 1, 0, 1, -4, 1, 0, 1, 0], [3, 3])],
        Step::Laplace8 => vec![ones(&[1, 1, 1, 1, -8, 1, 1, 1, 1], [3, 3])],
        Step::LaplaceSharpen => vec![ones(&[-1, -1, -1, -1, 9, -1, -1, -1, -1], [3, 3])],
        Step::Sharpen => vec![ones(&[0, -1, 0, -1, 5, -1, 0, -1, 0], [3, 3])],
        Step::Derivative { scharr, down } => vec![derivative(*scharr, *down)],
        Step::Gradient { scharr } => vec![derivative(*scharr, false), derivative(*scharr, true)],
        _ => Vec::new(),
    };
    checked(sums, kind)
}

/// Sums of integer weights and pixels that exceed 32 bits are refused.
fn checked(sums: Vec<Sum>, kind: Kind) -> Result<Vec<Sum>, Not> {
    if let Some([low, high]) = kind.range() {
        for sum in sums.iter().filter(|sum| matches!(sum.rounding, Rounding::Exact)) {
            let half = (sum.divisor / 2.0).floor();
            // 32 bits, unsigned if neither pixels nor weights are negative and the divisor is above 1.
            let unsigned = low == 0.0 && sum.divisor > 1.0 && sum.weights.iter().all(|weight| *weight >= 0.0);
            let limit = f64::from(if unsigned { u32::MAX } else { i32::MAX as u32 });
            let magnitude: f64 = sum.weights.iter().map(|weight| weight.abs()).sum();
            if magnitude * high.max(-low) + half <= limit {
                continue;
            }
            let extreme = |positive: f64, negative: f64| -> f64 {
                sum.weights.iter().map(|w| w * if *w > 0.0 { positive } else { negative }).sum()
            };
            let leaves = extreme(low, high) < f64::from(i32::MIN) || extreme(high, low) + half > limit;
            return Err(if leaves { Not::Taken } else { Not::Sure });
        }
    }
    Ok(sums)
}

/// On integer pixels, real weights are rounded to multiples of a power of two, each with an error of at most one step.
/// For a full window, it is the smallest step, down to 2^-22, with which no sum exceeds 30 bits; for factors it is at
/// most 2^-8 if there is room, 2^-7 for 16 bits. Sums that exceed 32 bits are refused.
fn real_rounding(weights: &[f64], factors: Option<[f64; 2]>, kind: Kind) -> Result<Rounding, Not> {
    let Some([low, high]) = kind.range() else { return Ok(Rounding::Exact) };
    let largest = high.max(-low);
    let all = weights.iter().map(|weight| weight.abs()).sum::<f64>() * largest;
    let Some([across, down]) = factors else {
        let limit = 2f64.powi(30);
        if all > 1.2 * limit {
            return Err(Not::Taken);
        }
        let bits = (0..=22).rev().find(|bits| all * 2f64.powi(*bits) < limit);
        return bits.map(|bits| Rounding::Weights { each: 2f64.powi(-bits) }).ok_or(Not::Sure);
    };
    let bits = if kind == Kind::U8 { [8, 8] } else { [8, 7] };
    let alone = (across * 2f64.powi(bits[0])).max(down * 2f64.powi(bits[1])) * largest;
    if all > 1.2 * 2f64.powi(32) {
        return Err(Not::Taken);
    }
    // With less room, fewer bits are used.
    let room = if low == 0.0 && weights.iter().all(|weight| *weight >= 0.0) {
        0.9 * 2f64.powi(32)
    } else {
        0.9 * 2f64.powi(31)
    };
    if all * 2f64.powi(bits[0] + bits[1]) > room || alone > room {
        return Err(Not::Sure);
    }
    Ok(Rounding::Factors { each: bits.map(|bits| 2f64.powi(-bits)), sums: [across, down] })
}

/// The weights of one axis, and whether they are integers from a table.
fn gaussian(size: usize, sigma: Option<f32>) -> (Vec<f64>, bool) {
    let table: &[f64] = match (size, sigma) {
        (1, None) => &[1.0],
        (3, None) => &[1.0, 2.0, 1.0],
        (5, None) => &[1.0, 4.0, 6.0, 4.0, 1.0],
        (7, None) => &[8.0, 28.0, 56.0, 72.0, 56.0, 28.0, 8.0],
        _ => &[],
    };
    if !table.is_empty() {
        return (table.to_vec(), true);
    }
    let sigma = sigma.map_or(0.3 * ((size as f64 - 1.0) * 0.5 - 1.0) + 0.8, f64::from);
    let numbers = (0..size).map(|i| {
        let away = (i as f64 - (size as f64 - 1.0) / 2.0) / sigma;
        (-0.5 * away * away).exp()
    });
    (numbers.collect(), false)
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

/// A function that does not decrease in any pixel. If a pixel is NaN, the result is unspecified.
fn ranked(pixels: &[Span], rising: impl Fn(Vec<f64>) -> f64) -> Span {
    if pixels.iter().any(|pixel| pixel.any || pixel.value.is_nan()) {
        return Span::any();
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
    let float = kind.is_float();
    if !float {
        let error = match sum.rounding {
            Rounding::Exact | Rounding::Result(_) => 0.0,
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

fn recolored(color: Color, from: &Image, [x, y, channel]: [usize; 3]) -> Span {
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
