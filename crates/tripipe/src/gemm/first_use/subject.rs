//! A product on memory of its own, whose kernels are verified and timed.

use std::time::Instant;

use half::f16;
use thiserror::Error;
use tripipe_kernels::Role;
use tripipe_kernels::gemm::{self as kernels, Batch, Gemm, Given, Layout, Parameters, Reference};
use tripipe_kernels::plan::Bound;
use tripipe_launch::{Access, ExecuteError, Executor, MemoryId, MemoryKind, ScalarType, Timing};

/// The most bytes of operands, and the fraction of a device's memory that they may take.
const MOST_BYTES: u64 = 512 << 20;
const SHARE: u64 = 8;
/// Bytes behind C that must not change.
const GUARD: usize = 4096;
/// The byte that C consists of before a run: NaN in every floating-point type, -1 in others.
const POISON: u8 = 0xFF;
/// Rows and columns of C, in which elements are compared with the reference.
const SAMPLES: usize = 8;

/// Why a candidate has no time.
#[derive(Clone, Debug, Error)]
pub(super) enum Refusal {
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

impl From<ExecuteError> for Refusal {
    fn from(error: ExecuteError) -> Self {
        match error {
            ExecuteError::DeviceLost { .. } => Self::Lost(error.to_string()),
            _ => Self::NotUsable(error.to_string()),
        }
    }
}

/// The operands of a product on an executor, with their contents. They must be [released](Self::release).
pub(super) struct Subject<'e> {
    executor: &'e mut dyn Executor,
    gemm: Gemm,
    memory: Vec<(Role, MemoryId)>,
    a: Vec<u8>,
    b: Vec<u8>,
    /// C and the bytes behind it, before a run.
    before: Vec<u8>,
    /// Bytes of C.
    c_bytes: usize,
}

/// Launches of a candidate that has given the correct result; its memory is released when it is dropped.
pub(super) struct Verified<'s, 'e> {
    subject: &'s mut Subject<'e>,
    bound: Option<Bound>,
    /// Whether the host's clock times launches, because the device reports no times.
    by_host: bool,
    first: f64,
}

impl<'e> Subject<'e> {
    /// Makes the operands of a product of A, B and C without gaps.
    pub(super) fn new(executor: &'e mut dyn Executor, gemm: &Gemm) -> Result<Self, Refusal> {
        let sizes: Vec<(Role, ScalarType, usize)> =
            gemm.operands().iter().map(|one| (one.role, one.element, one.elements)).collect();
        let bytes = |role: Role| {
            let (_, element, elements) = sizes.iter().find(|(other, ..)| *other == role)?;
            elements.checked_mul(element.bytes()).map(|bytes| (*element, bytes))
        };
        let missing = || Refusal::NotUsable("the product is too large to try kernels".to_owned());
        let [(input, a_bytes), (_, b_bytes), (_, c_bytes)] = [bytes(Role::A), bytes(Role::B), bytes(Role::C)]
            .map(|one| one.ok_or_else(missing))
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?
            .try_into()
            .map_err(|_| missing())?;
        let all = (a_bytes as u64).saturating_add(b_bytes as u64).saturating_add(c_bytes as u64);
        let memory = executor.probe().global_memory_bytes;
        let limit = if memory == 0 { MOST_BYTES } else { MOST_BYTES.min(memory / SHARE) };
        if all > limit || a_bytes == 0 || b_bytes == 0 || c_bytes == 0 {
            return Err(missing());
        }
        let mut random = fastrand::Rng::with_seed(1);
        let [a, b] = [a_bytes, b_bytes].map(|bytes| sample(input, bytes, &mut random));
        let before = vec![POISON; c_bytes + GUARD];
        let mut subject = Self { executor, gemm: gemm.clone(), memory: Vec::new(), a, b, before, c_bytes };
        for role in [Role::A, Role::B, Role::C] {
            let contents = match role {
                Role::A => &subject.a,
                Role::B => &subject.b,
                _ => &subject.before,
            };
            let kind = MemoryKind::Buffer { bytes: contents.len() };
            match subject.executor.allocate(&kind, Access::ReadWrite, Some(contents)) {
                Ok(id) => subject.memory.push((role, id)),
                Err(error) => {
                    subject.release();
                    return Err(error.into());
                }
            }
        }
        Ok(subject)
    }

    /// Frees the operands. A lost device has freed them already.
    pub(super) fn release(&mut self) {
        for (_, id) in self.memory.drain(..).rev() {
            let _ = self.executor.release(id);
        }
    }

    /// Builds a candidate and runs it once.
    ///
    /// # Errors
    /// It does not fit; it fails; its result is wrong, or it writes outside C.
    pub(super) fn verified<'s>(&'s mut self, parameters: &Parameters) -> Result<Verified<'s, 'e>, Refusal> {
        let unfit = |error: &dyn std::fmt::Display| Refusal::NotUsable(error.to_string());
        let plan = kernels::plan(&self.gemm, parameters, self.executor.probe(), [Given::Changing; 2])
            .map_err(|error| unfit(&error))?;
        let bound = plan.bind(self.executor, &self.memory)?;
        let mut ready = Verified { subject: self, bound: Some(bound), by_host: false, first: 0.0 };
        ready.verify()?;
        Ok(ready)
    }

    /// The medians of two candidates that run in turns.
    ///
    /// # Errors
    /// As [`Self::verified`].
    pub(super) fn compared(&mut self, both: [&Parameters; 2], runs: usize) -> Result<[f64; 2], Refusal> {
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

    fn check(&self, found: &[u8]) -> Result<(), Refusal> {
        let wrong = |reason: String| Err(Refusal::Wrong(reason));
        if let Some(at) = found[self.c_bytes..].iter().position(|byte| *byte != POISON) {
            return wrong(format!("byte {at} behind C was written"));
        }
        let element = self.gemm.elements.types().1.bytes();
        let unwritten = |one: &[u8]| one.iter().all(|byte| *byte == POISON);
        if let Some(at) = found[..self.c_bytes].chunks_exact(element).position(unwritten) {
            // A sum of bytes may be -1.
            if self.gemm.elements.types().1 != ScalarType::I32 {
                return wrong(format!("element {at} of C was not written"));
            }
        }
        let count = self.gemm.batch.count();
        let last = count.saturating_sub(1);
        for product in [0, last].into_iter().take(count.min(2)) {
            self.check_product(product, found)?;
        }
        Ok(())
    }

    /// Compares elements of some rows and columns of a product with the reference of those alone.
    fn check_product(&self, product: usize, found: &[u8]) -> Result<(), Refusal> {
        let Gemm { m, n, k, ref a, ref b, ref c, batch, elements, .. } = self.gemm;
        let (input, output, _) = elements.types();
        let strides = if let Batch::Strided { strides, .. } = batch { strides } else { [0; 3] };
        let [rows, columns] = [m, n].map(sampled);
        let picked =
            |layout: &Layout, start: usize, bytes: &[u8], width: usize, rows: &[usize], columns: &[usize]| {
                let [down, across] = layout.strides();
                let mut picked = Vec::with_capacity(rows.len() * columns.len() * width);
                for row in rows {
                    for column in columns {
                        let at = (start + row * down + column * across) * width;
                        picked.extend_from_slice(&bytes[at..at + width]);
                    }
                }
                picked
            };
        let steps: Vec<usize> = (0..k).collect();
        let [of_a, of_b, of_c] = strides.map(|stride| stride * product);
        let a = picked(a, of_a, &self.a, input.bytes(), &rows, &steps);
        let b = picked(b, of_b, &self.b, input.bytes(), &steps, &columns);
        let found = picked(c, of_c, found, output.bytes(), &rows, &columns);
        let part = Gemm::new(elements, [rows.len(), columns.len(), k]);
        let before = vec![POISON; found.len()];
        let reference = Reference::new(&part, &[&a, &b, &before]);
        let reference = reference.map_err(|error| Refusal::NotUsable(error.to_string()))?;
        reference
            .verify(&before, &found)
            .map_err(|error| Refusal::Wrong(format!("of some rows and columns: {error}")))
    }
}

impl Verified<'_, '_> {
    fn verify(&mut self) -> Result<(), Refusal> {
        let Some(bound) = &self.bound else { return Ok(()) };
        let Subject { executor, memory, before, .. } = &mut *self.subject;
        for launch in bound.preparation.iter().chain(&bound.launches) {
            executor.prepare(&launch.program, &launch.entry)?;
        }
        executor.run(&bound.preparation)?;
        let c = memory.iter().find(|(role, _)| *role == Role::C).map(|(_, id)| *id);
        let Some(c) = c else { return Ok(()) };
        executor.write(c, 0, before)?;
        let start = Instant::now();
        let seconds = Timing::span_seconds(&executor.run(&bound.launches)?);
        self.by_host = seconds <= 0.0;
        self.first = if self.by_host { start.elapsed().as_secs_f64() } else { seconds };
        let mut found = vec![0; before.len()];
        executor.read(c, 0, &mut found)?;
        self.subject.check(&found)
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

impl Drop for Verified<'_, '_> {
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

/// Some of `extent` rows or columns: the first, the last, and others, each once.
fn sampled(extent: usize) -> Vec<usize> {
    let mut found: Vec<usize> =
        (0..SAMPLES).map(|index| index * extent.saturating_sub(1) / (SAMPLES - 1)).collect();
    found.dedup();
    found
}

/// Elements that look like noise: -1 to 1, or bytes of their whole range.
fn sample(element: ScalarType, bytes: usize, random: &mut fastrand::Rng) -> Vec<u8> {
    let mut real = || random.f32() * 2.0 - 1.0;
    match element {
        ScalarType::F32 => (0..bytes / 4).flat_map(|_| real().to_ne_bytes()).collect(),
        ScalarType::F16 => (0..bytes / 2).flat_map(|_| f16::from_f32(real()).to_ne_bytes()).collect(),
        _ => (0..bytes).map(|_| random.u8(..)).collect(),
    }
}
