//! Where the elements of the operands are.

use std::fmt;

/// The storage order of a matrix: which of its elements are adjacent in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The elements of a row, as in C.
    #[default]
    RowMajor,
    /// The elements of a column, as in Fortran.
    ColumnMajor,
}

impl Order {
    /// The order of the transpose in the same memory.
    #[must_use]
    pub fn transposed(self) -> Self {
        match self {
            Self::RowMajor => Self::ColumnMajor,
            Self::ColumnMajor => Self::RowMajor,
        }
    }
}

/// The extents of a matrix, in elements: rows first, as in the textbook. Those of an image, the width first, are
/// [`Size`](crate::filter::Size).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extents {
    /// The number of rows; may be 0.
    pub rows: usize,
    /// The number of columns; may be 0.
    pub columns: usize,
}

impl Extents {
    /// `rows` x `columns` elements.
    pub const fn new(rows: usize, columns: usize) -> Self {
        Self { rows, columns }
    }

    /// Those of the transpose.
    #[must_use]
    pub const fn transposed(self) -> Self {
        Self::new(self.columns, self.rows)
    }

    /// The number of elements; `None` when it exceeds `usize`.
    pub fn elements(self) -> Option<usize> {
        self.rows.checked_mul(self.columns)
    }

    /// Whether there are no elements.
    pub fn is_empty(self) -> bool {
        self.rows == 0 || self.columns == 0
    }
}

/// Rows and columns: `2x3`.
impl fmt::Display for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.columns)
    }
}

/// The extents of a product C = A B. An extent may be 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProductExtents {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
}

impl ProductExtents {
    /// Those of A, m x k.
    pub const fn a(self) -> Extents {
        Extents::new(self.m, self.k)
    }

    /// Those of B, k x n.
    pub const fn b(self) -> Extents {
        Extents::new(self.k, self.n)
    }

    /// Those of C, m x n.
    pub const fn c(self) -> Extents {
        Extents::new(self.m, self.n)
    }
}

/// m, n and k: `64x256x512`.
impl fmt::Display for ProductExtents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { m, n, k } = self;
        write!(f, "{m}x{n}x{k}")
    }
}

/// The layout of a matrix in a buffer. All distances are in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The storage order of the operand.
    pub order: Order,
    /// Distance from one row (column) to the next: the leading dimension.
    pub leading: usize,
    /// Offset of the first element.
    pub offset: usize,
}

impl Layout {
    /// Rows `leading` elements apart, at offset 0.
    pub fn row_major(leading: usize) -> Self {
        Self { order: Order::RowMajor, leading, offset: 0 }
    }

    /// Columns `leading` elements apart, at offset 0.
    pub fn column_major(leading: usize) -> Self {
        Self { order: Order::ColumnMajor, ..Self::row_major(leading) }
    }

    /// The same memory, read as the transpose.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { order: self.order.transposed(), ..self }
    }

    /// The same layout at offset `offset`.
    #[must_use]
    pub fn at(self, offset: usize) -> Self {
        Self { offset, ..self }
    }

    /// Elements from row to row and from column to column of the operand.
    pub fn strides(&self) -> [usize; 2] {
        match self.order {
            Order::RowMajor => [self.leading, 1],
            Order::ColumnMajor => [1, self.leading],
        }
    }

    /// The layout of a batch of such operands, `batch_stride` elements apart.
    pub fn strided(&self, batch_stride: usize) -> StridedLayout {
        let [row_stride, column_stride] = self.strides();
        StridedLayout { offset: self.offset, row_stride, column_stride, batch_stride }
    }

    /// Elements up to and including the last one of an operand with these extents, `offset` included; 0 for an empty
    /// operand, `None` when it exceeds `usize`.
    pub fn span(&self, extents: Extents) -> Option<usize> {
        if extents.is_empty() {
            return Some(0);
        }
        let [row, column] = self.strides();
        let Extents { rows, columns } = extents;
        let last = (rows - 1).checked_mul(row)?.checked_add((columns - 1).checked_mul(column)?)?;
        last.checked_add(self.offset)?.checked_add(1)
    }
}

/// The layout of the matrices of a batch in a buffer, in elements. Element (i, j) of product p is at `offset + p *
/// batch_stride + i * row_stride + j * column_stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StridedLayout {
    /// Offset of the first element.
    pub offset: usize,
    /// Distance between rows.
    pub row_stride: usize,
    /// Distance between columns.
    pub column_stride: usize,
    /// Distance between products; 0 if one operand is shared by all products.
    pub batch_stride: usize,
}

impl StridedLayout {
    /// Rows in sequence, `row_stride` elements apart.
    pub fn row_major(row_stride: usize) -> Self {
        Self { offset: 0, row_stride, column_stride: 1, batch_stride: 0 }
    }

    /// The transpose, in the same memory.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { row_stride: self.column_stride, column_stride: self.row_stride, ..self }
    }

    /// The argument words for kernels.
    pub(in crate::gemm) fn words(self) -> [u32; 4] {
        [self.offset, self.row_stride, self.column_stride, self.batch_stride].map(|word| word as u32)
    }

    /// Whether vectors of `width` elements, counted from the start of every row or column, are aligned to their size.
    pub(in crate::gemm) fn is_aligned(self, width: usize) -> bool {
        let strides = [self.row_stride, self.column_stride].into_iter().filter(|stride| *stride != 1);
        strides.chain([self.offset, self.batch_stride]).all(|stride| stride.is_multiple_of(width))
    }
}

/// The number of products of one description, and the location of their operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Batch {
    /// One.
    One,
    /// The operands of consecutive products are `strides` elements apart. A stride of 0 shares one operand between
    /// all products; not allowed for C.
    Strided {
        /// Number of products.
        count: usize,
        /// Distance from product to product, for A, B and C.
        strides: [usize; 3],
    },
    /// A buffer holds the offsets of the operands: three `uint` per product, offsets in elements into A, B and C,
    /// added to the layouts' own offsets. The caller must ensure that operands stay inside their buffers and that no
    /// two C share an element; the value of an element shared by two C is unspecified. Products may be computed in
    /// any order.
    Offsets {
        /// Number of products.
        count: usize,
    },
}

impl Batch {
    /// Number of products.
    pub fn count(&self) -> usize {
        match self {
            Self::One => 1,
            Self::Strided { count, .. } | Self::Offsets { count } => *count,
        }
    }

    /// Distances from product to product for A, B and C, when they are known in advance; otherwise 0.
    pub(in crate::gemm) fn strides(&self) -> [usize; 3] {
        if let Self::Strided { strides, .. } = self { *strides } else { [0; 3] }
    }
}
