//! A computation on memory of its own, whose kernels are verified and timed.

use std::time::Instant;

use half::f16;
use thiserror::Error;
use tripipe_device::Probe;
use tripipe_kernels::plan::Bound;
use tripipe_kernels::{Plan, Role};
use tripipe_launch::{Access, ExecuteError, Executor, MemoryId, MemoryKind, ScalarType, Timing};

use super::KernelParameters;

/// Bytes behind the result that must not change.
const GUARD: usize = 4096;

/// Why a candidate has no time.
#[derive(Clone, Debug, Error)]
pub(crate) enum Refusal {
    /// It does not fit the device, does not build, or there is no memory for it.
    #[error("{0}")]
    NotUsable(String),
    /// It is much slower than another one.
    #[error("much slower than the fastest")]
    Slow,
    /// Its result is wrong.
    #[error("{0}")]
    Wrong(String),
    /// The device is lost.
    #[error("{0}")]
    Lost(String),
}

impl Refusal {
    /// Refused for this reason, and not because of its result.
    pub(crate) fn not_usable(reason: &dyn std::fmt::Display) -> Self {
        Self::NotUsable(reason.to_string())
    }
}

impl From<ExecuteError> for Refusal {
    fn from(error: ExecuteError) -> Self {
        match error {
            ExecuteError::DeviceLost { .. } => Self::Lost(error.to_string()),
            _ => Self::NotUsable(error.to_string()),
        }
    }
}

/// A computation that kernels are measured at: its operands, its kernels, and the check of its result.
pub(crate) trait TunedWork<P> {
    /// What is read, with its contents.
    fn inputs(&self) -> Vec<(Role, &[u8])>;

    /// What is written, and its number of bytes, which is not 0.
    fn result(&self) -> (Role, usize);

    /// The byte that the result consists of before each run whose result is checked.
    fn fills(&self) -> &'static [u8];

    /// The launches of a candidate.
    ///
    /// # Errors
    /// It does not fit.
    fn plan(&self, parameters: &P, probe: &Probe) -> Result<Plan<'static>, Refusal>;

    /// Checks the result of a run before which all its bytes were `fill`.
    ///
    /// # Errors
    /// What is wrong.
    fn check(&self, found: &[u8], fill: u8) -> Result<(), Refusal>;
}

/// The operands of a computation on an executor. They must be [released](Self::release).
pub(super) struct Subject<'e, P> {
    executor: &'e mut dyn Executor,
    work: Box<dyn TunedWork<P>>,
    memory: Vec<(Role, MemoryId)>,
    result: MemoryId,
}

/// Launches of a candidate that has given the correct result; its memory is released when it is dropped.
pub(super) struct Verified<'s, 'e, P> {
    subject: &'s mut Subject<'e, P>,
    bound: Option<Bound>,
    /// Whether the host's clock times launches, because the device reports no times.
    by_host: bool,
    first: f64,
}

impl<'e, P: KernelParameters> Subject<'e, P> {
    /// Makes the operands.
    pub(super) fn new(executor: &'e mut dyn Executor, work: Box<dyn TunedWork<P>>) -> Result<Self, Refusal> {
        let (role, bytes) = work.result();
        let before = vec![0xFF; bytes + GUARD];
        let contents: Vec<(Role, &[u8])> =
            work.inputs().into_iter().chain([(role, before.as_slice())]).collect();
        let mut memory: Vec<(Role, MemoryId)> = Vec::new();
        for (role, contents) in contents {
            let kind = MemoryKind::Buffer { bytes: contents.len() };
            match executor.allocate(&kind, Access::ReadWrite, Some(contents)) {
                Ok(id) => memory.push((role, id)),
                Err(error) => {
                    for (_, id) in memory.drain(..).rev() {
                        let _ = executor.release(id);
                    }
                    return Err(error.into());
                }
            }
        }
        let Some((_, result)) = memory.last().copied() else {
            return Err(Refusal::NotUsable("there is no result".to_owned()));
        };
        Ok(Self { executor, work, memory, result })
    }

    /// Frees the operands. A lost device has freed them already.
    pub(super) fn release(&mut self) {
        for (_, id) in self.memory.drain(..).rev() {
            let _ = self.executor.release(id);
        }
    }

    /// Builds a candidate and runs it.
    ///
    /// # Errors
    /// It does not fit; it fails; its result is wrong, depends on what was there before, or reaches outside.
    pub(super) fn verified<'s>(&'s mut self, parameters: &P) -> Result<Verified<'s, 'e, P>, Refusal> {
        let plan = self.work.plan(parameters, self.executor.probe())?;
        let bound = plan.bind(self.executor, &self.memory)?;
        let mut ready = Verified { subject: self, bound: Some(bound), by_host: false, first: 0.0 };
        ready.verify()?;
        Ok(ready)
    }

    /// The medians of two candidates that run in turns.
    ///
    /// # Errors
    /// As [`Self::verified`].
    pub(super) fn compared(&mut self, both: [&P; 2], runs: usize) -> Result<[f64; 2], Refusal> {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..runs.div_ceil(3) {
            for (times, parameters) in times.iter_mut().zip(both) {
                let mut ready = self.verified(parameters)?;
                for _ in 0..3 {
                    times.push(ready.run()?);
                }
            }
        }
        Ok(times.map(middle))
    }
}

impl<P: KernelParameters> Verified<'_, '_, P> {
    fn verify(&mut self) -> Result<(), Refusal> {
        let Some(bound) = &self.bound else { return Ok(()) };
        let Subject { executor, work, result, .. } = &mut *self.subject;
        for launch in bound.preparation.iter().chain(&bound.launches) {
            executor.prepare(&launch.program, &launch.entry)?;
        }
        executor.run(&bound.preparation)?;
        let (role, bytes) = work.result();
        let wrong = |reason: String| Err(Refusal::Wrong(reason));
        let mut before: Option<Vec<u8>> = None;
        for &fill in work.fills() {
            executor.write(*result, 0, &vec![fill; bytes + GUARD])?;
            let start = Instant::now();
            let seconds = Timing::span_seconds(&executor.run(&bound.launches)?);
            self.by_host = seconds <= 0.0;
            self.first = if self.by_host { start.elapsed().as_secs_f64() } else { seconds };
            let mut found = vec![0; bytes + GUARD];
            executor.read(*result, 0, &mut found)?;
            if let Some(at) = found[bytes..].iter().position(|byte| *byte != fill) {
                return wrong(format!("byte {at} behind {role} was written"));
            }
            found.truncate(bytes);
            work.check(&found, fill)?;
            if let Some(before) = &before
                && let Some(at) = before.iter().zip(&found).position(|(one, other)| one != other)
            {
                return wrong(format!("byte {at} of {role} depends on what was there before"));
            }
            before = Some(found);
        }
        Ok(())
    }

    fn run(&mut self) -> Result<f64, Refusal> {
        let Some(bound) = &self.bound else { return Ok(0.0) };
        let start = Instant::now();
        let timings = self.subject.executor.run(&bound.launches)?;
        let seconds =
            if self.by_host { start.elapsed().as_secs_f64() } else { Timing::span_seconds(&timings) };
        if seconds > 0.0 {
            Ok(seconds)
        } else {
            Err(Refusal::NotUsable("the device reports no time".to_owned()))
        }
    }

    /// The median of several runs.
    ///
    /// # Errors
    /// It fails; it takes longer than `limit` seconds.
    pub(super) fn median(&mut self, runs: usize, limit: Option<f64>) -> Result<f64, Refusal> {
        let mut times = vec![self.run()?];
        if limit.is_some_and(|limit| times[0].min(self.first) > limit) {
            return Err(Refusal::Slow);
        }
        for _ in 1..runs {
            times.push(self.run()?);
        }
        Ok(middle(times))
    }
}

impl<P> Drop for Verified<'_, '_, P> {
    fn drop(&mut self) {
        if let Some(bound) = self.bound.take() {
            bound.release(self.subject.executor);
        }
    }
}

/// The median.
fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::INFINITY)
}

/// Elements that look like noise: floating-point numbers from `low` to 1, or bytes of their whole range.
pub(crate) fn noise(element: ScalarType, bytes: usize, low: f32, random: &mut fastrand::Rng) -> Vec<u8> {
    let mut real = || random.f32() * (1.0 - low) + low;
    match element {
        ScalarType::F32 => (0..bytes / 4).flat_map(|_| real().to_ne_bytes()).collect(),
        ScalarType::F16 => (0..bytes / 2).flat_map(|_| f16::from_f32(real()).to_ne_bytes()).collect(),
        _ => (0..bytes).map(|_| random.u8(..)).collect(),
    }
}
