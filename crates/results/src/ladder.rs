//! `tripipe ladder`: the steps of a ladder on a device.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cpu_load::CpuLoad;

/// A ladder on a device. Lists of a step have one entry for each size, `null` where nothing was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Ladder {
    /// The name of the ladder.
    pub ladder: String,
    /// The device.
    pub device: String,
    /// The sizes of the problem.
    pub sizes: Vec<String>,
    /// The steps.
    pub steps: Vec<LadderStep>,
    /// What the ladder computes, in one sentence.
    #[serde(default)]
    pub about: String,
    /// The device in one line.
    #[serde(default)]
    pub what: String,
    /// Whether times are predicted.
    #[serde(default)]
    pub predicted: bool,
    /// Runs of each step that were measured.
    #[serde(default)]
    pub runs: usize,
    /// Runs of each step before those.
    #[serde(default)]
    pub warmup: usize,
    /// Seconds of the serial version on the CPU for each size; empty if times are predicted.
    #[serde(default)]
    pub serial_seconds: Vec<f64>,
    /// How busy the CPU was meanwhile, for each size.
    #[serde(default)]
    pub serial_cpu_load: Vec<Option<CpuLoad>>,
    /// The work of each size.
    #[serde(default)]
    pub work: Vec<LadderWork>,
    /// What the device could do at most.
    pub ceilings: Option<LadderCeilings>,
    /// Published figures, if they were wanted and there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// How much arithmetic is free beside loads and stores, a sentence for each size, if the ladder is `saxpy-ratio`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub balance: Vec<String>,
    /// If energies were wanted: what they are based on, or why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<String>,
    /// The core beside the GPU, if the device is a board and the ladder is `laplace` or `gemm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<LadderCore>,
    /// Where the GPU overtakes that core, if the ladder is `gemm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crossover: Option<Crossover>,
}

/// A ladder's first step on a core of a CPU, predicted. Lists have one entry for each size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct LadderCore {
    /// The core: `Cortex-A15`.
    pub name: String,
    /// The board: `Arndale`.
    pub board: String,
    /// Its clock in MHz.
    pub clock_mhz: f64,
    /// Seconds of one work-item after another.
    pub serial_seconds: Vec<f64>,
    /// Seconds in NEON.
    pub neon_seconds: Vec<f64>,
    /// Seconds that a published time includes at every size, fitted; added only where a published time is compared.
    pub host_seconds: Option<f64>,
    /// Published seconds of one work-item after another.
    pub published_seconds: Vec<Option<f64>>,
}

/// Square products on a GPU and on the core beside it, predicted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Crossover {
    /// The step on the GPU.
    pub step: String,
    /// The sizes.
    pub points: Vec<CrossoverPoint>,
    /// The least of these sizes from which on the GPU, transfers included, is faster than the serial core.
    pub over_serial: Option<usize>,
    /// The least of these sizes from which on the GPU, transfers included, is faster than NEON.
    pub over_neon: Option<usize>,
    /// The serial core's time divided by the GPU's, without transfers, at the largest size.
    pub plateau: f64,
    /// What was published for that, if the board is the published one.
    pub published_plateau: Option<f64>,
}

/// A size of [`Crossover`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct CrossoverPoint {
    /// Rows and columns of each matrix.
    pub n: usize,
    /// Seconds of the GPU: the host's launch and the kernel.
    pub gpu_seconds: f64,
    /// The same with maps, copies of the three matrices, and the packing of operands.
    pub with_transfers_seconds: f64,
    /// Seconds of the core, one work-item after another.
    pub serial_seconds: f64,
    /// Seconds of the core in NEON.
    pub neon_seconds: f64,
}

/// A step of a ladder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct LadderStep {
    /// Its name.
    pub name: String,
    /// Whether its results were correct wherever it ran; `null` if it never ran.
    pub verified: Option<bool>,
    /// The median time in seconds.
    pub seconds: Vec<Option<f64>>,
    /// The time of the first step divided by this.
    pub speedup: Vec<Option<f64>>,
    /// What it does.
    pub about: String,
    /// `verified`, `not executed`, `not offered` or `failed`.
    pub outcome: Vec<String>,
    /// Why it has no time.
    pub reason: Vec<Option<String>>,
    /// The mean time in seconds.
    pub mean_seconds: Vec<Option<f64>>,
    /// The shortest time in seconds.
    pub min_seconds: Vec<Option<f64>>,
    /// The longest time in seconds.
    pub max_seconds: Vec<Option<f64>>,
    /// The lowest and the highest time at which a measurement is expected, in seconds; `null` if no measurement of the
    /// GPU's family is published, so that it is not known.
    pub error_band: Vec<Option<[f64; 2]>>,
    /// The time of the serial version divided by this.
    pub serial_speedup: Vec<Option<f64>>,
    /// The rate in the unit of the work.
    pub rate: Vec<Option<f64>>,
    /// The share of the ceiling that it reaches.
    pub ceiling_share: Vec<Option<f64>>,
    /// The energy in joules, if it was wanted and there is an estimate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joules: Vec<Option<f64>>,
    /// 10^9 floating-point operations of the problem per second and watt, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gflops_per_watt: Vec<Option<f64>>,
    /// How busy the host's CPU was beside it.
    pub cpu_load: Vec<Option<CpuLoad>>,
    /// Seconds that preparing the data took.
    pub preparation_seconds: Vec<Option<f64>>,
    /// The fastest of its choices, such as a work-group.
    pub choice: Vec<Option<String>>,
    /// All choices that were tried.
    pub sweep: Vec<Vec<SweepChoice>>,
}

/// A choice that was tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct SweepChoice {
    /// The choice.
    pub choice: String,
    /// The median time in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Why it has no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The work of a problem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct LadderWork {
    /// Arithmetic operations.
    pub operations: f64,
    /// Bytes that must be read or written.
    pub bytes: f64,
    /// `GB/s` or `GFLOP/s`.
    pub rate_unit: String,
}

/// What a device could do at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct LadderCeilings {
    /// Bytes copied per second.
    pub bytes_per_second: f64,
    /// Arithmetic operations per second.
    pub operations_per_second: f64,
}

/// Published figures. Ladders have different ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum Published {
    /// Those of `laplace`.
    Laplace(PublishedLaplace),
    /// Those of `gemm`.
    Gemm(PublishedGemm),
    /// Those of `gemv`.
    Gemv(PublishedGemv),
}

/// The published figures of the ladder `laplace`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PublishedLaplace {
    /// The GPU.
    pub gpu: String,
    /// Its clock in MHz.
    pub clock_mhz: f64,
    /// The sizes.
    pub sizes: Vec<String>,
    /// Seconds of the first step for each size.
    pub first_step_seconds: Vec<f64>,
    /// Seconds of the serial version for each size.
    pub serial_seconds: Vec<f64>,
    /// The host's part of the times in seconds: of the first step, of the others.
    pub host_seconds: [f64; 2],
    /// The steps.
    pub steps: Vec<PublishedStep>,
}

/// A published step of `laplace`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct PublishedStep {
    /// Its name.
    pub name: String,
    /// The time of the first step divided by this, for each size.
    pub speedup: Vec<f64>,
    /// The time in seconds for each size.
    pub seconds: Vec<Option<f64>>,
    /// Registers of a work-item.
    pub work_registers: String,
    /// Cycles of the arithmetic pipe.
    pub alu_cycles: f64,
    /// Cycles of the load-store pipe.
    pub ls_cycles: f64,
}

/// The published figures of the ladder `gemm`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PublishedGemm {
    /// The size.
    pub size: String,
    /// The type of the elements.
    #[serde(rename = "type")]
    pub element: String,
    /// The ratios.
    pub ratios: Vec<PublishedRatio>,
}

/// How much faster a version of a product is than another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct PublishedRatio {
    /// The version.
    pub version: String,
    /// The other.
    pub over: String,
    /// The factor on each GPU.
    pub gpus: BTreeMap<String, f64>,
    /// The factor at least, where only that was published.
    pub at_least: Option<f64>,
    /// The factor here.
    pub ours: Option<f64>,
}

/// The published figures of the ladder `gemv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PublishedGemv {
    /// The GPU.
    pub gpu: String,
    /// The sizes.
    pub sizes: Vec<String>,
    /// The steps.
    pub times: Vec<PublishedGemvStep>,
}

/// A published step of `gemv`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct PublishedGemvStep {
    /// Its name.
    pub name: String,
    /// The time in seconds for each size.
    pub seconds: Vec<f64>,
}
