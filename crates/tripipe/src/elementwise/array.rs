//! The common properties of vectors, matrices and images: a shape, and the layout of the elements in memory.

use std::fmt;

use tripipe_kernels::Role;
use tripipe_kernels::elementwise::Grid;
use tripipe_kernels::filter::Raster;

use crate::error::Fault;
use crate::matrix::MatrixShape;
use crate::memory::Memory;
use crate::operation::Offset;
use crate::{
    Context, Element, Error, Extents, Image, ImageView, ImageViewMut, Matrix, MatrixView, MatrixViewMut,
    Pixel, Size, Vector,
};

/// A vector, a matrix or an image, or a part of one, whose elements are read.
pub trait Array<'m>: Copy + sealed::AsPart<'m> {
    /// The type of its elements.
    type Element: Element;
    /// The owned type of its kind, which holds a result: [`Vector`], [`Matrix`] or [`Image`].
    type Owned: sealed::Allocate + Send + Sync + 'static;
}

/// A vector, a matrix or an image, or a part of one, whose elements are written.
pub trait ArrayMut<'m>: sealed::AsPart<'m> {
    /// The type of its elements.
    type Element: Element;
}

pub(crate) mod sealed {
    use super::{Context, Error, Part};

    /// Elements stored in memory.
    pub trait AsPart<'m> {
        fn part(self) -> Part<'m>;
    }

    /// A type that can be allocated for a result.
    pub trait Allocate: Sized {
        /// A new one with the shape of `part`, without gaps, that is written before it is read.
        fn like(context: &Context, part: &Part<'_>) -> Result<Self, Error>;
        /// All its elements, to be written.
        fn part_mut(&mut self) -> Part<'_>;
    }
}

/// The layout of elements in memory, and their shape.
#[derive(Clone, Copy, Debug)]
pub struct Part<'m> {
    pub(crate) memory: &'m Memory,
    /// Elements are counted in the order of the shape: row by row, pixel by pixel, channel by channel.
    pub(crate) grid: Grid,
    pub(crate) shape: Shape,
}

/// The kind and the extents of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The number of elements.
    Vector(usize),
    Matrix(Extents),
    /// The pixels, and the number of channels.
    Image(Size, usize),
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vector(length) => write!(f, "a vector of {length}"),
            Self::Matrix(extents) => write!(f, "a matrix of {extents}"),
            Self::Image(size, channels) => write!(f, "an image of {size} x {channels}"),
        }
    }
}

impl Part<'_> {
    /// Checks that another has the same shape.
    ///
    /// # Errors
    /// They differ.
    pub(crate) fn check_shape(&self, operand: &'static str, other: &Part<'_>) -> Result<(), Error> {
        if self.shape == other.shape {
            return Ok(());
        }
        Err(Error::from(Fault::Shape {
            operand,
            want: self.shape.to_string(),
            found: other.shape.to_string(),
        }))
    }

    fn of_vector<T: Element>(vector: &Vector<T>) -> Part<'_> {
        let length = vector.len();
        Part { memory: vector.memory(), grid: Grid::dense(length), shape: Shape::Vector(length) }
    }

    fn of_matrix(memory: &Memory, MatrixShape { extents, layout }: MatrixShape) -> Part<'_> {
        let [row, column] = layout.strides();
        let grid = Grid {
            extents: [extents.columns, extents.rows, 1],
            offset: layout.offset,
            strides: [column, row, 0],
        };
        Part { memory, grid, shape: Shape::Matrix(extents) }
    }

    fn of_image<'m>(memory: &'m Memory, raster: &Raster) -> Part<'m> {
        let shape = Shape::Image(raster.size(), raster.channels);
        Part { memory, grid: Grid::of_pixels(raster), shape }
    }
}

/// Subtracts a multiple of 16 elements from the offset of each grid, and returns how much. Operations that differ only
/// in their offsets then become the same operation. Grids that are too large for kernels keep their offsets.
pub(crate) fn split_offsets<'g>(
    grids: impl Iterator<Item = (Role, &'g mut Grid, usize)>,
) -> Vec<(Role, Offset)> {
    let one = |(role, grid, bytes): (Role, &mut Grid, usize)| {
        let fits = grid.elements().is_ok();
        (role, if fits { Offset::split_from(&mut grid.offset, bytes) } else { Offset::default() })
    };
    grids.map(one).collect()
}

macro_rules! parts {
    ($($type:ty, $bound:ident: |$one:ident| $part:expr;)*) => {$(
        impl<'m, T: $bound> sealed::AsPart<'m> for $type {
            fn part(self) -> Part<'m> {
                let $one = self;
                $part
            }
        }
    )*};
}

macro_rules! arrays {
    ($($type:ty, $bound:ident => $made:ty;)*) => {$(
        impl<'m, T: $bound> Array<'m> for $type {
            type Element = T;
            type Owned = $made;
        }
    )*};
}

macro_rules! mutable {
    ($($type:ty, $bound:ident;)*) => {$(
        impl<'m, T: $bound> ArrayMut<'m> for $type {
            type Element = T;
        }
    )*};
}

parts! {
    &'m Vector<T>, Element: |one| Part::of_vector(one);
    &'m mut Vector<T>, Element: |one| Part::of_vector(one);
    &'m Matrix<T>, Element: |one| Part::of_matrix(one.view().memory(), one.view().shape());
    &'m mut Matrix<T>, Element: |one| Part::of_matrix(one.view().memory(), one.view().shape());
    MatrixView<'m, T>, Element: |one| Part::of_matrix(one.memory(), one.shape());
    MatrixViewMut<'m, T>, Element: |one| Part::of_matrix(one.memory(), one.shape());
    &'m Image<T>, Pixel: |one| Part::of_image(one.view().memory(), one.raster());
    &'m mut Image<T>, Pixel: |one| Part::of_image(one.view().memory(), one.raster());
    ImageView<'m, T>, Pixel: |one| Part::of_image(one.memory(), one.raster());
    ImageViewMut<'m, T>, Pixel: |one| Part::of_image(one.memory(), one.raster());
}

arrays! {
    &'m Vector<T>, Element => Vector<T>;
    &'m Matrix<T>, Element => Matrix<T>;
    MatrixView<'m, T>, Element => Matrix<T>;
    &'m Image<T>, Pixel => Image<T>;
    ImageView<'m, T>, Pixel => Image<T>;
}

mutable! {
    &'m mut Vector<T>, Element;
    &'m mut Matrix<T>, Element;
    MatrixViewMut<'m, T>, Element;
    &'m mut Image<T>, Pixel;
    ImageViewMut<'m, T>, Pixel;
}

impl<T: Element> sealed::Allocate for Vector<T> {
    fn like(context: &Context, part: &Part<'_>) -> Result<Self, Error> {
        Self::unwritten(context, part.grid.count())
    }

    fn part_mut(&mut self) -> Part<'_> {
        Part::of_vector(self)
    }
}

impl<T: Element> sealed::Allocate for Matrix<T> {
    fn like(context: &Context, part: &Part<'_>) -> Result<Self, Error> {
        let [columns, rows, _] = part.grid.extents;
        Self::unwritten(context, Extents::new(rows, columns))
    }

    fn part_mut(&mut self) -> Part<'_> {
        sealed::AsPart::part(self)
    }
}

impl<T: Pixel> sealed::Allocate for Image<T> {
    fn like(context: &Context, part: &Part<'_>) -> Result<Self, Error> {
        let [channels, width, height] = part.grid.extents;
        // Planar images stay planar; with one channel both layouts are the same.
        let planar = channels > 1 && part.grid.strides[0] != 1;
        let make = if planar { Raster::planar } else { Raster::packed };
        Self::unwritten(context, make(Size::new(width, height), channels, T::PIXEL))
    }

    fn part_mut(&mut self) -> Part<'_> {
        sealed::AsPart::part(self)
    }
}
