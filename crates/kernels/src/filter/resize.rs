//! Images of other extents.

use std::borrow::Cow;
use std::sync::Arc;

use bytemuck::cast_slice;
use tripipe_device::Probe;
use tripipe_launch::{NdRange, Program};

use super::plan::{arguments, indexable};
use super::reference::{check_length, load, places, store};
use super::{Element, FilterError, Layout, Raster};
use crate::plan::{Plan, PlanError};

/// How pixels of other extents are made. Pixel centres are at halves, so the edges of both images lie on each other.
///
/// Columns and rows are weighted sums of source columns and rows, by weights that sum to 1. *Integer pixels:* weights are multiples of 2^-11
/// ([`Interpolation::taps`]), the sum of both directions is exact, and is rounded once, half up. *Floating-point pixels:* in `float`,
/// within 2^-20 of the largest magnitude that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// The pixel at `floor(x * from / to)`.
    Nearest,
    /// The two nearest pixels along each axis; at the edge the outermost one.
    Bilinear,
    /// The mean of what the pixel covers in the source, pixels that it covers in part counting in part. For shrinking: when enlarging
    /// most pixels cover one.
    Area,
}

/// A weight of 1.
const ONE: f64 = 2048.0;

/// Where the weighted sums along one axis begin, and their weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Taps {
    /// Weights of each sum.
    pub count: usize,
    /// First source pixel of each result pixel; with `count` it stays inside the source.
    pub first: Vec<i32>,
    /// `count` for each result pixel.
    pub weights: Vec<f64>,
}

impl Taps {
    /// The weights in steps of 2^-11, those of each pixel with a sum of 2048: what rounding leaves goes to the largest.
    pub fn steps(&self) -> Vec<u16> {
        let mut all = Vec::with_capacity(self.weights.len());
        for weights in self.weights.chunks(self.count) {
            let mut steps: Vec<i32> = weights.iter().map(|weight| (weight * ONE).round() as i32).collect();
            let left = ONE as i32 - steps.iter().sum::<i32>();
            if let Some(largest) = (0..steps.len()).max_by_key(|at| (steps[*at], usize::MAX - at)) {
                steps[largest] += left;
            }
            all.extend(steps.iter().map(|step| *step as u16));
        }
        all
    }
}

impl Interpolation {
    /// The sums along one axis of `from` pixels that make `to` pixels; both at least 1.
    pub fn taps(self, from: usize, to: usize) -> Taps {
        let ratio = from as f64 / to as f64;
        let place = |at: usize| ((at as f64 + 0.5) * ratio - 0.5).clamp(0.0, (from - 1) as f64);
        // The source pixels of a result pixel.
        let seen = |at: usize| match self {
            Self::Nearest => at * from / to..at * from / to + 1,
            Self::Bilinear => place(at) as usize..from.min(place(at) as usize + 2),
            Self::Area => at * from / to..((at + 1) * from).div_ceil(to),
        };
        let weight = |at: usize, pixel: usize| match self {
            Self::Nearest => 1.0,
            Self::Bilinear => {
                let right = place(at).fract();
                if pixel == place(at) as usize { 1.0 - right } else { right }
            }
            // Edges in units of 1 / to of a source pixel, where they are integers.
            Self::Area => {
                let [begin, end] = [(at * from).max(pixel * to), ((at + 1) * from).min((pixel + 1) * to)];
                (end - begin) as f64 / from as f64
            }
        };
        let count = (0..to).map(|at| seen(at).len()).max().unwrap_or(1);
        let (mut first, mut weights) = (Vec::with_capacity(to), vec![0.0; count * to]);
        for (at, weights) in weights.chunks_exact_mut(count).enumerate() {
            let begin = seen(at).start.min(from - count);
            first.push(begin as i32);
            for pixel in seen(at) {
                weights[pixel - begin] = weight(at, pixel);
            }
        }
        Taps { count, first, weights }
    }
}

fn check(from: &Raster, to: &Raster) -> Result<(), FilterError> {
    from.elements()?;
    to.elements()?;
    if from.channels == to.channels && from.element == to.element && from.is_empty() == to.is_empty() {
        return Ok(());
    }
    Err(FilterError::Result {
        want: [to.width, to.height, from.channels],
        want_element: from.element,
        found: [to.width, to.height, to.channels],
        found_element: to.element,
    })
}

/// An image in the extents of `to`: operand 0 is the buffer of the source, operand 1 another one, that of the result. Only the
/// pixels of `to` are written.
///
/// # Errors
/// Other channels or elements; one of the images is empty and the other is not; one that a `uint` cannot index.
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
    let slots = [plan.operand(), plan.operand()];
    if to.is_empty() {
        return Ok(plan);
    }
    let float = from.element.is_float();
    let (sum, weight) = match from.element {
        Element::U8 => ("int", "ushort"),
        Element::I16 | Element::U16 => ("long", "ushort"),
        Element::F16 | Element::F32 => ("float", "float"),
    };
    let axes = [interpolation.taps(from.width, to.width), interpolation.taps(from.height, to.height)];
    let planar = |raster: &Raster| usize::from(raster.layout == Layout::Planar);
    let program = Program::from_source("filter/resize.cl", include_str!("resize.cl"))
        .define("ELEMENT", from.element.opencl_name())
        .define("HALF", usize::from(from.element == Element::F16))
        .define("FLOAT", usize::from(float))
        .define("SUM", sum)
        .define("WEIGHT", weight)
        .define("CHANNELS", from.channels)
        .define("FROM_PLANAR", planar(from))
        .define("TO_PLANAR", planar(to))
        .define("TAPS_X", axes[0].count)
        .define("TAPS_Y", axes[1].count);
    let mut arguments = arguments(slots, [from, to], [to.width, to.height]);
    for axis in &axes {
        let weights = if float {
            let weights: Vec<f32> = axis.weights.iter().map(|weight| *weight as f32).collect();
            cast_slice(&weights).to_vec()
        } else {
            cast_slice(&axis.steps()).to_vec()
        };
        arguments.push(plan.input(Cow::Owned(cast_slice(&axis.first).to_vec())).into());
        arguments.push(plan.input(Cow::Owned(weights)).into());
    }
    let group = work_group(probe);
    let range = NdRange::d2(to.width.next_multiple_of(group[0]), to.height.next_multiple_of(group[1]));
    plan.launch(&Arc::new(program), "filter_resize", arguments, range.local(group[0], group[1], 1));
    Ok(plan)
}

/// Pixels of a work-group for kernels of one pixel a work-item: as wide as a warp, and no more than every device takes.
pub(super) fn work_group(probe: &Probe) -> [usize; 2] {
    if probe.max_work_group_size == 0 || probe.max_work_group_size >= 64 { [16, 4] } else { [1, 1] }
}

/// What [`resize`] computes, slowly and plainly: integers to the bit, floating-point numbers in `f64`.
///
/// # Errors
/// As [`resize`]; a slice that is too short for its raster.
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
    let axes = [interpolation.taps(from.width, to.width), interpolation.taps(from.height, to.height)];
    let float = from.element.is_float();
    let weights = axes.each_ref().map(|axis| {
        if float { axis.weights.clone() } else { axis.steps().iter().map(|step| f64::from(*step)).collect() }
    });
    for ([x, y, channel], index) in places(to) {
        let mut sum = 0.0;
        for (i, j) in (0..axes[0].count).flat_map(|i| (0..axes[1].count).map(move |j| (i, j))) {
            let weight = weights[0][x * axes[0].count + i] * weights[1][y * axes[1].count + j];
            let place = [axes[0].first[x] as usize + i, axes[1].first[y] as usize + j];
            sum += weight * load(from.element, source, from.index(place, channel));
        }
        let value = if float { sum } else { (sum / (ONE * ONE) + 0.5).floor() };
        store(to.element, result, index, value);
    }
    Ok(())
}
