//! The bench of every measurement: memory for its duration, launches that are verified and timed, repeated or in turns.

mod interleave;
mod median;
mod repeat;

use std::time::Instant;

use thiserror::Error;
use tripipe_device::Probe;
use tripipe_launch::{Access, ExecuteError, Executor, Launch, MemoryId, MemoryKind, TimeSource, Timing};

use crate::Role;
use crate::plan::{Bound, Plan};
pub use interleave::{CandidateTimes, Limits, Turn, interleave};
pub use median::{Interval, median};
pub use repeat::{Repeat, clocked};

/// Initial contents of a result buffer: no kernel of a ceiling computes this byte repeatedly.
const POISON: u8 = 0xCD;
/// Bytes behind a result that must not change; none where nothing is executed.
const GUARD: usize = 4096;

/// An executor with the memory of one measurement, released at the end.
pub struct Bench<'e> {
    executor: &'e mut dyn Executor,
    memory: Vec<MemoryId>,
    /// Whether the host's clock times launches, because the device reports no times; the first run decides.
    by_host: Option<bool>,
}

/// The memory of a result, with a guard behind it.
#[derive(Clone, Copy, Debug)]
pub struct ResultMemory {
    /// The buffer.
    pub id: MemoryId,
    bytes: usize,
    /// The number of bytes behind it, and what they are.
    guarded: usize,
    guard: u8,
}

/// A kernel wrote behind its result.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("byte {at} behind the result was written")]
pub struct WrittenBehind {
    /// The first byte that changed.
    pub at: usize,
}

impl<'e> Bench<'e> {
    /// A bench without memory.
    pub fn new(executor: &'e mut dyn Executor) -> Self {
        Self { executor, memory: Vec::new(), by_host: None }
    }

    /// The executor itself, for memory that the caller releases.
    pub fn executor(&mut self) -> &mut dyn Executor {
        self.executor
    }

    /// The device.
    pub fn probe(&self) -> &Probe {
        self.executor.probe()
    }

    /// Where its times come from.
    pub fn time_source(&self) -> TimeSource {
        self.executor.time_source()
    }

    fn allocate(
        &mut self,
        kind: &MemoryKind,
        access: Access,
        contents: &[u8],
    ) -> Result<MemoryId, ExecuteError> {
        let id = self.executor.allocate(kind, access, Some(contents))?;
        self.memory.push(id);
        Ok(id)
    }

    /// Memory that kernels only read.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn input(&mut self, kind: &MemoryKind, contents: &[u8]) -> Result<MemoryId, ExecuteError> {
        self.allocate(kind, Access::Read, contents)
    }

    /// A buffer for results, filled with a byte that no kernel leaves behind.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn output(&mut self, bytes: usize) -> Result<MemoryId, ExecuteError> {
        self.operand(&vec![POISON; bytes])
    }

    /// A buffer with these contents. An operand without elements needs a buffer too; it is never read.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn operand(&mut self, contents: &[u8]) -> Result<MemoryId, ExecuteError> {
        let contents = if contents.is_empty() { &[0; 4] } else { contents };
        self.allocate(&MemoryKind::Buffer { bytes: contents.len() }, Access::ReadWrite, contents)
    }

    /// The memory of a result of `bytes` bytes, to be [overwritten](Self::overwrite) before it is used.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn result(&mut self, bytes: usize) -> Result<ResultMemory, ExecuteError> {
        let guarded = if self.time_source().executes() { GUARD } else { 0 };
        Ok(ResultMemory { id: self.output(bytes + guarded)?, bytes, guarded, guard: POISON })
    }

    /// Frees the memory; the next run decides again whose clock counts.
    pub fn clear(&mut self) {
        self.by_host = None;
        for id in self.memory.drain(..).rev() {
            // A lost device has already released everything.
            let _ = self.executor.release(id);
        }
    }

    /// The launches of a plan over operands, built, their preparation done: a compiler that takes long is not mistaken for a
    /// kernel that hangs. They must be [released](Self::release).
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn bind(&mut self, plan: &Plan<'_>, operands: &[(Role, MemoryId)]) -> Result<Bound, ExecuteError> {
        let bound = plan.bind(self.executor, operands)?;
        let mut launches = bound.preparation.iter().chain(&bound.launches);
        let built =
            launches.try_for_each(|launch| self.executor.prepare(&launch.program, &launch.entry).map(|_| ()));
        match built.and_then(|()| self.executor.run(&bound.preparation)) {
            Ok(_) => Ok(bound),
            Err(error) => {
                bound.release(self.executor);
                Err(error)
            }
        }
    }

    /// Frees the memory that a plan made for itself.
    pub fn release(&mut self, bound: Bound) {
        bound.release(self.executor);
    }

    /// Overwrites a result, so that the output of earlier launches is not mistaken for that of the next ones; the guard with
    /// the last byte, so that it differs where the contents do.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn overwrite(&mut self, result: &mut ResultMemory, before: &[u8]) -> Result<(), ExecuteError> {
        let Some(last) = before.last() else { return Ok(()) };
        result.guard = *last;
        self.executor.write(result.id, 0, before)?;
        self.executor.write(result.id, result.bytes, &vec![*last; result.guarded])
    }

    /// What launches that ran since [`Self::overwrite`] left in a result.
    ///
    /// # Errors
    /// Any error of the executor; bytes behind the result changed.
    pub fn read_result<E>(&mut self, result: &ResultMemory) -> Result<Vec<u8>, E>
    where
        E: From<ExecuteError> + From<WrittenBehind>,
    {
        let mut found = vec![0; result.bytes + result.guarded];
        self.executor.read(result.id, 0, &mut found)?;
        if let Some(at) = found[result.bytes..].iter().position(|byte| *byte != result.guard) {
            return Err(WrittenBehind { at }.into());
        }
        found.truncate(result.bytes);
        Ok(found)
    }

    /// Passes the first `bytes` bytes of a result to `check`, unless the executor only predicts times.
    ///
    /// # Errors
    /// Any error of the executor, or that of `check`.
    pub fn verify<E: From<ExecuteError>>(
        &mut self,
        id: MemoryId,
        bytes: usize,
        check: impl FnOnce(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.executor.time_source().executes() {
            return Ok(());
        }
        let mut contents = vec![0; bytes];
        self.executor.read(id, 0, &mut contents)?;
        check(&contents)
    }

    /// Runs launches back to back.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        self.executor.run(launches)
    }

    /// Seconds from the first launch's start to the last one's end: the device's own where it reports any, otherwise by the
    /// host's clock. 0 if neither has moved.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn span_seconds(&mut self, launches: &[Launch]) -> Result<f64, ExecuteError> {
        let start = Instant::now();
        let seconds = Timing::span_seconds(&self.executor.run(launches)?);
        if launches.is_empty() {
            return Ok(seconds);
        }
        let by_host = *self.by_host.get_or_insert(seconds <= 0.0);
        Ok(if by_host { start.elapsed().as_secs_f64() } else { seconds })
    }
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}
