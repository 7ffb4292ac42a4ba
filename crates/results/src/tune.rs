//! `tripipe tune`: a search for the fastest parameters.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cpu_load::CpuLoad;

/// The search for one problem on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Search {
    /// The version of this schema.
    #[serde(default)]
    pub version: u32,
    /// `gemm`, `filter`, `quantised` or `kernel`.
    pub family: String,
    /// The problem: `f32 512x512x512`.
    pub subject: String,
    /// The device.
    pub device: String,
    /// Whether times are predicted.
    #[serde(default)]
    pub predicted: bool,
    /// `exhaustive`, `random`, `predicted` or `learned`.
    #[serde(default)]
    pub strategy: String,
    /// Sets of parameters, valid or not.
    #[serde(default)]
    pub combinations: u64,
    /// Valid sets of parameters.
    #[serde(default)]
    pub points: u64,
    /// Sets of parameters that were checked to find these.
    #[serde(default)]
    pub checks: u64,
    /// Candidates that were not tried.
    pub not_tried: usize,
    /// Outcomes that a log had.
    #[serde(default)]
    pub from_the_log: usize,
    /// Candidates left out because they crashed or hung on this driver.
    #[serde(default)]
    pub dangerous: usize,
    /// Whether nothing better is expected.
    pub complete: bool,
    /// Why it ended: `complete`, `converged`, `time`, `count`, `interrupted` or `dangerous`.
    #[serde(default)]
    pub stopped: String,
    /// In the order of their times.
    pub candidates: Vec<Trial>,
}

impl Search {
    /// The version of the schema.
    pub const VERSION: u32 = 1;
}

/// A candidate that was tried; times in seconds, `null` where there is none, for a `reason`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Trial {
    /// Its parameters.
    pub parameters: String,
    /// The median.
    pub seconds: Option<f64>,
    /// The 95 % confidence interval of the median.
    pub interval: Option<[f64; 2]>,
    /// The shortest time.
    pub min_seconds: Option<f64>,
    /// The number of runs.
    pub runs: Option<usize>,
    /// The time relative to that of the library's own choice, which ran in turns with it.
    pub of_reference: Option<f64>,
    /// How busy the host's CPU was beside it.
    pub cpu_load: Option<CpuLoad>,
    /// Arithmetic operations per second.
    pub operations_per_second: Option<f64>,
    /// The estimate before it was tried.
    pub estimate: Option<f64>,
    /// Whether it was given up after one slow run.
    pub dropped: bool,
    /// Why it has no time.
    pub reason: Option<String>,
}
