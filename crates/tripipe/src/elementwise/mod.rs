//! Elementwise operations on vectors, matrices and images: sums, products, activations, reductions, conversions,
//! histograms, the transpose.

mod array;
mod convert;
mod map;
mod reduce;

pub use array::{Array, ArrayMut};
pub use map::Elementwise;
pub use reduce::Summed;

use crate::simple::Task;
use crate::{Element, Error, Image, Matrix, Order, Pending, Pixel, Vector};

/// A channel type whose values can be counted in a histogram.
pub trait Counted: Pixel {}

impl Counted for u8 {}
impl Counted for u16 {}

impl<T: Summed<Sum = f32> + Pixel> Vector<T> {
    /// Queues `self += alpha x`, computed in `f32` and rounded once when stored.
    ///
    /// # Errors
    /// The lengths differ; the contexts differ, or both share memory; the device is gone.
    pub fn add_scaled(&mut self, alpha: f32, x: &Self) -> Result<Pending, Error> {
        self.memory().check_length::<T>(x.len())?;
        let task = Task::Axpy { alpha, length: self.len(), element: T::PIXEL };
        self.context().simple(task)?.run(&[x.memory()], self.memory())
    }
}

impl<T: Counted> Image<T> {
    /// The number of occurrences of each value over all channels, after all operations queued before: of bytes, or of
    /// the upper 8 bits of 16-bit values.
    ///
    /// # Errors
    /// An earlier operation failed; the device is gone.
    pub fn histogram(&self) -> Result<[u32; 256], Error> {
        self.histogram_async()?.wait()
    }

    /// As [`Self::histogram`], without waiting.
    ///
    /// # Errors
    /// It is mapped for writing; no memory left; the device is gone. Other errors are reported by the [`Pending`].
    pub fn histogram_async(&self) -> Result<Pending<[u32; 256]>, Error> {
        let result = Vector::<u32>::zeros(self.context(), 256)?;
        let simple = self.context().simple(Task::Histogram { raster: *self.raster() })?;
        drop(simple.run(&[self.view().memory()], result.memory())?);
        Ok(result.to_vec_async()?.then(|bins| <[u32; 256]>::try_from(bins).map_err(|_| Error::ValueTaken)))
    }
}

impl<T: Element> Matrix<T> {
    /// A new row-major matrix with the transpose; the elements are moved. (A [`Matrix::transposed`] view moves nothing,
    /// and products accept it as well.)
    ///
    /// # Errors
    /// No memory left; the device is gone.
    pub fn to_transposed(&self) -> Result<Self, Error> {
        self.to_transposed_async()?.queued_value()
    }

    /// As [`Self::to_transposed`]; the [`Pending`] gives the value when it is computed.
    ///
    /// # Errors
    /// As [`Self::to_transposed`].
    pub fn to_transposed_async(&self) -> Result<Pending<Self>, Error> {
        let [rows, columns] = [self.rows(), self.columns()];
        if self.order() == Order::ColumnMajor {
            // A column-major matrix is its transpose in row-major order.
            return self.view().transposed().to_matrix_async();
        }
        let result = Self::unwritten(self.context(), [columns, rows])?;
        if rows == 0 || columns == 0 {
            return Ok(Pending::done().with(result));
        }
        let task = Task::Transpose { rows, columns, element_bytes: size_of::<T>() };
        let pending = self.context().simple(task)?.run(&[self.view().memory()], result.view().memory())?;
        Ok(pending.with(result))
    }
}
