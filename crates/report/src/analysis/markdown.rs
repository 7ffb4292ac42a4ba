//! Markdown for a comment on a change: a table for each family, verdicts and advice below.

use std::fmt::Write as _;

use super::{Priced, gain, text};
use crate::simulation;

/// One kernel on its GPUs.
pub fn markdown(priced: &Priced<'_>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "### `{}`", priced.kernel.name);
    for cells in text::tables(priced.analyses, priced.predictions) {
        out.push('\n');
        for (index, row) in cells.iter().enumerate() {
            let _ = writeln!(out, "| {} |", row.join(" | "));
            if index == 0 {
                let _ = writeln!(out, "|---|{}", "--:|".repeat(row.len() - 1));
            }
        }
    }
    out.push_str("\nCycles of one core per work-item on the longest path.\n");
    for (at, analysis) in priced.analyses.iter().enumerate() {
        let _ = writeln!(out, "\n**{}**: {}", analysis.gpu.name(), text::verdict(priced, analysis));
        match priced.predictions.get(at) {
            Some(Ok(predicted)) => {
                let _ = writeln!(out, "{}", simulation::sentence(predicted, analysis.gpu));
            }
            Some(Err(missing)) => {
                let _ = writeln!(out, "No predicted time: {missing}.");
            }
            None => {}
        }
        for advice in &analysis.advice {
            let line = priced.at(advice.location);
            let location = line
                .map_or_else(String::new, |line| format!(" (line {line}){}", priced.called(advice.location)));
            let gain = gain(advice);
            let _ =
                writeln!(out, "- `{}`{location}: {}. {}{gain}", advice.rule.code, advice.message, advice.fix);
        }
    }
    out
}
