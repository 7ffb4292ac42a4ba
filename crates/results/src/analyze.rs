//! `tripipe analyze`: what a kernel costs on a GPU.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ByName;

/// Cycles of a core for a work-item: a number, or a text such as `12 + 7 n` where a trip count is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum Cost {
    /// Cycles.
    Number(f64),
    /// A sum with names of arguments or symbols.
    Symbolic(String),
}

impl Default for Cost {
    fn default() -> Self {
        Self::Number(0.0)
    }
}

impl Cost {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Symbolic(_) => None,
        }
    }
}

/// How often a loop runs: a number, or a text such as `n - 1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum TripCount {
    /// That many times.
    Number(u64),
    /// A sum with the name of an argument.
    Symbolic(String),
}

/// What a kernel costs on a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Analysis {
    /// The version of this schema.
    #[serde(default)]
    pub version: u32,
    /// The kernel.
    pub kernel: String,
    /// The name of the GPU.
    pub gpu: String,
    /// The family of the GPU, such as `bifrost`.
    #[serde(default)]
    pub family: String,
    /// Words, tuples or instructions of each pipe.
    #[serde(default)]
    pub emitted: ByName<u32>,
    /// The cost of all code, each instruction counted once.
    pub total: PathCost,
    /// The cost of the cheapest path.
    pub shortest_path: PathCost,
    /// The cost of the most expensive path.
    pub longest_path: PathCost,
    /// An upper bound of the most expensive path by column.
    #[serde(default)]
    pub longest_path_at_most: ByName<Cost>,
    /// Registers of a work-item, and the threads that they allow.
    pub registers: Registers,
    /// The share of the arithmetic that works on 16 bits or less; `null` without arithmetic.
    pub narrow_arithmetic: Option<f64>,
    /// The share of the lanes of vector arithmetic that compute nothing; `null` where that does not apply.
    pub idle_lanes: Option<f64>,
    /// Bytes of a work-item's stack.
    #[serde(default)]
    pub stack_bytes: u64,
    /// Bytes of local memory of a work-group.
    #[serde(default)]
    pub local_bytes: u64,
    /// Instructions that are executed once for all work-items.
    #[serde(default)]
    pub uniform_instructions: usize,
    /// The loops.
    #[serde(default)]
    pub loops: Vec<Loop>,
    /// The cost of each line of the source.
    #[serde(default)]
    pub lines: Vec<Line>,
    /// Loads and stores.
    #[serde(default)]
    pub accesses: Vec<MemoryAccess>,
    /// Reads and writes of images.
    #[serde(default)]
    pub images: Vec<ImageUse>,
    /// The program: the name of its source.
    #[serde(default)]
    pub program: String,
    /// What the launch has to do, if its size is known.
    pub launch: Option<LaunchBound>,
    /// The predicted time, if the launch is known.
    pub prediction: Option<QuickPrediction>,
    /// Why there is no predicted time.
    pub prediction_missing: Option<String>,
    /// What to change, the largest gain first.
    #[serde(default)]
    pub advice: Vec<Advice>,
    /// What the cost does not include, one sentence each.
    #[serde(default)]
    pub left_out: Vec<String>,
}

impl Analysis {
    /// The version of the schema.
    pub const VERSION: u32 = 2;
}

/// The cost of a path through the kernel by column, such as `A` and `LS`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct PathCost {
    /// Cycles by column.
    pub columns: ByName<Cost>,
    /// Messages of the load-store unit, each counted once whatever its lines.
    pub messages: Cost,
    /// The columns that take longest, separated by commas.
    pub bound: String,
}

/// Registers of a work-item, and the threads of a core that they allow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Registers {
    /// Registers that the compiler uses.
    pub used: u32,
    /// Registers that it would need without spilling.
    pub needed: u32,
    /// The most that a work-item can have.
    pub max: u32,
    /// Bits of a register.
    pub width_bits: u32,
    /// Registers of values that all work-items share.
    pub uniform: u32,
    /// Bytes that a work-item spills.
    pub spill_bytes: u32,
    /// The line where most registers are in use.
    pub peak_line: Option<u32>,
    /// Threads that fit a core.
    pub threads: u32,
    /// Threads that would fit with fewer registers.
    pub max_threads: u32,
    /// What fewer registers would allow.
    pub next_step: Option<NextStep>,
}

/// How many registers fewer allow how many threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct NextStep {
    /// Registers fewer.
    pub fewer: u32,
    /// Threads of a core then.
    pub threads: u32,
}

/// A loop, and the cost of one iteration by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Loop {
    /// The first line of its header.
    pub line: Option<u32>,
    /// The number of loops around it, and itself.
    pub depth: u32,
    /// How often it runs: a number, or a text such as `n - 1`; the most where work-items differ.
    pub trips: Option<TripCount>,
    /// The fewest times that it runs.
    pub least_trips: Option<u64>,
    /// The symbol for a number of times that is not known.
    pub symbol: Option<String>,
    /// What that number depends on, if that is a sum of several values.
    pub follows_from: Option<String>,
    /// Cycles of one iteration by column.
    pub iteration: ByName<Cost>,
}

/// The cost of a line of the source by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Line {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Its text; empty if it is not available.
    pub text: String,
    /// Cycles by column.
    pub columns: ByName<Cost>,
}

/// A load or store: strides and alignment in bytes; `lines` are cache lines that a warp touches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct MemoryAccess {
    /// The file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The line of the call, for code of a function that the kernel calls.
    pub called_from: Option<u32>,
    /// The argument or variable.
    pub memory: String,
    /// Its address space.
    pub space: String,
    /// Whether it is a store.
    pub writes: bool,
    /// Bytes of a work-item.
    pub bytes: u32,
    /// Bytes from one work-item to the next, if that is a constant.
    pub stride_bytes: Option<i64>,
    /// The argument that the stride is a multiple of.
    pub stride_argument: Option<String>,
    /// Cache lines of a warp if that argument is 1.
    pub lines_if_one: Option<u32>,
    /// Bytes from one iteration of the innermost loop to the next, if that is a constant.
    pub iteration_stride_bytes: Option<i64>,
    /// Cache lines that a warp touches.
    pub lines: u32,
    /// Whether that number is known, not assumed.
    pub lines_known: bool,
    /// The share of these lines that the warp uses.
    pub used: f64,
    /// Whether the accesses of a warp are as few as its bytes allow.
    pub coalesced: bool,
    /// The alignment of the address in bytes.
    pub align: u32,
}

/// A read or write of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct ImageUse {
    /// The line, from 1.
    pub line: Option<u32>,
    /// The argument.
    pub image: String,
    /// Whether it is a write.
    pub writes: bool,
}

/// What a launch has to do; with a prediction, a lower bound of its time, and how busy each resource is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct LaunchBound {
    /// Work-items.
    pub work_items: u64,
    /// The lower bound in milliseconds.
    pub milliseconds: Option<f64>,
    /// Bytes of buffers that are read or written, each counted once.
    pub dram_bytes: u64,
    /// The share of the time that each resource is busy, 0 to 1.
    pub busy: ByName<f64>,
}

/// The predicted time, as `tripipe simulate` predicts it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct QuickPrediction {
    /// Work-items of a work-group in each dimension.
    pub local: [u64; 3],
    /// Seconds, without the host's launch.
    pub seconds: f64,
    /// The lowest and the highest time at which a measurement is expected, in seconds; `null` if no measurement of the
    /// GPU's family is published, so that it is not known.
    pub error_band: Option<[f64; 2]>,
    /// Clocks of the GPU.
    pub cycles: f64,
    /// What limits it: a resource, `latency` or `launch`.
    pub limiter: String,
    /// Who chose the work-group: `launch`, `kernel` or `driver`.
    pub local_chosen_by: String,
    /// What a driver may do with a work-group of more work-items than the registers of this model allow; `null` for all others.
    pub warning: Option<String>,
}

/// What to change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Advice {
    /// The code of its rule.
    pub code: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// The file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The line of the call, for code of a function that the kernel calls.
    pub called_from: Option<u32>,
    /// What was found.
    pub message: String,
    /// What to do.
    pub fix: String,
    /// The share of the cycles that it saves.
    pub gain: Option<f64>,
    /// The share of the cycles that all advice of this kind saves together.
    pub gain_together: Option<f64>,
    /// The predicted time in seconds if it is followed.
    pub seconds: Option<f64>,
    /// The rewrite that was applied to know what it saves; `null` if none was. `tripipe analyze --fix`
    /// applies and verifies it.
    pub rewrite: Option<AdviceRewrite>,
    /// Whether no rewrite follows it.
    pub by_hand: bool,
}

/// A rewrite that does what advice proposes. It is not verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct AdviceRewrite {
    /// Its code.
    pub name: String,
    /// What it changes.
    pub title: String,
    /// What the host's code must change, in sentences.
    pub host: Vec<String>,
}
