//! JSON: keys of an object that describes a prediction.

use serde_json::{Map, Value, json};
use tripipe_timing::counters::{Counter, Counters};

/// `counters`, whose they are, and what is missing.
pub(crate) fn keys(counters: &Counters) -> Map<String, Value> {
    let missing = counters
        .missing
        .iter()
        .map(|missing| json!({ "name": missing.name, "title": missing.title, "reason": missing.reason }));
    let keys = [
        ("counters", counters.counters.iter().map(|counter| Value::Object(counter_keys(counter))).collect()),
        (
            "counters_of",
            json!({ "names": counters.naming, "product": counters.product, "nearest": counters.borrowed }),
        ),
        ("missing_counters", missing.collect()),
        ("graphics_counters", counters.graphics.into()),
    ];
    keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// What is known about a counter.
pub(crate) fn counter_keys(counter: &Counter) -> Map<String, Value> {
    let keys = [
        ("name", counter.name.into()),
        ("source", if counter.source.is_empty() { Value::Null } else { counter.source.into() }),
        ("title", counter.title.into()),
        ("group", counter.group.into()),
        ("unit", counter.unit.into()),
        ("value", counter.value.into()),
        ("basis", counter.basis.name().into()),
        ("derived", counter.derived.into()),
    ];
    keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
