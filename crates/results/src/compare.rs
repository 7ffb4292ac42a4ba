//! `tripipe compare`: a capture beside a prediction.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Counter, CountersOf};

/// A capture beside the prediction of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Capture {
    /// The name of the capture.
    pub capture: String,
    /// The name of the GPU.
    pub gpu: String,
    /// The family of the GPU, such as `bifrost`.
    #[serde(default)]
    pub family: String,
    /// The kernel.
    pub kernel: String,
    /// The program: the name of its source.
    #[serde(default)]
    pub program: String,
    /// Work-items in each dimension.
    #[serde(default)]
    pub global: [u64; 3],
    /// Work-items of a work-group in each dimension.
    #[serde(default)]
    pub local: [u64; 3],
    /// Whether memory and missing arguments are guessed.
    #[serde(default)]
    pub guessed: bool,
    /// How often the launch ran in the capture.
    pub launches: u64,
    /// The predicted time of one launch in seconds.
    pub seconds: f64,
    /// The lowest and the highest time at which a measurement is expected, in seconds; `null` if no measurement of the
    /// GPU's family is published, so that it is not known.
    pub error_band: Option<[f64; 2]>,
    /// Whose counters they are.
    #[serde(default)]
    pub counters_of: CountersOf,
    /// Row by row, in the order of the capture.
    pub rows: Vec<CapturedRow>,
}

/// A row of a capture, summed over its samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct CapturedRow {
    /// Its name in the capture.
    pub row: String,
    /// The sum over its samples.
    pub measured: f64,
    /// The number of its samples.
    pub samples: usize,
    /// The predicted value for all launches.
    pub predicted: Option<f64>,
    /// Measured divided by predicted.
    pub ratio: Option<f64>,
    /// The counter that predicts it.
    pub counter: Option<Counter>,
    /// Why nothing predicts it.
    pub reason: Option<String>,
}
