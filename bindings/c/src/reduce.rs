//! Sums and extremes of vectors.

use tripipe::{Summed, Vector};

use crate::status::{Failure, call, give, object, tripipe_status};
use crate::vector::{Typed, of_type, tripipe_vector};

/// A sum: exact for integers, rounded for floating-point numbers.
#[derive(Clone, Copy)]
enum Sum {
    Whole(i64),
    Real(f64),
}

impl From<i64> for Sum {
    fn from(sum: i64) -> Self {
        Self::Whole(sum)
    }
}

impl From<f32> for Sum {
    fn from(sum: f32) -> Self {
        Self::Real(sum.into())
    }
}

impl From<f64> for Sum {
    fn from(sum: f64) -> Self {
        Self::Real(sum)
    }
}

/// Runs code for the vector behind a handle: `$vector` is it, `$type` the type of its elements.
macro_rules! with {
    ($typed:expr, $vector:ident: $type:ident => $body:expr) => {
        with!($typed, $vector: $type => $body;
            U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, F16 half::f16, F32 f32, F64 f64)
    };
    ($typed:expr, $vector:ident: $type:ident => $body:expr; $($variant:ident $own:ty),*) => {
        match $typed {
            $(Typed::$variant($vector) => {
                #[allow(dead_code, reason = "not every use names the type")]
                type $type = $own;
                $body
            })*
        }
    };
}

fn sum_of<T: Summed>(vector: &Vector<T>, other: Option<&Vector<T>>) -> Result<Sum, Failure>
where
    T::Sum: Into<Sum>,
{
    let queued = other.map_or_else(|| vector.sum(), |other| vector.dot(other));
    Ok(queued?.wait()?.into())
}

/// # Safety
/// `x` is null or live; `y` likewise, or not needed.
unsafe fn reduced(x: *const tripipe_vector, y: Option<*const tripipe_vector>) -> Result<Sum, Failure> {
    // SAFETY: as the caller guarantees.
    let own = unsafe { object(x, "x") }?;
    // SAFETY: as the caller guarantees.
    let other = y.map(|y| unsafe { object(y, "y") }).transpose()?;
    with!(&own.0, vector: T => {
        let other = other.map(|other| of_type::<T>(&other.0, "y")).transpose()?;
        sum_of(vector, other)
    })
}

fn whole(sum: Sum) -> Result<i64, Failure> {
    match sum {
        Sum::Whole(sum) => Ok(sum),
        Sum::Real(_) => {
            Err(Failure::argument("x has floating-point elements: their sum is not a whole number"))
        }
    }
}

fn real(sum: Sum) -> f64 {
    match sum {
        Sum::Whole(sum) => sum as f64,
        Sum::Real(sum) => sum,
    }
}

/// Gives the sum of all elements, in `float` for `F16` and `F32`; that of integers is rounded if it exceeds 2^53. Waits.
///
/// # Safety
/// `x` is live; `sum` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_vector_sum(x: *const tripipe_vector, sum: *mut f64) -> tripipe_status {
    // SAFETY: as the caller guarantees.
    call(|| unsafe { give(sum, real(reduced(x, None)?), "sum") })
}

/// As `tripipe_vector_sum`, exact; for integers only.
///
/// # Safety
/// As `tripipe_vector_sum`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_vector_whole_sum(x: *const tripipe_vector, sum: *mut i64) -> tripipe_status {
    // SAFETY: as the caller guarantees.
    call(|| unsafe { give(sum, whole(reduced(x, None)?)?, "sum") })
}

/// Gives the sum of the products of the elements of two vectors of one type and length, as `tripipe_vector_sum`. Waits.
///
/// # Safety
/// `x` and `y` are live; `sum` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_vector_dot(
    x: *const tripipe_vector,
    y: *const tripipe_vector,
    sum: *mut f64,
) -> tripipe_status {
    // SAFETY: as the caller guarantees.
    call(|| unsafe { give(sum, real(reduced(x, Some(y))?), "sum") })
}

/// Gives the value and the position of an extreme.
///
/// # Safety
/// `x` is null or live; `value` and `position` are null or valid for a write.
#[allow(clippy::useless_conversion, reason = "one of the types is f64 already")]
unsafe fn extreme(
    x: *const tripipe_vector,
    is_largest: bool,
    value: *mut f64,
    position: *mut usize,
) -> Result<(), Failure> {
    fn found<T: Summed>(vector: &Vector<T>, is_largest: bool) -> Result<Option<(T, usize)>, Failure> {
        Ok(if is_largest { vector.max() } else { vector.min() }?.wait()?)
    }
    // SAFETY: as the caller guarantees.
    let own = unsafe { object(x, "x") }?;
    let found = with!(&own.0, vector: T => {
        found::<T>(vector, is_largest)?.map(|(value, position)| (f64::from(value), position))
    });
    let (found, place) =
        found.ok_or_else(|| Failure::argument("x has no smallest or largest element: none, or only NaN"))?;
    if !position.is_null() {
        // SAFETY: as the caller guarantees.
        unsafe { give(position, place, "position") }?;
    }
    // SAFETY: as the caller guarantees.
    unsafe { give(value, found, "value") }
}

/// Gives the smallest element and the position of the first such one; NaN is ignored. `position` may be null. Waits.
///
/// # Safety
/// `x` is live; `value` is valid for a write, `position` too or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_vector_min(
    x: *const tripipe_vector,
    value: *mut f64,
    position: *mut usize,
) -> tripipe_status {
    // SAFETY: as the caller guarantees.
    call(|| unsafe { extreme(x, false, value, position) })
}

/// As `tripipe_vector_min`, the largest element.
///
/// # Safety
/// As `tripipe_vector_min`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_vector_max(
    x: *const tripipe_vector,
    value: *mut f64,
    position: *mut usize,
) -> tripipe_status {
    // SAFETY: as the caller guarantees.
    call(|| unsafe { extreme(x, true, value, position) })
}
