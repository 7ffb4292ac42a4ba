//! Predicted times of kernels ([`tripipe_timing::Prediction`]).

mod activity;
pub(crate) mod energy;
mod limits;
mod result;
mod text;
mod timeline;

pub use limits::{explanation, head, limiter};
pub use result::results;
pub(crate) use result::{quick, shares};
pub(crate) use text::{band, sentence};
pub use text::{not_compared, text};
pub use timeline::timeline;

use tripipe_device::Gpu;
use tripipe_timing::Prediction;
use tripipe_timing::counters::Counters;
use tripipe_timing::energy::Energy;

use crate::number::{percent, significant};

/// A kernel whose time is predicted on several GPUs.
pub struct Simulation<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// The name of its program.
    pub program: &'a str,
    /// The text of the program, for the lines in an activity; empty when it is not available.
    pub source: &'a str,
    /// Work-items in each dimension.
    pub global: [u64; 3],
    /// Whether arguments that were not given, and sizes of memory, are guesses.
    pub guessed: bool,
    /// What the prediction leaves out, one sentence each.
    pub left_out: &'a [String],
    /// One for each GPU, in the order of the request.
    pub gpus: &'a [Simulated],
}

/// The result on a GPU.
pub struct Simulated {
    /// The GPU.
    pub gpu: &'static Gpu,
    /// The time, or why the kernel cannot run there.
    pub outcome: Result<Predicted, String>,
}

/// A predicted time, and what belongs to it.
#[derive(Clone)]
pub struct Predicted {
    /// The prediction.
    pub prediction: Prediction,
    /// Bytes of registers that a work-item spills.
    pub spill_bytes: u32,
    /// Who chose the work-group size.
    pub local_by: LocalBy,
    /// Counters under the vendor's names, if they are wanted.
    pub counters: Option<Counters>,
    /// The energy, if it is wanted, or why it has no estimate.
    pub energy: Option<Result<Energy, String>>,
    /// The same launch with each change, and with all of them, the shortest time for all results first.
    pub what_if: Vec<Repriced>,
}

/// Who chose a work-group size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalBy {
    /// The launch names it.
    Launch,
    /// The kernel requires it.
    Kernel,
    /// The driver chooses it.
    Driver,
}

/// A change, and the time with it.
#[derive(Clone)]
pub struct Repriced {
    /// The change as it was requested: `clock=800`.
    pub change: String,
    /// The time, or why the kernel cannot run then.
    pub outcome: Result<Prediction, String>,
}

impl Repriced {
    /// The results that it computes, as a share of those of the launch without the change: bytes stored. A launch that
    /// loads the same does the same work, as a sum does with fewer parts.
    pub fn results(&self, before: &Prediction) -> Option<f64> {
        let after = self.outcome.as_ref().ok()?.distinct?;
        let before = before.distinct.filter(|before| before.stored > 0.0)?;
        let loaded = after.loaded / before.loaded.max(f64::MIN_POSITIVE);
        let is_same = before.loaded > 0.0 && (SAME_RESULTS[0]..=SAME_RESULTS[1]).contains(&loaded);
        Some(if is_same { 1.0 } else { after.stored / before.stored })
    }

    /// The time for as many results as without the change; infinite if the kernel cannot run.
    pub fn seconds_for_all(&self, before: &Prediction) -> f64 {
        // In proportion: with half of the results, all of them take twice the time.
        let share = self.results(before).unwrap_or(1.0).max(f64::MIN_POSITIVE);
        self.outcome.as_ref().map_or(f64::INFINITY, |after| after.seconds / share)
    }
}

/// Shares of results from which on a change computes less, or more: what sampled work-groups leave open.
const SAME_RESULTS: [f64; 2] = [0.95, 1.05];

/// What a change computes besides another time, if it does.
pub(crate) fn other_results(share: f64) -> Option<String> {
    match share {
        share if share < SAME_RESULTS[0] => Some(format!("{} of the results", percent(share))),
        share if share > SAME_RESULTS[1] => Some(format!("{} times as many results", significant(share))),
        _ => None,
    }
}

/// Time before / time after, both without the launch.
fn gain(before: &Prediction, after: &Prediction) -> f64 {
    before.seconds / after.seconds.max(f64::MIN_POSITIVE)
}
