//! Elementwise operations: sums, products, activations, conversions.

use bytemuck::Pod;
use half::f16;
use tripipe_kernels::Role;
use tripipe_kernels::elementwise::{Grid, Map, Number, Step};
use tripipe_launch::ScalarType;

use crate::bands::for_each_band;
use crate::error::check_grid;
use crate::wide::Wide;
use crate::{CpuError, Threads, vectors};
use tripipe_launch::{elements_of as cast, elements_of_mut as cast_mut};

/// Elements per block. A block goes through all steps before the next one is loaded, so that it stays in the
/// first-level cache.
const BLOCK: usize = 512;

/// A type that steps compute in.
trait WorkType: Copy + Default + Send + Sync {
    fn of(number: Number) -> Self;
    fn sum(self, other: Self) -> Self;
    fn difference(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    /// Of floating-point numbers; integers are not divided.
    fn quotient(self, other: Self) -> Self;
    fn limit(self, least: Self, most: Self) -> Self;
    /// Clamps integers to their range; other types are unchanged.
    fn saturated(self, range: [Self; 2]) -> Self;
    fn activated(self, step: &Step) -> Self;
    fn load(from: ScalarType, elements: &[u8], into: &mut [Self]);
    fn store(values: &[Self], to: ScalarType, elements: &mut [u8]);
}

macro_rules! integers {
    ($($work:ident),*) => {$(
        impl WorkType for $work {
            fn of(number: Number) -> Self {
                number.integer() as Self
            }
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                self.saturating_add(other)
            }
            #[inline(always)]
            fn difference(self, other: Self) -> Self {
                self.saturating_sub(other)
            }
            #[inline(always)]
            fn product(self, other: Self) -> Self {
                self.saturating_mul(other)
            }
            #[inline(always)]
            fn quotient(self, _: Self) -> Self {
                self
            }
            #[inline(always)]
            fn limit(self, least: Self, most: Self) -> Self {
                self.max(least).min(most)
            }
            #[inline(always)]
            fn saturated(self, [least, most]: [Self; 2]) -> Self {
                self.max(least).min(most)
            }
            #[inline(always)]
            fn activated(self, _: &Step) -> Self {
                self.max(0)
            }
            access!($work);
        }
    )*};
}

macro_rules! floats {
    ($($work:ident $erfc:path, $lowest:literal;)*) => {$(
        impl WorkType for $work {
            fn of(number: Number) -> Self {
                number.real() as Self
            }
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn difference(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn product(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn quotient(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn limit(self, least: Self, most: Self) -> Self {
                // Not `clamp`, which panics on invalid limits.
                let raised = if self < least { least } else { self };
                if raised > most { most } else { raised }
            }
            #[inline(always)]
            fn saturated(self, _: [Self; 2]) -> Self {
                self
            }
            #[inline(always)]
            fn activated(self, step: &Step) -> Self {
                match step {
                    Step::Sigmoid => 1.0 / (1.0 + (-self).exp()),
                    Step::Tanh => self.tanh(),
                    // Below this the result is 0, and a product with minus infinity would be NaN.
                    Step::Gelu if self < $lowest => -0.0,
                    Step::Gelu => {
                        (0.5 * f64::from(self) * $erfc(-std::f64::consts::FRAC_1_SQRT_2 * f64::from(self))) as Self
                    }
                    _ if self < 0.0 => 0.0,
                    _ => self,
                }
            }
            access!($work);
        }
    )*};
}

/// Loads and stores of elements of any type.
macro_rules! access {
    ($work:ident) => {
        #[inline(always)]
        fn load(from: ScalarType, elements: &[u8], into: &mut [Self]) {
            with_type!(from, T => {
                for (value, element) in into.iter_mut().zip(cast::<T>(elements)) {
                    *value = ConvertTo::<$work>::converted(*element);
                }
            });
        }

        #[inline(always)]
        fn store(values: &[Self], to: ScalarType, elements: &mut [u8]) {
            with_type!(to, T => {
                for (value, element) in values.iter().zip(cast_mut::<T>(elements)) {
                    *element = ConvertTo::<T>::converted(*value);
                }
            });
        }
    };
}

macro_rules! with_type {
    ($scalar:expr, $type:ident => $call:expr) => {
        with_type!(@ $scalar, $type => $call; U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, F16 f16, F32 f32)
    };
    (@ $scalar:expr, $type:ident => $call:expr; $($variant:ident $element:ident),*) => {
        match $scalar {
            $(ScalarType::$variant => {
                type $type = $element;
                $call
            })*
            _ => {
                type $type = f64;
                $call
            }
        }
    };
}
pub(super) use with_type;

/// Conversion to the nearest number of another type, ties to even; an integer type saturates, and NaN becomes 0.
trait ConvertTo<T> {
    fn converted(self) -> T;
}

macro_rules! conversions {
    // Conversions between integers.
    (@of $from:ident to $($to:ident)*) => {$(
        impl ConvertTo<$to> for $from {
            #[inline(always)]
            fn converted(self) -> $to {
                i64::from(self).max(i64::from($to::MIN)).min(i64::from($to::MAX)) as $to
            }
        }
    )*};
    ($($integer:ident)*) => {$(
        conversions!(@of $integer to u8 i8 u16 i16 u32 i32);
        impl ConvertTo<i64> for $integer {
            #[inline(always)]
            fn converted(self) -> i64 {
                i64::from(self)
            }
        }
        #[allow(clippy::cast_lossless, reason = "of some types it is exact")]
        impl ConvertTo<f32> for $integer {
            #[inline(always)]
            fn converted(self) -> f32 {
                self as f32
            }
        }
        impl ConvertTo<f64> for $integer {
            #[inline(always)]
            fn converted(self) -> f64 {
                f64::from(self)
            }
        }
        #[allow(clippy::cast_lossless, reason = "of some types it is exact")]
        impl ConvertTo<f16> for $integer {
            #[inline(always)]
            fn converted(self) -> f16 {
                // Values that `f32` rounds are greater than all numbers of `f16`.
                f16::from_f32(self as f32)
            }
        }
        impl ConvertTo<$integer> for f32 {
            #[inline(always)]
            fn converted(self) -> $integer {
                self.round_ties_even() as $integer
            }
        }
        impl ConvertTo<$integer> for f64 {
            #[inline(always)]
            fn converted(self) -> $integer {
                self.round_ties_even() as $integer
            }
        }
        impl ConvertTo<$integer> for f16 {
            #[inline(always)]
            fn converted(self) -> $integer {
                self.to_f32().round_ties_even() as $integer
            }
        }
    )*};
}

macro_rules! of_floats {
    ($($from:ident $to:ident $value:ident => $made:expr;)*) => {$(
        impl ConvertTo<$to> for $from {
            #[inline(always)]
            fn converted(self) -> $to {
                let $value = self;
                $made
            }
        }
    )*};
}

conversions!(u8 i8 u16 i16 u32 i32);
conversions!(@of i64 to u8 i8 u16 i16 u32 i32);
of_floats!(
    i64 f16 x => f16::from_f32(x as f32);
    i64 f32 x => x as f32;
    i64 f64 x => x as f64;
    f16 i64 x => x.to_f32().round_ties_even() as i64;
    f32 i64 x => x.round_ties_even() as i64;
    f64 i64 x => x.round_ties_even() as i64;
    f16 f16 x => x;
    f16 f32 x => x.to_f32();
    f16 f64 x => x.to_f64();
    f32 f16 x => f16::from_f32(x);
    f32 f32 x => x;
    f32 f64 x => f64::from(x);
    f64 f16 x => f16::from_f64(x);
    f64 f32 x => x as f32;
    f64 f64 x => x;
);

integers!(i32, i64);
floats! {
    f32 libm::erfc, -14.5;
    f64 libm::erfc, -40.0;
}

/// The range of values of an integer type.
fn range(element: ScalarType) -> [Number; 2] {
    let [least, most] = match element {
        ScalarType::U8 => [0, u8::MAX.into()],
        ScalarType::I8 => [i8::MIN.into(), i8::MAX.into()],
        ScalarType::U16 => [0, u16::MAX.into()],
        ScalarType::I16 => [i16::MIN.into(), i16::MAX.into()],
        ScalarType::U32 => [0, u32::MAX.into()],
        _ => [i32::MIN.into(), i32::MAX.into()],
    };
    [Number::Integer(least), Number::Integer(most)]
}

/// Calls a function of the element's size in bytes with an integer type of that size.
macro_rules! by_size {
    ($bytes:expr, $function:ident($($argument:expr),*)) => {
        match $bytes {
            1 => $function::<u8>($($argument),*),
            2 => $function::<u16>($($argument),*),
            4 => $function::<u32>($($argument),*),
            _ => $function::<u64>($($argument),*),
        }
    };
}

/// Runs the map: `inputs` are the operands in order, without the result, which is `output`.
///
/// # Errors
/// [`CpuError::Operand`] when one is missing, [`CpuError::Length`] when one exceeds its slice.
pub fn map(map: &Map, inputs: &[&[u8]], output: &mut [u8], threads: Threads) -> Result<(), CpuError> {
    if map.result.is_empty() {
        return Ok(());
    }
    check_grid("map", "output", &map.result, map.to, output)?;
    let operands = map.operands().filter(|(role, ..)| *role != Role::Result);
    for (index, (role, grid, element)) in operands.enumerate() {
        let input = inputs.get(index).ok_or_else(|| CpuError::Operand { operand: role.to_string() })?;
        check_grid("map", "inputs", grid, element, input)?;
    }
    if map.is_copy() {
        by_size!(map.to.bytes(), copied(map, inputs, output, threads));
        return Ok(());
    }
    match map.work() {
        ScalarType::F64 => in_bands::<f64>(map, inputs, output, threads),
        ScalarType::F16 | ScalarType::F32 => in_bands::<f32>(map, inputs, output, threads),
        ScalarType::I32 | ScalarType::U32 => in_bands::<i64>(map, inputs, output, threads),
        _ => in_bands::<i32>(map, inputs, output, threads),
    }
    Ok(())
}

fn in_bands<W: WorkType>(map: &Map, inputs: &[&[u8]], output: &mut [u8], threads: Threads) {
    let work = |output: &mut [u8], first, at, length| run::<W>(map, inputs, output, first, at, length);
    for_each_run(&map.result, map.to.bytes(), output, threads, work);
}

fn copied<T: Pod>(map: &Map, inputs: &[&[u8]], output: &mut [u8], threads: Threads) {
    let (Some(source), [elements, ..]) = (map.source, inputs) else { return };
    let work = |output: &mut [u8], first: usize, at, length| {
        let from = &cast::<T>(elements)[index(&source, at)..];
        let to = &mut cast_mut::<T>(output)[first..];
        match [source.strides[0], map.result.strides[0]] {
            [1, 1] => to[..length].copy_from_slice(&from[..length]),
            [a, b] => (0..length).for_each(|i| to[i * b] = from[i * a]),
        }
    };
    for_each_run(&map.result, map.to.bytes(), output, threads, work);
}

/// The index of element (i, j, k) in memory.
fn index(grid: &Grid, at: [usize; 3]) -> usize {
    let along = at.iter().zip(grid.strides);
    along.fold(grid.offset, |index, (at, stride)| index + at * stride)
}

/// Calls `work` for runs along the first direction that together cover `result`: with the part of the output that
/// contains the run, the index in that part of the run's first element, its position in the grid, and its length.
fn for_each_run(
    result: &Grid,
    element_bytes: usize,
    output: &mut [u8],
    threads: Threads,
    work: impl Fn(&mut [u8], usize, [usize; 3], usize) + Sync,
) {
    let [columns, rows, planes] = result.extents;
    let [across, pitch, _] = result.strides;
    for k in 0..planes {
        let first = index(result, [0, 0, k]);
        if across != 1 || (rows > 1 && pitch < columns) {
            // The rows of the result are interleaved, so they cannot be split into slices for threads.
            (0..rows).for_each(|j| work(&mut *output, index(result, [0, j, k]), [0, j, k], columns));
        } else if rows == 1 {
            let row = &mut output[first * element_bytes..][..columns * element_bytes];
            for_each_band(row, element_bytes, 64, threads, |from, band| {
                let length = band.len() / element_bytes;
                work(band, 0, [from, 0, k], length);
            });
        } else {
            let elements = (rows - 1) * pitch + columns;
            let plane = &mut output[first * element_bytes..][..elements * element_bytes];
            for_each_band(plane, pitch * element_bytes, 1, threads, |from, band| {
                for j in 0..band.len().div_ceil(pitch * element_bytes) {
                    work(&mut *band, j * pitch, [0, from + j, k], columns);
                }
            });
        }
    }
}

/// Applies the steps to `length` elements from `at` on; the results are stored in `output` from element `first` on.
fn run<W: WorkType>(
    map: &Map,
    inputs: &[&[u8]],
    output: &mut [u8],
    first: usize,
    [i, j, k]: [usize; 3],
    length: usize,
) {
    let range = range(map.from).map(W::of);
    let (over, bytes) = (map.result.strides[0], map.to.bytes());
    vectors::arch().dispatch(Wide(
        #[inline(always)]
        || {
            let (mut values, mut others) = ([W::default(); BLOCK], [W::default(); BLOCK]);
            let mut memory = [0; BLOCK];
            for begin in (0..length).step_by(BLOCK) {
                let values = &mut values[..BLOCK.min(length - begin)];
                let others = &mut others[..values.len()];
                let at = [i + begin, j, k];
                let mut inputs = inputs.iter();
                // In one loop, so that loads of all types are compiled once.
                for number in 0..=map.steps.len() {
                    let step = number.checked_sub(1).map(|before| &map.steps[before]);
                    let operand =
                        if step.is_some() { step.and_then(Step::operand) } else { map.source.as_ref() };
                    let read = match operand {
                        Some(grid) => inputs
                            .next()
                            .map(|elements| (map.from, &**elements, [index(grid, at), grid.strides[0]])),
                        None if step.is_some() => None,
                        None => Some((map.to, &*output, [first + begin * over, over])),
                    };
                    if let Some((from, elements, place)) = read {
                        let into = if step.is_some() { &mut *others } else { &mut *values };
                        let elements = neighbours(elements, from.bytes(), place, &mut memory, into.len());
                        W::load(from, elements, into);
                    }
                    if let Some(step) = step {
                        change(step, values, others, range);
                    }
                }
                let first = first + begin * over;
                if over == 1 {
                    W::store(values, map.to, &mut output[first * bytes..][..values.len() * bytes]);
                } else {
                    let memory = &mut bytemuck::cast_slice_mut(&mut memory)[..values.len() * bytes];
                    W::store(values, map.to, memory);
                    spread(memory, bytes, output, [first, over]);
                }
            }
        },
    ));
}

/// `count` elements of this number of bytes from element `first` on, `stride` apart: in place if they are neighbours,
/// otherwise copied to `memory`.
#[inline(always)]
fn neighbours<'a>(
    elements: &'a [u8],
    bytes: usize,
    [first, stride]: [usize; 2],
    memory: &'a mut [u64],
    count: usize,
) -> &'a [u8] {
    fn copy<T: Pod>(from: &[u8], [first, stride]: [usize; 2], to: &mut [u8]) {
        let from = &cast::<T>(from)[first..];
        for (index, to) in cast_mut::<T>(to).iter_mut().enumerate() {
            *to = from[index * stride];
        }
    }
    if stride == 1 {
        return &elements[first * bytes..][..count * bytes];
    }
    let memory = &mut bytemuck::cast_slice_mut(memory)[..count * bytes];
    by_size!(bytes, copy(elements, [first, stride], memory));
    memory
}

/// Copies elements to those from element `first` of `to` on, `stride` apart.
fn spread(elements: &[u8], bytes: usize, to: &mut [u8], [first, stride]: [usize; 2]) {
    fn copy<T: Pod>(from: &[u8], to: &mut [u8], [first, stride]: [usize; 2]) {
        let to = &mut cast_mut::<T>(to)[first..];
        for (index, from) in cast::<T>(from).iter().enumerate() {
            to[index * stride] = *from;
        }
    }
    by_size!(bytes, copy(elements, to, [first, stride]));
}

/// Applies one step.
#[inline(always)]
fn change<W: WorkType>(step: &Step, values: &mut [W], others: &[W], range: [W; 2]) {
    match step {
        Step::Add(_) => pairs(values, others, |value, other| value.sum(other).saturated(range)),
        Step::Subtract(_) => pairs(values, others, |value, other| value.difference(other).saturated(range)),
        Step::Multiply(_) => pairs(values, others, |value, other| value.product(other).saturated(range)),
        Step::Divide(_) => pairs(values, others, WorkType::quotient),
        Step::AddNumber(number) => with(values, *number, |value, number| value.sum(number).saturated(range)),
        Step::SubtractNumber(number) => {
            with(values, *number, |value, number| value.difference(number).saturated(range));
        }
        Step::MultiplyNumber(number) => {
            with(values, *number, |value, number| value.product(number).saturated(range));
        }
        Step::DivideNumber(number) => with(values, *number, WorkType::quotient),
        Step::Clamp(least, most) => {
            let (least, most) = (W::of(*least), W::of(*most));
            each(values, |value| value.limit(least, most));
        }
        Step::Relu | Step::Sigmoid | Step::Tanh | Step::Gelu => each(values, |value| value.activated(step)),
    }
}

#[inline(always)]
fn each<W: WorkType>(values: &mut [W], changed: impl Fn(W) -> W) {
    for value in values {
        *value = changed(*value);
    }
}

#[inline(always)]
fn with<W: WorkType>(values: &mut [W], number: Number, changed: impl Fn(W, W) -> W) {
    let number = W::of(number);
    each(values, |value| changed(value, number));
}

#[inline(always)]
fn pairs<W: WorkType>(values: &mut [W], others: &[W], changed: impl Fn(W, W) -> W) {
    for (value, other) in values.iter_mut().zip(others) {
        *value = changed(*value, *other);
    }
}
