//! A climbed ladder as the result of the command.

use tripipe_ladders::ladder::{ClimbedStep, Outcome, Seconds};
use tripipe_results::{Ladder, LadderCeilings, LadderStep, LadderWork, SweepChoice};

use super::{Figures, Report, rate_unit, verdict};
use crate::cpu_load;

/// All steps at all sizes.
pub fn result(report: &Report<'_>) -> Ladder {
    let climb = report.climb;
    let work = climb.work.iter().map(|work| LadderWork {
        operations: work.operations,
        bytes: work.bytes,
        rate_unit: rate_unit(work.quoted).to_owned(),
    });
    Ladder {
        ladder: climb.ladder.clone(),
        device: climb.device.clone(),
        sizes: climb.sizes.iter().map(ToString::to_string).collect(),
        steps: climb.steps.iter().map(|step| step_of(report, step)).collect(),
        about: report.about.to_owned(),
        what: report.what.to_owned(),
        predicted: climb.time_source.is_predicted(),
        runs: report.options.runs,
        warmup: report.options.warmup,
        serial_seconds: climb.serial.iter().map(Seconds::median).collect(),
        serial_cpu_load: climb.serial.iter().map(|serial| serial.cpu_load().map(cpu_load)).collect(),
        work: work.collect(),
        ceilings: climb.ceilings.as_ref().map(|ceilings| LadderCeilings {
            bytes_per_second: ceilings.bytes_per_second,
            operations_per_second: ceilings.operations_per_second,
        }),
        core: report.core.cloned(),
        crossover: report.crossover.cloned(),
        published: report.published.and_then(|published| super::published::result(climb, published)),
        energy: report.energy_basis(),
        balance: report.balance(),
    }
}

fn step_of(report: &Report<'_>, step: &ClimbedStep) -> LadderStep {
    let climb = report.climb;
    let figures: Vec<Option<Figures<'_>>> =
        (0..climb.sizes.len()).map(|size| Figures::of(report, step, size)).collect();
    let each = |value: &dyn Fn(&Figures<'_>) -> Option<f64>| -> Vec<Option<f64>> {
        figures.iter().map(|figures| figures.as_ref().and_then(value)).collect()
    };
    let sweep = |figures: &Option<Figures<'_>>| {
        let sweep = figures.as_ref().map_or([].as_slice(), |figures| figures.measured.sweep.as_slice());
        let choice = |(label, result): &(String, Result<f64, String>)| SweepChoice {
            choice: label.clone(),
            seconds: result.as_ref().ok().copied(),
            reason: result.as_ref().err().cloned(),
        };
        sweep.iter().map(choice).collect()
    };
    let band = |figures: &Option<Figures<'_>>| Some(report.errors?.band(figures.as_ref()?.median));
    let energy = |value: &dyn Fn(&Figures<'_>) -> Option<f64>| {
        if report.has_energy() { each(value) } else { Vec::new() }
    };
    let load = |figures: &Option<Figures<'_>>| figures.as_ref()?.measured.seconds.cpu_load().map(cpu_load);
    LadderStep {
        name: step.name.clone(),
        verified: verified(step),
        seconds: each(&|figures| Some(figures.median)),
        speedup: each(&|figures| figures.speedup),
        about: step.about.clone(),
        outcome: step.outcomes.iter().map(|outcome| verdict(outcome).0.to_owned()).collect(),
        reason: step.outcomes.iter().map(|outcome| verdict(outcome).1.map(str::to_owned)).collect(),
        mean_seconds: each(&|figures| Some(figures.mean)),
        min_seconds: each(&|figures| Some(figures.measured.seconds.min())),
        max_seconds: each(&|figures| Some(figures.measured.seconds.max())),
        error_band: figures.iter().map(band).collect(),
        serial_speedup: each(&|figures| figures.serial_speedup),
        rate: each(&|figures| figures.rate),
        ceiling_share: each(&|figures| figures.ceiling_share),
        joules: energy(&|figures| figures.measured.joules),
        gflops_per_watt: energy(&|figures| figures.gflops_per_watt),
        cpu_load: figures.iter().map(load).collect(),
        preparation_seconds: each(&|figures| figures.measured.preparation_seconds),
        choice: figures.iter().map(|figures| figures.as_ref()?.measured.choice.clone()).collect(),
        sweep: figures.iter().map(sweep).collect(),
    }
}

/// Whether a step's results were correct wherever it ran; `None` when it never ran.
fn verified(step: &ClimbedStep) -> Option<bool> {
    // A step that is wrong at one size is wrong.
    if step.outcomes.iter().any(Outcome::failed) {
        Some(false)
    } else {
        step.outcomes.iter().any(|outcome| matches!(outcome, Outcome::Verified(_))).then_some(true)
    }
}
