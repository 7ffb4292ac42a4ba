//! The program of a window: its definitions, and those of the stages that are fused with it.

use std::fmt::Display;
use std::sync::Arc;

use tripipe_launch::Program;

use super::types::{signed, unsigned};
use super::{Fused, GRADIENT, MEDIAN, Windows, float};
use crate::filter::raster::is_aligned;
use crate::filter::texels::Texels;
use crate::filter::{Border, ChannelLayout, Color, FilterError, Loads, Parameters, PixelType, Raster, Stage};
use crate::source::{self, WindowKind};

/// The program that applies a stage with a window, or a conversion, together with its fused stages, to rasters of one
/// layout.
///
/// # Errors
/// As [`Stage::output`].
pub(in crate::filter) fn program(
    stage: &Stage,
    fused: Fused<'_>,
    border: Border,
    keep_alpha: bool,
    [from, to]: [&Raster; 2],
    parameters: &Parameters,
) -> Result<Arc<Program>, FilterError> {
    let Windows { seen, between, made, inner, outer: window, work } =
        Windows::of(stage, fused, from, parameters)?;
    let factors = |stage: Option<&Stage>| match stage {
        Some(Stage::Convert { scale, offset, .. }) => {
            [*scale, *offset].map(|factor| float(f64::from(factor)))
        }
        _ => [1.0, 0.0].map(float),
    };
    let before = match fused.before {
        Some(Stage::Convert { .. }) => 1,
        Some(Stage::Color(Color::RgbToGray)) => 2,
        Some(Stage::Color(Color::BgrToGray)) => 3,
        _ => 0,
    };
    let spread = if before > 1 { from.channels } else { 1 };
    let [[before_scale, before_offset], [after_scale, after_offset]] =
        [factors(fused.before), factors(fused.after)];
    let literal = |value: f64| if work == "float" { float(value) } else { value.to_string() };
    let loads = match parameters.loads {
        Loads::Direct => 0,
        Loads::Shared => 1,
        Loads::Aligned => 2,
        Loads::Image => 3,
    };
    let [texel, read] = Texels::opencl_names(from.element);
    let packed_alpha =
        keep_alpha && stage.keeps_alpha() && seen.layout == ChannelLayout::Packed && seen.channels == 4;
    let kind = match window.operation {
        GRADIENT => WindowKind::Gradient,
        MEDIAN => WindowKind::Median,
        _ => WindowKind::Linear,
    };
    let program = source::window(kind, before > 1, inner.is_some())
        .program()
        .define("OPERATION", window.operation)
        .define("FROM", from.element.opencl_name())
        .define("TO", made.opencl_name())
        .define("WORK", work)
        .define("FINAL", window.final_type(work))
        .define("SIGNED_WORK", signed(work))
        .define("UNSIGNED_WORK", unsigned(work))
        .define("FROM_HALF", usize::from(from.element == PixelType::F16))
        .define("TO_HALF", usize::from(made == PixelType::F16))
        .define("WORK_FLOAT", usize::from(work == "float"))
        .define("TO_INTEGER", usize::from(!made.is_float()))
        .define("WHOLE", usize::from(window.whole))
        .define("BEFORE", before)
        .define("SEEN", seen.element.opencl_name())
        .define("SEEN_INTEGER", usize::from(!seen.element.is_float()))
        .define("BEFORE_SCALE", before_scale)
        .define("BEFORE_OFFSET", before_offset)
        .define("SPREAD", spread)
        .define("AFTER", usize::from(fused.after.is_some()))
        .define("STORED", to.element.opencl_name())
        .define("STORED_HALF", usize::from(to.element == PixelType::F16))
        .define("STORED_INTEGER", usize::from(!to.element.is_float()))
        .define("AFTER_SCALE", after_scale)
        .define("AFTER_OFFSET", after_offset)
        .define("LANES", parameters.lanes)
        .define("ROWS", parameters.rows)
        .define("LOADS", loads)
        .define("TEXEL", texel)
        .define("READ_TEXEL", read)
        .define("ALIGNED_TO", usize::from(is_aligned(to, parameters.lanes)))
        .define("FROM_BLOCK", block(from.element, parameters.lanes))
        .define("STORED_BLOCK", block(to.element, parameters.lanes))
        .define("WIDTH", window.size.width)
        .define("HEIGHT", window.size.height)
        .define("KINDS", window.kinds())
        .define("UNROLLED", usize::from(window.is_unrolled(parameters)))
        .define("ACROSS", list(&window.across))
        .define("KIND", list(&window.kind))
        .define("DOWN", list(&window.down))
        .define("DIVISOR", window.divisor)
        .define("SHIFT", window.shift())
        .define("NEGATIVE", usize::from(window.negative))
        .define("OFFSET", &window.offset)
        .define("SCALE", &window.scale)
        .define("STEP", seen.step())
        .define("KEEP_ALPHA", usize::from(packed_alpha))
        .define("START", &window.start);
    let program = border_defines(program, border, seen.element, literal);
    let Some(inner) = inner else { return Ok(Arc::new(program)) };
    let [least, most] = inner.limits(between.element, work);
    let outside = match border {
        Border::Constant(value) => literal(between.element.nearest(f64::from(value))),
        _ => "0".to_owned(),
    };
    let program = program
        .define("INNER", 1)
        .define("INNER_OPERATION", inner.operation)
        .define("INNER_FINAL", inner.final_type(work))
        .define("INNER_WIDTH", inner.size.width)
        .define("INNER_HEIGHT", inner.size.height)
        .define("INNER_KINDS", inner.across.len() / inner.size.width)
        .define("INNER_ACROSS", list(&inner.across))
        .define("INNER_KIND", list(&inner.kind))
        .define("INNER_DOWN", list(&inner.down))
        .define("INNER_START", &inner.start)
        .define("INNER_DIVISOR", inner.divisor)
        .define("INNER_SHIFT", inner.shift())
        .define("INNER_NEGATIVE", usize::from(inner.negative))
        .define("INNER_OFFSET", &inner.offset)
        .define("INNER_CLAMPED", usize::from(inner.clamped))
        .define("INNER_LEAST", least)
        .define("INNER_MOST", most)
        .define("INNER_OUTSIDE", outside);
    Ok(Arc::new(program))
}

/// Items in the form that kernels expect: `W(1)W(-2)`.
pub(in crate::filter) fn list(items: &[impl Display]) -> String {
    items.iter().flat_map(|item| ["W(".to_owned(), item.to_string(), ")".to_owned()]).collect()
}

/// The word type of the same size as a vector of `lanes` elements.
pub(in crate::filter) fn block(element: PixelType, lanes: usize) -> &'static str {
    match element.bytes() * lanes {
        2 => "ushort",
        4 => "uint",
        8 => "uint2",
        16 => "uint4",
        32 => "uint8",
        _ => "uint16",
    }
}

/// The program with the definitions for pixels outside the image.
pub(in crate::filter) fn border_defines(
    program: Program,
    border: Border,
    element: PixelType,
    literal: impl Fn(f64) -> String,
) -> Program {
    let (number, outside) = match border {
        Border::None => (0, 0.0),
        Border::Constant(value) => (1, value),
        Border::Replicate => (2, 0.0),
        Border::Reflect => (3, 0.0),
        Border::Reflect101 => (4, 0.0),
        Border::Wrap => (5, 0.0),
    };
    program.define("BORDER", number).define("OUTSIDE", literal(element.nearest(f64::from(outside))))
}
