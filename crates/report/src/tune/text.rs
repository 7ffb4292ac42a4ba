//! Searches and logs as text.

use std::fmt::Write as _;

use tripipe_tune::results::{FamilyQuality, PredictionQuality, ProblemResults, ResultDifference};
use tripipe_tune::{Outcome, Stopped, Times};

use super::TuneReport;
use crate::number::{percent, significant, time};

/// What a search found: a line about the space, one about the search, and the `top` fastest candidates.
pub fn search_summary(report: &TuneReport<'_>, top: usize) -> String {
    let TuneReport { subject, device, result, candidates, .. } = report;
    let mut text = format!("{subject} on {device}: {}\n", candidates.size);
    let tried = result.trials.len() - result.reused;
    let _ = write!(text, "{subject} on {device}: {tried} candidates by strategy {}", report.strategy);
    let count =
        |is: &dyn Fn(&Outcome) -> bool| result.trials.iter().filter(|trial| is(&trial.outcome)).count();
    let dropped = count(&|outcome| matches!(outcome, Outcome::Dropped { .. }));
    // A dropped candidate has no time either.
    let failed = count(&|outcome| outcome.seconds().is_none()) - dropped;
    for (count, what) in [
        (result.reused, "known from the log"),
        (dropped, "dropped as far slower"),
        (failed, "failed"),
        (result.dangerous, "left out as dangerous on this driver"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    let left = match result.left {
        0 => String::new(),
        left => format!(", {left} not tried"),
    };
    let _ = match result.stopped {
        Stopped::Complete => writeln!(text, "; all were tried"),
        Stopped::Converged => writeln!(text, "; little improvement is expected{left}"),
        Stopped::Time => writeln!(text, "; PARTIAL: the time limit was reached (--limit){left}"),
        Stopped::Count => {
            writeln!(text, "; PARTIAL: the number of candidates was reached (--candidates){left}")
        }
        Stopped::Interrupted => writeln!(text, "; PARTIAL: interrupted{left}"),
        Stopped::Dangerous => {
            writeln!(text, "; PARTIAL: many candidates in a row crashed, hung or lost the device{left}")
        }
    };
    let in_turns =
        |outcome: &Outcome| outcome.times().is_some_and(|times| times.relative.is_some() && !times.predicted);
    if top > 0 && result.trials.first().is_some_and(|trial| in_turns(&trial.outcome)) {
        text.push_str(
            "  in the order of their times relative to the reference kernel, which ran in turns with them:\n",
        );
    }
    text.push_str(&gain(report).unwrap_or_default());
    for trial in result.trials.iter().take(top) {
        let _ = match &trial.outcome {
            Outcome::Measured(times) => {
                let rate = report.operations.map_or(String::new(), |operations| {
                    format!("{:>8.1} GFLOP/s  ", operations / times.median * 1e-9)
                });
                let load = times.cpu_cores.map_or(String::new(), |[cores, _]| format!("  {cores:.2} cores"));
                writeln!(text, "  {rate}{}{load}  {}", timed(times), trial.parameters)
            }
            other => writeln!(text, "  {}: {}", trial.parameters, other.reason().unwrap_or_default()),
        };
    }
    // A wrong result is worth a line even if its candidate is not shown.
    let hidden = result.trials.iter().skip(top);
    let mut wrong = hidden.filter(|trial| matches!(trial.outcome, Outcome::Wrong { .. }));
    if let Some(trial) = wrong.next() {
        let more = match wrong.count() {
            0 => String::new(),
            more => format!(" (and {more} more with a wrong result)"),
        };
        let _ =
            writeln!(text, "  {}: {}{more}", trial.parameters, trial.outcome.reason().unwrap_or_default());
    }
    text
}

/// How much faster the fastest is than the first candidate; `None` if it is the first, or that has no time.
fn gain(report: &TuneReport<'_>) -> Option<String> {
    let (fastest, seconds) = report.result.fastest()?;
    let first = report.result.trials.iter().find(|trial| Some(trial.parameters.as_str()) == report.first)?;
    if first.parameters == fastest.parameters {
        return Some(format!("  nothing is faster than the first candidate, {}\n", first.parameters));
    }
    let relative = fastest.outcome.times()?.relative;
    // The ratio of runs in turns is free of drift, unlike that of two times.
    let gain = relative.map_or(first.outcome.seconds()? / seconds, f64::recip);
    Some(format!("  {}x as fast as the first candidate, {}:\n", significant(gain), first.parameters))
}

/// A time, with the half width of its interval.
fn timed(times: &Times) -> String {
    let [low, high] = times.interval;
    let spread = if times.predicted || times.median <= 0.0 || times.seconds.len() < 2 {
        String::new()
    } else {
        format!("±{}", percent((high - low) / 2.0 / times.median))
    };
    format!("{:>9} {spread:>6}", time(times.median))
}

/// What logs know: for each device, its problems with the `top` fastest parameters of each.
pub fn results(all: &[ProblemResults], top: usize) -> String {
    let mut text = String::new();
    for one in all {
        let ProblemResults { device, problem, timed: found, failed, dangerous } = one;
        let _ = write!(text, "{problem} on {}", device.name);
        if !device.driver.is_empty() {
            let _ = write!(text, ", driver {}", device.driver);
        }
        let _ = write!(text, ": {} with a time, {failed} without", found.len());
        if *dangerous > 0 {
            let _ = write!(text, ", {dangerous} of them not tried again");
        }
        text.push('\n');
        for one in found.iter().take(top) {
            let predicted = if one.times.predicted { ", predicted" } else { "" };
            let _ = writeln!(text, "  {}  {}  ({}{predicted})", timed(&one.times), one.parameters, one.day);
        }
    }
    text
}

/// The fastest parameters in two logs.
pub fn differences(all: &[ResultDifference]) -> String {
    let mut text = String::new();
    for ResultDifference { device, problem, fastest } in all {
        let side = |side: &Option<(String, f64)>| {
            side.as_ref().map_or("nothing".to_owned(), |(parameters, seconds)| {
                format!("{} with {parameters}", time(*seconds))
            })
        };
        let [before, after] = fastest;
        let _ = writeln!(text, "{problem} on {}", device.name);
        let _ = match (before, after) {
            (Some((a, seconds)), Some((b, other))) if a == b => {
                writeln!(
                    text,
                    "  {} and {} with {a}: {}x",
                    time(*seconds),
                    time(*other),
                    significant(seconds / other)
                )
            }
            (Some((_, seconds)), Some((_, other))) => {
                writeln!(text, "  {}\n  {}: {}x", side(before), side(after), significant(seconds / other))
            }
            _ => writeln!(text, "  {}\n  {}", side(before), side(after)),
        };
    }
    text
}

/// How well predictions rank candidates, by device and problem, then by family.
pub fn quality(all: &[PredictionQuality], families: &[FamilyQuality]) -> String {
    let mut text = String::new();
    for PredictionQuality { device, problem, count, rank_correlation, first } in all {
        let rank = rank_correlation.map_or("undefined".to_owned(), |rank| format!("{rank:.2}"));
        let _ = writeln!(
            text,
            "{problem} on {}: rank correlation {rank} over {count} candidates; the best by prediction takes {}x the \
             fastest time",
            device.name,
            significant(*first)
        );
    }
    for FamilyQuality { family, problems, count, rank_correlation, first } in families {
        let rank = rank_correlation.map_or("undefined".to_owned(), |rank| format!("{rank:.2}"));
        let plural = if *problems == 1 { "" } else { "s" };
        let _ = writeln!(
            text,
            "{family}, {problems} problem{plural}: mean rank correlation {rank} over {count} candidates; the best by \
             prediction take {}x the fastest time (geometric mean)",
            significant(*first)
        );
    }
    if text.is_empty() {
        text.push_str("no problem has 3 candidates with a predicted and a measured time\n");
    }
    text
}
