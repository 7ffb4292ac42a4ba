//! `tripipe peaks`: the measured ceilings of a device.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The ceilings of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Peaks {
    /// The device.
    pub device: String,
    /// The device in one line.
    #[serde(default)]
    pub what: String,
    /// The ceilings.
    pub peaks: Vec<Peak>,
    /// The ways to transfer data, if there are any.
    pub transfers: Option<Vec<TransferRate>>,
}

/// A ceiling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Peak {
    /// What was measured: `mad float`.
    pub name: String,
    /// Elements of a vector.
    pub width: Option<usize>,
    /// The rate or the time.
    pub value: Option<f64>,
    /// `operations/s`, `bytes/s` or `s`.
    pub unit: String,
    /// The ceiling in the model of the GPU, in the same unit.
    pub theoretical: Option<f64>,
    /// Why there is no value.
    pub reason: Option<String>,
}

/// A way to transfer data to a device and back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct TransferRate {
    /// Its name.
    pub name: String,
    /// Bytes transferred.
    pub bytes: usize,
    /// Bytes per second to the device.
    pub to_device_bytes_per_second: Option<f64>,
    /// Bytes per second from the device.
    pub to_host_bytes_per_second: Option<f64>,
    /// Why there are no rates.
    pub reason: Option<String>,
}
