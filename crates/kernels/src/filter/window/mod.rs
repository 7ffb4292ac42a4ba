//! Programs of `window.cl`.

mod rows;
mod types;

use std::fmt::Display;
use std::sync::Arc;

use tripipe_launch::Program;

use super::raster::is_aligned;
use super::texels::Texels;
use super::{
    Axis, Border, ChannelLayout, Color, FilterError, Linear, Loads, Morphology, Neighbourhood, Parameters,
    PixelType, Raster, Stage, Sums,
};
use crate::source::{self, WindowKind};
use rows::is_zero;
pub(super) use rows::{distinct_rows, primitive};
use types::{leaves, signed, unsigned, wide_type, work_type};

/// The most taps of a work-item, in elements, whose loops over rows are unrolled: such code fits an instruction cache, and
/// drivers compile it in a second. Guessed.
const UNROLLED_MOST: usize = 4096;
/// The most steps of the loops over rows before any is found to do nothing: clang counts them, and beyond 16,384 keeps the
/// loops, and with them the sums in memory. A step here is a tap or a comparison, as heavy as clang 15 takes them to be:
/// 13 x 13 with 2 x 6 results, 14,868 of them, were kept; 15 x 15 with 2 x 3, 12,648, were not.
const STEPS_MOST: usize = 11_000;
const STEPS_OF_A_TAP: usize = 4;
const STEPS_OF_A_ROW: usize = 11;

/// Values of `OPERATION` in `window.cl`.
const LINEAR: usize = 0;
const GRADIENT: usize = 1;
const LEAST: usize = 2;
const MOST: usize = 3;
const MEDIAN: usize = 4;

/// The parameters of `window.cl` for a stage.
pub(super) struct Window {
    operation: usize,
    work: &'static str,
    size: [usize; 2],
    /// Distinct rows of weights (not multiples of each other), concatenated.
    across: Vec<String>,
    /// For each row of the window: the index of its distinct row. `down` has the factor.
    kind: Vec<usize>,
    down: Vec<String>,
    divisor: u32,
    /// Whether sums can be negative.
    negative: bool,
    offset: String,
    scale: String,
    start: String,
    /// Whether integer sums give integer results.
    whole: bool,
    /// Whether results or copied elements can exceed the range of the result's element type.
    clamped: bool,
}

/// Stages that run in the same pass as the stage after or before them.
#[derive(Clone, Copy, Default)]
pub(super) struct Fused<'c> {
    /// Applied to loaded elements: a conversion, or a conversion of packed pixels to gray.
    pub(super) before: Option<&'c Stage>,
    /// Applied after `before`: a window of sums or extremes.
    pub(super) inner: Option<&'c Stage>,
    /// Applied before storing: a conversion.
    pub(super) after: Option<&'c Stage>,
}

impl Fused<'_> {
    /// Whether no stage is fused.
    pub(super) fn is_empty(self) -> bool {
        self.before.is_none() && self.inner.is_none() && self.after.is_none()
    }
}

/// The windows of a pass.
pub(super) struct Windows {
    /// The input of the first window, and the input of the last.
    seen: Raster,
    between: Raster,
    /// The element type that the last window produces.
    made: PixelType,
    pub(super) inner: Option<Window>,
    pub(super) outer: Window,
    /// The type in which both are computed.
    pub(super) work: &'static str,
}

impl Windows {
    /// The windows of a stage with a window, or of a conversion, with the stages fused into its pass.
    ///
    /// # Errors
    /// As [`Stage::output`].
    pub(super) fn of(
        stage: &Stage,
        fused: Fused<'_>,
        from: &Raster,
        parameters: &Parameters,
    ) -> Result<Self, FilterError> {
        let narrow = parameters.sums != Sums::Wide;
        let seen = fused.before.map_or(Ok(*from), |before| before.apply_to(from))?;
        let between = fused.inner.map_or(Ok(seen), |inner| inner.apply_to(&seen))?;
        let (_, made) = stage.output(between.channels, between.element)?;
        let outer = Window::new(stage, between.element, made, narrow)?;
        let inner = fused.inner.map(|inner| Window::new(inner, seen.element, between.element, narrow));
        let inner = inner.transpose()?;
        let work = inner.as_ref().map_or(outer.work, |inner| inner.common_work(&outer));
        Ok(Self { seen, between, made, inner, outer, work })
    }

    /// Whether one type works for both windows. It does not when only one of them takes integers, nor when one uses
    /// all 32 bits for non-negative sums and the other has values that such a sum cannot represent.
    pub(super) fn are_alike(&self) -> bool {
        let narrow = |window: &Window| ["uint", "short", "ushort"].contains(&window.work) && window.sums();
        self.inner.as_ref().is_none_or(|inner| {
            let both = [inner, &self.outer];
            let float = both.map(|window| window.work == "float");
            // Inner results in `float` are not rounded to an integer type.
            float[0] == float[1]
                && (inner.whole || self.between.element.is_float())
                && (both.iter().all(|window| window.work != "uint") || both.into_iter().all(narrow))
        })
    }

    /// Whether the type of the computation has at most 16 bits.
    pub(super) fn are_narrow(&self) -> bool {
        self.work_bytes() <= 2
    }

    /// Bytes of the type of the computation.
    pub(super) fn work_bytes(&self) -> usize {
        match self.work {
            "uchar" => 1,
            "short" | "ushort" => 2,
            _ => 4,
        }
    }
}

/// The program that applies a stage with a window, or a conversion, together with its fused stages, to rasters of one
/// layout.
///
/// # Errors
/// As [`Stage::output`].
pub(super) fn program(
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
        .define("WIDTH", window.size[0])
        .define("HEIGHT", window.size[1])
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
        .define("INNER_WIDTH", inner.size[0])
        .define("INNER_HEIGHT", inner.size[1])
        .define("INNER_KINDS", inner.across.len() / inner.size[0])
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
pub(super) fn list(items: &[impl Display]) -> String {
    items.iter().flat_map(|item| ["W(".to_owned(), item.to_string(), ")".to_owned()]).collect()
}

/// The word type of the same size as a vector of `lanes` elements.
pub(super) fn block(element: PixelType, lanes: usize) -> &'static str {
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
pub(super) fn border_defines(
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

impl Window {
    /// Distinct rows of weights.
    fn kinds(&self) -> usize {
        self.across.len() / self.size[0]
    }

    /// Whether loops over rows are unrolled. Where they are not, each result computes the sums of its rows, which other
    /// results share otherwise.
    fn is_unrolled(&self, parameters: &Parameters) -> bool {
        let rows = parameters.rows + self.size[1] - 1;
        let steps = STEPS_OF_A_TAP * self.size[0] + STEPS_OF_A_ROW * parameters.rows;
        rows * self.size[0] * self.kinds() * parameters.lanes <= UNROLLED_MOST
            && rows * self.kinds() * steps <= STEPS_MOST
    }

    /// Whether results that share sums of rows compute them again.
    pub(super) fn repeats_sums(&self, parameters: &Parameters) -> bool {
        self.kinds() > 1 && parameters.rows > 1 && !self.is_unrolled(parameters)
    }

    fn new(stage: &Stage, from: PixelType, to: PixelType, narrow: bool) -> Result<Self, FilterError> {
        let size = stage.window();
        let work = match from {
            PixelType::U8 if narrow => "short",
            PixelType::F16 | PixelType::F32 => "float",
            _ => "int",
        };
        let plain = Self {
            operation: LINEAR,
            work,
            size,
            across: Vec::new(),
            kind: vec![0; size[1]],
            down: vec!["1".to_owned(); size[1]],
            divisor: 1,
            negative: true,
            offset: "0".to_owned(),
            scale: "1.0f".to_owned(),
            start: "0".to_owned(),
            whole: !from.is_float(),
            clamped: false,
        };
        // Ranks need no headroom for sums.
        let rank = if from.is_float() { "float" } else { from.opencl_name() };
        Ok(match stage {
            Stage::Linear(linear) => plain.linear(linear, from, to, narrow)?,
            Stage::Gradient(gradient) => {
                let [derivative, _] = gradient.derivatives();
                let [_, smooth] = derivative.real_factors(Axis::Across).unwrap_or_default();
                let smooth: Vec<String> = smooth.iter().map(ToString::to_string).collect();
                Self { operation: GRADIENT, across: smooth.clone(), down: smooth, ..plain }
            }
            Stage::Morphology(morphology) => {
                let (neighbourhood, operation, start) = match morphology {
                    Morphology::Erode(neighbourhood) => (neighbourhood, LEAST, from.largest()),
                    Morphology::Dilate(neighbourhood) => (neighbourhood, MOST, from.smallest()),
                };
                let row = |holds: &dyn Fn(usize) -> bool| -> Vec<String> {
                    (0..size[0]).map(|x| usize::from(holds(x)).to_string()).collect()
                };
                let (across, kind) = match neighbourhood {
                    Neighbourhood::Rectangle(_) => (row(&|_| true), plain.kind.clone()),
                    Neighbourhood::Cross(_) => {
                        let middle = row(&|_| true).into_iter().chain(row(&|x| x == size[0] / 2));
                        (middle.collect(), (0..size[1]).map(|y| usize::from(y != size[1] / 2)).collect())
                    }
                };
                Self { operation, work: rank, across, kind, start, ..plain }
            }
            Stage::Median { .. } => {
                Self { operation: MEDIAN, work: rank, across: vec!["0".to_owned(); size[0]], ..plain }
            }
            Stage::Convert { scale, offset, .. } => Self {
                work: "float",
                across: vec![float(1.0)],
                scale: float(f64::from(*scale)),
                offset: float(f64::from(*offset)),
                whole: false,
                ..plain
            },
            Stage::Bilateral(_) | Stage::Color(_) => plain,
        })
    }

    fn linear(
        self,
        linear: &Linear,
        from: PixelType,
        to: PixelType,
        narrow: bool,
    ) -> Result<Self, FilterError> {
        if linear.sums_in_float(from) {
            let offset = float(f64::from(linear.offset()));
            let this = Self { offset, work: "float", whole: false, ..self };
            if let Some([across, down]) = linear.real_factors(Axis::Across) {
                let text = |weights: &[f32]| weights.iter().map(|weight| float(f64::from(*weight))).collect();
                return Ok(Self { across: text(&across), down: text(&down), ..this });
            }
            let real = linear.real();
            let (across, kind, down) = distinct_rows(&real, this.size[0], |row| {
                (row.to_vec(), if is_zero(row) { 0.0 } else { 1.0 })
            });
            let text = |weights: &[f32]| weights.iter().map(|weight| float(f64::from(*weight))).collect();
            return Ok(Self { across: text(&across), kind, down: text(&down), ..this });
        }
        let whole = !to.is_float();
        let fixed = linear.fixed(from)?;
        let (across, kind, down) = distinct_rows(&fixed.weights, self.size[0], primitive);
        let text = |weights: &[i32]| weights.iter().map(ToString::to_string).collect();
        let (offset, scale) = if whole {
            (fixed.offset.to_string(), self.scale)
        } else {
            (float(f64::from(fixed.offset)), float(1.0 / f64::from(fixed.divisor)))
        };
        let work = if narrow { work_type(&fixed, from, whole) } else { wide_type(&fixed) };
        let (across, down) = (text(&across), text(&down));
        Ok(Self {
            work,
            across,
            kind,
            down,
            divisor: fixed.divisor,
            negative: fixed.sums[0] < 0,
            offset,
            scale,
            whole,
            clamped: whole && leaves(to, &fixed, from),
            ..self
        })
    }

    /// The base-2 logarithm of the divisor, -1 when it is not a power of two. Signed sums use 31 bits: divided by
    /// more than that they are 0, or -1 when negative.
    fn shift(&self) -> i32 {
        if self.divisor.is_power_of_two() {
            self.divisor.ilog2() as i32
        } else if self.negative && self.divisor > 1 << 31 {
            31
        } else {
            -1
        }
    }

    /// Whether the window computes sums, not comparisons.
    fn sums(&self) -> bool {
        self.operation <= GRADIENT
    }

    /// The type in which this window, the inner one, and the outer one are both computed. Sums of `short` wrap around
    /// in `ushort` without harm; compared elements must not wrap.
    fn common_work(&self, outer: &Self) -> &'static str {
        let wraps = |window: &Self| window.work == "ushort" || window.sums();
        match (self.work, outer.work) {
            (one, other) if one == other => one,
            ("float", _) | (_, "float") => "float",
            ("uint", _) | (_, "uint") => "uint",
            ("uchar", other) | (other, "uchar") => other,
            ("short", "ushort") | ("ushort", "short") if wraps(self) && wraps(outer) => "ushort",
            _ => "int",
        }
    }

    /// The type that sums in `work` are read as, after division if any. Sums that used all 32 bits are signed from
    /// then on, because of what is added to them.
    fn final_type(&self, work: &'static str) -> &'static str {
        match (self.work, work) {
            ("uint", _) if !self.whole => "uint",
            (_, "uint") => "int",
            _ if unsigned(self.work) == unsigned(work) => self.work,
            _ => work,
        }
    }

    /// The smallest and the largest number that both the element type and the type of sums can represent.
    fn limits(&self, element: PixelType, work: &'static str) -> [i64; 2] {
        let [low, high] = element.range().unwrap_or_default().map(i64::from);
        match self.final_type(work) {
            "ushort" => [low.max(0), high.min(u16::MAX.into())],
            "short" => [low.max(i16::MIN.into()), high.min(i16::MAX.into())],
            _ => [low, high],
        }
    }

    /// The number of weights along the rows that are not zero.
    pub(super) fn weights(&self) -> usize {
        self.across.iter().filter(|weight| !["0", "0e0f"].contains(&weight.as_str())).count()
    }
}

/// A `float` literal that parses back to the same number.
pub(super) fn float(value: f64) -> String {
    match value {
        f64::INFINITY => "INFINITY".to_owned(),
        f64::NEG_INFINITY => "(-INFINITY)".to_owned(),
        value if value.is_nan() => "NAN".to_owned(),
        value => format!("{:e}f", value as f32),
    }
}

impl PixelType {
    /// The type's name in OpenCL C.
    pub(crate) fn opencl_name(self) -> &'static str {
        match self {
            Self::U8 => "uchar",
            Self::I16 => "short",
            Self::U16 => "ushort",
            Self::F16 => "half",
            Self::F32 => "float",
        }
    }

    fn largest(self) -> String {
        self.range().map_or_else(|| float(f64::INFINITY), |[_, high]| high.to_string())
    }

    fn smallest(self) -> String {
        self.range().map_or_else(|| float(f64::NEG_INFINITY), |[low, _]| low.to_string())
    }
}

#[cfg(test)]
mod tests;
