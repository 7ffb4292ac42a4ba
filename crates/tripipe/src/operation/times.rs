//! The times of an operation's runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use tripipe_launch::locks::lock;
use tripipe_launch::{Submission, Timing};

use crate::Event;

/// The number of latest runs that are tracked.
const LATEST: usize = 4;

/// The times of an operation's runs.
#[derive(Default)]
pub(super) struct Times {
    runs: Mutex<Runs>,
    /// Seconds from the first call to its completion.
    first: Arc<OnceLock<f64>>,
}

#[derive(Default)]
struct Runs {
    /// Whether kernels did these runs: times of the CPU path do not count once kernels do the operation.
    on_kernels: bool,
    /// Whether the operation has run.
    begun: bool,
    latest: VecDeque<Arc<dyn Submission>>,
    shortest: Option<f64>,
    /// The number of runs that the time is the shortest of.
    measured: u64,
}

impl Times {
    /// Adds a run that was called for at `begun`.
    pub(super) fn add(&self, event: &Event, begun: Instant, on_kernels: bool) {
        let mut runs = lock(&self.runs);
        runs.set_on_kernels(on_kernels);
        if !runs.begun {
            runs.begun = true;
            let first = Arc::clone(&self.first);
            event.submission().on_done(Box::new(move || {
                first.get_or_init(|| begun.elapsed().as_secs_f64());
            }));
        }
        if !event.submission().has_times() {
            return;
        }
        if runs.latest.len() == LATEST {
            runs.look_at_oldest();
        }
        runs.latest.push_back(Arc::clone(event.submission()));
    }

    /// The shortest time of the runs that have ended, and their number.
    pub(super) fn shortest(&self, on_kernels: bool) -> (Option<f64>, u64) {
        let mut runs = lock(&self.runs);
        runs.set_on_kernels(on_kernels);
        while runs.latest.front().is_some_and(|oldest| oldest.is_done()) {
            runs.look_at_oldest();
        }
        (runs.shortest, runs.measured)
    }

    /// Seconds from the first call to its completion, once it has ended.
    pub(super) fn first(&self) -> Option<f64> {
        self.first.get().copied()
    }
}

impl Runs {
    fn set_on_kernels(&mut self, on_kernels: bool) {
        if self.on_kernels != on_kernels {
            *self = Self { on_kernels, ..Self::default() };
        }
    }

    fn look_at_oldest(&mut self) {
        if let Some(oldest) = self.latest.pop_front()
            && oldest.is_done()
            && let Ok(timings) = oldest.timings()
        {
            let seconds = Timing::span_seconds(&timings);
            self.shortest = Some(self.shortest.map_or(seconds, |shortest| shortest.min(seconds)));
            self.measured += 1;
        }
    }
}
