//! `tripipe run-kernel`: a run of a kernel, and its memory.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cpu_load::CpuLoad;

/// An object of the output: the run first, then each memory object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum KernelRun {
    /// The run.
    Launch(RanLaunch),
    /// A memory object after the run.
    Memory(MemoryContents),
}

impl KernelRun {
    /// The version of the schema.
    pub const VERSION: u32 = 1;
}

/// A run of a kernel; sizes have as many numbers as the launch has dimensions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RanLaunch {
    /// The version of this schema.
    pub version: u32,
    /// The kernel.
    pub kernel: String,
    /// The program: the name of its source.
    pub program: String,
    /// Work-items in each dimension.
    pub global: Vec<usize>,
    /// Work-items of a work-group; `null` where the executor chose.
    pub local: Option<Vec<usize>>,
    /// The first global ID in each dimension.
    pub offset: Vec<usize>,
    /// The device or simulator that ran it.
    pub device: String,
    /// Seconds of the run.
    pub seconds: f64,
    /// How busy the host's CPU was meanwhile.
    #[serde(default)]
    pub cpu_load: Option<CpuLoad>,
    /// Joules of a run by the device's own counter, with what the device uses without work meanwhile; `null` if that was
    /// not wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joules: Option<f64>,
    /// Watts by the same counter, while the launch was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts: Option<f64>,
    /// The output of `printf`.
    pub printed: String,
}

/// A memory object after a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct MemoryContents {
    /// The version of this schema.
    pub version: u32,
    /// The position of the first argument that it was passed for, from 0.
    pub argument: usize,
    /// That argument's name.
    pub name: String,
    /// The type of its elements.
    pub element: String,
    /// Elements in each dimension.
    pub extents: Vec<usize>,
    /// Whether the kernel may write it; `null` if that is not known.
    pub written: Option<bool>,
    /// Its numbers, if they were wanted: the lanes of a vector one after the other. Infinities, NaNs and all numbers
    /// in base 16 are texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Vec<Value>>,
    /// The file that it was written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The comparison with the expected contents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ComparedNumbers>,
}

/// The comparison of numbers with those that were expected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct ComparedNumbers {
    /// Numbers that were compared.
    pub numbers: usize,
    /// Of these, numbers that differ.
    pub differing: usize,
    /// The largest difference; a text if it is not finite.
    pub largest_difference: Value,
    /// The first numbers that differ.
    pub first: Vec<ComparedNumber>,
}

/// A number that differs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct ComparedNumber {
    /// Its index.
    pub index: Vec<usize>,
    /// The number.
    pub found: Value,
    /// What was expected.
    pub expected: Value,
}
