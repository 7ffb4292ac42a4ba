//! Matrices on a device.

use std::marker::PhantomData;
use std::ops::Range;

use crate::error::Fault;
use crate::memory::{Memory, elements, zeros};
use crate::{Context, Element, Error, Order, Pending, Vector};

/// A matrix in a context's memory, without gaps.
#[derive(Debug)]
pub struct Matrix<T> {
    memory: Memory,
    shape: ViewLayout,
    element: PhantomData<T>,
}

/// A view of a matrix, of a block of one, or of a transposed one, for reading.
#[derive(Debug)]
pub struct MatrixView<'m, T> {
    memory: &'m Memory,
    shape: ViewLayout,
    element: PhantomData<&'m T>,
}

/// A view of a matrix, of a block of one, or of a transposed one, for writing.
#[derive(Debug)]
pub struct MatrixViewMut<'m, T> {
    memory: &'m Memory,
    shape: ViewLayout,
    element: PhantomData<&'m mut T>,
}

/// The layout of a matrix, all in elements. Element (i, j) is stored at `offset + i * stride + j` in row-major order,
/// at `offset + i + j * stride` in column-major order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ViewLayout {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) order: Order,
    pub(crate) offset: usize,
    pub(crate) stride: usize,
}

impl ViewLayout {
    fn dense(rows: usize, columns: usize, order: Order) -> Self {
        let stride = match order {
            Order::RowMajor => columns,
            Order::ColumnMajor => rows,
        };
        Self { rows, columns, order, offset: 0, stride }
    }

    fn transposed(self) -> Self {
        Self { rows: self.columns, columns: self.rows, order: self.order.transposed(), ..self }
    }

    fn block(self, rows: Range<usize>, columns: Range<usize>) -> Result<Self, Error> {
        let inside = |range: &Range<usize>, extent: usize| range.start <= range.end && range.end <= extent;
        if !inside(&rows, self.rows) || !inside(&columns, self.columns) {
            return Err(Error::from(Fault::Block { rows, columns, extents: [self.rows, self.columns] }));
        }
        let first = match self.order {
            // An empty block has no elements; the end of the last row is beyond the memory.
            _ if rows.is_empty() || columns.is_empty() => 0,
            Order::RowMajor => rows.start * self.stride + columns.start,
            Order::ColumnMajor => columns.start * self.stride + rows.start,
        };
        Ok(Self { rows: rows.len(), columns: columns.len(), offset: self.offset + first, ..self })
    }

    /// A layout within `length` elements.
    fn within(self, length: usize) -> Result<Self, Error> {
        let [run, count] = self.runs();
        let end = match (run, count) {
            (0, _) | (_, 0) => Some(self.offset),
            _ => (count - 1)
                .checked_mul(self.stride)
                .and_then(|last| last.checked_add(run)?.checked_add(self.offset))
                .filter(|_| self.stride >= run),
        };
        match end {
            Some(end) if end <= length => Ok(self),
            _ => Err(Error::from(Fault::Within { layout: self, length })),
        }
    }

    /// The length of the contiguous runs of elements, and their number.
    fn runs(&self) -> [usize; 2] {
        match self.order {
            Order::RowMajor => [self.columns, self.rows],
            Order::ColumnMajor => [self.rows, self.columns],
        }
    }

    /// The elements of a span, row by row.
    fn row_by_row<T: Element>(&self, span: Vec<T>) -> Result<Vec<T>, Error> {
        let Self { rows, columns, order, stride, .. } = *self;
        if order == Order::RowMajor && span.len() == rows * columns {
            return Ok(span);
        }
        let at = |i: usize, j: usize| match order {
            Order::RowMajor => i * stride + j,
            Order::ColumnMajor => i + j * stride,
        };
        let mut elements = zeros::<T>(rows * columns)?;
        for (i, row) in elements.chunks_exact_mut(columns.max(1)).enumerate() {
            for (j, element) in row.iter_mut().enumerate() {
                *element = span[at(i, j)];
            }
        }
        Ok(elements)
    }

    /// The number of elements from the first to the last, gaps included.
    fn span(&self) -> usize {
        let [length, count] = self.runs();
        if length == 0 || count == 0 { 0 } else { (count - 1) * self.stride + length }
    }
}

impl<T: Element> Matrix<T> {
    /// A row-major matrix with a copy of `elements`.
    ///
    /// # Errors
    /// A number of elements other than `rows * columns`; more than the device allows in one allocation; no memory left.
    pub fn from_slice(context: &Context, [rows, columns]: [usize; 2], elements: &[T]) -> Result<Self, Error> {
        Self::with_order(context, [rows, columns], Order::RowMajor, elements)
    }

    /// A matrix in either order with a copy of `elements`, which are in that order.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub fn with_order(
        context: &Context,
        [rows, columns]: [usize; 2],
        order: Order,
        elements: &[T],
    ) -> Result<Self, Error> {
        let want = count(rows, columns)?;
        if elements.len() != want {
            return Err(Error::from(Fault::Length { operand: "the slice", want, found: elements.len() }));
        }
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        let memory = Memory::new::<T>(context, bytes.len(), Some(bytes))?;
        Ok(Self { memory, shape: ViewLayout::dense(rows, columns, order), element: PhantomData })
    }

    /// A row-major matrix of `elements`: on the CPU path, they are moved and stay where they are; a device gets a copy,
    /// made at once.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub fn from_vec(context: &Context, [rows, columns]: [usize; 2], elements: Vec<T>) -> Result<Self, Error> {
        let (want, found) = (count(rows, columns)?, elements.len());
        if found != want {
            return Err(Error::from(Fault::Length { operand: "the elements", want, found }));
        }
        Ok(Self::in_rows(Memory::owning(context, elements)?, [rows, columns]))
    }

    /// As [`Self::from_slice`], without waiting for the elements to be copied. A `Vec` is moved, a slice is copied
    /// first.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub fn from_slice_async(
        context: &Context,
        extents: [usize; 2],
        elements: impl Into<Vec<T>>,
    ) -> Result<Pending<Self>, Error> {
        Self::with_order_async(context, extents, Order::RowMajor, elements)
    }

    /// As [`Self::with_order`], without waiting, like [`Self::from_slice_async`].
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub fn with_order_async(
        context: &Context,
        [rows, columns]: [usize; 2],
        order: Order,
        elements: impl Into<Vec<T>>,
    ) -> Result<Pending<Self>, Error> {
        let (want, elements) = (count(rows, columns)?, elements.into());
        if elements.len() != want {
            return Err(Error::from(Fault::Length { operand: "the elements", want, found: elements.len() }));
        }
        let shape = ViewLayout::dense(rows, columns, order);
        let memory = Memory::new_later(context, elements)?;
        Ok(memory.then(move |memory| Ok(Self { memory, shape, element: PhantomData })))
    }

    /// A row-major matrix of zeros.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub fn zeros(context: &Context, [rows, columns]: [usize; 2]) -> Result<Self, Error> {
        let memory = Memory::new::<T>(context, Self::bytes_of(rows, columns)?, None)?;
        Ok(Self::in_rows(memory, [rows, columns]))
    }

    /// A row-major matrix, all of which is written before it is read.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub(crate) fn unwritten(context: &Context, [rows, columns]: [usize; 2]) -> Result<Self, Error> {
        let memory = Memory::uninitialised::<T>(context, Self::bytes_of(rows, columns)?)?;
        Ok(Self::in_rows(memory, [rows, columns]))
    }

    fn bytes_of(rows: usize, columns: usize) -> Result<usize, Error> {
        let elements = count(rows, columns)?;
        elements.checked_mul(size_of::<T>()).ok_or(Error::from(Fault::TooLarge { elements }))
    }

    /// The elements of a vector as a row-major matrix; both share the memory.
    ///
    /// # Errors
    /// A number of elements other than `rows * columns`.
    pub fn from_vector(vector: &Vector<T>, [rows, columns]: [usize; 2]) -> Result<Self, Error> {
        let want = count(rows, columns)?;
        if vector.len() != want {
            return Err(Error::from(Fault::Length { operand: "the vector", want, found: vector.len() }));
        }
        Ok(Self::in_rows(vector.memory().clone(), [rows, columns]))
    }

    /// Memory that holds the elements row by row.
    pub(crate) fn in_rows(memory: Memory, [rows, columns]: [usize; 2]) -> Self {
        Self { memory, shape: ViewLayout::dense(rows, columns, Order::RowMajor), element: PhantomData }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.shape.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.shape.columns
    }

    /// Which elements are adjacent in memory.
    pub fn order(&self) -> Order {
        self.shape.order
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

fn count(rows: usize, columns: usize) -> Result<usize, Error> {
    rows.checked_mul(columns).ok_or(Error::from(Fault::TooLarge { elements: usize::MAX }))
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
        [rows, columns]: [usize; 2],
        order: Order,
        stride: usize,
    ) -> Result<Self, Error> {
        let shape = ViewLayout { rows, columns, order, offset, stride }.within(vector.len())?;
        Ok(Self::over(vector.memory(), shape))
    }

    /// A view of memory with this shape.
    pub(crate) fn over(memory: &'m Memory, shape: ViewLayout) -> Self {
        Self { memory, shape, element: PhantomData }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.shape.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.shape.columns
    }

    /// A view of the transpose; no elements are moved.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { shape: self.shape.transposed(), ..self }
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
        self.memory.read(self.shape.offset * size_of::<T>(), bytemuck::cast_slice_mut(&mut span))?;
        self.shape.row_by_row(span)
    }

    /// As [`Self::to_vec`], without waiting: the [`Pending`] gives the copy.
    ///
    /// # Errors
    /// As [`Matrix::to_vec_async`].
    pub fn to_vec_async(&self) -> Result<Pending<Vec<T>>, Error> {
        let shape = self.shape;
        let span = self.memory.read_later(shape.offset * size_of::<T>(), shape.span())?;
        Ok(span.then(move |span| shape.row_by_row(span)))
    }

    pub(crate) fn memory(&self) -> &'m Memory {
        self.memory
    }

    pub(crate) fn shape(&self) -> ViewLayout {
        self.shape
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
        [rows, columns]: [usize; 2],
        order: Order,
        stride: usize,
    ) -> Result<Self, Error> {
        let shape = ViewLayout { rows, columns, order, offset, stride }.within(vector.len())?;
        Ok(Self::over(vector.memory(), shape))
    }

    /// A mutable view of memory with this shape.
    pub(crate) fn over(memory: &'m Memory, shape: ViewLayout) -> Self {
        Self { memory, shape, element: PhantomData }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.shape.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.shape.columns
    }

    /// A view of the transpose; no elements are moved.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { shape: self.shape.transposed(), ..self }
    }

    pub(crate) fn memory(&self) -> &'m Memory {
        self.memory
    }

    pub(crate) fn shape(&self) -> ViewLayout {
        self.shape
    }
}

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
