//! JSON: one object.

use serde_json::{Map, Value, json};

use super::Report;
use crate::counters::counter_keys;

/// One object with a `rows` array, in the order of the capture.
pub fn json(report: &Report<'_>) -> Value {
    let rows = report.comparison.rows.iter().map(|row| {
        let mut keys = Map::new();
        keys.insert("row".to_owned(), row.name.as_str().into());
        keys.insert("measured".to_owned(), row.measured.into());
        keys.insert("samples".to_owned(), row.samples.into());
        let (predicted, reason, counter) = match &row.predicted {
            Ok(counter) => (counter.value.into(), Value::Null, Value::Object(counter_keys(counter))),
            Err(reason) => (Value::Null, reason.as_str().into(), Value::Null),
        };
        keys.insert("predicted".to_owned(), predicted);
        keys.insert("ratio".to_owned(), row.ratio().map_or(Value::Null, Value::from));
        keys.insert("counter".to_owned(), counter);
        keys.insert("reason".to_owned(), reason);
        Value::Object(keys)
    });
    let counters = &report.comparison.counters;
    json!({
        "command": "compare",
        "capture": report.capture,
        "gpu": report.gpu.name(),
        "family": report.gpu.family().id(),
        "kernel": report.kernel,
        "program": report.program,
        "global": report.prediction.global,
        "local": report.prediction.local,
        "guessed": report.guessed,
        "launches": report.launches,
        "seconds": report.prediction.seconds,
        "error_band": report.prediction.error_band,
        "counters_of": {
            "names": counters.naming,
            "product": counters.product,
            "nearest": counters.borrowed,
        },
        "rows": rows.collect::<Vec<_>>(),
    })
}
