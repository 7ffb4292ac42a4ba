//! A description in the form that the kernels use: the rows of C contiguous, every operand with its strides.

use super::description::{Batch, Gemm, Order, StridedLayout};

/// A product whose C has contiguous rows, or one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowMajorProduct {
    pub(super) m: usize,
    pub(super) n: usize,
    /// 0 when A and B must not be read.
    pub(super) k: usize,
    pub(super) a: StridedLayout,
    pub(super) b: StridedLayout,
    pub(super) c: StridedLayout,
    /// Whether this is the transpose of the described product, with A and B swapped.
    pub(super) transposed: bool,
    /// Products of the batch.
    pub(super) count: usize,
}

impl RowMajorProduct {
    pub(super) fn of(gemm: &Gemm) -> Self {
        let [a, b, c] = gemm.batch.strides();
        let (a, b, c) = (gemm.a.strided(a), gemm.b.strided(b), gemm.c.strided(c));
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
            (1, 1) => self.c.order == Order::ColumnMajor,
            (1, _) => false,
            (_, 1) => true,
            _ => self.c.order == Order::ColumnMajor,
        }
    }

    /// Whether a buffer holds the offsets of the batch's operands.
    pub(super) fn has_offsets(&self) -> bool {
        matches!(self.batch, Batch::Offsets { .. })
    }
}
