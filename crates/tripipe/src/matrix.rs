//! Matrices on a device.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;

use tripipe_kernels::gemm::{Extents, Layout};

use crate::error::Fault;
use crate::memory::{Memory, elements, zeros};
use crate::{Context, Element, Error, Order, Pending, Vector};

pub(crate) use crate::matrix_shape::MatrixShape;

/// A matrix in a context's memory, without gaps.
#[derive(Debug)]
pub struct Matrix<T> {
    memory: Memory,
    shape: MatrixShape,
    element: PhantomData<T>,
}

/// A view of a matrix, of a block of one, or of a transposed one, for reading.
#[derive(Debug)]
pub struct MatrixView<'m, T> {
    memory: &'m Memory,
    shape: MatrixShape,
    element: PhantomData<&'m T>,
}

/// A view of a matrix, of a block of one, or of a transposed one, for writing.
#[derive(Debug)]
pub struct MatrixViewMut<'m, T> {
    memory: &'m Memory,
    shape: MatrixShape,
    element: PhantomData<&'m mut T>,
}

impl MatrixShape {
    fn dense(extents: Extents, order: Order) -> Self {
        let leading = match order {
            Order::RowMajor => extents.columns,
            Order::ColumnMajor => extents.rows,
        };
        Self { extents, layout: Layout { order, leading, offset: 0 } }
    }

    fn transposed(self) -> Self {
        Self { extents: self.extents.transposed(), layout: self.layout.transposed() }
    }

    fn block(self, rows: Range<usize>, columns: Range<usize>) -> Result<Self, Error> {
        let inside = |range: &Range<usize>, extent: usize| range.start <= range.end && range.end <= extent;
        if !inside(&rows, self.extents.rows) || !inside(&columns, self.extents.columns) {
            return Err(Error::from(Fault::Block { rows, columns, extents: self.extents }));
        }
        let extents = Extents::new(rows.len(), columns.len());
        let first = match self.layout.strides() {
            // An empty block has no elements; the end of the last row is beyond the memory.
            _ if extents.is_empty() => 0,
            [row, column] => rows.start * row + columns.start * column,
        };
        let layout = self.layout.at(self.layout.offset + first);
        Ok(Self { extents, layout })
    }

    /// A shape within `length` elements.
    fn within(self, length: usize) -> Result<Self, Error> {
        let Layout { leading, offset, .. } = self.layout;
        let end = match self.runs() {
            _ if self.extents.is_empty() => Some(offset),
            [run, _] => self.layout.span(self.extents).filter(|_| leading >= run),
        };
        match end {
            Some(end) if end <= length => Ok(self),
            _ => Err(Error::from(Fault::Within { shape: self, length })),
        }
    }

    /// The length of the contiguous runs of elements, and their number.
    fn runs(&self) -> [usize; 2] {
        match self.layout.order {
            Order::RowMajor => [self.extents.columns, self.extents.rows],
            Order::ColumnMajor => [self.extents.rows, self.extents.columns],
        }
    }

    /// The elements of a span, row by row.
    fn row_by_row<T: Element>(&self, span: Vec<T>) -> Result<Vec<T>, Error> {
        let Self { extents: Extents { rows, columns }, layout } = *self;
        if layout.order == Order::RowMajor && span.len() == rows * columns {
            return Ok(span);
        }
        let [row, column] = layout.strides();
        let mut elements = zeros::<T>(rows * columns)?;
        for (i, elements) in elements.chunks_exact_mut(columns.max(1)).enumerate() {
            for (j, element) in elements.iter_mut().enumerate() {
                *element = span[i * row + j * column];
            }
        }
        Ok(elements)
    }

    /// The number of elements from the first to the last, gaps included.
    fn span(&self) -> usize {
        let [length, count] = self.runs();
        if length == 0 || count == 0 { 0 } else { (count - 1) * self.layout.leading + length }
    }
}

impl<T: Element> Matrix<T> {
    /// A row-major matrix with a copy of `elements`.
    ///
    /// # Errors
    /// A number of elements other than `extents.rows * extents.columns`; more than the device allows in one allocation; no memory left.
    pub fn from_slice(context: &Context, extents: Extents, elements: &[T]) -> Result<Self, Error> {
        Self::with_order(context, extents, Order::RowMajor, elements)
    }

    /// A matrix in either order with `elements`, which are in that order: a slice is copied, a `Vec` is moved as
    /// [`Self::from_vec`] does.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub fn with_order<'e>(
        context: &Context,
        extents: Extents,
        order: Order,
        elements: impl Into<Cow<'e, [T]>>,
    ) -> Result<Self, Error> {
        let (want, elements) = (count(extents)?, elements.into());
        if elements.len() != want {
            return Err(Error::from(Fault::Length { operand: "the elements", want, found: elements.len() }));
        }
        let memory = Memory::with_contents(context, elements)?;
        Ok(Self { memory, shape: MatrixShape::dense(extents, order), element: PhantomData })
    }

    /// A row-major matrix of `elements`, which are moved: on the CPU path they stay where they are; a device copies them
    /// when what was queued before has ended, which is not waited for.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub fn from_vec(context: &Context, extents: Extents, elements: Vec<T>) -> Result<Self, Error> {
        Self::with_order(context, extents, Order::RowMajor, elements)
    }

    /// A row-major matrix of zeros.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub fn zeros(context: &Context, extents: Extents) -> Result<Self, Error> {
        let memory = Memory::new::<T>(context, Self::bytes_of(extents)?, None)?;
        Ok(Self::in_rows(memory, extents))
    }

    /// A row-major matrix, all of which is written before it is read.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub(crate) fn unwritten(context: &Context, extents: Extents) -> Result<Self, Error> {
        let memory = Memory::uninitialised::<T>(context, Self::bytes_of(extents)?)?;
        Ok(Self::in_rows(memory, extents))
    }

    fn bytes_of(extents: Extents) -> Result<usize, Error> {
        let elements = count(extents)?;
        elements.checked_mul(size_of::<T>()).ok_or(Error::from(Fault::TooLarge { elements }))
    }

    /// The elements of a vector as a row-major matrix in the same memory.
    ///
    /// # Errors
    /// A number of elements other than `rows * columns`.
    pub(crate) fn over_vector(vector: &Vector<T>, extents: Extents) -> Result<Self, Error> {
        let want = count(extents)?;
        if vector.len() != want {
            return Err(Error::from(Fault::Length { operand: "the vector", want, found: vector.len() }));
        }
        Ok(Self::in_rows(vector.memory().clone(), extents))
    }

    /// Memory that holds the elements row by row.
    pub(crate) fn in_rows(memory: Memory, extents: Extents) -> Self {
        Self { memory, shape: MatrixShape::dense(extents, Order::RowMajor), element: PhantomData }
    }

    /// Rows and columns.
    pub fn extents(&self) -> Extents {
        self.shape.extents
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.shape.extents.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.shape.extents.columns
    }

    /// Which elements are adjacent in memory.
    pub fn order(&self) -> Order {
        self.shape.layout.order
    }

    /// A view of the whole matrix.
    pub fn view(&self) -> MatrixView<'_, T> {
        MatrixView { memory: &self.memory, shape: self.shape, element: PhantomData }
    }

    /// A mutable view of the whole matrix.
    pub fn view_mut(&mut self) -> MatrixViewMut<'_, T> {
        MatrixViewMut { memory: &self.memory, shape: self.shape, element: PhantomData }
    }

    /// A view of the transpose; no elements are moved.
    pub fn transposed(&self) -> MatrixView<'_, T> {
        self.view().transposed()
    }

    /// A view of the block where these rows and columns intersect; no elements are moved.
    ///
    /// # Errors
    /// The block exceeds the matrix.
    pub fn block(&self, rows: Range<usize>, columns: Range<usize>) -> Result<MatrixView<'_, T>, Error> {
        self.view().block(rows, columns)
    }

    /// A mutable view of the block where these rows and columns intersect.
    ///
    /// # Errors
    /// The block exceeds the matrix.
    pub fn block_mut(
        &mut self,
        rows: Range<usize>,
        columns: Range<usize>,
    ) -> Result<MatrixViewMut<'_, T>, Error> {
        let shape = self.shape.block(rows, columns)?;
        Ok(MatrixViewMut { memory: &self.memory, shape, element: PhantomData })
    }
}

elements!(Matrix, Element, ", in storage order");

pub(crate) fn count(extents: Extents) -> Result<usize, Error> {
    extents.elements().ok_or(Error::from(Fault::TooLarge { elements: usize::MAX }))
}

impl<'m, T: Element> MatrixView<'m, T> {
    /// A view of a matrix within a vector. Element (i, j) is the one with the number `offset + i * stride + j` in row-major
    /// order, `offset + i + j * stride` in column-major order.
    ///
    /// # Errors
    /// The stride is less than the length of a row (or column); the matrix exceeds the vector.
    pub fn within(
        vector: &'m Vector<T>,
        offset: usize,
        extents: Extents,
        order: Order,
        stride: usize,
    ) -> Result<Self, Error> {
        let layout = Layout { order, leading: stride, offset };
        let shape = MatrixShape { extents, layout }.within(vector.len())?;
        Ok(Self::over(vector.memory(), shape))
    }

    /// A view of the block where these rows and columns intersect; no elements are moved.
    ///
    /// # Errors
    /// The block exceeds the view.
    pub fn block(self, rows: Range<usize>, columns: Range<usize>) -> Result<Self, Error> {
        Ok(Self { shape: self.shape.block(rows, columns)?, ..self })
    }

    /// A copy of its elements row by row, after all operations queued before.
    ///
    /// # Errors
    /// As [`Matrix::to_vec`].
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let mut span = zeros::<T>(self.shape.span())?;
        self.memory.read(self.shape.layout.offset * size_of::<T>(), bytemuck::cast_slice_mut(&mut span))?;
        self.shape.row_by_row(span)
    }

    /// Queues a copy of its elements row by row, as [`Matrix::queue_read`].
    ///
    /// # Errors
    /// As [`Matrix::queue_read`].
    pub fn queue_read(&self) -> Result<Pending<Vec<T>>, Error> {
        let shape = self.shape;
        let span = self.memory.enqueue_read(shape.layout.offset * size_of::<T>(), shape.span())?;
        Ok(span.then(move |span| shape.row_by_row(span)))
    }
}

impl<'m, T: Element> MatrixViewMut<'m, T> {
    /// As [`MatrixView::within`].
    ///
    /// # Errors
    /// As [`MatrixView::within`].
    pub fn within(
        vector: &'m mut Vector<T>,
        offset: usize,
        extents: Extents,
        order: Order,
        stride: usize,
    ) -> Result<Self, Error> {
        let layout = Layout { order, leading: stride, offset };
        let shape = MatrixShape { extents, layout }.within(vector.len())?;
        Ok(Self::over(vector.memory(), shape))
    }
}

/// What views for reading and for writing have in common.
macro_rules! views {
    ($($name:ident),*) => {$(
        impl<'m, T: Element> $name<'m, T> {
            /// A view of memory with this shape.
            pub(crate) fn over(memory: &'m Memory, shape: MatrixShape) -> Self {
                Self { memory, shape, element: PhantomData }
            }

            /// Rows and columns.
            pub fn extents(&self) -> Extents {
                self.shape.extents
            }

            /// The number of rows.
            pub fn rows(&self) -> usize {
                self.shape.extents.rows
            }

            /// The number of columns.
            pub fn columns(&self) -> usize {
                self.shape.extents.columns
            }

            /// A view of the transpose; no elements are moved.
            #[must_use]
            pub fn transposed(self) -> Self {
                Self { shape: self.shape.transposed(), ..self }
            }

            pub(crate) fn memory(&self) -> &'m Memory {
                self.memory
            }

            pub(crate) fn shape(&self) -> MatrixShape {
                self.shape
            }
        }
    )*};
}

views!(MatrixView, MatrixViewMut);

impl<T> Clone for MatrixView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for MatrixView<'_, T> {}

impl<'m, T: Element> From<&'m Matrix<T>> for MatrixView<'m, T> {
    fn from(matrix: &'m Matrix<T>) -> Self {
        matrix.view()
    }
}

impl<'m, T: Element> From<&'m mut Matrix<T>> for MatrixViewMut<'m, T> {
    fn from(matrix: &'m mut Matrix<T>) -> Self {
        matrix.view_mut()
    }
}
