//! NV12 and NV21.

use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_launch::{Argument, NdRange};

use super::pixel::elements;
use super::plan::indexable;
use super::raster::is_aligned;
use super::resize::work_group;
use super::window::block;
use super::{FilterError, PixelType, Raster, Size};
use crate::Role;
use crate::plan::{Plan, PlanError, Slot};
use crate::source::SEMIPLANAR;

/// A frame of a luma plane and a chroma plane. Chroma has half the columns and rows (rounded up): pairs of U and V.
/// All values are bytes.
///
/// BT.601 in limited range, in steps of 2^-20, with OpenCV's coefficients. To RGB, with 128 subtracted from U and V,
/// saturated: `W = 1220542 max(Y - 16, 0) + 2^19`, `R = W + 1673527 V >> 20`, `G = W - 852492 V - 409993 U >> 20`,
/// `B = W + 2116026 U >> 20`. From RGB: `Y = 269484 R + 528482 G + 102760 B + 2^19 >> 20, + 16`; U and V from the
/// sums of 2 x 2 pixels, `U = -155188 R - 305135 G + 460324 B + 2^21 >> 22, + 128`,
/// `V = 460324 R - 385875 G - 74448 B + 2^21 >> 22, + 128`; at an odd edge the last column or row counts twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Semiplanar {
    /// Width and height in pixels.
    pub size: Size,
    /// Offset of luma, and bytes from row to row.
    pub luma: [usize; 2],
    /// Offset of chroma, and bytes from row to row.
    pub chroma: [usize; 2],
    /// Whether V precedes U (NV21).
    pub v_first: bool,
}

impl Semiplanar {
    /// NV12 without gaps, chroma after luma in one buffer.
    pub fn nv12(size: Size) -> Self {
        let Size { width, height } = size;
        let chroma = [width.saturating_mul(height), width.saturating_add(width % 2)];
        Self { size, luma: [0, width], chroma, v_first: false }
    }

    /// NV21 without gaps, chroma after luma in one buffer.
    pub fn nv21(size: Size) -> Self {
        Self { v_first: true, ..Self::nv12(size) }
    }

    /// Bytes of a buffer that holds both planes; saturates on overflow.
    pub fn bytes(&self) -> usize {
        let ends = self.planes().map(|plane| plane.elements().unwrap_or(usize::MAX));
        ends[0].max(ends[1])
    }

    /// Checks that an image has the frame's extents, 3 or 4 channels, and byte elements.
    ///
    /// # Errors
    /// The image differs in one of these.
    pub fn check_image(&self, image: &Raster) -> Result<(), FilterError> {
        if image.size() == self.size && image.channels >= 3 && image.element == PixelType::U8 {
            return Ok(());
        }
        Err(FilterError::result(self.size, 3, PixelType::U8, image))
    }

    /// Luma as one channel, and chroma as two channels of half the extents.
    pub fn planes(&self) -> [Raster; 2] {
        let Size { width, height } = self.size;
        let raster = |size: Size, channels: usize, [offset, pitch]: [usize; 2]| {
            let raster = Raster::packed(size, channels, PixelType::U8);
            Raster { offset, pitch, ..raster }
        };
        let half = Size::new(width.div_ceil(2), height.div_ceil(2));
        [raster(self.size, 1, self.luma), raster(half, 2, self.chroma)]
    }
}

/// Converts a frame to RGB, or to RGBA with alpha 255: the buffers of [`Role::Luma`] and [`Role::Chroma`] (may be the
/// same) to that of [`Role::Result`].
///
/// # Errors
/// The image does not have 3 or 4 channels of bytes and the frame's size; rows that overlap; a buffer that a `uint`
/// cannot index.
pub fn semiplanar_to_rgb(from: &Semiplanar, to: &Raster, probe: &Probe) -> Result<Plan<'static>, PlanError> {
    let mut plan = Plan::new();
    let operands = [Role::Luma, Role::Chroma, Role::Result].map(|role| plan.operand(role));
    build(plan, operands, from, to, probe, "semiplanar_to_rgb")
}

/// Converts RGB, or RGBA without its alpha, to a frame: the buffer of [`Role::Source`] to those of [`Role::Luma`] and
/// [`Role::Chroma`] (may be the same).
///
/// # Errors
/// As [`semiplanar_to_rgb`].
pub fn rgb_to_semiplanar(from: &Raster, to: &Semiplanar, probe: &Probe) -> Result<Plan<'static>, PlanError> {
    let mut plan = Plan::new();
    let operands = [Role::Source, Role::Luma, Role::Chroma].map(|role| plan.operand(role));
    build(plan, operands, to, from, probe, "rgb_to_semiplanar")
}

/// As [`rgb_to_semiplanar`], with both planes in the buffer of [`Role::Result`].
///
/// # Errors
/// As [`semiplanar_to_rgb`].
pub fn rgb_to_frame(from: &Raster, to: &Semiplanar, probe: &Probe) -> Result<Plan<'static>, PlanError> {
    let mut plan = Plan::new();
    let [image, frame] = [Role::Source, Role::Result].map(|role| plan.operand(role));
    build(plan, [image, frame, frame], to, from, probe, "rgb_to_semiplanar")
}

/// Columns per work-item, in two rows.
const COLUMNS: usize = 4;

fn build(
    mut plan: Plan<'static>,
    operands: [Slot; 3],
    frame: &Semiplanar,
    rgb: &Raster,
    probe: &Probe,
    entry: &str,
) -> Result<Plan<'static>, PlanError> {
    for raster in frame.planes().iter().chain([rgb]) {
        indexable(raster)?;
    }
    frame.check_image(rgb).map_err(PlanError::Filter)?;
    if rgb.is_empty() {
        return Ok(plan);
    }
    let aligned = frame.planes().iter().chain([rgb]).all(|raster| is_aligned(raster, COLUMNS));
    let program = elements(SEMIPLANAR.program(), [rgb, rgb])
        .define("FROM_ALIGNED", usize::from(aligned))
        .define("TO_ALIGNED", usize::from(aligned))
        .define("BLOCK", block(rgb.element, COLUMNS))
        .define("V_FIRST", usize::from(frame.v_first));
    let distances = [frame.luma, frame.chroma, [rgb.offset, rgb.pitch]];
    let mut arguments: Vec<Argument<Slot>> = operands.map(Argument::from).to_vec();
    arguments.extend(
        distances.as_flattened().iter().chain([&rgb.plane_pitch]).map(|at| Argument::from(*at as u32)),
    );
    let Size { width, height } = frame.size;
    arguments.extend([width, height].map(|extent| Argument::from(extent as i32)));
    let group = work_group(probe);
    let [across, down] = [width.div_ceil(COLUMNS), height.div_ceil(2)];
    let range = NdRange::d2(across.next_multiple_of(group[0]), down.next_multiple_of(group[1]));
    plan.launch(&Arc::new(program), entry, arguments, range.local(group[0], group[1], 1));
    Ok(plan)
}
