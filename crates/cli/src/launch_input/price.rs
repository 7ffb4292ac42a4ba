//! The time of a launch with each advice followed.

use tripipe_analyze::{Advice, Analysis, Effect, lints};
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
        let has_effect =
            |advice: &&mut Advice| advice.gain.as_ref().is_some_and(|gain| gain.effect.is_some());
        let mut advice = analysis.advice.iter_mut().filter(has_effect).take(MOST).peekable();
        if advice.peek().is_none() {
            return;
        }
        // Both times of a ratio are of as many steps.
        let all = launched.played == launched.groups;
        let Some(before) = Some(launched.seconds).filter(|_| all).or_else(|| seconds(&Trial::default()))
        else {
            return;
        };
        for advice in advice {
            let Some(effect) = advice.gain.as_ref().and_then(|gain| gain.effect.clone()) else { continue };
            let after = match effect {
                Effect::WorkGroup(sizes) => {
                    let timed = sizes.into_iter().filter_map(|local| {
                        let sides = local.iter().take(self.range.dimensions()).map(|side| *side as usize);
                        let trial = Trial { local: sides.collect(), ..Trial::default() };
                        Some((seconds(&trial)?, local))
                    });
                    let fastest = timed.min_by(|a, b| a.0.total_cmp(&b.0));
                    fastest.map(|(seconds, local)| {
                        advice.set_work_group(local, self.range.dimensions());
                        seconds
                    })
                }
                effect => seconds(&Trial { effect: Some(effect), ..Trial::default() }),
            };
            if let Some(gain) = &mut advice.gain {
                gain.seconds = after.map(|after| {
                    let after = launched.seconds * after / before;
                    [launched.seconds, after.max(transfer.min(launched.seconds))]
                });
            }
        }
        lints::sort(&mut analysis.advice);
    }
}
