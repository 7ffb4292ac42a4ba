//! Conversions from and to the types of the `ndarray` crate: feature `ndarray`.

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, ArrayView3, ShapeBuilder};

use crate::error::Fault;
use crate::filter::Raster;
use crate::memory::zeros;
use crate::{Context, Element, Error, Extents, Image, Matrix, Order, Pixel, Size, Vector};

impl<T: Element> Vector<T> {
    /// A vector with a copy of an array.
    ///
    /// # Errors
    /// As [`Vector::from_slice`].
    pub fn from_ndarray(context: &Context, array: &ArrayView1<'_, T>) -> Result<Self, Error> {
        match array.as_slice() {
            Some(elements) => Self::from_slice(context, elements),
            None => Self::from_vec(context, gathered(array.len(), array.iter())?),
        }
    }

    /// A copy of it as an array, after all operations queued before.
    ///
    /// # Errors
    /// As [`Vector::to_vec`].
    pub fn to_ndarray(&self) -> Result<Array1<T>, Error> {
        Ok(Array1::from_vec(self.to_vec()?))
    }
}

impl<T: Element> Matrix<T> {
    /// A matrix with a copy of an array: column-major if the array is, row-major otherwise.
    ///
    /// # Errors
    /// As [`Matrix::from_slice`].
    pub fn from_ndarray(context: &Context, array: &ArrayView2<'_, T>) -> Result<Self, Error> {
        let extents = Extents::new(array.nrows(), array.ncols());
        if let Some(elements) = array.as_slice() {
            Self::from_slice(context, extents, elements)
        } else if let Some(elements) = array.t().as_slice() {
            Self::with_order(context, extents, Order::ColumnMajor, elements)
        } else {
            Self::from_vec(context, extents, gathered(array.len(), array.iter())?)
        }
    }

    /// A copy of it as an array in its own order, after all operations queued before.
    ///
    /// # Errors
    /// As [`Matrix::to_vec`].
    pub fn to_ndarray(&self) -> Result<Array2<T>, Error> {
        let elements = self.to_vec()?;
        let shape = (self.rows(), self.columns()).set_f(self.order() == Order::ColumnMajor);
        let found = elements.len();
        Array2::from_shape_vec(shape, elements).map_err(|_| {
            Error::from(Fault::Length { operand: "the matrix", want: self.rows() * self.columns(), found })
        })
    }
}

impl<T: Pixel> Image<T> {
    /// An image of packed pixels with a copy of an array of rows x columns x channels, the layout that OpenCV and most
    /// readers of pictures use.
    ///
    /// # Errors
    /// No channels, or more than 4; as [`Image::from_slice`].
    pub fn from_ndarray(context: &Context, array: &ArrayView3<'_, T>) -> Result<Self, Error> {
        let (height, width, channels) = array.dim();
        if let Some(pixels) = array.as_slice() {
            return Self::from_slice(context, Size::new(width, height), channels, pixels);
        }
        let pixels = gathered(array.len(), array.iter())?;
        Self::from_vec(context, Size::new(width, height), channels, pixels)
    }

    /// A copy of it as an array of rows x columns x channels, whatever its layout, after all operations queued before.
    ///
    /// # Errors
    /// As [`Image::to_vec`].
    pub fn to_ndarray(&self) -> Result<Array3<T>, Error> {
        let elements = self.to_vec()?;
        let raster: &Raster = self.raster();
        let shape = (raster.height, raster.width, raster.channels);
        let want = raster.height * raster.width * raster.channels;
        let indices = (0..raster.height)
            .flat_map(|y| (0..raster.width).map(move |x| (x, y)))
            .flat_map(|(x, y)| (0..raster.channels).map(move |channel| raster.index(x, y, channel)));
        let pixels = gathered(want, indices.map(|index| &elements[index]))?;
        let found = pixels.len();
        Array3::from_shape_vec(shape, pixels)
            .map_err(|_| Error::from(Fault::Length { operand: "the image", want, found }))
    }
}

/// The `count` elements, contiguous.
///
/// # Errors
/// There is not enough memory.
fn gathered<'e, T: Element>(count: usize, elements: impl Iterator<Item = &'e T>) -> Result<Vec<T>, Error> {
    let mut gathered = zeros(count)?;
    for (to, from) in gathered.iter_mut().zip(elements) {
        *to = *from;
    }
    Ok(gathered)
}
