//! The time of a launch with each advice followed.

use tripipe_analyze::{Analysis, lints};
use tripipe_timing::{Options, Prediction};

use super::{Trial, Workload};

/// Most advice of a kernel on a GPU that is priced.
const MOST: usize = 8;

/// Steps of warps that are played for each, fewer than for the launch itself.
const STEPS: u64 = 200_000;

impl Workload<'_> {
    /// Sets the times of the advice for this launch, whose time without it is `launched`, and sorts it.
    pub(crate) fn price(&self, analysis: &mut Analysis, launched: &Prediction) {
        let gpu = analysis.gpu;
        let options = Options { steps: Some(STEPS), ..Options::default() };
        let seconds =
            |trial: &Trial| self.predict(gpu, trial, &options).ok().map(|timed| timed.prediction.seconds);
        // What the launch has to transfer, however the kernel computes.
        let rate = gpu.configuration.dram_gb_s_peak.value * 1e9;
        let transfer = analysis.launch.as_ref().map_or(0.0, |launch| launch.dram_bytes as f64 / rate);
        let gains = analysis.advice.iter_mut().filter_map(|advice| advice.gain.as_mut());
        let mut gains = gains.filter(|gain| gain.effect.is_some()).take(MOST).peekable();
        if gains.peek().is_none() {
            return;
        }
        // Both times of a ratio are of as many steps.
        let all = launched.played == launched.groups;
        let Some(before) = Some(launched.seconds).filter(|_| all).or_else(|| seconds(&Trial::default()))
        else {
            return;
        };
        for gain in gains {
            let trial = Trial { effect: gain.effect.clone(), ..Trial::default() };
            gain.seconds = seconds(&trial).map(|after| {
                let after = launched.seconds * after / before;
                [launched.seconds, after.max(transfer.min(launched.seconds))]
            });
        }
        lints::sort(&mut analysis.advice);
    }
}
