//! A core's outstanding requests to memory: a limited number of lines on their way.

use std::collections::VecDeque;

/// When requested lines arrive, in ticks; the first is the one whose place is free next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals(VecDeque<u64>);

impl Arrivals {
    /// The time from `at` on at which there is room for one more, of at most `most`.
    pub(crate) fn room(&mut self, most: usize, at: u64) -> u64 {
        while self.0.front().is_some_and(|arrival| *arrival <= at) {
            self.0.pop_front();
        }
        if self.0.len() < most {
            return at;
        }
        // One leaves for each that enters, so the queue never exceeds `most`.
        self.0.pop_front().unwrap_or(at).max(at)
    }

    /// Adds one. Places become free in the order of the requests, or else in that of the arrivals.
    pub(crate) fn enter(&mut self, arrives: u64, in_order: bool) {
        let place = if in_order { self.0.len() } else { self.0.partition_point(|other| *other <= arrives) };
        self.0.insert(place, arrives);
    }
}

#[cfg(test)]
mod tests {
    use super::Arrivals;

    /// Two places; a slow line and then fast ones. By hand.
    #[test]
    fn what_arrives_early_frees_its_place_unless_all_return_in_order() {
        let starts = |in_order: bool| {
            let mut arrivals = Arrivals::default();
            [100, 10, 10, 10].map(|latency| {
                let start = arrivals.room(2, 0);
                arrivals.enter(start + latency, in_order);
                start
            })
        };
        assert_eq!(starts(false), [0, 0, 10, 20]);
        assert_eq!(starts(true), [0, 0, 100, 10]);
    }
}
