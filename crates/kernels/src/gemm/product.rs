//! A description in the form that the kernels use: the rows of C contiguous, every operand a view.

use super::description::{Batch, Gemm};

/// The layout of an operand, in elements of its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct View {
    pub(super) offset: usize,
    /// Distance from row to row.
    pub(super) row: usize,
    /// Distance from column to column.
    pub(super) column: usize,
    /// Distance from product to product.
    pub(super) product: usize,
}

impl View {
    pub(super) fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    /// The argument words for kernels.
    pub(super) fn words(self) -> [u32; 4] {
        [self.offset, self.row, self.column, self.product].map(|word| word as u32)
    }

    /// Whether vectors of `width` elements, counted from the start of every row or column, are aligned to their size.
    pub(super) fn is_aligned(self, width: usize) -> bool {
        let strides = [self.row, self.column].into_iter().filter(|stride| *stride != 1);
        strides.chain([self.offset, self.product]).all(|stride| stride.is_multiple_of(width))
    }
}

/// A product whose C has contiguous rows, or one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowMajorProduct {
    pub(super) m: usize,
    pub(super) n: usize,
    /// 0 when A and B must not be read.
    pub(super) k: usize,
    pub(super) a: View,
    pub(super) b: View,
    pub(super) c: View,
    /// Whether this is the transpose of the described product, with A and B swapped.
    pub(super) transposed: bool,
    /// Products of the batch.
    pub(super) count: usize,
}

impl RowMajorProduct {
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

    /// Whether C has no elements.
    pub(super) fn is_empty(&self) -> bool {
        self.m == 0 || self.n == 0 || self.count == 0
    }
}

impl Gemm {
    /// Whether kernels compute the transpose, B^T A^T: for a column-major C, and for a C of one column, so that
    /// vectors are always rows.
    pub fn is_transposed(&self) -> bool {
        match (self.m, self.n) {
            (1, 1) => !self.c.rows_are_contiguous(),
            (1, _) => false,
            (_, 1) => true,
            _ => !self.c.rows_are_contiguous(),
        }
    }

    /// Whether a buffer holds the offsets of the batch's operands.
    pub(super) fn has_offsets(&self) -> bool {
        matches!(self.batch, Batch::Offsets { .. })
    }
}
