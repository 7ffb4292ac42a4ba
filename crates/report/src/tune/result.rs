//! A search as the result of the command.

use tripipe_results::{self as results, Search};
use tripipe_tune::{Outcome, Stopped, Trial};

use super::TuneReport;

/// The candidates in the order of their times.
pub fn result(report: &TuneReport<'_>) -> Search {
    let estimates = report.candidates.estimates();
    let result = report.result;
    let size = report.candidates.size;
    let candidate =
        |trial: &Trial| candidate(report, trial, estimates.get(trial.parameters.as_str()).copied());
    Search {
        version: Search::VERSION,
        family: report.family.to_owned(),
        subject: report.subject.to_owned(),
        device: report.device.to_owned(),
        predicted: report.predicted,
        strategy: report.strategy.to_string(),
        combinations: size.combinations,
        points: size.points as u64,
        checks: size.checks,
        not_tried: result.left,
        from_the_log: result.reused,
        dangerous: result.dangerous,
        // A search that expects no more improvement was not cut short.
        complete: matches!(result.stopped, Stopped::Complete | Stopped::Converged),
        stopped: word(result.stopped).to_owned(),
        candidates: result.trials.iter().map(candidate).collect(),
    }
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

fn candidate(report: &TuneReport<'_>, trial: &Trial, estimate: Option<f64>) -> results::Trial {
    let times = match &trial.outcome {
        Outcome::Measured(times) => Some(times),
        _ => None,
    };
    results::Trial {
        parameters: trial.parameters.clone(),
        seconds: times.map(|times| times.median),
        interval: times.map(|times| times.interval),
        min_seconds: times.map(|times| times.best),
        runs: times.map(|times| times.seconds.len()),
        of_reference: times.and_then(|times| times.relative),
        cpu_load: times
            .and_then(|times| times.cpu_cores)
            .map(|[cores, calling_thread]| results::CpuLoad { cores, calling_thread }),
        operations_per_second: times.zip(report.operations).map(|(times, all)| all / times.median),
        estimate,
        dropped: matches!(trial.outcome, Outcome::Dropped { .. }),
        reason: trial.outcome.reason(),
    }
}
