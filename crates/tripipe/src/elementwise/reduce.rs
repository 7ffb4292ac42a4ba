//! Reductions: many elements to one number.

use tripipe_device::Probe;
use tripipe_kernels::elementwise::{self, Grid, Reduction};
use tripipe_kernels::filter::FilterError;
use tripipe_kernels::{Plan, PlanError, Role};
use tripipe_launch::ScalarType;

use super::array::sealed::AsPart;
use super::array::{Part, split_offsets};
#[cfg(feature = "cpu")]
use crate::cpu::{self, CpuError, Threads};
use crate::error::Fault;
use crate::memory::Memory;
#[cfg(feature = "cpu")]
use crate::operation::Inputs;
use crate::operation_cache::key;
use crate::task::{Sizes, Task, name_of};
use crate::{Element, Error, Image, ImageView, Matrix, MatrixView, Pending, Pixel, Vector};

/// An element type that can be summed; every element type can.
pub trait Summed: Element {
    /// The type of a sum. For integers `i64`: exact, and an [error](crate::ErrorKind::Overflow) where the sum exceeds
    /// its range. For `f16` and `f32` it is `f32`, for `f64` it is `f64`: within `(length + 2) u sum |x|`, u = 2^-24 or
    /// 2^-53. Without elements it is +0.
    type Sum: bytemuck::Pod + Default + Send + Sync;
}

/// The position of an element of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixPosition {
    /// Its row, from 0 on.
    pub row: usize,
    /// Its column, from 0 on.
    pub column: usize,
}

/// The position of an element of an image: a channel of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImagePosition {
    /// Columns to the left of the pixel.
    pub x: usize,
    /// Rows above the pixel.
    pub y: usize,
    /// The channel, from 0 on.
    pub channel: usize,
}

macro_rules! summed {
    ($($type:ty as $sum:ty),*) => {$(
        impl Summed for $type {
            type Sum = $sum;
        }
    )*};
}

summed!(u8 as i64, i8 as i64, u16 as i64, i16 as i64, u32 as i64, i32 as i64);
summed!(half::f16 as f32, f32 as f32, f64 as f64);

/// Queues a reduction; the value is the bytes of the result.
fn reduced(reduction: Reduction, element: ScalarType, parts: &[Part<'_>]) -> Result<Pending<Vec<u8>>, Error> {
    let [x, rest @ ..] = parts else { return Err(Error::from(Fault::ValueTaken)) };
    let mut grids: Vec<Grid> = parts.iter().map(|part| part.grid).collect();
    // The index of an extreme depends on the order in which elements are counted.
    Grid::merge(&mut grids, matches!(reduction, Reduction::Sum | Reduction::Dot));
    let roles = [Role::X, Role::Y];
    let operands = grids.iter_mut().zip(roles);
    let offsets = split_offsets(operands.map(|(grid, role)| (role, grid, element.bytes())));
    let task = Reduce { reduction, x: grids[0], y: grids[rest.len()], element };
    let context = x.memory.context();
    // Aligned for every type of sum.
    let result = Memory::uninitialised::<u128>(context, reduction.result_bytes(element))?;
    let inputs: Vec<(Role, &Memory)> = roles.into_iter().zip(parts.iter().map(|part| part.memory)).collect();
    drop(context.task(&task)?.run_at(&inputs, &result, &offsets)?);
    result.enqueue_read(0, result.bytes())
}

/// A reduction; `y` equals `x` when there is one operand.
#[derive(Clone, PartialEq)]
struct Reduce {
    reduction: Reduction,
    x: Grid,
    y: Grid,
    element: ScalarType,
}

impl Task for Reduce {
    const KERNEL: &'static str = "reduction in two launches";

    fn name(&self) -> String {
        format!("{} of {} {}", self.reduction, self.x.count(), name_of(self.element))
    }

    fn key(&self) -> u64 {
        key(&(self.reduction, self.x, self.element))
    }

    fn plan(&self, probe: &Probe) -> Result<Plan<'static>, PlanError> {
        let y = (self.reduction == Reduction::Dot).then_some(self.y);
        elementwise::reduce(self.reduction, self.x, y, self.element, probe)
    }

    fn elements(&self) -> usize {
        self.x.count()
    }

    fn sizes(&self) -> Result<Sizes, FilterError> {
        // They are stored in memory that exists.
        let bytes = |grid: &Grid| grid.span().unwrap_or(usize::MAX).saturating_mul(self.element.bytes());
        let mut inputs = vec![(Role::X, bytes(&self.x))];
        if self.reduction == Reduction::Dot {
            inputs.push((Role::Y, bytes(&self.y)));
        }
        let result = self.reduction.result_bytes(self.element);
        Ok(Sizes { inputs, result, written: result })
    }

    #[cfg(feature = "cpu")]
    fn run(&self, inputs: &Inputs<'_>, output: &mut [u8], _: Threads) -> Result<(), CpuError> {
        let x = inputs.get(Role::X)?;
        let y = if self.reduction == Reduction::Dot { inputs.get(Role::Y)? } else { x };
        cpu::reduce(self.reduction, self.element, (&self.x, x), (&self.y, y), output)
    }
}

fn sum<T: Summed>(reduction: Reduction, parts: &[Part<'_>]) -> Result<Pending<T::Sum>, Error> {
    let bytes = reduced(reduction, T::SCALAR, parts)?;
    Ok(bytes.then(move |bytes| {
        if matches!(T::SCALAR, ScalarType::F16 | ScalarType::F32 | ScalarType::F64) {
            return Ok(bytemuck::pod_read_unaligned(&bytes[..size_of::<T::Sum>()]));
        }
        let sum = reduction.exact(T::SCALAR, &bytes);
        let sum = i64::try_from(sum).map_err(|_| Fault::SumTooLarge { reduction, sum })?;
        Ok(bytemuck::pod_read_unaligned(&sum.to_ne_bytes()))
    }))
}

/// The extreme and its index; `None` when there is none.
fn extreme<T: Summed>(reduction: Reduction, part: &Part<'_>) -> Result<Pending<Option<(T, usize)>>, Error> {
    let count = part.grid.count();
    // The index has 32 bits, on the CPU path too.
    if u32::try_from(count).is_err() {
        let what = format!("the index of one of {count} elements");
        return Err(PlanError::OverLimit { what, limit: u32::MAX.into() }.into());
    }
    let bytes = reduced(reduction, T::SCALAR, &[*part])?;
    Ok(bytes.then(move |bytes| {
        let Some((value, length)) = T::of_extreme(&bytes) else { return Ok(None) };
        let index: u32 = bytemuck::pod_read_unaligned(&bytes[length..length + 4]);
        let index = index as usize;
        Ok((index < count).then_some((value, index)))
    }))
}

/// Reductions of a `$type`; `$place` is the position of element `$index` of an array with these extents.
macro_rules! reductions {
    ($($type:ty, $bound:path, $place:ty, $named:literal: |$extents:ident, $index:ident| $at:expr;)*) => {$(
        impl<T: Summed + $bound> $type {
            /// Queues the sum of its elements: see [`Summed::Sum`].
            ///
            /// # Errors
            /// It is mapped for writing; no memory left; the device is gone. Other errors, such as a sum of integers that
            /// exceeds `i64`, are reported by the [`Pending`].
            pub fn sum(&self) -> Result<Pending<T::Sum>, Error> {
                sum::<T>(Reduction::Sum, &[self.part()])
            }

            /// Queues the sum of the products with the elements of `other`: see [`Summed::Sum`].
            ///
            /// # Errors
            /// The shapes differ; the contexts differ; otherwise as [`Self::sum`].
            pub fn dot(&self, other: &Self) -> Result<Pending<T::Sum>, Error> {
                let [x, y] = [self.part(), other.part()];
                x.check_shape("the other operand", &y)?;
                sum::<T>(Reduction::Dot, &[x, y])
            }

            #[doc = concat!("Queues the search for the smallest element and ", $named, " of the first such; `None` if there are no elements, or")]
            /// only NaN, which is ignored.
            ///
            /// # Errors
            /// 2^32 elements or more; otherwise as [`Self::sum`].
            pub fn min(&self) -> Result<Pending<Option<(T, $place)>>, Error> {
                self.extreme(Reduction::Least)
            }

            /// As [`Self::min`], for the largest element.
            ///
            /// # Errors
            /// As [`Self::min`].
            pub fn max(&self) -> Result<Pending<Option<(T, $place)>>, Error> {
                self.extreme(Reduction::Most)
            }

            fn extreme(&self, reduction: Reduction) -> Result<Pending<Option<(T, $place)>>, Error> {
                let part = self.part();
                let $extents = part.grid.extents;
                Ok(extreme::<T>(reduction, &part)?.then(move |found| Ok(found.map(|(value, $index)| (value, $at)))))
            }
        }
    )*};
}

reductions! {
    Vector<T>, Element, usize, "the index": |extents, index| {
        let _ = extents;
        index
    };
    Matrix<T>, Element, MatrixPosition, "the position": |extents, index| in_matrix(extents, index);
    MatrixView<'_, T>, Element, MatrixPosition, "the position": |extents, index| in_matrix(extents, index);
    Image<T>, Pixel, ImagePosition, "the position": |extents, index| in_image(extents, index);
    ImageView<'_, T>, Pixel, ImagePosition, "the position": |extents, index| in_image(extents, index);
}

/// Elements are counted row by row.
fn in_matrix([columns, ..]: [usize; 3], index: usize) -> MatrixPosition {
    MatrixPosition { row: index / columns, column: index % columns }
}

/// Elements are counted channel by channel, then pixel by pixel.
fn in_image([channels, width, _]: [usize; 3], index: usize) -> ImagePosition {
    let pixel = index / channels;
    ImagePosition { x: pixel % width, y: pixel / width, channel: index % channels }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text for users has no names of enum variants.
    #[test]
    fn reductions_have_names_in_words() {
        let x = Grid::dense(12);
        let of = |reduction| Reduce { reduction, x, y: x, element: ScalarType::F32 }.name();
        let names = [Reduction::Sum, Reduction::Dot, Reduction::Least, Reduction::Most].map(of);
        let wanted = [
            "sum of 12 f32",
            "dot product of 12 f32",
            "smallest element of 12 f32",
            "largest element of 12 f32",
        ];
        assert_eq!(names, wanted);
    }
}
