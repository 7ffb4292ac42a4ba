//! Layouts of matrices.

use tripipe_kernels::gemm::StridedLayout;

use crate::CpuError;

/// The number of elements from the first to the last of one matrix, both included.
///
/// # Errors
/// Elements beyond the `found` elements of the slice, or beyond the address space.
pub(super) fn check_layout(
    layout: &StridedLayout,
    buffer: &'static str,
    extents: [usize; 2],
    batch: usize,
    found: usize,
) -> Result<usize, CpuError> {
    if extents.contains(&0) || batch == 0 {
        return Ok(0);
    }
    let reach = |extent: usize, stride: usize| (extent - 1).checked_mul(stride);
    let span = reach(extents[0], layout.row_stride)
        .and_then(|rows| rows.checked_add(reach(extents[1], layout.column_stride)?)?.checked_add(1));
    let want = span
        .and_then(|span| span.checked_add(reach(batch, layout.batch_stride)?)?.checked_add(layout.offset));
    match (span, want) {
        (Some(span), Some(want)) if want <= found => Ok(span),
        (_, Some(want)) => Err(CpuError::Length { operation: "gemm", buffer, want, found }),
        (_, None) => {
            let sizes = vec![
                extents[0],
                layout.row_stride,
                extents[1],
                layout.column_stride,
                batch,
                layout.batch_stride,
            ];
            Err(CpuError::TooLarge { operation: "gemm", buffer, sizes })
        }
    }
}

/// A matrix in its stored layout.
#[derive(Clone, Copy)]
pub struct StridedMatrix<'a, T> {
    /// The elements from the first one on.
    data: &'a [T],
    pub(super) rows: usize,
    pub(super) columns: usize,
    strides: [usize; 2],
}

impl<'a, T: Copy> StridedMatrix<'a, T> {
    /// The matrix of product `index`. A matrix without elements has no data.
    pub(super) fn new(
        data: &'a [T],
        operand: &StridedLayout,
        index: usize,
        [rows, columns]: [usize; 2],
    ) -> Self {
        let data = if rows == 0 || columns == 0 {
            &[]
        } else {
            &data[operand.offset + index * operand.batch_stride..]
        };
        Self { data, rows, columns, strides: [operand.row_stride, operand.column_stride] }
    }

    pub(super) fn transposed(self) -> Self {
        let [row, column] = self.strides;
        Self { rows: self.columns, columns: self.rows, strides: [column, row], ..self }
    }

    /// The part of `rows` x `columns` from (i, j) on, which is not empty.
    pub(super) fn part(self, [i, j]: [usize; 2], [rows, columns]: [usize; 2]) -> Self {
        let data = &self.data[i * self.strides[0] + j * self.strides[1]..];
        Self { data, rows, columns, strides: self.strides }
    }

    /// The distance between rows, if rows are contiguous and do not overlap.
    fn row_stride(&self) -> Option<usize> {
        let [row, column] = self.strides;
        let contiguous = column == 1 || self.columns == 1;
        (contiguous && (row >= self.columns || self.rows == 1)).then_some(row.max(self.columns))
    }

    /// The elements, and the stride of rows or of columns (`true`), whichever are contiguous.
    pub(super) fn lines(&self) -> Option<(&'a [T], usize, bool)> {
        let cut = |matrix: &Self, stride: usize| &matrix.data[..(matrix.rows - 1) * stride + matrix.columns];
        if let Some(stride) = self.row_stride() {
            return Some((cut(self, stride), stride, false));
        }
        let across = self.transposed();
        across.row_stride().map(|stride| (cut(&across, stride), stride, true))
    }

    /// The elements from the first one on.
    pub(super) fn data(&self) -> &'a [T] {
        self.data
    }

    /// The distance between rows, and between columns.
    pub(super) fn strides(&self) -> [usize; 2] {
        self.strides
    }

    /// Contiguous rows, or columns (`down`), in a slice without gaps.
    pub(super) fn dense(data: &'a [T], [rows, columns]: [usize; 2], down: bool) -> Self {
        let strides = if down { [1, rows] } else { [columns, 1] };
        Self { data, rows, columns, strides }
    }

    /// A matrix with the same layout in other memory.
    pub(super) fn over<U>(self, data: &[U]) -> StridedMatrix<'_, U> {
        StridedMatrix { data, rows: self.rows, columns: self.columns, strides: self.strides }
    }

    /// The elements of row `i`, which are contiguous.
    pub(super) fn row(&self, i: usize) -> &'a [T] {
        &self.data[i * self.strides[0]..][..self.columns]
    }

    pub(super) fn at(&self, i: usize, j: usize) -> T {
        self.data[i * self.strides[0] + j * self.strides[1]]
    }
}
