//! A clock for tests: launches take times that depend only on their size.

use tripipe_launch::{ExecuteError, Executor, Intercept, Launch, Timing};

/// Replaces the times of [`Executor::run`]: the launches run one after another, each 1 µs per work-item.
///
/// A [`tripipe_launch::Layer`] with it makes a sweep independent of the load of the machine.
#[derive(Debug, Default)]
pub struct WorkItemClock {
    now_ns: u64,
}

impl<E: Executor> Intercept<E> for WorkItemClock {
    fn run(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        inner.run(launches)?;
        let timing = |launch: &Launch| {
            let start_ns = self.now_ns;
            self.now_ns +=
                1000 * launch.range.global_size().map(|extent| extent as u64).iter().product::<u64>();
            Timing { queued_ns: start_ns, submit_ns: start_ns, start_ns, end_ns: self.now_ns }
        };
        Ok(launches.iter().map(timing).collect())
    }
}
