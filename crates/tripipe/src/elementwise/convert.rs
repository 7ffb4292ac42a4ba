//! Conversions of vectors, matrices and images: to other types of elements, and to one another.

use tripipe_kernels::Role;
use tripipe_kernels::elementwise::{Grid, Map};
use tripipe_kernels::filter::{ChannelLayout, Raster, Size};
use tripipe_kernels::gemm::{Extents, Layout};

use super::array::sealed::{Allocate, AsPart};
use super::array::{Part, Shape};
use super::map::{convert, run};
use crate::error::Fault;
use crate::image::elements_of;
use crate::matrix::MatrixShape;
use crate::{
    Element, Error, Image, ImageView, ImageViewMut, Matrix, MatrixView, MatrixViewMut, Order, Pixel, Vector,
};

/// Conversions of a `$type` to a `$made` with another type of elements.
macro_rules! conversions {
    ($($type:ty, $bound:ident => $made:ident;)*) => {$(
        impl<T: $bound> $type {
            /// A new one with another type of elements: each element times `scale` plus `offset`, computed in `f32` (in
            /// `f64` if one of the two types is `f64`), then converted. With a `scale` of 1 and an `offset` of 0 the
            /// element itself is converted. Conversion to integers rounds to the nearest value, ties to even, and
            /// saturates; NaN becomes 0. Queued; the result can be used at once.
            ///
            /// # Errors
            /// No memory left; the device is gone.
            pub fn converted<U: $bound>(&self, scale: f32, offset: f32) -> Result<$made<U>, Error> {
                let source = self.part();
                let mut made = $made::<U>::like(source.memory.context(), &source)?;
                drop(convert::<T, U>(&source, &made.part_mut(), scale, offset)?);
                Ok(made)
            }
        }
    )*};
}

conversions! {
    Vector<T>, Element => Vector;
    Matrix<T>, Element => Matrix;
    MatrixView<'_, T>, Element => Matrix;
    Image<T>, Pixel => Image;
    ImageView<'_, T>, Pixel => Image;
}

/// Queues a copy of all elements to a destination with the same number of elements, in the order of the shape.
fn copied<T: Element, M>(
    source: &Part<'_>,
    mut made: M,
    place: impl FnOnce(&mut M) -> (Part<'_>, Grid),
) -> Result<M, Error> {
    let (part, result) = place(&mut made);
    let (from, source_grid) = (T::SCALAR, Some(source.grid));
    let map = Map { from, to: from, in_float: false, source: source_grid, steps: Vec::new(), result };
    drop(run(map, &[(Role::Source, source.memory)], part.memory)?);
    Ok(made)
}

/// Contiguous elements, counted in the order of `extents`.
fn packed(extents: [usize; 3]) -> Grid {
    let [i, j, _] = extents;
    Grid { extents, offset: 0, strides: [1, i, i.saturating_mul(j)] }
}

/// The copy of a part as a vector.
fn to_vector<T: Element>(source: &Part<'_>) -> Result<Vector<T>, Error> {
    let made = Vector::unwritten(source.memory.context(), source.grid.count())?;
    copied::<T, _>(source, made, |made| (made.part_mut(), packed(source.grid.extents)))
}

fn to_matrix<T: Element>(source: &Part<'_>, extents: Extents) -> Result<Matrix<T>, Error> {
    let made = Matrix::unwritten(source.memory.context(), extents)?;
    copied::<T, _>(source, made, |made| (made.part_mut(), packed(source.grid.extents)))
}

/// Copies of a `$type` to another kind.
macro_rules! copies {
    ($($type:ty, $bound:ident, $order:literal, $method:ident $made:ident: |$part:ident| $call:expr;)*) => {$(
        impl<T: $bound> $type {
            #[doc = concat!("A new one with a copy of its elements, ", $order, ". Queued; it can be used at once.")]
            ///
            /// # Errors
            /// An image with several channels copied to a matrix; no memory left; the device is gone.
            pub fn $method(&self) -> Result<$made<T>, Error> {
                let $part = self.part();
                $call
            }
        }
    )*};
}

copies! {
    Matrix<T>, Element, "row by row", to_vector Vector: |part| to_vector(&part);
    MatrixView<'_, T>, Element, "row by row", to_vector Vector: |part| to_vector(&part);
    MatrixView<'_, T>, Element, "row by row", to_matrix Matrix: |part| {
        let [columns, rows, _] = part.grid.extents;
        to_matrix(&part, Extents::new(rows, columns))
    };
    Matrix<T>, Pixel, "as many columns as pixels in a row, one channel", to_image Image: |part| image_of(&part);
    MatrixView<'_, T>, Pixel, "as many columns as pixels in a row, one channel", to_image Image: |part| image_of(&part);
    Image<T>, Pixel, "pixel by pixel, the channels of each side by side", to_vector Vector: |part| to_vector(&part);
    ImageView<'_, T>, Pixel, "pixel by pixel, the channels of each side by side", to_vector Vector:
        |part| to_vector(&part);
    Image<T>, Pixel, "row by row, of one channel", to_matrix Matrix: |part| matrix_of(&part);
    ImageView<'_, T>, Pixel, "row by row, of one channel", to_matrix Matrix: |part| matrix_of(&part);
    ImageView<'_, T>, Pixel, "packed", to_image Image: |part| packed_image(&part);
}

/// A matrix as an image of one channel.
fn image_of<T: Pixel>(source: &Part<'_>) -> Result<Image<T>, Error> {
    let [columns, rows, _] = source.grid.extents;
    let made =
        Image::unwritten(source.memory.context(), Raster::packed(Size::new(columns, rows), 1, T::PIXEL))?;
    copied::<T, _>(source, made, |made| (made.part_mut(), packed(source.grid.extents)))
}

/// A part of an image as a separate image.
fn packed_image<T: Pixel>(source: &Part<'_>) -> Result<Image<T>, Error> {
    let [channels, width, height] = source.grid.extents;
    let raster = Raster::packed(Size::new(width, height), channels, T::PIXEL);
    let made = Image::unwritten(source.memory.context(), raster)?;
    copied::<T, _>(source, made, |made| (made.part_mut(), packed(source.grid.extents)))
}

/// An image of one channel as a matrix.
fn matrix_of<T: Pixel>(source: &Part<'_>) -> Result<Matrix<T>, Error> {
    let [channels, width, height] = source.grid.extents;
    one_channel(source.shape, channels)?;
    to_matrix(source, Extents::new(height, width))
}

fn one_channel(shape: Shape, channels: usize) -> Result<(), Error> {
    if channels == 1 {
        return Ok(());
    }
    let what = shape.to_string();
    let why = "it has several channels: split them, or convert it to a vector";
    Err(Error::from(Fault::NoView { what, wanted: "a matrix", why }))
}

impl<T: Element> Matrix<T> {
    /// A vector of its elements row by row. Both share the memory if it is row-major; otherwise a copy is queued.
    ///
    /// # Errors
    /// No memory left; the device is gone.
    pub fn into_vector(self) -> Result<Vector<T>, Error> {
        if self.order() != Order::RowMajor {
            return self.to_vector();
        }
        let length = self.rows() * self.columns();
        Ok(Vector::of_memory(self.view().memory().clone(), length))
    }
}

impl<T: Pixel> Matrix<T> {
    /// An image of one channel with the same rows. Both share the memory if it is row-major; otherwise a copy is
    /// queued.
    ///
    /// # Errors
    /// No memory left; the device is gone.
    pub fn into_image(self) -> Result<Image<T>, Error> {
        let raster = Raster::packed(Size::new(self.columns(), self.rows()), 1, T::PIXEL);
        Image::over_vector(&self.into_vector()?, raster)
    }
}

impl<T: Pixel> Image<T> {
    /// Whether its memory holds its packed pixels and nothing else.
    pub(crate) fn is_dense(&self) -> bool {
        let Raster { width, height, channels, layout, offset, pitch, element, .. } = *self.raster();
        let row = width.saturating_mul(if layout == ChannelLayout::Packed { channels } else { 1 });
        let bytes = row.saturating_mul(height).saturating_mul(element.bytes());
        (layout == ChannelLayout::Packed || channels == 1)
            && offset == 0
            && (pitch == row || height <= 1)
            && self.view().memory().bytes() == bytes
    }

    /// A vector of its pixels row by row, the channels of each pixel adjacent. Both share the memory if it holds
    /// nothing else and the image is not planar; otherwise a copy is queued.
    ///
    /// # Errors
    /// No memory left; the device is gone.
    pub fn into_vector(self) -> Result<Vector<T>, Error> {
        if !self.is_dense() {
            return self.to_vector();
        }
        let memory = self.view().memory().clone();
        let length = memory.bytes() / size_of::<T>();
        Ok(Vector::of_memory(memory, length))
    }

    /// A matrix from an image of one channel, with the same rows. Both share the memory if it holds nothing else;
    /// otherwise a copy is queued. [`ImageView::as_matrix`] never copies.
    ///
    /// # Errors
    /// The image has several channels; no memory left; the device is gone.
    pub fn into_matrix(self) -> Result<Matrix<T>, Error> {
        let Size { width, height } = self.size();
        one_channel(self.part().shape, self.channels())?;
        Matrix::over_vector(&self.into_vector()?, Extents::new(height, width))
    }

    /// As [`ImageView::as_matrix`].
    ///
    /// # Errors
    /// As [`ImageView::as_matrix`].
    pub fn as_matrix(&self) -> Result<MatrixView<'_, T>, Error> {
        self.view().as_matrix()
    }

    /// As [`ImageView::as_matrix`], for writing: a product can be stored there.
    ///
    /// # Errors
    /// As [`ImageView::as_matrix`].
    pub fn as_matrix_mut(&mut self) -> Result<MatrixViewMut<'_, T>, Error> {
        self.view_mut().as_matrix_mut()
    }
}

impl<'i, T: Pixel> ImageViewMut<'i, T> {
    /// As [`ImageView::as_matrix`], for writing: a product can be stored there.
    ///
    /// # Errors
    /// As [`ImageView::as_matrix`].
    pub fn as_matrix_mut(self) -> Result<MatrixViewMut<'i, T>, Error> {
        let (memory, raster) = (self.memory(), *self.raster());
        let shape = shape_of(&self.part(), &raster)?;
        Ok(MatrixViewMut::over(memory, shape))
    }
}

impl<'i, T: Pixel> ImageView<'i, T> {
    /// A view of it as a matrix in the same memory: an image of one channel, or a part of one, with the same rows.
    ///
    /// # Errors
    /// It has several channels.
    pub fn as_matrix(self) -> Result<MatrixView<'i, T>, Error> {
        let shape = shape_of(&self.part(), self.raster())?;
        Ok(MatrixView::over(self.memory(), shape))
    }
}

fn shape_of(part: &Part<'_>, raster: &Raster) -> Result<MatrixShape, Error> {
    one_channel(part.shape, raster.channels)?;
    let Raster { width, height, offset, pitch, .. } = *raster;
    Ok(MatrixShape { extents: Extents::new(height, width), layout: Layout::row_major(pitch).at(offset) })
}

/// The layout of a matrix as an image of one channel.
fn raster_of<T: Pixel>(part: &Part<'_>, shape: &MatrixShape) -> Result<Raster, Error> {
    let MatrixShape { extents, layout: Layout { order, leading, offset } } = *shape;
    if order != Order::RowMajor && !extents.is_empty() {
        let why = "it is stored by columns, and an image by rows: take its transpose, or a copy";
        return Err(Error::from(Fault::NoView { what: part.shape.to_string(), wanted: "an image", why }));
    }
    let size = Size::new(extents.columns, extents.rows);
    let raster = Raster { offset, pitch: leading, ..Raster::packed(size, 1, T::PIXEL) };
    elements_of::<T>(&raster)?;
    Ok(raster)
}

impl<T: Pixel> Matrix<T> {
    /// As [`MatrixView::as_image`].
    ///
    /// # Errors
    /// As [`MatrixView::as_image`].
    pub fn as_image(&self) -> Result<ImageView<'_, T>, Error> {
        self.view().as_image()
    }

    /// As [`MatrixView::as_image`], for writing.
    ///
    /// # Errors
    /// As [`MatrixView::as_image`].
    pub fn as_image_mut(&mut self) -> Result<ImageViewMut<'_, T>, Error> {
        self.view_mut().as_image_mut()
    }
}

impl<'m, T: Pixel> MatrixViewMut<'m, T> {
    /// As [`MatrixView::as_image`], for writing.
    ///
    /// # Errors
    /// As [`MatrixView::as_image`].
    pub fn as_image_mut(self) -> Result<ImageViewMut<'m, T>, Error> {
        let (memory, shape) = (self.memory(), self.shape());
        let raster = raster_of::<T>(&self.part(), &shape)?;
        Ok(ImageViewMut::over(memory, raster))
    }
}

impl<'m, T: Pixel> MatrixView<'m, T> {
    /// A view of it as an image of one channel in the same memory, with the same rows.
    ///
    /// # Errors
    /// It is not row-major.
    pub fn as_image(self) -> Result<ImageView<'m, T>, Error> {
        let raster = raster_of::<T>(&self.part(), &self.shape())?;
        Ok(ImageView::over(self.memory(), raster))
    }
}

impl<T: Element> Vector<T> {
    /// A view of it as a row-major matrix in the same memory.
    ///
    /// # Errors
    /// The number of elements is not `extents.rows * extents.columns`.
    pub fn as_matrix(&self, extents: Extents) -> Result<MatrixView<'_, T>, Error> {
        Ok(MatrixView::over(self.memory(), Matrix::over_vector(self, extents)?.view().shape()))
    }

    /// As [`Self::as_matrix`], for writing.
    ///
    /// # Errors
    /// As [`Self::as_matrix`].
    pub fn as_matrix_mut(&mut self, extents: Extents) -> Result<MatrixViewMut<'_, T>, Error> {
        Ok(MatrixViewMut::over(self.memory(), Matrix::over_vector(self, extents)?.view().shape()))
    }

    /// A row-major matrix of its elements, in the same memory.
    ///
    /// # Errors
    /// The number of elements is not `extents.rows * extents.columns`.
    pub fn into_matrix(self, extents: Extents) -> Result<Matrix<T>, Error> {
        Matrix::over_vector(&self, extents)
    }
}

impl<T: Pixel> Vector<T> {
    /// An image of its elements, in the same memory: with [`Raster::luma`], the plane of a camera frame.
    ///
    /// # Errors
    /// A raster with another element type; fewer elements than it spans.
    pub fn into_image(self, raster: Raster) -> Result<Image<T>, Error> {
        Image::over_vector(&self, raster)
    }
}
