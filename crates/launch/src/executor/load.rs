//! How busy the host's CPU is beside a device.

use std::time::Instant;

use super::Timing;

/// How many cores a task keeps busy on average: seconds of CPU time divided by seconds that pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuLoad {
    /// All threads of the process: 1.98 on two busy cores, almost 0 while a GPU works.
    pub cores: f64,
    /// The calling thread alone: at most 1.
    pub calling_thread: f64,
}

impl CpuLoad {
    /// The load of launches whose times are predicted, one after the other: the host works on a launch until it starts, and then
    /// waits without work. `None` without launches.
    pub fn predicted(timings: &[Timing]) -> Option<Self> {
        let first = timings.iter().map(|timing| timing.queued_ns).min()?;
        let last = timings.iter().map(|timing| timing.end_ns).max()?;
        let host: u64 = timings.iter().map(|timing| timing.start_ns.saturating_sub(timing.queued_ns)).sum();
        let share = host as f64 / last.saturating_sub(first).max(1) as f64;
        Some(Self { cores: share.min(1.0), calling_thread: share.min(1.0) })
    }
}

/// CPU time beside wall time, added up over the calls of a task.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuTime {
    wall_seconds: f64,
    /// Of all threads of the process, and of the calling thread; `None` where the system does not say.
    cpu_seconds: Option<[f64; 2]>,
}

impl CpuTime {
    /// Runs a part of the task, and adds its times.
    pub fn measure<T>(&mut self, part: impl FnOnce() -> T) -> T {
        let (start, before) = (Instant::now(), cpu_seconds());
        let result = part();
        let after = cpu_seconds();
        self.wall_seconds += start.elapsed().as_secs_f64();
        if let (Some(before), Some(after)) = (before, after) {
            let so_far = self.cpu_seconds.get_or_insert_default();
            for ((sum, after), before) in so_far.iter_mut().zip(after).zip(before) {
                *sum += (after - before).max(0.0);
            }
        }
        result
    }

    /// The load so far; `None` if nothing ran, or the system does not say.
    pub fn load(&self) -> Option<CpuLoad> {
        let [process, thread] = self.cpu_seconds?;
        let per_second = |seconds: f64| seconds / self.wall_seconds;
        (self.wall_seconds > 0.0)
            .then(|| CpuLoad { cores: per_second(process), calling_thread: per_second(thread).min(1.0) })
    }
}

/// Seconds of CPU time so far, of the process and of this thread.
#[cfg(unix)]
fn cpu_seconds() -> Option<[f64; 2]> {
    use rustix::time::{ClockId, clock_gettime};
    Some([ClockId::ProcessCPUTime, ClockId::ThreadCPUTime].map(|clock| {
        let time = clock_gettime(clock);
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    }))
}

#[cfg(not(unix))]
fn cpu_seconds() -> Option<[f64; 2]> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_busy_until_a_launch_starts() {
        let launch =
            |queued_ns, start_ns, end_ns| Timing { queued_ns, submit_ns: queued_ns, start_ns, end_ns };
        assert_eq!(CpuLoad::predicted(&[]), None);
        // 150 us of work on the host for 600 us of the GPU, twice.
        let twice = [launch(0, 150_000, 750_000), launch(750_000, 900_000, 1_500_000)];
        let load = CpuLoad::predicted(&twice).unwrap();
        assert!((load.cores - 0.2).abs() < 1e-9 && load.calling_thread == load.cores, "{load:?}");
    }

    #[cfg(unix)]
    #[test]
    fn a_sleeping_thread_loads_nothing_and_a_busy_one_at_most_itself() {
        let mut sleeping = CpuTime::default();
        assert_eq!(sleeping.load(), None);
        sleeping.measure(|| std::thread::sleep(std::time::Duration::from_millis(50)));
        let asleep = sleeping.load().unwrap().calling_thread;
        let mut busy = CpuTime::default();
        busy.measure(|| {
            let [_, start] = cpu_seconds().unwrap();
            while cpu_seconds().unwrap()[1] - start < 0.01 {
                std::hint::spin_loop();
            }
        });
        // However busy the machine is, the loop took 10 ms of CPU time.
        let [process, thread] = busy.cpu_seconds.unwrap();
        assert!(thread >= 0.01 && process >= 0.01, "{busy:?}");
        assert!(asleep < 0.5 && busy.load().unwrap().calling_thread <= 1.0, "{asleep} {busy:?}");
    }
}
