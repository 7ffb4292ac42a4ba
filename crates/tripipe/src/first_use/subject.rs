//! A computation on memory of its own, whose kernels are verified and timed.

use std::time::Duration;

use half::f16;
use thiserror::Error;
use tripipe_device::Probe;
use tripipe_kernels::bench::{Bench, Limits, Repeat, ResultMemory, Turn, WrittenBehind, interleave, median};
use tripipe_kernels::plan::Bound;
use tripipe_kernels::{Plan, Role};
use tripipe_launch::{ExecuteError, Executor, MemoryId, ScalarType};

use super::KernelParameters;

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

impl From<WrittenBehind> for Refusal {
    fn from(error: WrittenBehind) -> Self {
        Self::Wrong(error.to_string())
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

/// The operands of a computation on a bench.
pub(super) struct Subject<'e, P> {
    bench: Bench<'e>,
    work: Box<dyn TunedWork<P>>,
    memory: Vec<(Role, MemoryId)>,
    result: ResultMemory,
}

impl<'e, P: KernelParameters> Subject<'e, P> {
    /// Makes the operands.
    pub(super) fn new(executor: &'e mut dyn Executor, work: Box<dyn TunedWork<P>>) -> Result<Self, Refusal> {
        let mut bench = Bench::new(executor);
        let mut memory = Vec::new();
        for (role, contents) in work.inputs() {
            memory.push((role, bench.operand(contents)?));
        }
        let (role, bytes) = work.result();
        let result = bench.result(bytes)?;
        memory.push((role, result.id));
        Ok(Self { bench, work, memory, result })
    }

    /// Builds candidates and runs each; then what `measure` makes of their launches and the seconds of their last runs.
    ///
    /// # Errors
    /// One does not fit; it fails; its result is wrong, depends on what was there before, or reaches outside; that of `measure`.
    fn with_verified<R>(
        &mut self,
        candidates: &[&P],
        measure: impl FnOnce(&mut Bench<'e>, &[Bound], &[f64]) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let (mut all, mut expected) = (Vec::new(), Vec::new());
        let verified = candidates.iter().try_for_each(|parameters| {
            let plan = self.work.plan(parameters, self.bench.probe())?;
            let bound = self.bench.bind(&plan, &self.memory)?;
            let seconds = self.verify(&bound);
            all.push(bound);
            expected.push(seconds?);
            Ok(())
        });
        let measured = verified.and_then(|()| measure(&mut self.bench, &all, &expected));
        for bound in all {
            self.bench.release(bound);
        }
        measured
    }

    /// The median of several runs of a candidate.
    ///
    /// # Errors
    /// As [`Self::with_verified`]; it takes longer than `limit` seconds.
    pub(super) fn median(&mut self, parameters: &P, runs: usize, limit: Option<f64>) -> Result<f64, Refusal> {
        self.with_verified(&[parameters], |bench, bound, expected| {
            let mut times = vec![run(bench, &bound[0])?];
            if limit.is_some_and(|limit| times[0].min(expected[0]) > limit) {
                return Err(Refusal::Slow);
            }
            let rest = Repeat { most: runs - 1, least: runs - 1, limit: Duration::ZERO };
            times.extend(rest.times(|| run(bench, &bound[0]))?);
            Ok(median(&times))
        })
    }

    /// The medians of candidates that run in turns.
    ///
    /// # Errors
    /// As [`Self::with_verified`].
    pub(super) fn compared(&mut self, candidates: &[&P], runs: usize) -> Result<Vec<f64>, Refusal> {
        self.with_verified(candidates, |bench, bound, expected| {
            let mut one = |turn| match turn {
                Turn::Candidate(index) => run(bench, &bound[index]),
                Turn::Reference => Ok(0.0),
            };
            let limits =
                Limits { has_reference: false, runs, seconds: f64::INFINITY, precision: 0.0, rival: None };
            let times = interleave(&mut one, expected, &limits).into_iter();
            times.map(|times| Ok(median(&times?.seconds))).collect()
        })
    }

    /// Checks the result of a candidate's launches. Returns the seconds of the last run.
    fn verify(&mut self, bound: &Bound) -> Result<f64, Refusal> {
        let Self { bench, work, result, .. } = self;
        let (role, bytes) = work.result();
        let (mut seconds, mut earlier) = (0.0, None);
        for &fill in work.fills() {
            bench.overwrite(result, &vec![fill; bytes])?;
            seconds = bench.span_seconds(&bound.launches)?;
            let found: Vec<u8> = bench.read_result::<Refusal>(result)?;
            work.check(&found, fill)?;
            let differs =
                |earlier: &Vec<u8>| earlier.iter().zip(&found).position(|(one, other)| one != other);
            if let Some(at) = earlier.as_ref().and_then(differs) {
                return Err(Refusal::Wrong(format!("byte {at} of {role} depends on what was there before")));
            }
            earlier = Some(found);
        }
        Ok(seconds)
    }
}

/// The seconds of a run.
fn run(bench: &mut Bench<'_>, bound: &Bound) -> Result<f64, Refusal> {
    let seconds = bench.span_seconds(&bound.launches)?;
    if seconds > 0.0 { Ok(seconds) } else { Err(Refusal::NotUsable("the device reports no time".to_owned())) }
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
