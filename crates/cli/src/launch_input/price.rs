//! What a launch gains by each advice.

use rayon::prelude::*;
use tripipe_analyze::{Advice, Analysis, Setup, lints};
use tripipe_improve::advice::{self, Costs};
use tripipe_ir::Kernel;
use tripipe_timing::{Options, Prediction};

use super::{Description, LaunchFiles, Trial, Workload};

/// Most advice of a kernel on a GPU whose estimated effect is predicted.
const MOST: usize = 8;

/// Steps of warps that are played for each, fewer than for the launch itself.
const STEPS: u64 = 200_000;

impl Workload<'_> {
    /// Sets the times of the advice for this launch, whose time without it is `launched`, and sorts it. `setup` is what
    /// the analysis knows of the launch.
    pub(crate) fn price(&self, analysis: &mut Analysis, setup: &Setup, launched: &Prediction) {
        let costs = Costs::Predicted { seconds: launched.seconds, limit_steps: self.limit_steps() };
        if let Ok(subject) = self.subject(launched.local)
            && let Ok(target) = self.description().target(analysis.gpu)
        {
            let files = LaunchFiles::of(self.description());
            advice::price(analysis, &subject, &target, &files, setup, costs);
        }
        self.estimate(analysis, launched);
        lints::sort(&mut analysis.advice);
    }

    /// Predicts the times of advice that no rewrite follows, by its estimated effect.
    fn estimate(&self, analysis: &mut Analysis, launched: &Prediction) {
        let gpu = analysis.gpu;
        let options = Options { steps: Some(STEPS), ..Options::default() };
        let seconds =
            |trial: &Trial| self.predict(gpu, trial, &options).ok().map(|timed| timed.prediction.seconds);
        // What the launch has to transfer, however the kernel computes.
        let rate = gpu.configuration.dram_gb_s_peak.value * 1e9;
        let transfer = analysis.launch.as_ref().map_or(0.0, |launch| launch.dram_bytes as f64 / rate);
        let effect = |advice: &Advice| advice.gain.as_ref()?.effect.clone();
        let advice: Vec<&mut Advice> =
            analysis.advice.iter_mut().filter(|advice| effect(advice).is_some()).take(MOST).collect();
        if advice.is_empty() {
            return;
        }
        // Both times of a ratio are of as many steps.
        let all = launched.played == launched.groups;
        let Some(before) = Some(launched.seconds).filter(|_| all).or_else(|| seconds(&Trial::default()))
        else {
            return;
        };
        advice.into_par_iter().for_each(|advice| {
            let after = seconds(&Trial { effect: effect(advice), ..Trial::default() });
            if let Some(gain) = &mut advice.gain {
                gain.seconds = after.map(|after| {
                    let after = launched.seconds * after / before;
                    [launched.seconds, after.max(transfer.min(launched.seconds))]
                });
            }
        });
    }
}

/// Sets the gains of the advice by rewrites where no time is predicted: of cycles.
pub(crate) fn price_statically(
    description: &Description,
    kernel: &Kernel,
    setup: &Setup,
    analysis: &mut Analysis,
) {
    let launch = if description.has_launch() {
        Ok(description.file.clone())
    } else {
        description.guess(kernel, 1, &[]).map(|(launch, _)| launch)
    };
    let subject = launch.and_then(|launch| description.subject_of(kernel, launch));
    if let (Ok(subject), Ok(target)) = (subject, description.target(analysis.gpu)) {
        let files = LaunchFiles::of(description);
        advice::price(analysis, &subject, &target, &files, setup, Costs::Static);
    }
}
