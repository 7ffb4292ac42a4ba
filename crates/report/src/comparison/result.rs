//! The result of the command.

use tripipe_results as results;

use super::Report;
use crate::counters::{counter, counters_of};

/// The rows in the order of the capture.
pub fn result(report: &Report<'_>) -> results::Capture {
    let prediction = report.prediction;
    let rows = report.comparison.rows.iter().map(|row| {
        let predicted = row.predicted.as_ref();
        results::CapturedRow {
            row: row.name.clone(),
            measured: row.measured,
            samples: row.samples,
            predicted: predicted.ok().map(|counter| counter.value),
            ratio: row.ratio(),
            counter: predicted.ok().map(counter),
            reason: predicted.err().cloned(),
        }
    });
    results::Capture {
        capture: report.capture.to_owned(),
        gpu: report.gpu.name().to_owned(),
        family: report.gpu.family().id().to_owned(),
        kernel: report.kernel.to_owned(),
        program: report.program.to_owned(),
        global: prediction.global,
        local: prediction.local,
        guessed: report.guessed,
        launches: report.launches,
        seconds: prediction.seconds,
        error_band: prediction.error_band,
        counters_of: counters_of(&report.comparison.counters),
        rows: rows.collect(),
    }
}
