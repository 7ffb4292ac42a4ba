//! The extents of a matrix.

use tripipe_kernels::gemm::{Extents, Layout};

/// The extents of a matrix, and the layout of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatrixShape {
    pub(crate) extents: Extents,
    pub(crate) layout: Layout,
}
