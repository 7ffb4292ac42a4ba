//! `--diff`: what has changed since an earlier result.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Cost;

/// A kernel on a GPU, before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Difference {
    /// The kernel.
    pub kernel: String,
    /// The name of the GPU.
    pub gpu: String,
    /// `new`, `removed`, `unchanged`, `changed` or `worse`.
    pub status: String,
    /// The figures that differ.
    pub changes: Vec<Changed>,
}

/// A figure that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Changed {
    /// The name of the figure.
    pub what: String,
    /// The old value: a number or a text.
    pub before: Option<Cost>,
    /// The new value.
    pub after: Option<Cost>,
    /// Whether the kernel got worse.
    pub worse: bool,
}
