//! Sweeps: every candidate is verified, then timed; the best become entries of a table.

use thiserror::Error;
use tripipe_device::{Identification, Probe, identify};
use tripipe_kernels::Role;
use tripipe_kernels::gemm::{
    Basis, ElementKind, Entry, Gemm, Given, Measurement, Parameters, Reference, ReferenceError, Shape,
    Target, plan,
};
use tripipe_kernels::plan::Bound;
use tripipe_launch::{Access, ExecuteError, Executor, MemoryId, MemoryKind, TimeSource, Timing};

use super::{Contest, Heat, Heats, TryError, Watch, race, sample};

/// Options of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepOptions {
    /// Seed of the operands.
    pub seed: u64,
    /// How candidates are timed.
    pub heats: Heats,
    /// What is known about A and B. For [`Given::Constant`], packing is not timed. [`Given::Packed`] is only for
    /// plans.
    pub given: [Given; 2],
}

impl Default for SweepOptions {
    /// The default heats, operands that change.
    fn default() -> Self {
        Self { seed: 1, heats: Heats::default(), given: [Given::Changing; 2] }
    }
}

/// Why a sweep could not run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The reference could not be computed.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The operands do not fit on the device, or the device is lost.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

/// The outcome of a sweep.
#[derive(Debug)]
pub struct GemmSweep {
    /// The results of the candidates.
    pub heat: Heat<Parameters>,
    operations: f64,
    size: [usize; 4],
    elements: ElementKind,
    shape: Shape,
    device: Probe,
}

impl GemmSweep {
    /// The rate in 10^9 operations per second for a run of `seconds`.
    pub fn gflops(&self, seconds: f64) -> f64 {
        self.operations / seconds * 1e-9
    }

    /// The fastest candidate as an entry of a table, for this GPU, or, when it has no model, for devices of this
    /// name. `None` when no candidate was correct. `date` has the form `2026-11-21`. The entry's source says if the
    /// sweep was stopped early.
    pub fn entry(&self, date: &str) -> Option<Entry> {
        let (parameters, seconds) = self.heat.fastest()?;
        let Identification { product, .. } = identify(&self.device);
        let on = product.map_or_else(
            || Target::Name(self.device.name.clone()),
            |product| Target::Gpu(product.to_string()),
        );
        let tried = self.heat.tried.len();
        let source = if self.heat.is_partial() {
            format!(
                "a sweep of this library, partial: {tried} of {} candidates tried",
                tried + self.heat.left_out
            )
        } else {
            "a sweep of this library".to_owned()
        };
        Some(Entry {
            on,
            elements: self.elements,
            shape: self.shape,
            parameters: *parameters,
            basis: Basis::Measured,
            source,
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

/// Tries every candidate, in order. A candidate's result is verified against the reference before its time counts;
/// the result of the fastest is verified once more at the end. Candidates that fail are left out, with the reason.
/// `watch` is called at each step and may stop the sweep.
///
/// # Errors
/// An invalid description; operands that the device cannot hold. If the device is lost while a candidate runs, the
/// sweep ends with the results so far: every later candidate fails.
pub fn sweep(
    executor: &mut dyn Executor,
    gemm: &Gemm,
    candidates: &[Parameters],
    options: &SweepOptions,
    watch: &mut Watch<'_, Parameters>,
) -> Result<GemmSweep, SweepError> {
    let operands = sample(gemm, options.seed);
    let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    let reference = Reference::new(gemm, &slices)?;
    let mut memory = Vec::new();
    let mut c = None;
    for (operand, bytes) in gemm.operands().iter().zip(&operands) {
        let kind = MemoryKind::Buffer { bytes: bytes.len() };
        match executor.allocate(&kind, Access::ReadWrite, Some(bytes)) {
            Ok(id) => {
                memory.push((operand.role, id));
                if operand.role == Role::C {
                    c = Some((id, &bytes[..]));
                }
            }
            Err(error) => {
                release(executor, &memory);
                return Err(error.into());
            }
        }
    }
    let mut bench =
        GemmBench { executor, gemm, given: options.given, memory: &memory, c, reference, bound: None };
    let heat = race(&mut bench, candidates, options.heats, watch);
    release(bench.executor, &memory);
    let device = bench.executor.probe().clone();
    Ok(GemmSweep {
        heat,
        operations: gemm.operations(),
        size: [gemm.m, gemm.n, gemm.k, gemm.batch.count()],
        elements: ElementKind::of(gemm.elements),
        shape: Shape::of(gemm),
        device,
    })
}

/// Ignores errors: a lost device has already released everything.
fn release(executor: &mut dyn Executor, memory: &[(Role, MemoryId)]) {
    for (_, id) in memory {
        let _ = executor.release(*id);
    }
}

struct GemmBench<'b> {
    executor: &'b mut dyn Executor,
    gemm: &'b Gemm,
    given: [Given; 2],
    memory: &'b [(Role, MemoryId)],
    /// C, and its contents before the product.
    c: Option<(MemoryId, &'b [u8])>,
    reference: Reference,
    bound: Option<Bound>,
}

impl Contest<Parameters> for GemmBench<'_> {
    fn time_source(&self) -> TimeSource {
        self.executor.time_source()
    }

    fn enter(&mut self, parameters: &Parameters) -> Result<(), TryError> {
        let plan = plan(self.gemm, parameters, self.executor.probe(), self.given)?;
        let bound = plan.bind(self.executor, self.memory)?;
        if let Err(error) = self.executor.run(&bound.preparation) {
            bound.release(self.executor);
            return Err(error.into());
        }
        self.bound = Some(bound);
        Ok(())
    }

    fn run(&mut self) -> Result<f64, TryError> {
        match &self.bound {
            Some(bound) => Ok(Timing::span_seconds(&self.executor.run(&bound.launches)?)),
            None => Err(TryError::NoTime),
        }
    }

    fn verify(&mut self) -> Result<(), TryError> {
        let (Some(bound), Some((c, before))) = (&self.bound, self.c) else { return Err(TryError::NoTime) };
        // Earlier runs have changed C; with a non-zero beta they have added to it.
        self.executor.write(c, 0, before)?;
        self.executor.run(&bound.launches)?;
        let mut after = vec![0; before.len()];
        self.executor.read(c, 0, &mut after)?;
        Ok(self.reference.verify(before, &after)?)
    }

    fn leave(&mut self) {
        if let Some(bound) = self.bound.take() {
            bound.release(self.executor);
        }
    }
}
