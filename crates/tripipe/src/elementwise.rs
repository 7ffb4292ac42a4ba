//! Vectors element by element: sums, reductions, histograms, conversions, the transpose.

use tripipe_kernels::PlanError;
use tripipe_kernels::elementwise::Reduction;
use tripipe_kernels::filter::{Border, Chain, Raster, Stage};

use crate::memory::Memory;
use crate::simple::Task;
use crate::{Element, Error, Image, Matrix, Order, Pending, Pixel, Vector};

/// A number that vectors of it can be summed.
pub trait Summed: Pixel {
    /// The type of a sum: `i64` of integers, exact modulo 2^64; `f32` of floating-point numbers, within `(length + 2) u sum |x|`,
    /// u = 2^-24.
    type Sum: bytemuck::Pod + Default;
}

impl Summed for u8 {
    type Sum = i64;
}
impl Summed for i16 {
    type Sum = i64;
}
impl Summed for u16 {
    type Sum = i64;
}
impl Summed for half::f16 {
    type Sum = f32;
}
impl Summed for f32 {
    type Sum = f32;
}

/// A channel whose values can be counted.
pub trait Counted: Pixel {}

impl Counted for u8 {}
impl Counted for u16 {}

impl<T: Summed<Sum = f32>> Vector<T> {
    /// Queues `self += alpha x`, in `f32`, rounded once when stored.
    ///
    /// # Errors
    /// Another length; another context, or memory that both share; the device is gone.
    pub fn add_scaled(&mut self, alpha: f32, x: &Self) -> Result<Pending, Error> {
        self.memory().check_length::<T>(x.len())?;
        let task = Task::Axpy { alpha, length: self.len(), element: T::PIXEL };
        self.context().simple(task)?.run(&[x.memory()], self.memory())
    }
}

impl<T: Summed> Vector<T> {
    /// The sum of its elements, after all that was queued before.
    ///
    /// # Errors
    /// An operation before failed; the device is gone.
    pub fn sum(&self) -> Result<T::Sum, Error> {
        self.reduced(Reduction::Sum, &[self.memory()])
    }

    /// The sum of the products with another vector's elements, after all that was queued before.
    ///
    /// # Errors
    /// Another length; another context; an operation before failed; the device is gone.
    pub fn dot(&self, other: &Self) -> Result<T::Sum, Error> {
        self.memory().check_length::<T>(other.len())?;
        self.reduced(Reduction::Dot, &[self.memory(), other.memory()])
    }

    /// The smallest element and the index of the first such; none without elements, or with nothing but NaN, which is passed
    /// over.
    ///
    /// # Errors
    /// 2^32 elements or more; an operation before failed; the device is gone.
    pub fn least(&self) -> Result<Option<(T, usize)>, Error> {
        self.extreme(Reduction::Least)
    }

    /// The largest element, as [`Self::least`].
    ///
    /// # Errors
    /// As [`Self::least`].
    pub fn most(&self) -> Result<Option<(T, usize)>, Error> {
        self.extreme(Reduction::Most)
    }

    fn extreme(&self, reduction: Reduction) -> Result<Option<(T, usize)>, Error> {
        // The index comes as 32 bits, on the CPU path too.
        if u32::try_from(self.len()).is_err() {
            let what = format!("a vector of {} elements", self.len());
            return Err(PlanError::OverLimit { what, limit: u32::MAX.into() }.into());
        }
        let [_, index]: [u32; 2] = self.reduced(reduction, &[self.memory()])?;
        let index = index as usize;
        if index >= self.len() {
            return Ok(None);
        }
        let mut element = [T::default()];
        self.memory().read(index * size_of::<T>(), bytemuck::cast_slice_mut(&mut element))?;
        Ok(Some((element[0], index)))
    }

    fn reduced<R: bytemuck::Pod>(&self, reduction: Reduction, inputs: &[&Memory]) -> Result<R, Error> {
        let task = Task::Reduce { reduction, length: self.len(), element: T::PIXEL };
        let result = Memory::uninitialised(self.context(), reduction.result_bytes(T::PIXEL))?;
        drop(self.context().simple(task)?.run(inputs, &result)?);
        result.with(|bytes| bytemuck::pod_read_unaligned(&bytes[..size_of::<R>()]))
    }

    /// A new vector of another type: each element times `scale` plus `offset`, rounded to the nearest (ties to even) and
    /// saturated.
    ///
    /// # Errors
    /// No memory left; the device is gone.
    pub fn converted<U: Pixel>(&self, scale: f32, offset: f32) -> Result<Vector<U>, Error> {
        let chain = Chain::one(Stage::Convert { to: U::PIXEL, scale, offset }, Border::Replicate);
        let [from, to] = [T::PIXEL, U::PIXEL].map(|element| Raster::packed([self.len(), 1], 1, element));
        let result = Vector::zeros(self.context(), self.len())?;
        let mut image = Image::over(&result, to)?;
        drop(self.context().filter(&chain, &from, &to)?.run(&Image::over(self, from)?, &mut image)?);
        Ok(result)
    }
}

impl<T: Counted> Image<T> {
    /// How often each value of all channels occurs, after all that was queued before: of bytes, or of the upper 8 of 16 bits.
    ///
    /// # Errors
    /// An operation before failed; the device is gone.
    pub fn histogram(&self) -> Result<[u32; 256], Error> {
        let raster = *self.raster();
        let result = Vector::<u32>::zeros(self.context(), 256)?;
        let simple = self.context().simple(Task::Histogram { raster })?;
        drop(simple.run(&[self.view().memory()], result.memory())?);
        let mut bins = [0; 256];
        result.read(&mut bins)?;
        Ok(bins)
    }
}

impl<T: Element> Matrix<T> {
    /// A new row-major matrix: the transpose, moved. (A [`Matrix::transposed`] view moves nothing, and products take it as well.)
    ///
    /// # Errors
    /// No memory left; the device is gone.
    pub fn to_transposed(&self) -> Result<Self, Error> {
        let [rows, columns] = [self.rows(), self.columns()];
        if self.order() == Order::ColumnMajor {
            // What lies column by column is the transpose row by row.
            return Ok(Self::in_rows(self.view().memory().to_context(self.context())?, [columns, rows]));
        }
        let result = Self::unwritten(self.context(), [columns, rows])?;
        if rows > 0 && columns > 0 {
            let task = Task::Transpose { rows, columns, element_bytes: size_of::<T>() };
            drop(self.context().simple(task)?.run(&[self.view().memory()], result.view().memory())?);
        }
        Ok(result)
    }
}
