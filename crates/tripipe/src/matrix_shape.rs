//! The extents of a matrix.

use tripipe_kernels::gemm::Layout;

/// The extents of a matrix, and the layout of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatrixShape {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) layout: Layout,
}
