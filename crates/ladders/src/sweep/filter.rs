//! Measures which parameters are fastest for a chain of filters.

use tripipe_kernels::Role;
use tripipe_kernels::filter::{Chain, Parameters, Raster, plan};
use tripipe_kernels::plan::Bound;
use tripipe_launch::{Access, ExecuteError, Executor, MemoryId, MemoryKind, TimeSource, Timing};

use super::{Contest, Heat, Heats, TryError, Watch, race};

/// An image, and the expected result of the chain.
#[derive(Clone, Copy, Debug)]
pub struct Case<'c> {
    /// The chain.
    pub chain: &'c Chain,
    /// Layout of the image.
    pub from: &'c Raster,
    /// Its bytes.
    pub source: &'c [u8],
    /// Layout of the result.
    pub to: &'c Raster,
    /// The correct result, bit for bit.
    pub want: &'c [u8],
}

/// The outcome of a sweep.
#[derive(Debug)]
pub struct FilterSweep {
    /// The results of the candidates.
    pub heat: Heat<Parameters>,
    /// Seconds of a copy of the same number of bytes on the device, the median of as many rounds; `None` when source
    /// and result differ in size, or times are predicted.
    pub copy_seconds: Option<f64>,
}

/// Tries every candidate, in order. A candidate's result is verified before its time counts; the result of the
/// fastest is verified once more at the end. Candidates that fail are left out, with the reason. `watch` is called at
/// each step and may stop the sweep. All memory is freed, that of each candidate before the next one is tried.
///
/// # Errors
/// The images do not fit on the device, or the device is lost.
pub fn sweep(
    executor: &mut dyn Executor,
    case: &Case<'_>,
    candidates: &[Parameters],
    heats: Heats,
    watch: &mut Watch<'_, Parameters>,
) -> Result<FilterSweep, ExecuteError> {
    let buffer = |executor: &mut dyn Executor, contents: &[u8]| {
        let kind = MemoryKind::Buffer { bytes: contents.len() };
        executor.allocate(&kind, Access::ReadWrite, Some(contents))
    };
    let input = buffer(executor, case.source)?;
    let result = match buffer(executor, &vec![0; case.want.len()]) {
        Ok(result) => result,
        Err(error) => {
            let _ = executor.release(input);
            return Err(error);
        }
    };
    let mut bench = FilterBench { executor, case, memory: [input, result], bound: None };
    let heat = race(&mut bench, candidates, heats, watch);
    let copies = bench.copies(heats.rounds);
    for id in [input, result] {
        // A lost device has already released everything.
        let _ = executor.release(id);
    }
    Ok(FilterSweep { heat, copy_seconds: copies? })
}

struct FilterBench<'b> {
    executor: &'b mut dyn Executor,
    case: &'b Case<'b>,
    /// The image and the result.
    memory: [MemoryId; 2],
    bound: Option<Bound>,
}

impl FilterBench<'_> {
    fn copies(&mut self, rounds: usize) -> Result<Option<f64>, ExecuteError> {
        let [input, result] = self.memory;
        let bytes = self.case.want.len();
        // A copy is no launch, so there is no prediction of it.
        let predicted = self.executor.time_source().is_predicted();
        if self.case.source.len() != bytes || bytes == 0 || predicted {
            return Ok(None);
        }
        let mut seconds = Vec::new();
        for _ in 0..rounds {
            let copied = self.executor.copy(input, 0, result, 0, bytes)?;
            seconds.push(Timing::span_seconds(&copied.timings()?));
        }
        seconds.sort_by(f64::total_cmp);
        Ok(seconds.get(seconds.len() / 2).copied())
    }
}

impl Contest<Parameters> for FilterBench<'_> {
    fn time_source(&self) -> TimeSource {
        self.executor.time_source()
    }

    fn enter(&mut self, parameters: &Parameters) -> Result<(), TryError> {
        let Case { chain, from, to, .. } = *self.case;
        let plan = plan(chain, from, to, parameters, self.executor.probe())?;
        let bound =
            plan.bind(self.executor, &[(Role::Source, self.memory[0]), (Role::Result, self.memory[1])])?;
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
        let Some(bound) = &self.bound else { return Err(TryError::NoTime) };
        let want = self.case.want;
        // Overwrite the result, so that the output of an earlier candidate is not mistaken for this one's.
        let other: Vec<u8> = want.iter().map(|byte| !byte).collect();
        self.executor.write(self.memory[1], 0, &other)?;
        self.executor.run(&bound.launches)?;
        let mut found = other;
        self.executor.read(self.memory[1], 0, &mut found)?;
        match want.iter().zip(&found).position(|(want, found)| want != found) {
            None => Ok(()),
            Some(at) => Err(TryError::WrongByte { at, found: found[at], want: want[at] }),
        }
    }

    fn leave(&mut self) {
        if let Some(bound) = self.bound.take() {
            bound.release(self.executor);
        }
    }
}
