//! `tripipe check`: what is wrong with a launch.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wrong with launches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CheckReport {
    /// The version of this schema.
    #[serde(default)]
    pub version: u32,
    /// The launches that were run, in order.
    pub launches: Vec<CheckedLaunch>,
    /// The codes that were looked for.
    pub checks: Vec<String>,
    /// What could not be checked, one sentence each.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// The number of findings that are errors: undefined by the specification.
    pub errors: u64,
    /// The number of findings that are warnings: probably unintended, or correct on some devices only.
    pub warnings: u64,
    /// The number of findings that are notes.
    pub notes: u64,
    /// The findings, the most severe first.
    pub findings: Vec<Finding>,
}

impl CheckReport {
    /// The version of the schema.
    pub const VERSION: u32 = 2;
}

/// A launch that was run with checks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct CheckedLaunch {
    /// The kernel.
    pub kernel: String,
    /// Work-items in each dimension.
    pub global: [u64; 3],
    /// Work-items of a work-group in each dimension.
    pub local: [u64; 3],
    /// How long the checks took, in seconds: all orders together, without compiling and loading.
    pub seconds: Option<f64>,
}

/// Something wrong with an instruction, however often it occurred.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Finding {
    /// The code of its rule.
    pub code: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// What is wrong.
    pub message: String,
    /// How to fix it; may be empty.
    pub fix: String,
    /// The kernel.
    pub kernel: String,
    /// Where it is.
    pub location: Option<Location>,
    /// The instruction in the text form of the IR.
    pub instruction: Option<String>,
    /// How often it occurred.
    pub count: u64,
    /// The first work-item that it occurred in.
    pub work_item: Option<WorkItem>,
    /// The memory that it is about.
    pub memory: Option<Memory>,
    /// Further locations, such as the other side of a race.
    pub related: Vec<Related>,
}

/// A location in a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Location {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: Option<u32>,
    /// The text of the line.
    pub text: Option<String>,
    /// The number of the first of `lines`.
    pub first_line: Option<u32>,
    /// The line with up to two lines on either side.
    pub lines: Vec<String>,
}

/// A work-item: `get_global_id`, `get_local_id` and `get_group_id`, each of x, y and z.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct WorkItem {
    /// Its global ID.
    pub global: [u64; 3],
    /// Its ID in its work-group.
    pub local: [u64; 3],
    /// The ID of its work-group.
    pub group: [u64; 3],
}

/// The memory that a finding is about; sizes and offsets in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Memory {
    /// The argument or variable.
    pub object: String,
    /// Its address space: `private`, `local`, `global`, `constant` or `generic`.
    pub space: String,
    /// Its size in bytes.
    pub object_bytes: u64,
    /// The start of the access in the object, in bytes; negative before its start.
    pub offset: i64,
    /// Bytes of the access.
    pub bytes: u64,
}

/// A further location, such as the other side of a race.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Related {
    /// What happened there.
    pub message: String,
    /// Where that is.
    pub location: Option<Location>,
    /// The work-item that executed it.
    pub work_item: Option<WorkItem>,
}
