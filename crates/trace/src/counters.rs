//! Counters as steps.

use crate::{Counter, CounterSample};

/// The times at which a counter changes, each with the value from there on; the last value is 0. Samples without a
/// length, and values that are not finite, are left out.
pub(crate) fn steps(counter: &Counter) -> Vec<(u64, f64)> {
    let mut steps: Vec<(u64, f64)> = Vec::new();
    for &CounterSample { start_ns, end_ns, value } in &counter.samples {
        let start_ns = steps.last().map_or(start_ns, |(last, _)| start_ns.max(*last));
        if end_ns <= start_ns || !value.is_finite() {
            continue;
        }
        // The end of the sample before is the start of this one, unless there is a gap.
        steps.pop_if(|(last, _)| *last == start_ns);
        steps.push((start_ns, value));
        steps.push((end_ns, 0.0));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_zero_and_neighbours_share_an_edge() {
        let sample = |start_ns, end_ns, value| CounterSample { start_ns, end_ns, value };
        let samples = vec![
            sample(10, 20, 5.0),
            sample(20, 30, 6.0),
            sample(40, 50, 7.0),
            sample(60, 60, 1.0),
            sample(60, 70, f64::NAN),
        ];
        let counter = Counter { samples, ..Counter::default() };
        assert_eq!(steps(&counter), [(10, 5.0), (20, 6.0), (30, 0.0), (40, 7.0), (50, 0.0)]);
    }
}
