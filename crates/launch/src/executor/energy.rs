//! The energy of launches by a device's own counter.

use std::time::{Duration, Instant};

use super::Executor;
use crate::{ExecuteError, Launch};

/// How long launches are repeated.
const LEAST: Duration = Duration::from_secs(1);
/// How long the counter may stand still.
const MOST: Duration = Duration::from_secs(5);
/// Seconds between two looks at the counter: NVML takes 3.5 ms for one (H200, driver 580), and steps some ten times a
/// second.
const BATCH_SECONDS: f64 = 0.02;
/// Launches that are queued at once, at most.
const BATCH_MOST: f64 = 1000.0;

/// Energy that a device has counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedEnergy {
    /// Joules of one run, with what the device uses without work meanwhile.
    pub joules: f64,
    /// Watts over all runs.
    pub watts: f64,
    /// The runs.
    pub runs: usize,
    /// Seconds of all of them, with those of the host.
    pub seconds: f64,
}

/// The energy of `launches`, which are repeated for at least a second, from one step of the counter to another. `None` if
/// the device counts none ([`Executor::counted_joules`]).
///
/// # Errors
/// Any error of the executor.
pub fn count_energy(
    executor: &mut dyn Executor,
    launches: &[Launch],
) -> Result<Option<CountedEnergy>, ExecuteError> {
    if executor.counted_joules().is_none() {
        return Ok(None);
    }
    let begin = Instant::now();
    executor.run(launches)?;
    let once = begin.elapsed().as_secs_f64().max(1e-9);
    // The device works without waiting for the host.
    let most = (BATCH_MOST / launches.len().max(1) as f64).max(1.0);
    let count = (BATCH_SECONDS / once).clamp(1.0, most) as usize;
    let batch = vec![launches; count].concat();
    let Some((from, _)) = run_until_step(executor, &batch)? else { return Ok(None) };
    let start = Instant::now();
    let mut batches = 0;
    while start.elapsed() < LEAST {
        executor.run(&batch)?;
        batches += 1;
    }
    let Some((to, last)) = run_until_step(executor, &batch)? else { return Ok(None) };
    let (joules, seconds, runs) = (to - from, start.elapsed().as_secs_f64(), (batches + last) * count);
    Ok(Some(CountedEnergy { joules: joules / runs as f64, watts: joules / seconds, runs, seconds }))
}

/// Runs the batch until the counter steps: its joules then, and how often the batch ran. `None` if it stands still.
fn run_until_step(
    executor: &mut dyn Executor,
    batch: &[Launch],
) -> Result<Option<(f64, usize)>, ExecuteError> {
    let (begin, before) = (Instant::now(), executor.counted_joules());
    let mut batches = 0;
    while begin.elapsed() < MOST {
        let looked = Instant::now();
        while looked.elapsed().as_secs_f64() < BATCH_SECONDS {
            executor.run(batch)?;
            batches += 1;
        }
        let now = executor.counted_joules();
        if now != before {
            return Ok(now.map(|joules| (joules, batches)));
        }
    }
    Ok(None)
}
