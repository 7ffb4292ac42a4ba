//! Trials of whether the CPU path does an operation in less time than the device.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tripipe_device::DeviceKind;
use tripipe_kernels::Role;
use tripipe_kernels::bench::{Repeat, clocked};

use super::Kernels;
use super::fallback::on_host;
use super::planned::Planned;
use crate::engine::Core;
use crate::explanation::{RunnerUp, Time};
use crate::memory::Memory;
use crate::operation::{BoundOperand, Host, OperationSize, Run};
use crate::{Context, Error};

/// What is tried, and what decides.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Terms {
    /// Number of operations above which the two are not tried.
    most_operations: f64,
    /// Number of bytes above which they are not.
    most_bytes: usize,
    /// The largest fraction of the device's time that makes the CPU path worth using.
    worth: f64,
}

/// Of other processors: up to 25 ms on a CPU that does 10 G operations a second, and a full-HD photo in and out. The device
/// leaves the CPU free for other work.
const OTHER: Terms = Terms { most_operations: (1 << 28) as f64, most_bytes: 32 << 20, worth: 0.7 };

/// Of OpenCL devices that are the CPU itself: whichever is faster. Up to products of 4096: with PoCL 3.1 on an AMD EPYC with
/// AVX2 the CPU path takes half the time there.
const SAME: Terms = Terms { most_operations: (1_u64 << 38) as f64, most_bytes: 1 << 30, worth: 0.95 };

/// The runs that count.
const REPEAT: Repeat = Repeat { most: 5, least: 1, limit: Duration::from_millis(20) };

/// The times of an operation from the call until the result is available, over operands in the device's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trial {
    device: TrialTimes,
    host: TrialTimes,
    terms: Terms,
}

/// The times of a few runs, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TrialTimes {
    /// The first run, which does not count: it may still compile, allocate and wake threads.
    pub(super) first: f64,
    /// The shortest of the other runs.
    pub(super) shortest: f64,
    /// The number of these other runs.
    pub(super) runs: usize,
}

impl Terms {
    fn of(context: &Context) -> Self {
        let is_cpu = context.probe().is_some_and(|probe| probe.kind == DeviceKind::Cpu);
        if is_cpu { SAME } else { OTHER }
    }

    /// Whether there is work to do, and it is small enough that doing it twice does not matter.
    fn apply_to(&self, size: &OperationSize) -> bool {
        size.bytes() <= self.most_bytes && size.operations > 0.0 && size.operations <= self.most_operations
    }
}

impl Trial {
    /// Whether an operation of this size is tried on both: not without an OpenCL device to choose, nor if it is too large.
    pub(super) fn is_for(context: &Context, kernels: &Kernels, size: &OperationSize) -> bool {
        Terms::of(context).apply_to(size) && kernels.runner().is_tried()
    }

    /// Tries both on memory of zeros, after all queued operations. `None` if they are not
    /// tried, or one of the two failed.
    pub(super) fn of(
        context: &Context,
        kernels: &Arc<Kernels>,
        planned: &Planned,
        host: &Host,
    ) -> Option<Self> {
        if !Self::is_for(context, kernels, &host.size) {
            return None;
        }
        let tried = Self::on_zeros(context, kernels, planned, host).ok();
        planned.forget();
        tried
    }

    fn on_zeros(
        context: &Context,
        kernels: &Arc<Kernels>,
        planned: &Planned,
        host: &Host,
    ) -> Result<Self, Error> {
        let OperationSize { inputs, result, written, .. } = &host.size;
        let make = |(role, bytes): &(Role, usize)| Ok((*role, Memory::new::<u8>(context, *bytes, None)?));
        let inputs: Vec<(Role, Memory)> = inputs.iter().map(make).collect::<Result<_, Error>>()?;
        let inputs: Vec<BoundOperand<'_>> =
            inputs.iter().map(|(role, memory)| BoundOperand::new(*role, memory)).collect();
        let (role, result) = make(result)?;
        context.core().settle()?;
        let result = BoundOperand::new(role, &result);
        let run = Run { operation: "a trial", inputs: &inputs, result, written: *written };
        let device = TrialTimes::of(|| planned.submit(&run)?.wait())?;
        let host = TrialTimes::of(|| on_host(kernels, &run, host))?;
        Ok(Self { device, host, terms: Terms::of(context) })
    }

    /// Whether the CPU path is worth using.
    pub(super) fn is_the_hosts(&self) -> bool {
        self.host.shortest < self.terms.worth * self.device.shortest
    }

    /// The alternative that was not taken. `kernel` is the device's.
    pub(crate) fn runner_up(&self, core: &Core, kernel: &str) -> RunnerUp {
        let kernel = if self.is_the_hosts() {
            format!("{kernel} on {}", core.name())
        } else {
            "the CPU path".to_owned()
        };
        RunnerUp { kernel, why_not: self.to_string() }
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, host, terms } = *self;
        write!(
            f,
            "the device takes {} for this size, the CPU path {}, each from call to completion (tried: the shortest of {} and \
             {} runs, without the first ones of {} and {}",
            Time(device.shortest),
            Time(host.shortest),
            device.runs,
            host.runs,
            Time(device.first),
            Time(host.first)
        )?;
        if terms == OTHER {
            let times = 1.0 / terms.worth;
            write!(f, "; the device leaves the CPU to others, so it may take {times:.1} times as long")?;
        }
        f.write_str(")")
    }
}

impl TrialTimes {
    /// The times of a few runs. However long the first took, at least one other counts.
    fn of(mut run: impl FnMut() -> Result<(), Error>) -> Result<Self, Error> {
        let mut tried = Self::begun(clocked(&mut run)?);
        REPEAT.times(|| clocked(&mut run))?.into_iter().for_each(|seconds| tried.add(seconds));
        Ok(tried)
    }

    /// After the first run.
    pub(super) fn begun(first: f64) -> Self {
        Self { first, shortest: f64::INFINITY, runs: 0 }
    }

    pub(super) fn add(&mut self, seconds: f64) {
        self.shortest = self.shortest.min(seconds);
        self.runs += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(device: f64, host: f64) -> Trial {
        let tried = |shortest| TrialTimes { first: 3.65, shortest, runs: 5 };
        Trial { device: tried(device), host: tried(host), terms: OTHER }
    }

    #[test]
    fn the_cpu_path_must_be_clearly_faster() {
        assert!(trial(50e-6, 5e-6).is_the_hosts());
        assert!(trial(10e-6, 6.9e-6).is_the_hosts());
        assert!(!trial(10e-6, 7.1e-6).is_the_hosts());
        assert!(!trial(10e-6, 50e-6).is_the_hosts());
        let said = trial(52e-6, 4.1e-6).to_string();
        assert!(said.starts_with("the device takes 52.0 us for this size, the CPU path 4.10 us"), "{said}");
        assert!(said.contains("1.4 times") && said.contains("5 and 5 runs"), "{said}");
        assert!(said.contains("without the first ones of 3.65 s"), "{said}");
        // On the CPU itself, nothing is left to others.
        let same = |host| Trial { terms: SAME, ..trial(10e-6, host) };
        assert!(same(9e-6).is_the_hosts() && !same(10e-6).is_the_hosts());
        assert!(!same(9e-6).to_string().contains("others"), "{}", same(9e-6));
    }

    /// A driver may compile in the first run, for as long as it likes.
    #[test]
    fn the_first_run_does_not_count() {
        let mut runs = 0;
        let tried = TrialTimes::of(|| {
            runs += 1;
            std::thread::sleep(Duration::from_millis(if runs == 1 { 300 } else { 1 }));
            Ok(())
        });
        let tried = tried.unwrap();
        assert!(tried.first >= 0.3 && tried.shortest < 0.3, "{tried:?}");
        assert!((1..=REPEAT.most).contains(&tried.runs) && runs == tried.runs + 1, "{tried:?}");
    }

    #[test]
    fn slow_operations_run_twice() {
        let slow = TrialTimes::of(|| {
            std::thread::sleep(2 * REPEAT.limit);
            Ok(())
        });
        assert_eq!(slow.unwrap().runs, 1);
    }

    #[test]
    fn large_operations_are_not_tried() {
        let size = |bytes: usize, operations: f64| OperationSize {
            inputs: vec![(Role::Source, bytes)],
            result: (Role::Result, bytes),
            written: bytes,
            operations,
        };
        assert!(OTHER.apply_to(&size(16 << 20, 1e8)));
        assert!(!OTHER.apply_to(&size((16 << 20) + 1, 1e8)));
        assert!(!OTHER.apply_to(&size(usize::MAX, 1.0)));
        assert!(!OTHER.apply_to(&size(16, 0.0)));
        assert!(!OTHER.apply_to(&size(16, 1e9)));
        assert!(SAME.apply_to(&size(64 << 20, 2.0 * 4096_f64.powi(3))));
        assert!(!SAME.apply_to(&size(16, 1e12)));
    }
}
