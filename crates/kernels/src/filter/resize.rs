//! Resizing images.

mod reference;

use std::borrow::Cow;
use std::sync::Arc;

use bytemuck::cast_slice;
use tripipe_device::Probe;
use tripipe_launch::{Argument, NdRange};

use super::pixel::elements;
use super::plan::{arguments, indexable};
use super::{FilterError, PixelType, Raster};
use crate::Role;
use crate::plan::{Plan, PlanError};
use crate::source::RESIZE;

pub use reference::resize_reference;

/// How the pixels of a resized image are computed. Pixel centres are at halves, so the edges of both images coincide.
///
/// Columns and rows are weighted sums of source columns and rows, by weights that sum to 1. A pixel whose weight is 0
/// is not read. *Integer pixels:* weights are multiples of 2^-11 or of 2^-18 ([`Interpolation::bits`]): the
/// cumulative weight up to a pixel, rounded half up, less the cumulative weight before it. The sum over both
/// directions is exact and is rounded once, half up. *Floating-point pixels:* in `float`, within (columns + rows of
/// the sum + 8) 2^-24 of the largest magnitude that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// The pixel at `floor(x * from / to)`.
    Nearest,
    /// The two nearest pixels along each axis; at the edge, the outermost pixel.
    Bilinear,
    /// The mean of the source area that the pixel covers; partly covered pixels count in proportion. For shrinking:
    /// when enlarging, most pixels cover one source pixel.
    Area,
}

/// The start of each weighted sum along one axis, and its weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResizeTaps {
    /// Weights per sum.
    pub count: usize,
    /// First source pixel of each result pixel; `first + count` stays inside the source.
    pub first: Vec<i32>,
    /// `count` weights for each result pixel, as multiples of 1 / `unit`; each group sums to `unit`.
    parts: Vec<u64>,
    unit: u64,
}

impl ResizeTaps {
    /// The weights, `count` for each result pixel.
    pub fn weights(&self) -> Vec<f64> {
        self.parts.iter().map(|part| *part as f64 / self.unit as f64).collect()
    }

    /// The weights in steps of 2^-`bits` (at most 18 bits); the weights of each pixel sum to 2^`bits`. A rounding
    /// error carries over to the next weight, so that no run of weights is too large by more than one step.
    pub fn steps(&self, bits: u32) -> Vec<u32> {
        let mut all = Vec::with_capacity(self.parts.len());
        for parts in self.parts.chunks(self.count.max(1)) {
            let (mut sum, mut before) = (0, 0);
            for part in parts {
                sum += part;
                // The sum is below 2^33 x 2^18.
                let steps = ((sum << bits) + self.unit / 2) / self.unit;
                all.push((steps - before) as u32);
                before = steps;
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

    /// The sums along one axis that turn `from` pixels into `to` pixels.
    ///
    /// # Errors
    /// No pixels, or more than an `int` can count.
    pub fn taps(self, from: usize, to: usize) -> Result<ResizeTaps, FilterError> {
        if [from, to].iter().any(|extent| *extent == 0 || i32::try_from(*extent).is_err()) {
            return Err(FilterError::TooLarge { size: [from, to] });
        }
        // Twice the centre of a result pixel in source coordinates, in units of 1 / `to`.
        let centre = |at: usize| ((2 * at + 1) * from).saturating_sub(to).min(2 * to * (from - 1));
        // The source pixels that contribute to a result pixel.
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
            // Edges in units of 1 / `to` of a source pixel, where they are integers.
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
        Ok(ResizeTaps { count, first, parts, unit: unit as u64 })
    }
}

/// [`Interpolation::bits`] for bytes when few are averaged.
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
        _ if bits == COARSE => ("int", "ushort"),
        _ => ("long", "uint"),
    };
    let axes = [interpolation.taps(from.width, to.width)?, interpolation.taps(from.height, to.height)?];
    // Longer loops gain nothing from a count known at compile time, and each count would need its own program.
    let known = axes.iter().all(|axis| axis.count <= 2);
    let program = elements(RESIZE.program(), [from, to])
        .define("SUM", sum)
        .define("WEIGHT", weight)
        .define("BITS", bits)
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

/// Work-group size for kernels of one pixel per work-item: as wide as a warp, and within the limit of every device.
pub(super) fn work_group(probe: &Probe) -> [usize; 2] {
    if probe.max_work_group_size == 0 || probe.max_work_group_size >= 64 { [16, 4] } else { [1, 1] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps are never below 0 and sum to 1. The steps of 83 equal weights are 24 or 25 of 2048 and never differ by
    /// two.
    #[test]
    fn rounded_steps_sum_to_1() -> Result<(), FilterError> {
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

    /// All thumbnails of a picture share one program.
    #[test]
    fn sizes_are_arguments() -> Result<(), PlanError> {
        let from = Raster::packed([640, 480], 3, PixelType::U8);
        for interpolation in [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Area] {
            let mut programs = Vec::new();
            for turn in 0..20 {
                let to = Raster::packed([60 + 13 * turn, 45 + 7 * turn], 3, PixelType::U8);
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
