//! `tripipe simulate`: how long a kernel takes on a GPU.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use crate::ByName;

/// A kernel on a GPU: the predicted time, or why it cannot run there.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum Simulated {
    /// It runs.
    Prediction(Box<Prediction>),
    /// It does not.
    Refusal(Refusal),
}

/// A field that predictions and refusals have.
macro_rules! of_both {
    ($simulated:ident.$field:ident) => {
        match $simulated {
            Self::Prediction(one) => &one.$field,
            Self::Refusal(one) => &one.$field,
        }
    };
}

impl Simulated {
    /// The version of the schema.
    pub const VERSION: u32 = 1;

    /// The prediction, if there is one.
    pub fn prediction(&self) -> Option<&Prediction> {
        match self {
            Self::Prediction(prediction) => Some(prediction),
            Self::Refusal(_) => None,
        }
    }

    /// The kernel.
    pub fn kernel(&self) -> &str {
        of_both!(self.kernel)
    }

    /// The name of the GPU.
    pub fn gpu(&self) -> &str {
        of_both!(self.gpu)
    }

    /// The program: the name of its source.
    pub fn program(&self) -> &str {
        of_both!(self.program)
    }

    /// Work-items in each dimension.
    pub fn global(&self) -> &[u64; 3] {
        of_both!(self.global)
    }

    /// Whether memory and missing arguments are guessed.
    pub fn guessed(&self) -> bool {
        *of_both!(self.guessed)
    }

    /// What the prediction leaves out, one sentence each.
    pub fn left_out(&self) -> &[String] {
        of_both!(self.left_out)
    }
}

/// By `error`, so that a message about a wrong key names it.
impl<'de> Deserialize<'de> for Simulated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let result = if value["error"].is_null() {
            serde_json::from_value(value).map(Self::Prediction)
        } else {
            serde_json::from_value(value).map(Self::Refusal)
        };
        result.map_err(D::Error::custom)
    }
}

/// The predicted time of a launch on a GPU, without the host's launch; all times in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Prediction {
    /// The version of this schema.
    #[serde(default)]
    pub version: u32,
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
    pub global: [u64; 3],
    /// Whether memory and missing arguments are guessed.
    #[serde(default)]
    pub guessed: bool,
    /// What the prediction leaves out, one sentence each.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// Work-items of a work-group in each dimension.
    pub local: [u64; 3],
    /// Seconds.
    pub seconds: f64,
    /// The lowest and the highest time at which a measurement is expected, in seconds; `null` if no measurement of the
    /// GPU's family is published, so that it is not known.
    pub error_band: Option<[f64; 2]>,
    /// Clocks of the GPU.
    #[serde(default)]
    pub cycles: f64,
    /// What limits it: `A`, `FMA`, `CVT`, `SFU`, `ALU`, `EFU`, `LS`, `T`, `local`, `start`, `port`, `L2`, `TLB`, `DRAM`,
    /// `latency` or `launch`.
    pub limiter: String,
    /// Always `null`: a refusal has a reason here.
    #[serde(default)]
    pub error: (),
    /// Who chose the work-group: `launch`, `kernel` or `driver`.
    #[serde(default)]
    pub local_chosen_by: String,
    /// The share of the time that each ceiling is busy, by the names of `limiter`, 0 to 1.
    #[serde(default)]
    pub shares: ByName<f64>,
    /// Threads in flight as a share of those that a core can have, in the mean.
    #[serde(default)]
    pub occupancy: f64,
    /// Registers of a work-item.
    #[serde(default)]
    pub registers: u32,
    /// What a driver may do with a work-group of more work-items than the registers of this model allow; `null` for all others.
    #[serde(default)]
    pub warning: Option<String>,
    /// Bits of a register.
    #[serde(default)]
    pub register_bits: u32,
    /// Bytes that a work-item spills.
    #[serde(default)]
    pub spill_bytes: u32,
    /// Threads of a core that the registers allow.
    #[serde(default)]
    pub threads: u32,
    /// Threads that a core can have.
    #[serde(default)]
    pub max_threads: u32,
    /// Seconds that the host needs for the launch, in addition.
    #[serde(default)]
    pub launch_seconds: f64,
    /// Seconds after which drivers stop a launch.
    #[serde(default)]
    pub watchdog_seconds: f64,
    /// Work-groups.
    #[serde(default)]
    pub groups: u64,
    /// Work-groups that were played.
    #[serde(default)]
    pub played_groups: u64,
    /// The relative uncertainty of the time from playing only a part; 0 if all was played.
    #[serde(default)]
    pub sampling_error: f64,
    /// Traffic of the work-groups that were played.
    #[serde(default)]
    pub played_traffic: Traffic,
    /// What limits the launch, and what that means.
    #[serde(default)]
    pub sentence: String,
    /// What the GPU could do at most.
    pub peaks: Option<GpuPeaks>,
    /// What changes would gain, the shortest time for all results first.
    #[serde(default)]
    pub what_if: Vec<Change>,
    /// What happened when, if that was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// Counters under the names of the GPU's vendor, if they were wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<Counter>,
    /// Whose counters they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters_of: Option<CountersOf>,
    /// Counters that are not predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_counters: Option<Vec<MissingCounter>>,
    /// The number of counters that only graphics moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graphics_counters: Option<usize>,
    /// The energy, if it was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<LaunchEnergy>,
}

/// The energy of a launch, estimated from its counters as the vendor's driver does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct LaunchEnergy {
    /// Joules without DRAM and static power; `null` if nobody published what counters cost on this GPU.
    pub joules: Option<f64>,
    /// Watts while the kernel runs.
    pub watts: Option<f64>,
    /// 10^9 floating-point operations per second and watt; `null` without an estimate or operations.
    pub gflops_per_watt: Option<f64>,
    /// The part of each counter in joules, largest first.
    pub parts: Vec<EnergyPart>,
    /// Counters of the driver's model that are not predicted.
    pub missing: Vec<String>,
    /// The estimate with its basis and source, or why there is none, in words.
    pub sentence: String,
}

/// What a counter contributes to the energy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct EnergyPart {
    /// The counter.
    pub counter: String,
    /// Joules.
    pub joules: f64,
}

/// A GPU that cannot run the kernel, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Refusal {
    /// The version of this schema.
    #[serde(default)]
    pub version: u32,
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
    pub global: [u64; 3],
    /// Whether memory and missing arguments are guessed.
    #[serde(default)]
    pub guessed: bool,
    /// What the prediction leaves out, one sentence each.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// Always `null`.
    #[serde(default)]
    pub local: (),
    /// Always `null`.
    #[serde(default)]
    pub seconds: (),
    /// Always `null`.
    #[serde(default)]
    pub error_band: (),
    /// Always `null`.
    #[serde(default)]
    pub cycles: (),
    /// Always `null`.
    #[serde(default)]
    pub limiter: (),
    /// The reason.
    pub error: String,
}

/// Cache lines that were requested and that hit, bytes of DRAM, and translations, of the groups that were played.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Traffic {
    /// Lines that loads and stores asked the L1 for.
    pub l1_accesses: u64,
    /// How many of these lines were in the L1.
    pub l1_hits: u64,
    /// Lines that image reads asked the texture cache for.
    pub texture_accesses: u64,
    /// How many of these lines were in the texture cache.
    pub texture_hits: u64,
    /// Lines that the L2 was asked for.
    pub l2_accesses: u64,
    /// How many of these lines were in the L2.
    pub l2_hits: u64,
    /// Bytes read from DRAM.
    pub dram_read_bytes: u64,
    /// Bytes written to DRAM.
    pub dram_written_bytes: u64,
    /// Translations of addresses that the TLB did not have.
    pub tlb_misses: u64,
}

/// What a GPU could do at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct GpuPeaks {
    /// Operations of float32 per second; a multiply-add counts as two.
    pub operations_per_second: f64,
    /// Bytes of DRAM per second.
    pub dram_bytes_per_second: f64,
    /// Instructions of a work-item per second, by the short name of their pipe; a multiply-add is one.
    pub pipes: ByName<f64>,
}

/// What a change would gain: the time before divided by the time after.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Change {
    /// Work-items of a work-group in each dimension.
    pub local: Option<[u64; 3]>,
    /// Seconds then.
    pub seconds: Option<f64>,
    /// The lowest and the highest time at which a measurement is expected, in seconds; `null` if no measurement of the
    /// GPU's family is published, so that it is not known.
    pub error_band: Option<[f64; 2]>,
    /// Clocks of the GPU.
    pub cycles: Option<f64>,
    /// What limits it then.
    pub limiter: Option<String>,
    /// Why the GPU cannot run it then.
    pub error: Option<String>,
    /// The time before divided by the time after.
    pub gain: Option<f64>,
    /// The bytes that the launch stores, as a share of those without the change.
    pub results: Option<f64>,
    /// The change as it was requested: `clock=800`.
    pub change: String,
}

/// What happened in a launch, and when. A launch of which only parts were played has a window for each of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Activity {
    /// Counts of the whole launch, by name.
    pub counts: ByName<f64>,
    /// Counts of the work-groups that were played.
    pub played_counts: ByName<f64>,
    /// The parts that were played.
    pub windows: Vec<Window>,
    /// Intervals of time, in order.
    pub samples: Vec<Sample>,
    /// Lines of the source, those with most clocks first.
    pub lines: Vec<ActivityLine>,
}

/// A part of a launch that was played.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Window {
    /// Seconds from the start of the launch to its start.
    pub start_seconds: f64,
    /// Seconds from the start of the launch to its end.
    pub end_seconds: f64,
    /// The number of its first work-group.
    pub first_group: u64,
    /// The index of its first sample.
    pub first_sample: usize,
    /// The number of its samples.
    pub samples: usize,
}

/// An interval of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Sample {
    /// Seconds from the start of the launch to its start.
    pub start_seconds: f64,
    /// Its length in seconds.
    pub seconds: f64,
    /// The share of it that each resource is busy, 0 to 1.
    pub shares: ByName<f64>,
    /// Work-items on all cores, in the mean.
    pub threads: f64,
    /// Bytes between the cores and the L2.
    pub l2_bytes: f64,
    /// Bytes read from DRAM.
    pub dram_read_bytes: f64,
    /// Bytes written to DRAM.
    pub dram_written_bytes: f64,
}

/// What a line of the source costs in a launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct ActivityLine {
    /// The file; `null` for code without a line.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: u32,
    /// Its text, if it is available.
    pub text: Option<String>,
    /// Clocks of each resource.
    pub clocks: ByName<f64>,
    /// Clocks that work-items waited for its results.
    pub waited_clocks: f64,
    /// Bytes that work-items load and store.
    pub bytes: f64,
    /// Bytes between the cores and the L2.
    pub l2_bytes: f64,
    /// Bytes from and to DRAM.
    pub dram_bytes: f64,
}

/// A counter under the name of the GPU's vendor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Counter {
    /// The name in the vendor's interface.
    pub name: String,
    /// The counter of the hardware that it is made of.
    pub source: Option<String>,
    /// The name in the vendor's tools.
    pub title: String,
    /// The group in the vendor's tools.
    pub group: String,
    /// The unit of the value.
    pub unit: String,
    /// The value; `null` where it has none.
    pub value: Option<f64>,
    /// `exact`, `approximated`, `constant` or `equation`: docs/counters.md.
    pub basis: String,
    /// How it is derived.
    pub derived: String,
}

/// Whose counters they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct CountersOf {
    /// Who gave the names.
    pub names: String,
    /// The product whose counters they are.
    pub product: String,
    /// Whether that is only the nearest one.
    pub nearest: bool,
}

/// A counter that is not predicted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct MissingCounter {
    /// The name in the vendor's interface.
    pub name: String,
    /// The name in the vendor's tools.
    pub title: String,
    /// Why.
    pub reason: String,
}
