//! The launches of an application on one timeline.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Several launches on one timeline: predicted by `tripipe simulate`, measured by `tripipe run-kernel`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Schedule {
    /// The version of this schema.
    pub version: u32,
    /// The launch file.
    pub file: String,
    /// The GPU, or the device that ran it.
    pub device: String,
    /// Whether the times are predicted.
    pub predicted: bool,
    /// How memory gets to the GPU and back: `copy`, `map` or `zero-copy`; `null` if only launches were measured.
    pub buffers: Option<String>,
    /// Whether the host waits for every call.
    pub blocking: bool,
    /// Seconds from the first start to the last end.
    pub seconds: f64,
    /// The lowest and the highest number of seconds that is expected, from those of the kernels; `null` if a kernel has
    /// none, or the times are measured.
    pub error_band: Option<[f64; 2]>,
    /// Seconds of these in which a kernel runs.
    pub kernel_seconds: f64,
    /// Seconds of the others in which memory is copied or mapped, or caches are flushed.
    pub copy_seconds: f64,
    /// Seconds of the others in which the host launches.
    pub launch_seconds: f64,
    /// The rest.
    pub wait_seconds: f64,
    /// The share of the time in which the host works, that of its threads added up; `null` where that is not known.
    pub host_share: Option<f64>,
    /// What the host's calls cost.
    pub costs: Vec<HostCost>,
    /// What takes time, by start.
    pub steps: Vec<ScheduleStep>,
    /// The kernels, the longest first.
    pub kernels: Vec<ScheduledKernel>,
    /// The same launches with other calls.
    pub otherwise: Vec<ScheduledOtherwise>,
    /// Seconds that the model of the schedule makes of the measured kernels and the measured cost of a launch; `null` if
    /// the times are predicted.
    pub modelled_seconds: Option<f64>,
    /// The output of `printf`.
    pub printed: String,
    /// What was left out, one sentence each.
    pub notes: Vec<String>,
}

impl Schedule {
    /// The version of the schema.
    pub const VERSION: u32 = 1;
}

/// What a call of the host costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct HostCost {
    /// What it is: `launch`, `recorded launch`, `copy`, `maintenance of caches`.
    pub name: String,
    /// Seconds of a call; `null` if it takes time for each byte.
    pub seconds: Option<f64>,
    /// Bytes per second; `null` if it takes the same time for any number of bytes.
    pub bytes_per_second: Option<f64>,
    /// How it is known: `documented`, `measured`, `fitted`, `guessed`.
    pub basis: String,
    /// Where it is from.
    pub source: String,
}

/// Something that takes time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct ScheduleStep {
    /// `enqueue` (of a copy), `upload`, `map`, `flush`, `launch`, `kernel`, `read` or `wait`.
    pub kind: String,
    /// Where: `host` or `gpu`.
    pub on: String,
    /// The queue that it belongs to; `null` if there is only one.
    pub queue: Option<String>,
    /// The memory or the launch; empty for a wait.
    pub name: String,
    /// The number of the launch in the file, from 0.
    pub launch: Option<usize>,
    /// Seconds from the start of the schedule to its start.
    pub start: f64,
    /// Its seconds.
    pub seconds: f64,
    /// Bytes that it transfers or makes visible.
    pub bytes: u64,
    /// Seconds for which the GPU has had nothing to do before it.
    pub idle_seconds: f64,
    /// What it is, in words.
    pub about: String,
}

/// All launches of a kernel with the same sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct ScheduledKernel {
    /// The kernel.
    pub kernel: String,
    /// Work-items in each dimension.
    pub global: Option<[u64; 3]>,
    /// Number of launches.
    pub launches: usize,
    /// Seconds of all its kernels.
    pub seconds: f64,
    /// What limits it: a resource, `latency` or `launch`; `null` if the times are measured.
    pub limiter: Option<String>,
    /// The busiest resource.
    pub ceiling: Option<String>,
    /// Its share of the time.
    pub of_ceiling: Option<f64>,
    /// How many times as fast the application is with these kernels at their ceiling, and all else as it is.
    pub application_gain_at_ceiling: Option<f64>,
    /// The same if these kernels take no time.
    pub application_gain_if_free: Option<f64>,
}

/// The same launches with other calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct ScheduledOtherwise {
    /// How memory gets to the GPU and back: `copy`, `map` or `zero-copy`.
    pub buffers: String,
    /// Whether the host waits for every call.
    pub blocking: bool,
    /// Whether the launches were recorded before, and are replayed.
    pub recorded: bool,
    /// Whether all launches are in one queue, though the file has several.
    pub one_queue: bool,
    /// Seconds from the first start to the last end.
    pub seconds: f64,
}
