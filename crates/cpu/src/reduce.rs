//! Reductions: many elements to one number.

use half::f16;
use tripipe_kernels::elementwise::{Grid, Reduction};
use tripipe_launch::ScalarType;

use crate::CpuError;
use crate::error::{check_grid, check_length};
use crate::map::with_type;
use tripipe_launch::elements_of as cast;

/// The element types of reductions.
trait Reduced: bytemuck::Pod + PartialOrd {
    /// The bytes of the sum of `count` elements, or of their products, for integers [in two parts](Reduction::is_split)
    /// if `split`; `None` if they have no room for it.
    fn sum(pairs: impl Iterator<Item = (Self, Option<Self>)>, count: usize, split: bool) -> Option<Vec<u8>>;
    /// The bytes of an extreme.
    fn bytes(self) -> Vec<u8>;
}

macro_rules! integers {
    ($($type:ident as $wide:ident in $sum:ident),*) => {$(
        impl Reduced for $type {
            fn sum(
                pairs: impl Iterator<Item = (Self, Option<Self>)>,
                count: usize,
                split: bool,
            ) -> Option<Vec<u8>> {
                // Exact for so few elements.
                if !split && u32::try_from(count).is_ok() {
                    let product = |(x, y): (Self, Option<Self>)| {
                        i64::from(x).wrapping_mul(y.map_or(1, i64::from))
                    };
                    return Some(pairs.map(product).fold(0i64, i64::wrapping_add).to_ne_bytes().to_vec());
                }
                let product = |(x, y): (Self, Option<Self>)| i128::from(x) * y.map_or(1, i128::from);
                let sum: i128 = pairs.map(product).sum();
                Some(if split {
                    let [lower, upper] = [sum & i128::from(u32::MAX), sum >> 32].map(|part| part as u64);
                    [lower.to_ne_bytes(), upper.to_ne_bytes()].concat()
                } else {
                    $sum::try_from(sum).ok()?.to_ne_bytes().to_vec()
                })
            }
            fn bytes(self) -> Vec<u8> {
                $wide::from(self).to_ne_bytes().to_vec()
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ident as $wide:ident),*) => {$(
        impl Reduced for $type {
            fn sum(
                pairs: impl Iterator<Item = (Self, Option<Self>)>,
                _: usize,
                _: bool,
            ) -> Option<Vec<u8>> {
                let product = |(x, y): (Self, Option<Self>)| f64::from(x) * y.map_or(1.0, f64::from);
                // Not `sum`, which is -0 without elements.
                let sum = pairs.map(product).fold(0.0, |sum, product| sum + product);
                Some((sum as $wide).to_ne_bytes().to_vec())
            }
            fn bytes(self) -> Vec<u8> {
                $wide::from(self).to_ne_bytes().to_vec()
            }
        }
    )*};
}

integers!(u8 as i32 in u64, i8 as i32 in i64, u16 as i32 in u64);
integers!(i16 as i32 in i64, u32 as u32 in u64, i32 as i32 in i64);
floats!(f16 as f32, f32 as f32, f64 as f64);

/// Runs the reduction, and writes the same bytes to `output` as the kernels do.
///
/// # Errors
/// [`CpuError::Length`] when an operand or the result exceeds its slice, [`CpuError::SumTooLarge`] for a sum of integers for
/// which there is no room.
pub fn reduce(
    reduction: Reduction,
    element: ScalarType,
    (x, x_bytes): (&Grid, &[u8]),
    (y, y_bytes): (&Grid, &[u8]),
    output: &mut [u8],
) -> Result<(), CpuError> {
    check_grid("reduce", "x", x, element, x_bytes)?;
    if reduction == Reduction::Dot {
        check_length("reduce", "y", &[x.count()], y.count())?;
        check_grid("reduce", "y", y, element, y_bytes)?;
    }
    let (count, split) = (x.count(), reduction.is_split(element));
    with_type!(element, T => {
        let values = elements::<T>(x, cast(x_bytes));
        let found = match reduction {
            Reduction::Sum => T::sum(values.map(|value| (value, None)), count, split),
            Reduction::Dot => {
                let pairs = values.zip(elements::<T>(y, cast(y_bytes))).map(|(x, y)| (x, Some(y)));
                T::sum(pairs, count, split)
            }
            Reduction::Least => Some(extreme(values, |one, best| one < best)),
            Reduction::Most => Some(extreme(values, |one, best| one > best)),
        };
        let found = found.ok_or(CpuError::SumTooLarge { elements: count })?;
        let room = output.len();
        let result = output.get_mut(..found.len()).ok_or(CpuError::Length {
            operation: "reduce",
            buffer: "output",
            want: found.len(),
            found: room,
        })?;
        result.copy_from_slice(&found);
    });
    Ok(())
}

/// The first element that no other is `before`, and its index; NaN is ignored.
fn extreme<T: Reduced>(values: impl Iterator<Item = T>, before: impl Fn(T, T) -> bool) -> Vec<u8> {
    let mut best: Option<(T, usize)> = None;
    for (index, value) in values.enumerate() {
        // A NaN does not equal itself.
        if value.partial_cmp(&value).is_some() && best.is_none_or(|(best, _)| before(value, best)) {
            best = Some((value, index));
        }
    }
    let (value, index) = best.map_or((T::zeroed(), u32::MAX), |(value, index)| (value, index as u32));
    let mut bytes = value.bytes();
    bytes.extend(index.to_ne_bytes());
    bytes
}

/// The elements of a grid in order.
fn elements<'e, T: Copy>(grid: &'e Grid, elements: &'e [T]) -> impl Iterator<Item = T> + 'e {
    let Grid { extents: [columns, rows, planes], offset, strides: [across, down, deep] } = *grid;
    (0..planes).flat_map(move |k| (0..rows).map(move |j| offset + k * deep + j * down)).flat_map(
        move |first| {
            let row = if columns == 0 { &[] } else { &elements[first..=first + (columns - 1) * across] };
            row.iter().step_by(across.max(1)).take(columns).copied()
        },
    )
}
