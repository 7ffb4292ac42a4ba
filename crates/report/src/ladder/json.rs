//! A climbed ladder as JSON.

use serde_json::{Value, json};
use tripipe_ladders::ladder::{ClimbedStep, Outcome, Seconds};

use super::{Figures, Report, rate_unit, verdict};

/// One JSON object on one line. Lists in a step have one entry for each size, `null` where nothing was measured.
/// `verified` is `null` for a step that was not offered at any size, or not executed.
pub fn json(report: &Report<'_>) -> String {
    let climb = report.climb;
    let sizes: Vec<String> = climb.sizes.iter().map(ToString::to_string).collect();
    let steps: Vec<Value> = climb.steps.iter().map(|step| step_value(report, step)).collect();
    let work = climb.work.iter().map(|work| {
        json!({ "operations": work.operations, "bytes": work.bytes, "rate_unit": rate_unit(work.quoted) })
    });
    let mut object = json!({
        "command": "ladder",
        "ladder": climb.ladder,
        "device": climb.device,
        "sizes": sizes,
        "steps": steps,
        "about": report.about,
        "what": report.what,
        "predicted": climb.time_source.is_predicted(),
        "runs": report.options.runs,
        "warmup": report.options.warmup,
        "serial_seconds": climb.serial.iter().map(Seconds::median).collect::<Vec<_>>(),
        "work": work.collect::<Vec<_>>(),
        "ceilings": climb.ceilings.as_ref().map(|ceilings| json!({
            "bytes_per_second": ceilings.bytes_per_second,
            "operations_per_second": ceilings.operations_per_second,
        })),
    });
    if let (Some(published), Value::Object(object)) = (report.published, &mut object) {
        object.insert("published".to_owned(), super::published::json(climb, published));
    }
    object.to_string()
}

fn step_value(report: &Report<'_>, step: &ClimbedStep) -> Value {
    let climb = report.climb;
    let figures: Vec<Option<Figures<'_>>> =
        (0..climb.sizes.len()).map(|size| Figures::of(climb, step, size)).collect();
    let each = |value: &dyn Fn(&Figures<'_>) -> Option<f64>| -> Vec<Option<f64>> {
        figures.iter().map(|figures| figures.as_ref().and_then(value)).collect()
    };
    let sweeps = figures.iter().map(|figures| {
        let sweep = figures.as_ref().map_or([].as_slice(), |figures| figures.measured.sweep.as_slice());
        let ways = sweep.iter().map(|(label, result)| match result {
            Ok(seconds) => json!({ "choice": label, "seconds": seconds }),
            Err(reason) => json!({ "choice": label, "reason": reason }),
        });
        ways.collect::<Vec<_>>()
    });
    json!({
        "name": step.name,
        "verified": verified(step),
        "seconds": each(&|figures| Some(figures.median)),
        "speedup": each(&|figures| figures.speedup),
        "about": step.about,
        "outcome": step.outcomes.iter().map(|outcome| verdict(outcome).0).collect::<Vec<_>>(),
        "reason": step.outcomes.iter().map(|outcome| verdict(outcome).1).collect::<Vec<_>>(),
        "mean_seconds": each(&|figures| Some(figures.mean)),
        "min_seconds": each(&|figures| Some(figures.measured.seconds.min())),
        "max_seconds": each(&|figures| Some(figures.measured.seconds.max())),
        "error_band": figures
            .iter()
            .map(|figures| Some(report.errors?.band(figures.as_ref()?.median)))
            .collect::<Vec<_>>(),
        "serial_speedup": each(&|figures| figures.serial_speedup),
        "rate": each(&|figures| figures.rate),
        "ceiling_share": each(&|figures| figures.ceiling_share),
        "preparation_seconds": each(&|figures| figures.measured.preparation_seconds),
        "choice": figures
            .iter()
            .map(|figures| figures.as_ref().and_then(|figures| figures.measured.choice.as_deref()))
            .collect::<Vec<_>>(),
        "sweep": sweeps.collect::<Vec<_>>(),
    })
}

/// Whether a step's results were correct wherever it ran; `None` when it never ran.
fn verified(step: &ClimbedStep) -> Option<bool> {
    if step.outcomes.iter().any(Outcome::failed) {
        Some(false)
    } else {
        step.outcomes.iter().any(|outcome| matches!(outcome, Outcome::Verified(_))).then_some(true)
    }
}
