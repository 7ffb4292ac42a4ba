//! The cost of a launch.

use std::sync::Arc;

use tripipe_launch::{Argument, Launch, NdRange, Program};

use super::PeakError;
use crate::bench::{Bench, median};

/// The components of a launch's cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// From start to end of a nearly empty kernel.
    Kernel,
    /// From enqueueing to the start, on an idle device.
    Latency,
    /// From one start to the next, for launches enqueued back to back.
    BackToBack,
}

const RUNS: usize = 50;

impl Cost {
    /// All, in measurement order.
    pub const ALL: [Self; 3] = [Self::Kernel, Self::Latency, Self::BackToBack];

    /// The name of the measured ceiling.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "empty kernel",
            Self::Latency => "queue to start",
            Self::BackToBack => "launch to launch",
        }
    }
}

/// Seconds: the median of single launches, the mean of back-to-back launches.
///
/// # Errors
/// The device failed, its clock shows no time passing, or the result is wrong.
pub fn seconds(bench: &mut Bench<'_>, cost: Cost) -> Result<f64, PeakError> {
    let mark = bench.output(4)?;
    let program = Arc::new(Program::from_source("ceilings/launch.cl", include_str!("launch.cl")));
    let launch = |value: u32| Launch {
        program: Arc::clone(&program),
        entry: "nothing".to_owned(),
        arguments: vec![Argument::Memory(mark), value.into()],
        range: NdRange::d1(1),
    };
    bench.run(&[launch(0)])?;
    let nanoseconds = |from: u64, to: u64| to.saturating_sub(from) as f64 * 1e-9;
    let (seconds, last) = if cost == Cost::BackToBack {
        let timings = bench.run(&(0..RUNS).map(|run| launch(run as u32)).collect::<Vec<_>>())?;
        let starts = || timings.iter().map(|timing| timing.start_ns);
        let span = nanoseconds(starts().min().unwrap_or(0), starts().max().unwrap_or(0));
        (span / (RUNS - 1) as f64, RUNS - 1)
    } else {
        let mut samples = Vec::new();
        for run in 0..RUNS {
            samples.extend(bench.run(&[launch(run as u32)])?.iter().map(|timing| match cost {
                Cost::Latency => nanoseconds(timing.queued_ns, timing.start_ns),
                _ => timing.seconds(),
            }));
        }
        if samples.is_empty() {
            return Err(PeakError::Clock);
        }
        (median(&samples), RUNS - 1)
    };
    bench.verify(mark, 4, |found| {
        if found == (last as u32).to_ne_bytes() {
            return Ok(());
        }
        Err(PeakError::Wrong { what: format!("the last launch left {found:?}, expected {last}") })
    })?;
    Ok(seconds)
}
