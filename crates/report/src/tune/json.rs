//! A search as JSON.

use serde_json::{Value, json};
use tripipe_tune::{Outcome, Stopped, Trial};

use super::TuneReport;

/// The version of the format. It increases when a key is removed or changes its meaning, not for a new key.
const VERSION: u32 = 1;

/// One JSON object on one line. `candidates` are in the order of their times; `seconds` is `null` where a candidate has
/// none, and `reason` says why.
pub fn json(report: &TuneReport<'_>) -> String {
    let predicted = report.candidates.estimates();
    let result = report.result;
    let size = report.candidates.size;
    json!({
        "command": "tune",
        "version": VERSION,
        "family": report.family,
        "subject": report.subject,
        "device": report.device,
        "predicted": report.predicted,
        "strategy": report.strategy.to_string(),
        "combinations": size.combinations,
        "points": size.points,
        "checks": size.checks,
        "not_tried": result.left,
        "from_the_log": result.reused,
        "dangerous": result.dangerous,
        "complete": matches!(result.stopped, Stopped::Complete | Stopped::Converged),
        "stopped": word(result.stopped),
        "candidates": result
            .trials
            .iter()
            .map(|trial| candidate(report, trial, predicted.get(trial.parameters.as_str()).copied()))
            .collect::<Vec<_>>(),
    })
    .to_string()
}

fn word(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Complete => "complete",
        Stopped::Converged => "converged",
        Stopped::Time => "time",
        Stopped::Count => "count",
        Stopped::Interrupted => "interrupted",
        Stopped::Dangerous => "dangerous",
    }
}

fn candidate(report: &TuneReport<'_>, trial: &Trial, predicted: Option<f64>) -> Value {
    let times = match &trial.outcome {
        Outcome::Measured(times) => Some(times),
        _ => None,
    };
    json!({
        "parameters": trial.parameters,
        "seconds": times.map(|times| times.median),
        "interval": times.map(|times| times.interval),
        "min_seconds": times.map(|times| times.best),
        "runs": times.map(|times| times.seconds.len()),
        "of_reference": times.and_then(|times| times.relative),
        "operations_per_second": times.zip(report.operations).map(|(times, operations)| operations / times.median),
        "estimate": predicted,
        "dropped": matches!(trial.outcome, Outcome::Dropped { .. }),
        "reason": trial.outcome.reason(),
    })
}
