//! Elementwise operations: sums, products, activations and conversions ([`map`](fn@map)), scaled sums, reductions, the
//! transpose, the histogram.
//!
//! Each is a plan over the caller's buffers, which must be distinct wherever one of them is written; the functions of
//! [`reference`](mod@reference) define the results.

mod grid;
mod map;
pub mod reference;

use std::fmt;
use std::sync::Arc;

use bytemuck::pod_read_unaligned;
use tripipe_device::Probe;
use tripipe_launch::{Argument, NdRange, ScalarType};

use crate::Role;
use crate::filter::{ChannelLayout, PixelType, Raster};
use crate::gemm::Extents;
use crate::plan::{Arguments, Plan, PlanError, Slot};
use crate::source::{AXPY, HISTOGRAM, REDUCE, TRANSPOSE};

pub use grid::Grid;
pub use map::{Map, Number, Step, map};

/// The layout of the elements of a vector: element i is stored at `offset + i * stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorLayout {
    /// The number of elements.
    pub length: usize,
    /// Offset of the first element.
    pub offset: usize,
    /// Distance between neighbouring elements, at least 1.
    pub stride: usize,
}

impl VectorLayout {
    /// Contiguous elements.
    pub fn dense(length: usize) -> Self {
        Self { length, offset: 0, stride: 1 }
    }

    /// The number of elements that a buffer must have to hold it.
    ///
    /// # Errors
    /// More than a `uint` can index; a stride of 0.
    pub fn elements(&self) -> Result<usize, PlanError> {
        if self.stride == 0 {
            let want = "1 or more".to_owned();
            return Err(PlanError::Parameter { parameter: "stride", found: "0".to_owned(), want });
        }
        let last = self.length.saturating_sub(1).checked_mul(self.stride);
        let all = last.and_then(|last| last.checked_add(self.offset)?.checked_add(self.length.min(1)));
        all.filter(|all| u32::try_from(*all).is_ok()).ok_or_else(|| PlanError::OverLimit {
            what: format!("a vector of {} elements {} apart", self.length, self.stride),
            limit: u32::MAX.into(),
        })
    }
}

/// A matrix of `rows` rows, `pitch` elements apart, from `offset` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixLayout {
    /// The number of columns.
    pub columns: usize,
    /// The number of rows.
    pub rows: usize,
    /// Offset of the first element.
    pub offset: usize,
    /// Distance between rows, in elements.
    pub pitch: usize,
}

impl MatrixLayout {
    /// Rows without gaps.
    pub fn dense(extents: Extents) -> Self {
        let Extents { rows, columns } = extents;
        Self { columns, rows, offset: 0, pitch: columns }
    }
}

/// A reduction of one operand, or of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The sum. For integers exact ([`Reduction::exact`]); for floating-point elements a `float`, for `double` a
    /// `double`, within `(length + 2) u sum |x|`, u = 2^-24 or 2^-53. Without elements: +0.
    Sum,
    /// The sum of the products of two operands, as [`Reduction::Sum`].
    Dot,
    /// The smallest element, and the index of the first such element. NaN is ignored. The result is an `int` or `uint`
    /// for integers, otherwise the type of a sum, followed by the index as `uint`. Without elements: the largest value
    /// (infinity), and 2^32 - 1.
    Least,
    /// The largest element, likewise.
    Most,
}

impl Reduction {
    /// Size of the result in bytes for elements of this type.
    pub fn result_bytes(self, element: ScalarType) -> usize {
        match (self, element) {
            (Self::Sum | Self::Dot, ScalarType::F16 | ScalarType::F32) => 4,
            (Self::Least | Self::Most, ScalarType::F64) => 16,
            _ if self.is_split(element) => 16,
            _ => 8,
        }
    }

    /// Whether the result is the sum of the lower halves of products, as `ulong`, followed by that of the upper halves.
    pub fn is_split(self, element: ScalarType) -> bool {
        self == Self::Dot && matches!(element, ScalarType::I32 | ScalarType::U32)
    }

    /// The sum of integers, or of their products, that a result holds: a `long`, or `ulong` for unsigned elements,
    /// which is exact for fewer than 2^32 elements; in two parts [where that is too short](Self::is_split).
    pub fn exact(self, element: ScalarType, result: &[u8]) -> i128 {
        let part = |index: usize| pod_read_unaligned::<u64>(&result[8 * index..][..8]);
        let is_unsigned = matches!(element, ScalarType::U8 | ScalarType::U16 | ScalarType::U32);
        let whole = |part: u64| if is_unsigned { i128::from(part) } else { i128::from(part as i64) };
        if self.is_split(element) { (whole(part(1)) << 32) + i128::from(part(0)) } else { whole(part(0)) }
    }
}

impl fmt::Display for Reduction {
    /// Formats as `sum`, `dot product`, `smallest element`, `largest element`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sum => "sum",
            Self::Dot => "dot product",
            Self::Least => "smallest element",
            Self::Most => "largest element",
        })
    }
}

/// Work-items per group: the number that the smallest devices support.
const GROUP: usize = 64;
/// The side of a tile: 64 work-items.
const TILE: usize = 8;
const BINS: usize = 256;

/// Work-groups of the first of two launches: enough to fill the device several times over, but no more than there is
/// work for.
fn groups(probe: &Probe, work: usize) -> usize {
    (8 * probe.compute_units.max(1) as usize).min(work.max(1))
}

/// `y += alpha x`, computed in `float` and rounded once when stored: [`Role::Source`] is x, [`Role::Result`] is y, with
/// the same number of elements.
///
/// # Errors
/// Integers; different lengths; a vector that a `uint` cannot index.
pub fn axpy(
    alpha: f32,
    x: VectorLayout,
    y: VectorLayout,
    element: PixelType,
) -> Result<Plan<'static>, PlanError> {
    if !element.is_float() {
        return Err(PlanError::NotOffered { what: "axpy of integers".to_owned() });
    }
    same_length(x, y)?;
    let mut plan = Plan::new();
    let [from, to] = [Role::Source, Role::Result].map(|role| plan.operand(role));
    let program = AXPY
        .program()
        .define("ELEMENT", element.opencl_name())
        .define("HALF", usize::from(element == PixelType::F16));
    let mut arguments: Vec<Argument<Slot>> = vec![from.into(), to.into()];
    arguments.extend(unsigned([x.offset, x.stride, y.offset, y.stride, x.length]));
    arguments.push(alpha.into());
    if x.length > 0 {
        let range = NdRange::d1(x.length.next_multiple_of(GROUP)).local(GROUP, 1, 1);
        plan.launch(&Arc::new(program), "axpy", arguments, range);
    }
    Ok(plan)
}

/// A reduction of [`Role::X`], and of [`Role::Y`] if there are two, to a [`Role::Result`] of
/// [`Reduction::result_bytes`] bytes. Elements are counted along their first direction first.
///
/// # Errors
/// A second operand for anything but [`Reduction::Dot`], or none for it; operands with different extents; `double` or
/// 64-bit integers; an operand that a `uint` cannot index.
pub fn reduce(
    reduction: Reduction,
    x: Grid,
    y: Option<Grid>,
    element: ScalarType,
    probe: &Probe,
) -> Result<Plan<'static>, PlanError> {
    if y.is_some() != (reduction == Reduction::Dot) {
        let takes = if reduction == Reduction::Dot { "two" } else { "one" };
        let what = format!("vectors of a {reduction}, which takes {takes}");
        return Err(PlanError::Operand { what, found: 1 + usize::from(y.is_some()) });
    }
    let other = y.unwrap_or(x);
    x.elements()?;
    other.elements()?;
    if x.extents != other.extents {
        return Err(PlanError::Operand {
            what: format!("of {:?} elements", x.extents),
            found: other.count(),
        });
    }
    let (accumulator, bytes, [least, most]) = match (element, reduction) {
        (ScalarType::F16 | ScalarType::F32, _) => ("float", 4, ["(-INFINITY)", "INFINITY"]),
        (ScalarType::F64 | ScalarType::I64 | ScalarType::U64, _) => {
            return Err(PlanError::NotOffered { what: format!("kernels for {}", element.opencl_name()) });
        }
        _ if reduction.is_split(element) => ("ulong2", 16, ["(ulong2)0", "(ulong2)0"]),
        // `ulong` wraps around, which is not allowed for `long`.
        (_, Reduction::Sum | Reduction::Dot) => ("ulong", 8, ["0", "ULONG_MAX"]),
        (ScalarType::U32, _) => ("uint", 4, ["0", "UINT_MAX"]),
        _ => ("int", 4, ["INT_MIN", "INT_MAX"]),
    };
    let (operation, start) = match reduction {
        Reduction::Sum => (0, "0"),
        Reduction::Dot if reduction.is_split(element) => (1, least),
        Reduction::Dot => (1, "0"),
        Reduction::Least => (2, most),
        Reduction::Most => (3, least),
    };
    let split = match (reduction.is_split(element), element) {
        (false, _) => 0,
        (true, ScalarType::U32) => 2,
        (true, _) => 1,
    };
    let mut plan = Plan::new();
    let y = if y.is_some() { Role::Y } else { Role::X };
    let [from, second, result] = [Role::X, y, Role::Result].map(|role| plan.operand(role));
    let program = REDUCE
        .program()
        .define("OPERATION", operation)
        .define("ELEMENT", element.opencl_name())
        .define("HALF", usize::from(element == ScalarType::F16))
        .define("ACCUMULATOR", accumulator)
        .define("START", start)
        .define("SPLIT", split)
        .define("GROUP", GROUP);
    let program = Arc::new(program);
    let count = x.count();
    let groups = groups(probe, count.div_ceil(GROUP));
    // A work-item's index passes the last element, by at most the number of all work-items.
    indexable(count.saturating_add(groups * GROUP))?;
    let [values, indices] = [plan.scratch(groups * bytes), plan.scratch(groups * 4)];
    let place = |Grid { offset, strides: [i, j, k], .. }: Grid| -> Argument<Slot> {
        [offset, i, j, k].map(|value| value as u32).into()
    };
    let [columns, rows, planes] = x.extents;
    let extents = [columns, rows, planes, count].map(|extent| extent as u32);
    let [of_x, of_y] = [(from, Role::X, x), (second, y, other)]
        .map(|(slot, role, grid)| Arguments::default().with(slot).at(role, place(grid)));
    let arguments = of_x.and(of_y).with(extents).with(values).with(indices);
    plan.launch(&program, "reduce_groups", arguments, NdRange::d1(groups * GROUP).local(GROUP, 1, 1));
    let arguments = [values.into(), indices.into(), result.into(), (groups as u32).into()];
    plan.launch(&program, "reduce_all", arguments, NdRange::d1(GROUP).local(GROUP, 1, 1));
    Ok(plan)
}

/// The number of occurrences of each value over all channels of [`Role::Source`]. [`Role::Result`] is 256 `uint`; for
/// 16-bit values the upper 8 bits are counted.
///
/// # Errors
/// Elements other than `U8` and `U16`; an invalid raster, or one that a `uint` cannot index.
pub fn histogram(raster: &Raster, probe: &Probe) -> Result<Plan<'static>, PlanError> {
    let shift = match raster.element {
        PixelType::U8 => 0,
        PixelType::U16 => 8,
        other => return Err(PlanError::NotOffered { what: format!("a histogram of {other}") }),
    };
    // As in a reduction: the index passes the end of a row.
    indexable(raster.elements()?.saturating_add(GROUP))?;
    let planes = if raster.layout == ChannelLayout::Planar { raster.channels } else { 1 };
    let mut plan = Plan::new();
    let [source, result] = [Role::Source, Role::Result].map(|role| plan.operand(role));
    let rows = if raster.is_empty() { 0 } else { raster.height };
    let groups = groups(probe, rows * planes);
    let counts = plan.scratch(groups * BINS * 4);
    let program = HISTOGRAM
        .program()
        .define("ELEMENT", raster.element.opencl_name())
        .define("SHIFT", shift)
        .define("GROUP", GROUP);
    let program = Arc::new(program);
    let mut arguments: Vec<Argument<Slot>> = vec![source.into(), counts.into()];
    let geometry = [raster.offset, raster.pitch, raster.plane_pitch, raster.row_elements(), rows, planes];
    arguments.extend(unsigned(geometry));
    plan.launch(&program, "histogram_groups", arguments, NdRange::d1(groups * GROUP).local(GROUP, 1, 1));
    let arguments = [counts.into(), result.into(), (groups as u32).into()];
    plan.launch(&program, "histogram_all", arguments, NdRange::d1(BINS).local(GROUP, 1, 1));
    Ok(plan)
}

/// The transpose, for elements of 1, 2, 4, 8 or 16 bytes: [`Role::Result`] is that of [`Role::Source`]. It starts at
/// `offset` and whose rows are `pitch` elements apart.
///
/// # Errors
/// Another element size; overlapping rows; a matrix that a `uint` cannot index.
pub fn transpose(
    from: MatrixLayout,
    offset: usize,
    pitch: usize,
    element_bytes: usize,
) -> Result<Plan<'static>, PlanError> {
    let element = match element_bytes {
        1 => "uchar",
        2 => "ushort",
        4 => "uint",
        8 => "uint2",
        16 => "uint4",
        other => {
            let want = "1, 2, 4, 8 or 16".to_owned();
            return Err(PlanError::Parameter { parameter: "element_bytes", found: other.to_string(), want });
        }
    };
    let MatrixLayout { columns, rows, .. } = from;
    for (pitch, row, count, offset) in
        [(from.pitch, columns, rows, from.offset), (pitch, rows, columns, offset)]
    {
        if pitch < row && count > 1 {
            let want = format!("at least the {row} elements of a row");
            return Err(PlanError::Parameter { parameter: "pitch", found: pitch.to_string(), want });
        }
        let last = pitch
            .checked_mul(count.saturating_sub(1))
            .and_then(|rows| rows.checked_add(row)?.checked_add(offset));
        indexable(last.unwrap_or(usize::MAX))?;
    }
    let mut plan = Plan::new();
    let [source, result] = [Role::Source, Role::Result].map(|role| plan.operand(role));
    let program = TRANSPOSE.program().define("ELEMENT", element).define("TILE", TILE);
    let mut arguments: Vec<Argument<Slot>> = vec![source.into(), result.into()];
    arguments.extend(unsigned([from.offset, from.pitch, offset, pitch, columns, rows]));
    if columns > 0 && rows > 0 {
        let range = NdRange::d2(columns.next_multiple_of(TILE), rows.next_multiple_of(TILE));
        plan.launch(&Arc::new(program), "transpose_tiles", arguments, range.local(TILE, TILE, 1));
    }
    Ok(plan)
}

fn unsigned<const N: usize>(values: [usize; N]) -> [Argument<Slot>; N] {
    values.map(|value| Argument::from(value as u32))
}

fn indexable(elements: usize) -> Result<(), PlanError> {
    if u32::try_from(elements).is_ok() {
        return Ok(());
    }
    let what = format!("an operand of {elements} elements");
    Err(PlanError::OverLimit { what, limit: u32::MAX.into() })
}

fn same_length(x: VectorLayout, y: VectorLayout) -> Result<(), PlanError> {
    x.elements()?;
    y.elements()?;
    if x.length == y.length {
        return Ok(());
    }
    Err(PlanError::Operand { what: format!("a vector of {} elements", x.length), found: y.length })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Size;

    #[test]
    fn refusals_have_no_names_of_variants() {
        let (x, probe) = (Grid::dense(4), Probe::default());
        let said = |reduction, y| {
            let plan = reduce(reduction, x, y, ScalarType::F32, &probe);
            plan.err().map_or_else(String::new, |error| error.to_string())
        };
        assert_eq!(
            said(Reduction::Dot, None),
            "operand vectors of a dot product, which takes two: 1 were given"
        );
        assert_eq!(
            said(Reduction::Least, Some(x)),
            "operand vectors of a smallest element, which takes one: 2 were given"
        );
        let histogram = histogram(&Raster::packed(Size::square(4), 1, PixelType::F16), &probe);
        let said = histogram.err().map_or_else(String::new, |error| error.to_string());
        assert!(said.contains("a histogram of f16"), "{said}");
    }

    /// A 32-bit index that passes the end of such a vector would wrap around, and the loop would never end.
    #[test]
    fn indices_do_not_wrap() {
        let (probe, most) = (Probe::default(), u32::MAX as usize);
        let sum = |length| reduce(Reduction::Sum, Grid::dense(length), None, ScalarType::U8, &probe);
        assert!(matches!(sum(most), Err(PlanError::OverLimit { .. })));
        assert!(sum(most - 8 * GROUP).is_ok());
        let count = |width| histogram(&Raster::packed(Size::new(width, 1), 1, PixelType::U8), &probe);
        assert!(matches!(count(most), Err(PlanError::OverLimit { .. })));
        assert!(count(most - GROUP).is_ok());
    }
}
