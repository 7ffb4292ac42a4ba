//! Counters in the result of a prediction.

use tripipe_results as results;
use tripipe_timing::counters::{Counter, Counters};

/// What is known about a counter.
pub(crate) fn counter(counter: &Counter) -> results::Counter {
    results::Counter {
        name: counter.name.to_owned(),
        source: (!counter.source.is_empty()).then(|| counter.source.to_owned()),
        title: counter.title.to_owned(),
        group: counter.group.to_owned(),
        unit: counter.unit.to_owned(),
        value: Some(counter.value),
        basis: counter.basis.name().to_owned(),
        derived: counter.derived.to_owned(),
    }
}

/// Whose they are.
pub(crate) fn counters_of(counters: &Counters) -> results::CountersOf {
    results::CountersOf {
        names: counters.naming.to_owned(),
        product: counters.product.to_owned(),
        nearest: counters.borrowed,
    }
}

/// What is missing.
pub(crate) fn missing(counters: &Counters) -> Vec<results::MissingCounter> {
    let missing = counters.missing.iter().map(|missing| results::MissingCounter {
        name: missing.name.to_owned(),
        title: missing.title.to_owned(),
        reason: missing.reason.clone(),
    });
    missing.collect()
}
