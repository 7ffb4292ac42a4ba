//! `tripipe why`: the launches of an application.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The launches of an application, the longest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Application {
    /// The version of this schema.
    #[serde(default)]
    pub version: u32,
    /// The GPU whose times are predicted.
    pub gpu: String,
    /// Seconds of all launches.
    #[serde(default)]
    pub seconds: f64,
    /// Seconds of the application as far as it is known: from the start of the first launch of a trace to the end of the last;
    /// without a trace those of all launches.
    #[serde(default)]
    pub application_seconds: f64,
    /// The launches; those of one kernel with the same sizes together.
    pub launches: Vec<KernelLaunches>,
    /// What the estimates of energy are based on, or why there are none; `null` without `--energy`.
    #[serde(default)]
    pub energy: Option<String>,
    /// What was left out, one sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Application {
    /// The version of the schema.
    pub const VERSION: u32 = 1;
}

/// Launches of a kernel with the same sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct KernelLaunches {
    /// The kernel.
    pub kernel: String,
    /// The launch file of the first one; `null` if only a trace has it.
    pub file: Option<String>,
    /// Work-items in each dimension.
    pub global: Option<[u64; 3]>,
    /// The number of launches.
    pub launches: usize,
    /// Seconds of all of them: as measured, else as predicted.
    pub seconds: Option<f64>,
    /// Seconds of all of them at the ceiling.
    pub seconds_at_ceiling: Option<f64>,
    /// How many times as fast the application would be with these launches at their ceiling, and all others as they are.
    pub application_gain_at_ceiling: Option<f64>,
    /// The same if these launches took no time: the most that any change of this kernel gains.
    pub application_gain_if_free: Option<f64>,
    /// Launches of the kernel in the trace.
    pub measured_launches: Option<usize>,
    /// Seconds of these.
    pub measured_seconds: Option<f64>,
    /// Seconds of one launch as predicted.
    pub predicted_seconds: Option<f64>,
    /// The lowest and the highest time at which a measurement is expected, in seconds; `null` if no measurement of the
    /// GPU's family is published, so that it is not known.
    pub predicted_band: Option<[f64; 2]>,
    /// Seconds that the host needs for a launch.
    pub launch_seconds: Option<f64>,
    /// What limits it: a resource, `latency` or `launch`.
    pub limiter: Option<String>,
    /// The busiest resource.
    pub ceiling: Option<String>,
    /// Its share of the time.
    pub of_ceiling: Option<f64>,
    /// Joules of one launch; `null` without an estimate.
    pub joules: Option<f64>,
    /// Watts while it runs.
    pub watts: Option<f64>,
    /// The advice with the largest gain.
    pub advice: Option<String>,
    /// The share of the time that it saves.
    pub advice_saves: Option<f64>,
}
