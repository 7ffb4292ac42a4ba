//! Passes that process pixel by pixel: colour conversions, the bilateral filter, ranks.

use std::borrow::Cow;
use std::sync::Arc;

use tripipe_launch::{Argument, Program};

use super::raster::is_aligned;
use super::window::{block, border_defines, float};
use super::{Bilateral, Border, ChannelLayout, Color, PixelType, Rank, Raster, Stage};
use crate::plan::{Plan, Slot};
use crate::source::{BILATERAL, COLOR, RANK};

/// A kernel and the tables that are its last arguments.
pub(super) struct Kernel {
    pub(super) program: Arc<Program>,
    pub(super) entry: &'static str,
    /// Pixels of a row that a work-item computes.
    pub(super) pixels: usize,
    pub(super) tables: Vec<Vec<u8>>,
}

impl Kernel {
    /// The tables as arguments.
    pub(super) fn arguments(self, plan: &mut Plan<'static>) -> Vec<Argument<Slot>> {
        self.tables.into_iter().map(|table| plan.input(Cow::Owned(table)).into()).collect()
    }
}

/// The kernel for a colour conversion, a bilateral filter or a rank. Without a stage: a kernel that copies the channels to
/// their location in the result.
pub(super) fn kernel(
    stage: Option<&Stage>,
    border: Border,
    keep_alpha: bool,
    [from, to]: [&Raster; 2],
) -> Kernel {
    match stage {
        Some(Stage::Bilateral(bilateral)) => mean(bilateral, border, keep_alpha, [from, to]),
        Some(Stage::Rank(rank)) => ranked(*rank, border, keep_alpha, [from, to]),
        Some(Stage::Color(color)) => recolor(Some(*color), [from, to]),
        // Stages over vectors have no kernel of this kind. All by name, so that the compiler asks about a new one.
        None
        | Some(
            Stage::Linear(_)
            | Stage::Gradient(_)
            | Stage::Median { .. }
            | Stage::Morphology(_)
            | Stage::Convert { .. },
        ) => recolor(None, [from, to]),
    }
}

/// The program with the definitions for the elements and channels of both images.
pub(super) fn elements(program: Program, [from, to]: [&Raster; 2]) -> Program {
    let planar = |raster: &Raster| usize::from(raster.layout == ChannelLayout::Planar);
    program
        .define("ELEMENT", from.element.opencl_name())
        .define("HALF", usize::from(from.element == PixelType::F16))
        .define("FLOAT", usize::from(from.element.is_float()))
        .define("FROM_CHANNELS", from.channels)
        .define("TO_CHANNELS", to.channels)
        .define("FROM_PLANAR", planar(from))
        .define("TO_PLANAR", planar(to))
}

/// Pixels of a row that a work-item of a colour conversion computes.
const PIXELS: usize = 4;

fn recolor(color: Option<Color>, [from, to]: [&Raster; 2]) -> Kernel {
    let which = match color {
        None => 0,
        Some(Color::RgbToGray) => 1,
        Some(Color::BgrToGray) => 2,
        Some(Color::GrayToRgb) => 3,
        Some(Color::SwapRedBlue) => 4,
        Some(Color::DropAlpha) => 5,
        Some(Color::AddAlpha) => 6,
        Some(Color::RgbToYuv) => 7,
        Some(Color::YuvToRgb) => 8,
        Some(Color::RgbToYcrcb) => 9,
        Some(Color::YcrcbToRgb) => 10,
    };
    let program = COLOR.program();
    let literal = |value: f64| if from.element.is_float() { float(value) } else { value.to_string() };
    let program = elements(program, [from, to])
        .define("COLOR", which)
        .define("OPAQUE", literal(from.element.white()))
        .define("ZERO", literal(from.element.chroma_zero()))
        .define("FROM_ALIGNED", usize::from(is_aligned(from, PIXELS)))
        .define("TO_ALIGNED", usize::from(is_aligned(to, PIXELS)))
        .define("BLOCK", block(from.element, PIXELS));
    Kernel { program: Arc::new(program), entry: "filter_color", pixels: PIXELS, tables: Vec::new() }
}

fn mean(bilateral: &Bilateral, border: Border, keep_alpha: bool, [from, to]: [&Raster; 2]) -> Kernel {
    let float_bytes =
        |values: Vec<f64>| values.iter().flat_map(|value| (*value as f32).to_ne_bytes()).collect();
    let short_bytes = |values: &[u16]| values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let colors = bilateral.color();
    let tables = if from.element.is_float() {
        let sigma = f64::from(bilateral.sigma_color);
        vec![float_bytes(bilateral.space_exact()), float_bytes(vec![-0.5 / (sigma * sigma)])]
    } else {
        vec![short_bytes(&bilateral.space()), short_bytes(&colors)]
    };
    let filtered = if keep_alpha && from.channels == 4 { 3 } else { from.channels };
    let program = BILATERAL.program();
    let program = elements(program, [from, to])
        .define("BASE", if from.element == PixelType::I16 { 32768 } else { 0 })
        .define("FILTERED", filtered)
        .define("SIZE", bilateral.size)
        .define("COLORS", colors.len());
    let literal = |value: f64| if from.element.is_float() { float(value) } else { value.to_string() };
    let program = border_defines(program, border, from.element, literal);
    Kernel { program: Arc::new(program), entry: "filter_bilateral", pixels: 1, tables }
}

fn ranked(Rank { size, rank }: Rank, border: Border, keep_alpha: bool, [from, to]: [&Raster; 2]) -> Kernel {
    let filtered = if keep_alpha && from.channels == 4 { 3 } else { from.channels };
    let program = elements(RANK.program(), [from, to])
        .define("BASE", if from.element == PixelType::I16 { 32768 } else { 0 })
        .define("BITS", if from.element.is_float() { 32 } else { 8 * from.element.bytes() })
        .define("FILTERED", filtered)
        .define("SIZE", size)
        .define("RANK", rank);
    let literal = |value: f64| if from.element.is_float() { float(value) } else { value.to_string() };
    let program = border_defines(program, border, from.element, literal);
    Kernel { program: Arc::new(program), entry: "filter_rank", pixels: 1, tables: Vec::new() }
}
