//! The launches of an application on one timeline ([`tripipe_timing::schedule`]).

mod result;
mod text;
mod timeline;

use std::fmt::Write as _;

use tripipe_timing::host::HostCosts;
use tripipe_timing::schedule::{Calls, Schedule, ScheduleStep, StepKind};

use crate::number::{bytes, giga, percent, time};
use crate::why::RankedLaunch;

pub use result::result;
pub use text::{ranking, text};
pub use timeline::timeline;

/// A schedule, and what is known about it.
#[derive(Clone, Debug)]
pub struct Scheduled {
    /// The launch file.
    pub file: String,
    /// The GPU, or the device that ran it.
    pub device: String,
    /// How the application makes its calls, and what they cost; `None` if the times are measured.
    pub calls: Option<(Calls, HostCosts)>,
    /// The names of the queues, each of which has a thread of the host.
    pub queues: Vec<String>,
    /// The timeline.
    pub schedule: Schedule,
    /// The lowest and the highest number of seconds that is expected, from those of the kernels; `None` if one has none.
    pub band: Option<[f64; 2]>,
    /// The kernels, the longest first.
    pub kernels: Vec<ScheduledKernel>,
    /// The same launches with other calls, and their seconds.
    pub otherwise: Vec<(Calls, f64)>,
    /// Seconds that the model makes of measured kernels; `None` if the times are predicted.
    pub modelled: Option<f64>,
    /// The output of `printf`.
    pub printed: String,
    /// What was left out, one sentence each.
    pub notes: Vec<String>,
}

/// All launches of a kernel with the same sizes.
#[derive(Clone, Debug)]
pub struct ScheduledKernel {
    /// The numbers of its launches in the file.
    pub of: Vec<usize>,
    /// The kernel, and what is predicted of it.
    pub launch: RankedLaunch,
    /// Seconds of all its kernels.
    pub seconds: f64,
    /// Seconds of the application if they take no time.
    pub if_free: f64,
    /// Seconds of the application with them at their ceiling, if that is known.
    pub at_ceiling: Option<f64>,
}

impl Scheduled {
    /// A step in words, without its time.
    fn about(&self, step: &ScheduleStep) -> String {
        let name = &step.name;
        let costs = self.calls.as_ref().map(|(_, costs)| costs);
        let rate =
            |rate: Option<f64>| rate.map_or_else(String::new, |rate| format!(" at {}", giga(rate, "B")));
        let copy = || rate(costs.map(|costs| costs.copy_rate.value));
        match step.kind {
            StepKind::Enqueue => format!("enqueue the copy of {name}: the host's call"),
            StepKind::Upload => format!("upload {name}: {}{}", bytes(step.bytes), copy()),
            StepKind::Read => format!("read {name}: {}{}", bytes(step.bytes), copy()),
            StepKind::Map => format!("map or unmap {name}: the driver's call"),
            StepKind::Flush => {
                let own = costs.and_then(|costs| costs.maintenance_rate.as_ref());
                format!("flush {name}: caches of {}{}", bytes(step.bytes), rate(own.map(|rate| rate.value)))
            }
            StepKind::Launch => match costs {
                Some(_) => format!("launch {name}: the host's call"),
                None => format!("launch {name}: until its kernel starts"),
            },
            StepKind::Kernel => {
                let own = self
                    .kernels
                    .iter()
                    .find(|kernel| step.launch.is_some_and(|own| kernel.of.contains(&own)));
                let mut said = format!("kernel {name}");
                if let Some(predicted) = own.and_then(|kernel| kernel.launch.predicted.as_ref()) {
                    let (resource, share) = &predicted.ceiling;
                    let share = percent(*share);
                    let _ = write!(said, ": limited by {}, {resource} {share} busy", predicted.limiter);
                }
                if step.idle > 0.0 {
                    let _ = write!(said, "; the GPU was idle for {} before", time(step.idle));
                }
                said
            }
            StepKind::Wait => "wait for the GPU".to_owned(),
        }
    }

    /// Where a step is done.
    fn place(step: &ScheduleStep) -> &'static str {
        if step.kind.is_of_gpu() { "gpu" } else { "host" }
    }

    /// The queue of a step, if there are several.
    fn queue(&self, step: &ScheduleStep) -> Option<String> {
        let name = self.queues.get(step.queue).filter(|_| self.queues.len() > 1)?;
        Some(if name.is_empty() { format!("queue {}", step.queue) } else { name.clone() })
    }
}
