//! `tripipe verdict`: whether a device's results are right.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Finding;

/// The verdict on a launch. Numbers of results are texts, because JSON has neither NaN nor infinity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Verdict {
    /// The version of this schema.
    #[serde(default)]
    pub version: u32,
    /// The launch file.
    pub file: String,
    /// The device that the results are of; `null` for those of the launch file.
    pub device: Option<String>,
    /// The kernel.
    pub kernel: String,
    /// Work-items in each dimension.
    pub global: [u64; 3],
    /// Work-items of a work-group in each dimension.
    pub local: [u64; 3],
    /// `same`, `rounding`, `open`, `miscompiled` or `bug`.
    pub verdict: String,
    /// The memory with known results.
    pub memory: Vec<JudgedArgument>,
    /// The launch that was cut down, if that was wanted and there is one.
    pub reproducer: Option<Reproducer>,
    /// Bugs of the kernel, and what differs; the most severe first.
    pub findings: Vec<Finding>,
    /// What could not be checked, one sentence each.
    pub left_out: Vec<String>,
}

impl Verdict {
    /// The version of the schema.
    pub const VERSION: u32 = 1;
}

/// The verdict on a buffer or an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct JudgedArgument {
    /// The argument's position, from 0.
    pub argument: usize,
    /// Its name.
    pub name: String,
    /// Numbers that were compared.
    pub numbers: usize,
    /// Numbers that differ from the simulator's.
    pub differing: usize,
    /// Of these, numbers within the bounds of the language.
    pub allowed: usize,
    /// Of these, numbers without a bound.
    pub open: usize,
    /// Of these, numbers that the language does not allow.
    pub wrong: usize,
    /// The first numbers that differ, the worst kind first.
    pub first: Vec<JudgedNumber>,
}

/// A number that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct JudgedNumber {
    /// Its index.
    pub index: Vec<usize>,
    /// Its offset in bytes.
    pub offset: usize,
    /// `wrong`, `open` or `allowed`.
    pub kind: String,
    /// What the device computed.
    pub device: String,
    /// What the simulator computes.
    pub defined: String,
    /// What float64 arithmetic gives.
    pub float64: Option<String>,
    /// The numbers that are allowed, if they are bounded.
    pub bounds: Option<[String; 2]>,
    /// The work-item that writes it.
    pub work_item: Option<[u64; 3]>,
    /// Why it is open.
    pub cause: Option<String>,
}

/// A launch that was cut down as far as the difference stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Reproducer {
    /// Its folder.
    pub folder: String,
    /// Work-items that are left.
    pub work_items: u64,
    /// Bytes of memory that are left.
    pub bytes: u64,
    /// Lines of source that are left.
    pub lines: usize,
    /// Launches that were tried.
    pub tried: usize,
    /// Whether each step was confirmed on a device.
    pub confirmed: bool,
}
