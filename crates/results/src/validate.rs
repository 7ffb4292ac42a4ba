//! `tripipe validate`: predictions beside measurements.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A table of measurements, with predictions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Validation {
    /// The table.
    pub file: String,
    /// Its rows.
    pub rows: Vec<ValidatedRow>,
    /// The errors of each family, then of all rows; rows that are held out by themselves.
    pub summaries: Vec<ErrorSummary>,
}

/// A measurement and its prediction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct ValidatedRow {
    /// The line of the table, from 1.
    pub line: u64,
    /// The device, in the table's words.
    pub device: String,
    /// The model of its GPU.
    pub gpu: String,
    /// How the device differs from the model: `cores=7`.
    pub what_if: Vec<String>,
    /// The kernel.
    pub kernel: String,
    /// Who measured it.
    pub source: String,
    /// `GB/s`, `Gop/s`, `ms` or `us`.
    pub unit: String,
    /// The measured figure, in that unit.
    pub measured: f64,
    /// The predicted figure.
    pub predicted: Option<f64>,
    /// The lowest and the highest figure at which a measurement is expected; `null` if no measurement of the GPU's family
    /// is published.
    pub band: Option<[f64; 2]>,
    /// Predicted time / measured time - 1.
    pub error: Option<f64>,
    /// Whether the measurement is in the band.
    pub in_band: Option<bool>,
    /// Whether no figure of the model was fitted to it.
    pub held_out: bool,
    /// Why there is no prediction.
    pub reason: Option<String>,
}

/// Errors of several rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct ErrorSummary {
    /// `midgard`, `bifrost`, `valhall` or `adreno`; `null` for all.
    pub family: Option<String>,
    /// Whether these are the rows that are held out.
    pub held_out: bool,
    /// Rows with a prediction.
    pub count: usize,
    /// Rows without one.
    pub refused: usize,
    /// Median of the absolute errors; `null` of none.
    pub median_error: Option<f64>,
    /// Measurements within their bands.
    pub in_band: usize,
    /// Rows with a prediction that has no band.
    pub without_band: usize,
    /// The share of the rows with a band or without a prediction that are within; `null` if there are none.
    pub share_in_band: Option<f64>,
    /// Median of highest / lowest of the bands; `null` of none.
    pub median_band_width: Option<f64>,
}
