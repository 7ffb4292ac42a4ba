//! All launches of an application, by time against their ceilings, as text, JSON and a timeline.

mod result;
mod text;
mod timeline;

use tripipe_capture::trace::MeasuredLaunch;
use tripipe_device::Gpu;
use tripipe_timing::energy::Energy;

use crate::number::significant;
use crate::simulation::energy;

pub use result::result;
pub use text::text;
pub(crate) use text::{aligned, name};
pub use timeline::timeline;

/// The launches of an application.
#[derive(Clone, Debug)]
pub struct Why {
    /// The GPU whose times are predicted.
    pub gpu: &'static Gpu,
    /// The launches; those of one kernel with the same sizes together. The longest first.
    pub rows: Vec<RankedLaunch>,
    /// What was left out, one sentence each.
    pub notes: Vec<String>,
    /// Each launch of its own, in the order of the launch files.
    pub in_order: Vec<RankedLaunch>,
    /// The launches of traces, in the order of their starts.
    pub measured: Vec<MeasuredLaunch>,
}

/// Launches of a kernel with the same sizes, or of a kernel of a trace.
#[derive(Clone, Debug, Default)]
pub struct RankedLaunch {
    /// The kernel.
    pub kernel: String,
    /// The launch file of the first one; `None` if only a trace has it.
    pub file: Option<String>,
    /// Work-items in each dimension, if known.
    pub global: Option<[u64; 3]>,
    /// Number of launches.
    pub launches: usize,
    /// What a trace says.
    pub measured: Option<Measured>,
    /// What the model says.
    pub predicted: Option<PredictedLaunch>,
    /// The advice with the largest gain, and the fraction of the time that it saves, if that is known.
    pub advice: Option<(String, Option<f64>)>,
}

/// Times of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Number of launches of the kernel in the trace.
    pub launches: usize,
    /// Seconds of all of them on the device.
    pub seconds: f64,
}

/// The predicted time of one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictedLaunch {
    /// Work-items of a work-group in each dimension.
    pub local: [u64; 3],
    /// Seconds, without the launch.
    pub seconds: f64,
    /// The lowest and the highest number of seconds that is expected; `None` if that is not known.
    pub band: Option<[f64; 2]>,
    /// Seconds that the host needs for the launch.
    pub launch_seconds: f64,
    /// What limits it: a resource, `latency` or `launch`.
    pub limiter: String,
    /// The busiest resource, and its share of the time: what the launch reaches of its ceiling.
    pub ceiling: (String, f64),
    /// The energy of one launch, if it is wanted, or why it has no estimate.
    pub energy: Option<Result<Energy, String>>,
}

impl RankedLaunch {
    /// Number of launches whose time counts: those of the trace, if it has the kernel.
    pub fn count(&self) -> usize {
        self.measured.map_or(self.launches, |measured| measured.launches)
    }

    /// Seconds of all its launches: as measured, else as predicted, with what the host needs.
    pub fn seconds(&self) -> Option<f64> {
        if let Some(measured) = &self.measured {
            return Some(measured.seconds);
        }
        let predicted = self.predicted.as_ref()?;
        // The host prepares the next launch while the GPU runs, so the longer of both counts.
        Some(self.launches as f64 * predicted.seconds.max(predicted.launch_seconds))
    }

    /// Seconds that all its launches would need at the ceiling.
    pub fn at_ceiling(&self) -> Option<f64> {
        let predicted = self.predicted.as_ref()?;
        // Those of the trace, because this is compared with its time.
        Some(self.count() as f64 * predicted.seconds * predicted.ceiling.1)
    }
}

impl RankedLaunch {
    /// The energy of one launch, if there is an estimate.
    pub fn energy(&self) -> Option<&Energy> {
        self.predicted.as_ref()?.energy.as_ref()?.as_ref().ok()
    }
}

impl Why {
    /// What the energies are based on, or why there are none; `None` if none is wanted.
    fn energy_basis(&self) -> Option<String> {
        let mut all = self.rows.iter().filter_map(|row| row.predicted.as_ref()?.energy.as_ref());
        // One GPU, so one model.
        Some(match all.next()? {
            Ok(energy) => {
                let volts = significant(energy.reference_volts);
                format!("Energy is an estimate, at {volts} V. {}", energy::basis(energy))
            }
            Err(reason) => format!("Energy on {}: {reason}.", self.gpu.name()),
        })
    }

    /// Sorts the rows: the longest first, those without a time last.
    pub fn rank(&mut self) {
        // Below every time, so that rows without one come last.
        let seconds = |row: &RankedLaunch| row.seconds().unwrap_or(-1.0);
        self.rows.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
    }

    /// Seconds of all rows.
    fn seconds(&self) -> f64 {
        self.rows.iter().filter_map(RankedLaunch::seconds).sum()
    }

    /// Seconds of the application as far as it is known: from the start of the first launch of a trace to the end of the last,
    /// without a trace those of all launches.
    fn application_seconds(&self) -> f64 {
        let start = self.measured.iter().map(|launch| launch.start).fold(f64::INFINITY, f64::min);
        let end = self.measured.iter().map(|launch| launch.start + launch.seconds).fold(0.0, f64::max);
        // Launches of several queues at once: their sum is longer than the application.
        self.seconds().max(end - start)
    }

    /// How many times as fast the application is if all launches of a row take `seconds`: Amdahl's law. `None` without a time of
    /// the row.
    fn gain(&self, row: &RankedLaunch, seconds: f64) -> Option<f64> {
        let all = self.application_seconds();
        gain(all, all - row.seconds()? + seconds)
    }

    /// The same if they run at their ceiling.
    fn gain_at_ceiling(&self, row: &RankedLaunch) -> Option<f64> {
        self.gain(row, row.at_ceiling()?.min(row.seconds()?))
    }
}

/// How many times as fast something is that takes `after` seconds instead of `before`; `None` if nothing is left.
pub(crate) fn gain(before: f64, after: f64) -> Option<f64> {
    (after > 1e-9 * before).then_some(before / after)
}
