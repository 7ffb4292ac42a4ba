//! Programs of `window.cl`.

mod program;
mod rows;
mod types;

use super::{
    Axis, FilterError, Linear, Morphology, Neighbourhood, Parameters, PixelType, Raster, Size, Stage, Sums,
};
pub(super) use program::{block, border_defines, list, program};
use rows::is_zero;
pub(super) use rows::{distinct_rows, primitive};
use types::{leaves, unsigned, wide_type, work_type};

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
    size: Size,
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

impl Window {
    /// Distinct rows of weights.
    fn kinds(&self) -> usize {
        self.across.len() / self.size.width
    }

    /// Whether loops over rows are unrolled. Where they are not, each result computes the sums of its rows, which other
    /// results share otherwise.
    fn is_unrolled(&self, parameters: &Parameters) -> bool {
        let rows = parameters.rows + self.size.height - 1;
        let steps = STEPS_OF_A_TAP * self.size.width + STEPS_OF_A_ROW * parameters.rows;
        rows * self.size.width * self.kinds() * parameters.lanes <= UNROLLED_MOST
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
            kind: vec![0; size.height],
            down: vec!["1".to_owned(); size.height],
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
                    (0..size.width).map(|x| usize::from(holds(x)).to_string()).collect()
                };
                let (across, kind) = match neighbourhood {
                    Neighbourhood::Rectangle(_) => (row(&|_| true), plain.kind.clone()),
                    Neighbourhood::Cross(_) => {
                        let middle = row(&|_| true).into_iter().chain(row(&|x| x == size.width / 2));
                        (
                            middle.collect(),
                            (0..size.height).map(|y| usize::from(y != size.height / 2)).collect(),
                        )
                    }
                };
                Self { operation, work: rank, across, kind, start, ..plain }
            }
            Stage::Median { .. } => {
                Self { operation: MEDIAN, work: rank, across: vec!["0".to_owned(); size.width], ..plain }
            }
            Stage::Convert { scale, offset, .. } => Self {
                work: "float",
                across: vec![float(1.0)],
                scale: float(f64::from(*scale)),
                offset: float(f64::from(*offset)),
                whole: false,
                ..plain
            },
            Stage::Rank(_) | Stage::Bilateral(_) | Stage::Color(_) => plain,
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
            let (across, kind, down) = distinct_rows(&real, this.size.width, |row| {
                (row.to_vec(), if is_zero(row) { 0.0 } else { 1.0 })
            });
            let text = |weights: &[f32]| weights.iter().map(|weight| float(f64::from(*weight))).collect();
            return Ok(Self { across: text(&across), kind, down: text(&down), ..this });
        }
        let whole = !to.is_float();
        let fixed = linear.fixed(from)?;
        let (across, kind, down) = distinct_rows(&fixed.weights, self.size.width, primitive);
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
