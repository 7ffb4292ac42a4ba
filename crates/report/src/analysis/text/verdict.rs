//! The verdict: one paragraph.

use std::fmt::Write as _;

use tripipe_analyze::lints::WORTH;
use tripipe_analyze::{ASSUMED_TRIPS, Advice, Analysis, Polynomial};
use tripipe_ir::diagnostic::Severity;

use crate::analysis::{Priced, bound};
use crate::number::percent;
use crate::simulation;

/// The least share of the bound at which the next pipe is mentioned.
const LEAST_SHARE: f64 = 0.0005;

/// What limits the predicted launch.
fn limit(priced: &Priced<'_>, analysis: &Analysis) -> Option<&'static str> {
    // By identity: two analyses may have equal contents.
    let at = priced.analyses.iter().position(|own| std::ptr::eq(own, analysis))?;
    let predicted = priced.predictions.get(at)?.as_ref().ok()?;
    Some(simulation::limiter(predicted.prediction.limiter(), analysis.gpu))
}

/// Which pipe bounds, how far the next limit is, and what to change first.
pub(in crate::analysis) fn verdict(priced: &Priced<'_>, analysis: &Analysis) -> String {
    let family = analysis.gpu.family();
    let longest = &analysis.longest;
    let Some(first) = longest.bound.first() else {
        return "Costs nothing: the kernel stores no result. Check what was optimised away.".to_owned();
    };
    let weigh = |polynomial: &Polynomial| polynomial.evaluate(ASSUMED_TRIPS);
    let most = weigh(&longest.columns[*first]);
    let next = (0..longest.columns.len())
        // FMA, CVT and SFU are parts of A where there are both, and not limits beside it.
        .filter(|at| !longest.bound.contains(at) && !analysis.columns[*at].is_part(family))
        .max_by(|a, b| weigh(&longest.columns[*a]).total_cmp(&weigh(&longest.columns[*b])));
    let bound = bound(analysis, &longest.bound);
    let mut said = match limit(priced, analysis).filter(|limit| !bound.split(", ").any(|one| one == *limit)) {
        // What all work-items wait for is not always what one of them needs most.
        Some(limit) => {
            let take = if bound.contains(", ") { "take" } else { "takes" };
            format!("Limited by {limit}, as predicted below. {bound} {take} most of what one work-item does")
        }
        None => format!("Bound by {bound}"),
    };
    let _ =
        write!(said, ": {} cycles of one core per work-item on the longest path", longest.columns[*first]);
    if longest.columns[*first].as_constant().is_none() {
        let _ = write!(said, " (unknown counts taken as {ASSUMED_TRIPS})");
    }
    let share = |at: usize| weigh(&longest.columns[at]) / most;
    match next {
        Some(next) if share(next) >= LEAST_SHARE => {
            let head = analysis.columns[next].head(family);
            let _ = write!(said, "; next is {head} at {} of that", percent(share(next)));
        }
        Some(_) => said.push_str("; the other pipes are almost idle"),
        None => {}
    }
    said.push('.');
    let registers = &analysis.registers;
    if registers.work.spill_bytes > 0 {
        let _ = write!(said, " {} bytes of registers spill to memory.", registers.work.spill_bytes);
    }
    if registers.occupancy.threads < registers.occupancy.most {
        let _ = write!(
            said,
            " {} of {} threads are in flight{}.",
            registers.occupancy.threads,
            registers.occupancy.most,
            registers.next_step.map_or_else(String::new, |(fewer, threads)| format!(
                "; {fewer} {} fewer: {threads}",
                if fewer == 1 { "register" } else { "registers" }
            ))
        );
    }
    let worth = |advice: &&Advice| {
        advice.rule.severity == Severity::Error || advice.share().is_some_and(|share| share >= WORTH)
    };
    if let Some(first) = analysis.advice.iter().find(worth) {
        let location = priced.at(first.location).map_or_else(String::new, |line| format!(", line {line}"));
        let _ = write!(said, " Change first ({}{location}): {}", first.rule.code, first.fix);
    } else if !analysis.advice.is_empty() {
        let _ = write!(said, " No advice is estimated to save {:.0}%.", 100.0 * WORTH);
    }
    said
}
