//! Results of commands as plain structs: what their JSON says, and nothing else.
//!
//! A command that is asked for JSON writes [`Document`]s, one per line; `docs/results.schema.json` is their schema.
//! Pages are drawn of the same structs, and Python's classes are generated from the schema. Times are in seconds and
//! sizes in bytes unless a field says otherwise; what is not known is `null`. New fields may be added at any time;
//! `VERSION` of a struct increases when a field is removed or changes its meaning.

mod analyze;
mod by_name;
mod check;
mod compare;
mod cpu_load;
mod devices;
mod diff;
mod explain;
mod histogram;
mod improve;
mod ladder;
mod peaks;
mod run_kernel;
mod schedule;
mod simulate;
mod tune;
mod validate;
mod verdict;
mod why;

use std::fmt::{self, Display, Formatter};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use analyze::{
    Advice, AdviceRewrite, Analysis, Cost, ImageUse, LaunchBound, Line, Loop, MemoryAccess, NextStep,
    PathCost, QuickPrediction, Registers, TripCount,
};
pub use by_name::ByName;
pub use check::{CheckReport, CheckedLaunch, Finding, Location, Memory, Related, WorkItem};
pub use compare::{Capture, CapturedRow};
pub use cpu_load::CpuLoad;
pub use devices::{
    DeviceDescription, DeviceImages, DeviceModel, Devices, DriverQuirk, Figure, GpuModel, OpenClDevice,
};
pub use diff::{Changed, Difference};
pub use explain::{RuleExplanation, Rules};
pub use histogram::{ChannelHistogram, Histogram};
pub use improve::{Improved, ImprovementStep, RefusedRewrite};
pub use ladder::{
    Crossover, CrossoverPoint, Ladder, LadderCeilings, LadderCore, LadderStep, LadderWork, Published,
    PublishedGemm, PublishedGemv, PublishedGemvStep, PublishedLaplace, PublishedRatio, PublishedStep,
    SweepChoice,
};
pub use peaks::{Peak, Peaks, TransferRate};
pub use run_kernel::{ComparedNumber, ComparedNumbers, KernelRun, MemoryContents, RanLaunch};
pub use schedule::{HostCost, Schedule, ScheduleStep, ScheduledKernel, ScheduledOtherwise};
pub use simulate::{
    Activity, ActivityLine, Change, Counter, CountersOf, EnergyPart, GpuPeaks, LaunchEnergy, MissingCounter,
    Prediction, Refusal, Sample, Simulated, Traffic, Window,
};
pub use tune::{Search, Trial};
pub use validate::{ErrorSummary, ValidatedRow, Validation};
pub use verdict::{JudgedArgument, JudgedNumber, Reproducer, Verdict};
pub use why::{Application, KernelLaunches};

/// The result of a command: `command` says which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "command", rename_all = "kebab-case")]
pub enum Document {
    /// `tripipe analyze`: a kernel on a GPU.
    Analyze(Box<Analysis>),
    /// `tripipe check`.
    Check(Box<CheckReport>),
    /// `tripipe compare`.
    Compare(Box<Capture>),
    /// `tripipe devices`.
    Devices(Box<Devices>),
    /// `tripipe analyze --diff` and `tripipe simulate --diff`: a kernel on a GPU.
    Diff(Box<Difference>),
    /// `tripipe explain`.
    Explain(Box<Rules>),
    /// `tripipe histogram`.
    Histogram(Box<Histogram>),
    /// `tripipe improve`: a kernel for some GPUs.
    Improve(Box<Improved>),
    /// `tripipe ladder`: a ladder on a device.
    Ladder(Box<Ladder>),
    /// `tripipe peaks`: a device.
    Peaks(Box<Peaks>),
    /// `tripipe run-kernel`: the run, then each memory object.
    RunKernel(Box<KernelRun>),
    /// `tripipe simulate` and `tripipe run-kernel` of a launch file with several launches: on a GPU.
    Schedule(Box<Schedule>),
    /// `tripipe simulate`: a kernel on a GPU.
    Simulate(Box<Simulated>),
    /// `tripipe tune`: a problem on a device.
    Tune(Box<Search>),
    /// `tripipe validate`: a table.
    Validate(Box<Validation>),
    /// `tripipe verdict`: a launch.
    Verdict(Box<Verdict>),
    /// `tripipe why`.
    Why(Box<Application>),
}

impl Document {
    /// The names that `command` may have.
    pub const COMMANDS: [&str; 17] = [
        "analyze",
        "check",
        "compare",
        "devices",
        "diff",
        "explain",
        "histogram",
        "improve",
        "ladder",
        "peaks",
        "run-kernel",
        "schedule",
        "simulate",
        "tune",
        "validate",
        "verdict",
        "why",
    ];
}

/// Its JSON on one line.
impl Display for Document {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // Structs with names as keys are always written.
        f.write_str(&serde_json::to_string(self).unwrap_or_default())
    }
}

/// A conversion of each result into a document.
macro_rules! documents {
    ($($command:ident($result:ident)),* $(,)?) => {
        $(impl From<$result> for Document {
            fn from(result: $result) -> Self {
                Self::$command(Box::new(result))
            }
        })*
    };
}

documents!(
    Analyze(Analysis),
    Check(CheckReport),
    Compare(Capture),
    Devices(Devices),
    Diff(Difference),
    Explain(Rules),
    Histogram(Histogram),
    Improve(Improved),
    Ladder(Ladder),
    Peaks(Peaks),
    RunKernel(KernelRun),
    Schedule(Schedule),
    Simulate(Simulated),
    Tune(Search),
    Validate(Validation),
    Verdict(Verdict),
    Why(Application),
);
