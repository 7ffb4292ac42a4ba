//! The rewrites, one a file.

mod resize_work_group;
mod swap_dimensions;

use crate::Rewrite;

/// All rewrites.
pub const ALL: &[&dyn Rewrite] = &[&resize_work_group::ResizeWorkGroup, &swap_dimensions::SwapDimensions];
