//! The rewrites, one a file.

use crate::Rewrite;

/// All rewrites.
pub const ALL: &[&dyn Rewrite] = &[];
