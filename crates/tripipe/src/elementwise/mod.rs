//! Vectors, matrices and images element by element: sums, products, activations, reductions, conversions, histograms, the transpose.

mod array;
mod convert;
mod map;
mod reduce;

pub use array::{Array, ArrayMut};
pub use map::Elementwise;
pub(crate) use map::Mapped;
pub use reduce::Summed;

use crate::simple::Task;
use crate::{Element, Error, Image, Matrix, Order, Pending, Pixel, Vector};

/// A channel whose values can be counted.
pub trait Counted: Pixel {}

impl Counted for u8 {}
impl Counted for u16 {}

impl<T: Summed<Sum = f32> + Pixel> Vector<T> {
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

impl<T: Counted> Image<T> {
    /// How often each value of all channels occurs, after all that was queued before: of bytes, or of the upper 8 of 16 bits.
    ///
    /// # Errors
    /// An operation before failed; the device is gone.
    pub fn histogram(&self) -> Result<[u32; 256], Error> {
        self.histogram_async()?.wait()
    }

    /// As [`Self::histogram`], without waiting.
    ///
    /// # Errors
    /// It is mapped to be written; no memory left; the device is gone. The rest is told by the [`Pending`].
    pub fn histogram_async(&self) -> Result<Pending<[u32; 256]>, Error> {
        let result = Vector::<u32>::zeros(self.context(), 256)?;
        let simple = self.context().simple(Task::Histogram { raster: *self.raster() })?;
        drop(simple.run(&[self.view().memory()], result.memory())?);
        Ok(result.to_vec_async()?.then(|bins| <[u32; 256]>::try_from(bins).map_err(|_| Error::ValueTaken)))
    }
}

impl<T: Element> Matrix<T> {
    /// A new row-major matrix: the transpose, moved. (A [`Matrix::transposed`] view moves nothing, and products take it as well.)
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
            // What lies column by column is the transpose row by row.
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
