//! How busy the host's CPU is, in the results of several commands.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cores that a run keeps busy on average: seconds of CPU time divided by seconds that pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct CpuLoad {
    /// All threads of the process: 1.98 on two busy cores, almost 0 while a GPU works.
    pub cores: f64,
    /// The calling thread alone: at most 1.
    pub calling_thread: f64,
}
