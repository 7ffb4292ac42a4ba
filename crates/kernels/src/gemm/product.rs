//! A description as the kernels see it: the rows of C contiguous, every operand a view.

use super::description::{Batch, Gemm};

/// Where the elements of an operand are, in elements of its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct View {
    pub(super) offset: usize,
    /// From row to row.
    pub(super) row: usize,
    /// From column to column.
    pub(super) column: usize,
    /// From product to product.
    pub(super) product: usize,
}

impl View {
    fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    /// As kernels take it.
    pub(super) fn words(self) -> [u32; 4] {
        [self.offset, self.row, self.column, self.product].map(|word| word as u32)
    }

    /// Whether vectors of `width` elements from the start of every row or column on are aligned to their size.
    pub(super) fn is_aligned(self, width: usize) -> bool {
        let strides = [self.row, self.column].into_iter().filter(|stride| *stride != 1);
        strides.chain([self.offset, self.product]).all(|stride| stride.is_multiple_of(width))
    }
}

/// A product whose C has contiguous rows, or one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Product {
    pub(super) m: usize,
    pub(super) n: usize,
    /// 0 where A and B are not to be read.
    pub(super) k: usize,
    pub(super) a: View,
    pub(super) b: View,
    pub(super) c: View,
    /// Whether it is the transpose of what is described, and A and B have changed places.
    pub(super) transposed: bool,
    /// Products of the batch.
    pub(super) count: usize,
}

impl Product {
    pub(super) fn of(gemm: &Gemm) -> Self {
        let view = |layout: &super::Layout, product| {
            let [row, column] = layout.strides();
            View { offset: layout.offset, row, column, product }
        };
        let [a, b, c] = gemm.batch.strides();
        let (a, b, c) = (view(&gemm.a, a), view(&gemm.b, b), view(&gemm.c, c));
        let [alpha, _] = gemm.factors();
        let k = if alpha == 0.0 { 0 } else { gemm.k };
        let count = gemm.batch.count();
        if gemm.is_transposed() {
            let (a, b, c) = (b.transposed(), a.transposed(), c.transposed());
            Self { m: gemm.n, n: gemm.m, k, a, b, c, transposed: true, count }
        } else {
            Self { m: gemm.m, n: gemm.n, k, a, b, c, transposed: false, count }
        }
    }

    /// Whether nothing is to be done.
    pub(super) fn is_empty(&self) -> bool {
        self.m == 0 || self.n == 0 || self.count == 0
    }
}

impl Gemm {
    /// Whether kernels compute the transpose, B^T A^T: where C is column-major, and for a C of one column, so that vectors
    /// are always rows.
    pub fn is_transposed(&self) -> bool {
        match (self.m, self.n) {
            (1, 1) => !self.c.rows_are_contiguous(),
            (1, _) => false,
            (_, 1) => true,
            _ => !self.c.rows_are_contiguous(),
        }
    }

    /// Whether operands of the batch begin where a buffer says.
    pub(super) fn has_offsets(&self) -> bool {
        matches!(self.batch, Batch::Offsets { .. })
    }
}
