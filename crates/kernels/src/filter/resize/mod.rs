//! Resizing images.

mod kernels;
mod reference;

use std::sync::Arc;

use bytemuck::cast_slice;
use tripipe_device::Probe;
use tripipe_launch::NdRange;

use super::pixel::elements;
use super::plan::{arguments, indexable};
use super::{FilterError, PixelType, Raster, Size};
use crate::Role;
use crate::plan::{Plan, PlanError};
use crate::source::RESIZE;

pub use reference::resize_reference;

/// How the pixels of a resized image are computed. Pixel centres are at halves, so the edges of both images coincide.
///
/// Columns and rows are weighted sums of source columns and rows, by weights that sum to 1. A pixel whose weight is 0
/// is not read. *Integer pixels:* weights are multiples of 2^-11 or of 2^-18 ([`Interpolation::bits`]): the
/// cumulative weight up to a pixel, rounded half up, less the cumulative weight before it. The sum over both
/// directions is exact, is rounded once, half up, and saturated. *Floating-point pixels:* in `float`, within (columns +
/// rows of the sum + 8) 2^-24 of the largest magnitude that is read; three times that where weights are below 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// The pixel at `floor(x * from / to)`.
    Nearest,
    /// The two nearest pixels along each axis; at the edge, the outermost pixel.
    Bilinear,
    /// The mean of the source area that the pixel covers; partly covered pixels count in proportion. For shrinking:
    /// when enlarging, most pixels cover one source pixel.
    Area,
    /// Keys' cubic convolution with a = -0.75 over the four nearest pixels along each axis; at the edge, the outermost
    /// pixel stands for those outside. Some weights are below 0, so results overshoot at edges. For enlarging: it reads
    /// no more pixels when shrinking.
    Cubic,
    /// Lanczos' kernel with 4 lobes over the eight nearest pixels along each axis, divided by the sum of its weights;
    /// otherwise as `Cubic`.
    Lanczos4,
}

/// The start of each weighted sum along one axis, and its weights.
#[derive(Clone, Debug, PartialEq)]
pub struct ResizeTaps {
    /// Weights per sum.
    pub count: usize,
    /// First source pixel of each result pixel; `first + count` stays inside the source.
    pub first: Vec<i32>,
    /// `count` weights for each result pixel.
    parts: Parts,
}

/// Weights of sums.
#[derive(Clone, Debug, PartialEq)]
enum Parts {
    /// Multiples of 1 / `unit`; each group sums to `unit`.
    Whole { parts: Vec<u64>, unit: u64 },
    /// Numbers; each group sums to 1, up to rounding.
    Real(Vec<f64>),
}

impl ResizeTaps {
    /// The weights, `count` for each result pixel.
    pub fn weights(&self) -> Vec<f64> {
        match &self.parts {
            Parts::Whole { parts, unit } => parts.iter().map(|part| *part as f64 / *unit as f64).collect(),
            Parts::Real(weights) => weights.clone(),
        }
    }

    /// The weights in steps of 2^-`bits` (at most 18 bits); the weights of each pixel sum to 2^`bits`. A rounding
    /// error carries over to the next weight, so that no run of weights is too large by more than one step.
    pub fn steps(&self, bits: u32) -> Vec<i32> {
        let count = self.count.max(1);
        let mut all = Vec::with_capacity(count * self.first.len());
        match &self.parts {
            Parts::Whole { parts, unit } => {
                let half = unit / 2;
                for parts in parts.chunks(count) {
                    let (mut sum, mut before) = (0, 0);
                    for part in parts {
                        sum += part;
                        let steps = if sum == *unit {
                            1 << bits
                        } else {
                            // Exact: a quotient of integers below 2^53 that is not an integer never rounds to one, and the
                            // sum is below 2^33 x 2^18. On many processors a division of 64-bit integers takes ten times
                            // as long.
                            (((sum << bits) + half) as f64 / *unit as f64) as u64
                        };
                        all.push((steps - before) as i32);
                        before = steps;
                    }
                }
            }
            Parts::Real(weights) => {
                for weights in weights.chunks(count) {
                    let (mut sum, mut before) = (0.0, 0);
                    for (place, weight) in weights.iter().enumerate() {
                        sum += weight;
                        let rounded = (sum * f64::from(1 << bits) + 0.5).floor() as i32;
                        let steps = if place + 1 == weights.len() { 1 << bits } else { rounded };
                        all.push(steps - before);
                        before = steps;
                    }
                }
            }
        }
        all
    }
}

impl Interpolation {
    /// Bits of integer weights after the binary point: 11 for bytes, 18 for 16-bit pixels and when more than 16 bytes
    /// in a row are averaged. Results are then off by at most 1, except for the mean of more than 8 elements of 16
    /// bits (2000 bytes) in a row that alternate between high and low.
    pub fn bits(self, from: &Raster, to: &Raster) -> u32 {
        let many = |from: usize, to: usize| self == Self::Area && from > to.saturating_mul(16);
        let fine =
            from.element != PixelType::U8 || many(from.width, to.width) || many(from.height, to.height);
        if fine { 18 } else { COARSE }
    }

    /// Whether weights may be below 0, so that sums may exceed the pixels.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::Cubic | Self::Lanczos4)
    }

    /// The sums along one axis that turn `from` pixels into `to` pixels.
    ///
    /// # Errors
    /// No pixels, or more than an `int` can count.
    pub fn taps(self, from: usize, to: usize) -> Result<ResizeTaps, FilterError> {
        if [from, to].iter().any(|extent| *extent == 0 || i32::try_from(*extent).is_err()) {
            return Err(FilterError::TooLarge { size: Size::new(from, to) });
        }
        if let Some(kernel) = kernels::DistanceWeight::of(self) {
            return Ok(kernel.taps(from, to));
        }
        let whole = |extent: usize| extent as u64;
        let (source, result) = (whole(from), whole(to));
        let (count, unit) = match self {
            Self::Bilinear => (from.min(2), 2 * result),
            Self::Area => {
                let edges = Quotients::new(0, source, result);
                let seen =
                    edges.clone().zip(edges.skip(1)).map(|(begin, end)| end.rounded_up() - begin.quotient);
                (seen.take(to).max().unwrap_or(1) as usize, source)
            }
            _ => (1, 1),
        };
        let (mut first, mut all) = (Vec::with_capacity(to), vec![0; count * to]);
        let sums = all.chunks_exact_mut(count);
        match self {
            Self::Bilinear => {
                // Twice the centre of each result pixel in source coordinates, less 1, in units of 1 / `to`.
                let centres = Quotients::new(from as i64 - to as i64, 2 * source, unit);
                let last = from as i64 - 1;
                for (centre, parts) in centres.zip(sums) {
                    let (left, right) = match centre.quotient {
                        ..0 => (0, 0),
                        quotient if quotient >= last => (last, 0),
                        quotient => (quotient, centre.remainder),
                    };
                    let begin = left.min((from - count) as i64);
                    first.push(begin as i32);
                    let place = (left - begin) as usize;
                    parts[place] = unit - right;
                    if let Some(part) = parts.get_mut(place + 1) {
                        *part = right;
                    }
                }
            }
            Self::Area => {
                // The edges of result pixels, in units of 1 / `to` of a source pixel, where they are integers.
                let edges = Quotients::new(0, source, result);
                for ((begin, end), parts) in edges.clone().zip(edges.skip(1)).zip(sums) {
                    let start = begin.quotient.min((from - count) as i64);
                    first.push(start as i32);
                    let seen = begin.quotient - start..end.rounded_up() - start;
                    let seen = &mut parts[seen.start as usize..seen.end as usize];
                    seen.fill(result);
                    // What the first and the last one are not covered by.
                    if let Some(part) = seen.first_mut() {
                        *part -= begin.remainder;
                    }
                    if let Some(part) = seen.last_mut().filter(|_| end.remainder > 0) {
                        *part -= result - end.remainder;
                    }
                }
            }
            _ => {
                all.fill(1);
                first.extend(Quotients::new(0, source, result).map(|at| at.quotient as i32).take(to));
            }
        }
        Ok(ResizeTaps { count, first, parts: Parts::Whole { parts: all, unit } })
    }
}

/// A quotient rounded down, and its remainder.
#[derive(Clone, Copy)]
struct Quotient {
    quotient: i64,
    remainder: u64,
}

impl Quotient {
    fn rounded_up(self) -> i64 {
        self.quotient + i64::from(self.remainder > 0)
    }
}

/// The quotients of a start, the start plus a step, and so on, by one divisor: two divisions for all of them.
#[derive(Clone)]
struct Quotients {
    next: Quotient,
    step: Quotient,
    divisor: u64,
}

impl Quotients {
    /// All three are below 2^33, and the divisor is not 0.
    fn new(start: i64, step: u64, divisor: u64) -> Self {
        let [next, step] = [start, step as i64].map(|dividend| Quotient {
            quotient: dividend.div_euclid(divisor as i64),
            remainder: dividend.rem_euclid(divisor as i64) as u64,
        });
        Self { next, step, divisor }
    }
}

impl Iterator for Quotients {
    type Item = Quotient;

    fn next(&mut self) -> Option<Quotient> {
        let now = self.next;
        let remainder = now.remainder + self.step.remainder;
        let over = remainder >= self.divisor;
        self.next = Quotient {
            quotient: now.quotient + self.step.quotient + i64::from(over),
            remainder: if over { remainder - self.divisor } else { remainder },
        };
        Some(now)
    }
}

/// [`Interpolation::bits`] for bytes when few are averaged.
const COARSE: u32 = 11;

pub(super) fn check(from: &Raster, to: &Raster) -> Result<(), FilterError> {
    from.elements()?;
    to.elements()?;
    if from.channels == to.channels && from.element == to.element && from.is_empty() == to.is_empty() {
        return Ok(());
    }
    Err(FilterError::result(to.size(), from.channels, from.element, to))
}

/// An image resized to the extents of `to`: from the buffer of [`Role::Source`] to that of [`Role::Result`], which must
/// differ. Only the pixels of `to` are written.
///
/// # Errors
/// Channels or element types differ; only one of the images is empty; an image that a `uint` cannot index.
pub fn resize(
    interpolation: Interpolation,
    from: &Raster,
    to: &Raster,
    probe: &Probe,
) -> Result<Plan<'static>, PlanError> {
    check(from, to)?;
    indexable(from)?;
    indexable(to)?;
    let mut plan = Plan::new();
    let slots = [Role::Source, Role::Result].map(|role| plan.operand(role));
    if to.is_empty() {
        return Ok(plan);
    }
    let float = from.element.is_float();
    let bits = interpolation.bits(from, to);
    let (sum, weight) = match from.element {
        _ if float => ("float", "float"),
        _ if bits == COARSE => ("int", "short"),
        _ => ("long", "int"),
    };
    let axes = [interpolation.taps(from.width, to.width)?, interpolation.taps(from.height, to.height)?];
    // Longer loops gain nothing from a count known at compile time, and each count would need its own program.
    let known = axes.iter().all(|axis| axis.count <= 2);
    let program = elements(RESIZE.program(), [from, to])
        .define("SUM", sum)
        .define("WEIGHT", weight)
        .define("BITS", bits)
        .define("SIGNED", usize::from(interpolation.is_signed()))
        .define("TAPS_X", if known { axes[0].count } else { 0 })
        .define("TAPS_Y", if known { axes[1].count } else { 0 });
    let mut arguments = arguments(slots, [None; 2], [from, to], to.size());
    for axis in &axes {
        let weights = if float {
            let weights: Vec<f32> = axis.weights().iter().map(|weight| *weight as f32).collect();
            cast_slice(&weights).to_vec()
        } else if bits == COARSE {
            let steps: Vec<i16> = axis.steps(bits).iter().map(|steps| *steps as i16).collect();
            cast_slice(&steps).to_vec()
        } else {
            cast_slice(&axis.steps(bits)).to_vec()
        };
        let first = cast_slice(&axis.first).to_vec();
        arguments = arguments.with_all([first, weights].map(|table| plan.input(table)));
    }
    let arguments = arguments.with_all(axes.map(|axis| axis.count as i32));
    let group = work_group(probe);
    let range = NdRange::d2(to.width.next_multiple_of(group[0]), to.height.next_multiple_of(group[1]));
    plan.launch(&Arc::new(program), "filter_resize", arguments, range.local(group[0], group[1], 1));
    Ok(plan)
}

/// Work-group size for kernels of one pixel per work-item: as wide as a warp, and within the limit of every device.
pub(super) fn work_group(probe: &Probe) -> [usize; 2] {
    if probe.max_work_group_size == 0 || probe.max_work_group_size >= 64 { [16, 4] } else { [1, 1] }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    const ALL: [Interpolation; 5] = [
        Interpolation::Nearest,
        Interpolation::Bilinear,
        Interpolation::Area,
        Interpolation::Cubic,
        Interpolation::Lanczos4,
    ];

    /// Steps are never below 0 and sum to 1. The steps of 83 equal weights are 24 or 25 of 2048 and never differ by
    /// two.
    #[test]
    fn rounded_steps_sum_to_1() -> Result<(), FilterError> {
        let steps = Interpolation::Area.taps(83, 1)?.steps(11);
        assert_eq!(steps.iter().sum::<i32>(), 2048);
        assert!(steps.iter().all(|step| [24, 25].contains(step)), "{steps:?}");
        for (from, to) in [(5000, 1), (4097, 2), (7, 5), (5, 7)] {
            for interpolation in ALL {
                let taps = interpolation.taps(from, to)?;
                for bits in [11, 18] {
                    let steps = taps.steps(bits);
                    assert!(steps.chunks(taps.count).all(|steps| steps.iter().sum::<i32>() == 1 << bits));
                }
                assert!(taps.first.iter().all(|first| *first as usize + taps.count <= from));
            }
        }
        // Halfway between two centres, and a quarter beyond.
        assert_eq!(Interpolation::Bilinear.taps(2, 4)?.steps(11), [2048, 0, 1536, 512, 512, 1536, 0, 2048]);
        Ok(())
    }

    /// The definition, pixel by pixel: distances of centres, and lengths that two intervals have in common.
    #[test]
    fn weights_are_those_of_the_definition() -> Result<(), FilterError> {
        let extents = [1usize, 2, 3, 4, 5, 7, 12, 31, 64, 100];
        for (from, to) in extents.into_iter().flat_map(|from| extents.map(|to| (from, to))) {
            let scale = from as f64 / to as f64;
            for interpolation in ALL {
                let taps = interpolation.taps(from, to)?;
                let weights = taps.weights();
                assert_eq!([taps.first.len(), weights.len()], [to, to * taps.count]);
                for x in 0..to {
                    let mut found = vec![0.0; from];
                    for tap in 0..taps.count {
                        found[taps.first[x] as usize + tap] += weights[x * taps.count + tap];
                    }
                    let exact = (x as f64 + 0.5) * scale - 0.5;
                    let centre = exact.clamp(0.0, from as f64 - 1.0);
                    // Of an image without edges: pixels outside count for the outermost one.
                    let endless = |place: f64, weight: &dyn Fn(f64) -> f64| -> f64 {
                        let all: Vec<f64> = (-9..from as i32 + 9).map(f64::from).collect();
                        let of = |place: &&f64| place.clamp(0.0, from as f64 - 1.0);
                        let sum: f64 = all.iter().map(|place| weight((place - exact).abs())).sum();
                        let own = all.iter().filter(|other| of(other) == place);
                        own.map(|place| weight((place - exact).abs())).sum::<f64>() / sum
                    };
                    let [begin, end] = [x, x + 1].map(|edge| edge as f64 * scale);
                    for (pixel, found) in found.iter().enumerate() {
                        let place = pixel as f64;
                        let want = match interpolation {
                            Interpolation::Nearest => f64::from(u8::from(pixel == x * from / to)),
                            Interpolation::Bilinear => (1.0 - (place - centre).abs()).max(0.0),
                            Interpolation::Area => (end.min(place + 1.0) - begin.max(place)).max(0.0) / scale,
                            Interpolation::Cubic => endless(place, &|away| match away {
                                ..1.0 => 1.25 * away.powi(3) - 2.25 * away.powi(2) + 1.0,
                                ..2.0 => -0.75 * (away.powi(3) - 5.0 * away.powi(2) + 8.0 * away - 4.0),
                                _ => 0.0,
                            }),
                            Interpolation::Lanczos4 => endless(place, &|away| {
                                let sinc = |x: f64| if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) };
                                if away < 4.0 { sinc(away) * sinc(away / 4.0) } else { 0.0 }
                            }),
                        };
                        assert!(
                            (found - want).abs() < 1e-12,
                            "{interpolation:?} {from} {to}: {x} {pixel}: {found}, {want}"
                        );
                    }
                }
            }
        }
        Ok(())
    }

    #[test]
    fn extents_that_no_image_has_are_refused() {
        for (from, to) in [(0, 1), (1, 0), (usize::MAX, 1), (1, usize::MAX), (1 << 31, 7)] {
            assert!(matches!(Interpolation::Area.taps(from, to), Err(FilterError::TooLarge { .. })));
        }
    }

    /// All thumbnails of a picture share one program.
    #[test]
    fn sizes_are_arguments() -> Result<(), PlanError> {
        let from = Raster::packed(Size::new(640, 480), 3, PixelType::U8);
        for interpolation in ALL {
            let mut programs = Vec::new();
            for turn in 0..20 {
                let to = Raster::packed(Size::new(60 + 13 * turn, 45 + 7 * turn), 3, PixelType::U8);
                let plan = resize(interpolation, &from, &to, &Probe::default())?;
                programs.extend(plan.launches().iter().map(|launch| launch.program.build_options()));
            }
            assert_eq!(programs.len(), 20);
            programs.dedup();
            assert_eq!(programs.len(), 1, "{interpolation:?}: {programs:?}");
        }
        Ok(())
    }
}
