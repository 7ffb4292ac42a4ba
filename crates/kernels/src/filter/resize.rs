//! Images of other extents.

mod reference;

use std::borrow::Cow;
use std::sync::Arc;

use bytemuck::cast_slice;
use tripipe_device::Probe;
use tripipe_launch::{Argument, NdRange, Program};

use super::plan::{arguments, indexable};
use super::{Element, FilterError, Layout, Raster};
use crate::plan::{Plan, PlanError};

pub use reference::resize_reference;

/// How pixels of other extents are made. Pixel centres are at halves, so the edges of both images lie on each other.
///
/// Columns and rows are weighted sums of source columns and rows, by weights that sum to 1; a pixel whose weight is 0 is not looked at.
/// *Integer pixels:* weights are multiples of 2^-11, or of 2^-18 ([`Interpolation::bits`]): the weights up to a pixel, added up and rounded
/// half up, less those before it. The sum of both directions is exact, and is rounded once, half up. *Floating-point pixels:* in `float`,
/// within (columns + rows of the sum + 8) 2^-24 of the largest magnitude that is looked at.
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

/// Where the weighted sums along one axis begin, and their weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taps {
    /// Weights of each sum.
    pub count: usize,
    /// First source pixel of each result pixel; with `count` it stays inside the source.
    pub first: Vec<i32>,
    /// `count` for each result pixel, in parts of `unit`; those of each pixel sum to it.
    parts: Vec<u64>,
    unit: u64,
}

impl Taps {
    /// The weights, `count` for each result pixel.
    pub fn weights(&self) -> Vec<f64> {
        self.parts.iter().map(|part| *part as f64 / self.unit as f64).collect()
    }

    /// The weights in steps of 2^-`bits`, at most 18, those of each pixel with a sum of 2^`bits`. What rounding takes from one goes to the
    /// next, so that no part of the sum weighs more than a step too much.
    pub fn steps(&self, bits: u32) -> Vec<u32> {
        let mut all = Vec::with_capacity(self.parts.len());
        for parts in self.parts.chunks(self.count.max(1)) {
            let (mut sum, mut before) = (0, 0);
            for part in parts {
                sum += part;
                // Below 2^33 x 2^18.
                let steps = ((sum << bits) + self.unit / 2) / self.unit;
                all.push((steps - before) as u32);
                before = steps;
            }
        }
        all
    }
}

impl Interpolation {
    /// Bits of integer weights after the binary point: 11 for bytes, 18 for 16 bits and where more than 16 bytes in a row are
    /// averaged. No result is off by more than 1 then, but for the mean of more than 8 elements of 16 bits (2000 bytes) in a row that go
    /// up and down with each step.
    pub fn bits(self, from: &Raster, to: &Raster) -> u32 {
        let many = |from: usize, to: usize| self == Self::Area && from > to.saturating_mul(16);
        let fine = from.element != Element::U8 || many(from.width, to.width) || many(from.height, to.height);
        if fine { 18 } else { COARSE }
    }

    /// The sums along one axis of `from` pixels that make `to` pixels.
    ///
    /// # Errors
    /// No pixels, or more than an `int` counts.
    pub fn taps(self, from: usize, to: usize) -> Result<Taps, FilterError> {
        if [from, to].iter().any(|extent| *extent == 0 || i32::try_from(*extent).is_err()) {
            return Err(FilterError::TooLarge { size: [from, to] });
        }
        // Twice the place of a result pixel's centre among those of the source, in parts of `to`.
        let centre = |at: usize| ((2 * at + 1) * from).saturating_sub(to).min(2 * to * (from - 1));
        // The source pixels of a result pixel.
        let seen = |at: usize| match self {
            Self::Nearest => at * from / to..at * from / to + 1,
            Self::Bilinear => centre(at) / (2 * to)..from.min(centre(at) / (2 * to) + 2),
            Self::Area => at * from / to..((at + 1) * from).div_ceil(to),
        };
        let unit = match self {
            Self::Nearest => 1,
            Self::Bilinear => 2 * to,
            Self::Area => from,
        };
        let part = |at: usize, pixel: usize| match self {
            Self::Nearest => 1,
            Self::Bilinear => {
                let right = centre(at) % unit;
                if pixel == centre(at) / unit { unit - right } else { right }
            }
            // Edges in units of 1 / to of a source pixel, where they are integers.
            Self::Area => ((at + 1) * from).min((pixel + 1) * to) - (at * from).max(pixel * to),
        };
        let count = (0..to).map(|at| seen(at).len()).max().unwrap_or(1);
        let (mut first, mut parts) = (Vec::with_capacity(to), vec![0; count * to]);
        for (at, parts) in parts.chunks_exact_mut(count).enumerate() {
            let begin = seen(at).start.min(from - count);
            first.push(begin as i32);
            for pixel in seen(at) {
                parts[pixel - begin] = part(at, pixel) as u64;
            }
        }
        Ok(Taps { count, first, parts, unit: unit as u64 })
    }
}

/// [`Interpolation::bits`] of few bytes.
const COARSE: u32 = 11;

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
    let bits = interpolation.bits(from, to);
    let (sum, weight) = match from.element {
        _ if float => ("float", "float"),
        _ if bits == COARSE => ("int", "ushort"),
        _ => ("long", "uint"),
    };
    let axes = [interpolation.taps(from.width, to.width)?, interpolation.taps(from.height, to.height)?];
    // Loops over more than that gain nothing from a count that the compiler knows, and each would be a program of its own.
    let known = axes.iter().all(|axis| axis.count <= 2);
    let planar = |raster: &Raster| usize::from(raster.layout == Layout::Planar);
    let program = Program::from_source("filter/resize.cl", include_str!("resize.cl"))
        .define("ELEMENT", from.element.opencl_name())
        .define("HALF", usize::from(from.element == Element::F16))
        .define("FLOAT", usize::from(float))
        .define("SUM", sum)
        .define("WEIGHT", weight)
        .define("BITS", bits)
        .define("CHANNELS", from.channels)
        .define("FROM_PLANAR", planar(from))
        .define("TO_PLANAR", planar(to))
        .define("TAPS_X", if known { axes[0].count } else { 0 })
        .define("TAPS_Y", if known { axes[1].count } else { 0 });
    let mut arguments = arguments(slots, [from, to], [to.width, to.height]);
    for axis in &axes {
        let weights = if float {
            let weights: Vec<f32> = axis.weights().iter().map(|weight| *weight as f32).collect();
            cast_slice(&weights).to_vec()
        } else if bits == COARSE {
            let steps: Vec<u16> = axis.steps(bits).iter().map(|steps| *steps as u16).collect();
            cast_slice(&steps).to_vec()
        } else {
            cast_slice(&axis.steps(bits)).to_vec()
        };
        arguments.push(plan.input(Cow::Owned(cast_slice(&axis.first).to_vec())).into());
        arguments.push(plan.input(Cow::Owned(weights)).into());
    }
    arguments.extend(axes.map(|axis| Argument::from(axis.count as i32)));
    let group = work_group(probe);
    let range = NdRange::d2(to.width.next_multiple_of(group[0]), to.height.next_multiple_of(group[1]));
    plan.launch(&Arc::new(program), "filter_resize", arguments, range.local(group[0], group[1], 1));
    Ok(plan)
}

/// Pixels of a work-group for kernels of one pixel a work-item: as wide as a warp, and no more than every device takes.
pub(super) fn work_group(probe: &Probe) -> [usize; 2] {
    if probe.max_work_group_size == 0 || probe.max_work_group_size >= 64 { [16, 4] } else { [1, 1] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps are never below 0 and sum to 1; those of 83 equal weights are 24 or 25 of 2048, nowhere two more of one than of the other.
    #[test]
    fn what_rounding_takes_goes_to_the_next() -> Result<(), FilterError> {
        let steps = Interpolation::Area.taps(83, 1)?.steps(11);
        assert_eq!(steps.iter().sum::<u32>(), 2048);
        assert!(steps.iter().all(|step| [24, 25].contains(step)), "{steps:?}");
        for (from, to) in [(5000, 1), (4097, 2), (7, 5), (5, 7)] {
            for interpolation in [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Area] {
                let taps = interpolation.taps(from, to)?;
                for bits in [11, 18] {
                    let steps = taps.steps(bits);
                    assert!(steps.chunks(taps.count).all(|steps| steps.iter().sum::<u32>() == 1 << bits));
                }
                assert!(taps.first.iter().all(|first| *first as usize + taps.count <= from));
            }
        }
        // Halfway between two centres, and a quarter beyond.
        assert_eq!(Interpolation::Bilinear.taps(2, 4)?.steps(11), [2048, 0, 1536, 512, 512, 1536, 0, 2048]);
        Ok(())
    }

    #[test]
    fn extents_that_no_image_has_are_refused() {
        for (from, to) in [(0, 1), (1, 0), (usize::MAX, 1), (1, usize::MAX), (1 << 31, 7)] {
            assert!(matches!(Interpolation::Area.taps(from, to), Err(FilterError::TooLarge { .. })));
        }
    }

    /// A program for all thumbnails of a picture.
    #[test]
    fn sizes_are_arguments() -> Result<(), PlanError> {
        let from = Raster::packed([640, 480], 3, Element::U8);
        for interpolation in [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Area] {
            let mut programs = Vec::new();
            for turn in 0..20 {
                let to = Raster::packed([60 + 13 * turn, 45 + 7 * turn], 3, Element::U8);
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
