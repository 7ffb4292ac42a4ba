//! A sweep as JSON.

use std::fmt::Display;

use serde_json::{Value, json};
use tripipe_ladders::sweep::{Tried, TryError};

use super::Report;

/// One JSON object on one line. `candidates` are in the order of their times; `seconds` is `null` where a candidate has
/// none, and `reason` says why.
pub fn json<P: Display>(report: &Report<'_, P>) -> String {
    json!({
        "command": "sweep",
        "family": report.family,
        "subject": report.subject,
        "device": report.device,
        "predicted": report.predicted,
        "not_tried": report.heat.left_out,
        "complete": !report.heat.is_partial(),
        "copy_seconds": report.copy_seconds,
        "candidates": report.heat.tried.iter().map(|tried| candidate(report, tried)).collect::<Vec<_>>(),
    })
    .to_string()
}

fn candidate<P: Display>(report: &Report<'_, P>, tried: &Tried<P>) -> Value {
    let seconds = tried.outcome.as_ref().ok();
    let error = tried.outcome.as_ref().err();
    json!({
        "parameters": tried.parameters.to_string(),
        "seconds": seconds.map(|seconds| seconds.median),
        "min_seconds": seconds.map(|seconds| seconds.best),
        "runs": seconds.map(|seconds| seconds.runs),
        "operations_per_second": seconds.zip(report.operations).map(|(seconds, operations)| operations / seconds.median),
        "dropped": error.is_some_and(|error| matches!(error, TryError::Dropped { .. })),
        "reason": error.map(ToString::to_string),
    })
}
