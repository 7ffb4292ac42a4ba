//! Repeated runs of one task.

use std::time::{Duration, Instant};

/// How often a task runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeat {
    /// Runs, at most.
    pub most: usize,
    /// Runs that are made however long they take.
    pub least: usize,
    /// The time after which no other run is started.
    pub limit: Duration,
}

impl Repeat {
    /// The seconds of each run, which `run` returns. A first run that does not count, because it may compile, allocate and wake
    /// threads, is the caller's.
    ///
    /// # Errors
    /// The first error of `run`.
    pub fn times<E>(&self, mut run: impl FnMut() -> Result<f64, E>) -> Result<Vec<f64>, E> {
        let start = Instant::now();
        let mut times = Vec::with_capacity(self.most);
        while times.len() < self.most && (times.len() < self.least || start.elapsed() <= self.limit) {
            times.push(run()?);
        }
        Ok(times)
    }
}

/// The seconds of a call by the host's clock.
///
/// # Errors
/// That of the call.
pub fn clocked<E>(run: impl FnOnce() -> Result<(), E>) -> Result<f64, E> {
    let start = Instant::now();
    run().map(|()| start.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_tasks_run_the_least_number_of_times() {
        let repeat = Repeat { most: 5, least: 2, limit: Duration::from_millis(10) };
        let times = |milliseconds| {
            let sleep = || {
                clocked(|| {
                    std::thread::sleep(Duration::from_millis(milliseconds));
                    Ok::<_, ()>(())
                })
            };
            repeat.times(sleep).unwrap()
        };
        assert_eq!(times(0).len(), 5);
        let slow = times(11);
        assert!(slow.len() == 2 && slow.iter().all(|seconds| *seconds >= 11e-3), "{slow:?}");
        assert_eq!(repeat.times(|| Err("lost")), Err("lost"));
    }
}
