//! `ndarray`: feature `ndarray`.

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, ArrayView3, ShapeBuilder};

use crate::filter::Raster;
use crate::{Context, Element, Error, Image, Matrix, Order, Pixel, Vector};

impl<T: Element> Vector<T> {
    /// A vector with a copy of an array.
    ///
    /// # Errors
    /// As [`Vector::from_slice`].
    pub fn from_ndarray(context: &Context, array: &ArrayView1<'_, T>) -> Result<Self, Error> {
        match array.as_slice() {
            Some(elements) => Self::from_slice(context, elements),
            None => Self::from_slice(context, &array.iter().copied().collect::<Vec<_>>()),
        }
    }

    /// A copy of it as an array, after all that was queued before.
    ///
    /// # Errors
    /// As [`Vector::to_vec`].
    pub fn to_ndarray(&self) -> Result<Array1<T>, Error> {
        Ok(Array1::from_vec(self.to_vec()?))
    }
}

impl<T: Element> Matrix<T> {
    /// A matrix with a copy of an array: column-major where that is how the array lies, row-major otherwise.
    ///
    /// # Errors
    /// As [`Matrix::from_slice`].
    pub fn from_ndarray(context: &Context, array: &ArrayView2<'_, T>) -> Result<Self, Error> {
        let shape = [array.nrows(), array.ncols()];
        if let Some(elements) = array.as_slice() {
            Self::from_slice(context, shape, elements)
        } else if let Some(elements) = array.t().as_slice() {
            Self::with_order(context, shape, Order::ColumnMajor, elements)
        } else {
            Self::from_slice(context, shape, &array.iter().copied().collect::<Vec<_>>())
        }
    }

    /// A copy of it as an array in its own order, after all that was queued before.
    ///
    /// # Errors
    /// As [`Matrix::to_vec`].
    pub fn to_ndarray(&self) -> Result<Array2<T>, Error> {
        let elements = self.to_vec()?;
        let shape = (self.rows(), self.columns()).set_f(self.order() == Order::ColumnMajor);
        let found = elements.len();
        Array2::from_shape_vec(shape, elements).map_err(|_| Error::Length {
            operand: "the matrix",
            want: self.rows() * self.columns(),
            found,
        })
    }
}

impl<T: Pixel> Image<T> {
    /// An image of packed pixels with a copy of an array of rows x columns x channels, as OpenCV and most readers of pictures have
    /// them.
    ///
    /// # Errors
    /// No channels, or more than 4; as [`Image::from_slice`].
    pub fn from_ndarray(context: &Context, array: &ArrayView3<'_, T>) -> Result<Self, Error> {
        let (height, width, channels) = array.dim();
        if let Some(pixels) = array.as_slice() {
            return Self::from_slice(context, [width, height], channels, pixels);
        }
        let pixels: Vec<T> = array.iter().copied().collect();
        Self::from_slice(context, [width, height], channels, &pixels)
    }

    /// A copy of it as an array of rows x columns x channels, however it lies, after all that was queued before.
    ///
    /// # Errors
    /// As [`Image::to_vec`].
    pub fn to_ndarray(&self) -> Result<Array3<T>, Error> {
        let elements = self.to_vec()?;
        let raster: &Raster = self.raster();
        let shape = (raster.height, raster.width, raster.channels);
        Ok(Array3::from_shape_fn(shape, |(y, x, channel)| elements[raster.index([x, y], channel)]))
    }
}
