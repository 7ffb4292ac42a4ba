//! Sweeps: every way verified, then timed; the best become entries of a table.

use thiserror::Error;
use tripipe_device::{Identification, Probe, identify};
use tripipe_launch::{Access, ExecuteError, Executor, MemoryId, MemoryKind, Timing};

use super::check::Unfit;
use super::description::Gemm;
use super::parameters::Parameters;
use super::plan::{Given, plan};
use super::reference::{Difference, Reference, ReferenceError};
use super::sample::sample;
use super::shape::Shape;
use super::table::{Basis, ElementKind, Entry, Measurement, Target};
use crate::plan::Bound;

/// How a sweep goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepOptions {
    /// Seed of the operands.
    pub seed: u64,
    /// Candidates that are timed in earnest: those that were fastest at the first look.
    pub finalists: usize,
    /// Rounds in which each finalist runs once, so that a device that slows down slows all of them.
    pub rounds: usize,
    /// What is known of A and B: where [`Given::Constant`], packing is not timed. [`Given::Packed`] is for plans alone.
    pub given: [Given; 2],
}

impl Default for SweepOptions {
    /// 16 finalists, 10 rounds, operands that change.
    fn default() -> Self {
        Self { seed: 1, finalists: 16, rounds: 10, given: [Given::Changing; 2] }
    }
}

/// Seconds of one way, from the first launch's start to the last one's end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds {
    /// The least.
    pub best: f64,
    /// The one in the middle.
    pub median: f64,
    /// How often it ran.
    pub runs: usize,
}

/// One way and what came of it.
#[derive(Debug)]
pub struct Tried {
    /// The way.
    pub parameters: Parameters,
    /// Its time, or why it has none.
    pub outcome: Result<Seconds, TryError>,
}

/// Why a way has no time.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TryError {
    /// It is none on this device.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The device did not run it.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// Its result is wrong.
    #[error("a wrong result: {0}")]
    Wrong(#[from] Difference),
    /// It ran in no time, so that nothing can be said.
    #[error("the device reports no time for it")]
    NoTime,
}

/// Why there is no sweep at all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepError {
    /// No right answer.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The operands do not fit the device, or it is gone.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

/// What came of a sweep: the fastest first, those without a time last.
#[derive(Debug)]
pub struct Sweep {
    /// All candidates.
    pub tried: Vec<Tried>,
    operations: f64,
    size: [usize; 4],
    elements: ElementKind,
    shape: Shape,
    device: Probe,
}

impl Sweep {
    /// 10^9 operations a second at a time.
    pub fn gflops(&self, seconds: f64) -> f64 {
        self.operations / seconds * 1e-9
    }

    /// The fastest way as an entry of a table, for this GPU, or, where it has no model, for devices of this name; `None` when
    /// no way was right. `date` as `2026-11-21`.
    pub fn entry(&self, date: &str) -> Option<Entry> {
        let tried = self.tried.first()?;
        let seconds = tried.outcome.as_ref().ok()?;
        let Identification { product, .. } = identify(&self.device);
        let on = product.map_or_else(
            || Target::Name(self.device.name.clone()),
            |product| Target::Gpu(product.to_string()),
        );
        Some(Entry {
            on,
            elements: self.elements,
            shape: self.shape,
            parameters: tried.parameters,
            basis: Basis::Measured,
            source: "a sweep of this library".to_owned(),
            measured: Some(Measurement {
                gflops: (self.gflops(seconds.median) * 10.0).round() / 10.0,
                size: self.size,
                device: self.device.name.clone(),
                driver: self.device.driver.clone(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                date: date.to_owned(),
            }),
        })
    }
}

/// Tries every candidate: its result is compared with the reference before its time counts, and that of the fastest once more
/// at the end. What fails is left out, with the reason. `seen` is told of each candidate after its first look, with how many
/// there are.
///
/// # Errors
/// A description that is wrong, operands that the device cannot hold. A device that is lost while a candidate runs ends
/// the sweep with what there is: every later candidate fails.
pub fn sweep(
    executor: &mut dyn Executor,
    gemm: &Gemm,
    candidates: &[Parameters],
    options: &SweepOptions,
    seen: &mut dyn FnMut(&Tried, usize),
) -> Result<Sweep, SweepError> {
    let operands = sample(gemm, options.seed);
    let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    let reference = Reference::new(gemm, &slices)?;
    let mut memory = Vec::new();
    for bytes in &operands {
        let kind = MemoryKind::Buffer { bytes: bytes.len() };
        match executor.allocate(&kind, Access::ReadWrite, Some(bytes)) {
            Ok(id) => memory.push(id),
            Err(error) => {
                release(executor, &memory);
                return Err(error.into());
            }
        }
    }
    let mut bench =
        Bench { executor, gemm, given: options.given, memory: &memory, before: &operands[2], reference };
    let mut tried = Vec::new();
    for parameters in candidates {
        let outcome = bench.first_look(parameters);
        let one = Tried { parameters: *parameters, outcome };
        seen(&one, candidates.len());
        tried.push(one);
    }
    sort(&mut tried);
    let finalists = tried.iter().take_while(|one| one.outcome.is_ok()).count().min(options.finalists);
    bench.finals(&mut tried[..finalists], options.rounds);
    sort(&mut tried);
    if let Some(fastest) = tried.first_mut().filter(|one| one.outcome.is_ok())
        && let Err(error) = bench.first_look(&fastest.parameters)
    {
        fastest.outcome = Err(error);
        sort(&mut tried);
    }
    release(bench.executor, &memory);
    let device = bench.executor.probe().clone();
    Ok(Sweep {
        tried,
        operations: gemm.operations(),
        size: [gemm.m, gemm.n, gemm.k, gemm.batch.count()],
        elements: ElementKind::of(gemm.elements),
        shape: Shape::of(gemm),
        device,
    })
}

/// A device that is gone has released everything.
fn release(executor: &mut dyn Executor, memory: &[MemoryId]) {
    for id in memory {
        let _ = executor.release(*id);
    }
}

/// By median: first those that were timed in the finals, then those that had a first look alone; failures last.
fn sort(tried: &mut [Tried]) {
    tried.sort_by(|a, b| match (&a.outcome, &b.outcome) {
        // A first look is one run; finals count more.
        (Ok(a), Ok(b)) => (b.runs > 1).cmp(&(a.runs > 1)).then(a.median.total_cmp(&b.median)),
        (a, b) => b.is_ok().cmp(&a.is_ok()),
    });
}

struct Bench<'b> {
    executor: &'b mut dyn Executor,
    gemm: &'b Gemm,
    given: [Given; 2],
    memory: &'b [MemoryId],
    /// C before the product.
    before: &'b [u8],
    reference: Reference,
}

impl Bench<'_> {
    fn bind(&mut self, parameters: &Parameters) -> Result<Bound, TryError> {
        let plan = plan(self.gemm, parameters, self.executor.probe(), self.given)?;
        let bound = plan.bind(self.executor, self.memory)?;
        match self.executor.run(&bound.preparation) {
            Ok(_) => Ok(bound),
            Err(error) => {
                bound.release(self.executor);
                Err(error.into())
            }
        }
    }

    /// Builds it, verifies it, and times the run after.
    fn first_look(&mut self, parameters: &Parameters) -> Result<Seconds, TryError> {
        let bound = self.bind(parameters)?;
        let seconds = self.verified(&bound).and_then(|()| self.timed(&bound));
        bound.release(self.executor);
        let seconds = seconds?;
        Ok(Seconds { best: seconds, median: seconds, runs: 1 })
    }

    fn verified(&mut self, bound: &Bound) -> Result<(), TryError> {
        self.executor.write(self.memory[2], 0, self.before)?;
        self.executor.run(&bound.launches)?;
        let mut after = vec![0; self.before.len()];
        self.executor.read(self.memory[2], 0, &mut after)?;
        Ok(self.reference.verify(self.before, &after)?)
    }

    fn timed(&mut self, bound: &Bound) -> Result<f64, TryError> {
        let seconds = Timing::span_seconds(&self.executor.run(&bound.launches)?);
        if seconds > 0.0 { Ok(seconds) } else { Err(TryError::NoTime) }
    }

    /// Runs all of `tried` in turn, `rounds` times.
    fn finals(&mut self, tried: &mut [Tried], rounds: usize) {
        let mut times = vec![Vec::new(); tried.len()];
        for _ in 0..rounds {
            for (one, times) in tried.iter_mut().zip(&mut times) {
                if one.outcome.is_err() {
                    continue;
                }
                let seconds = self.bind(&one.parameters).and_then(|bound| {
                    // The first run finds caches full of the one before.
                    let seconds = self.timed(&bound).and_then(|_| self.timed(&bound));
                    bound.release(self.executor);
                    seconds
                });
                match seconds {
                    Ok(seconds) => times.push(seconds),
                    Err(error) => one.outcome = Err(error),
                }
            }
        }
        for (one, mut times) in tried.iter_mut().zip(times) {
            times.sort_by(f64::total_cmp);
            if let (Ok(seconds), [best, ..]) = (&mut one.outcome, times.as_slice()) {
                *seconds = Seconds { best: *best, median: times[times.len() / 2], runs: times.len() };
            }
        }
    }
}
