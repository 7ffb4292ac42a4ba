//! Memory for the duration of a measurement, and rounds of launches.

use tripipe_device::Probe;
use tripipe_launch::{Access, ExecuteError, Executor, Launch, MemoryId, MemoryKind, Timing};

use super::{Effort, PeakError};

/// Initial contents of a result buffer: no row computes this byte repeatedly.
const POISON: u8 = 0xCD;

/// An executor with the memory of one measurement, released at the end.
pub struct Bench<'e> {
    executor: &'e mut dyn Executor,
    memory: Vec<MemoryId>,
}

impl<'e> Bench<'e> {
    /// A bench without memory.
    pub fn new(executor: &'e mut dyn Executor) -> Self {
        Self { executor, memory: Vec::new() }
    }

    /// The device.
    pub fn probe(&self) -> &Probe {
        self.executor.probe()
    }

    /// Memory that kernels only read.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn input(&mut self, kind: &MemoryKind, contents: &[u8]) -> Result<MemoryId, ExecuteError> {
        let id = self.executor.allocate(kind, Access::Read, Some(contents))?;
        self.memory.push(id);
        Ok(id)
    }

    /// A buffer for results, filled with a byte that no kernel leaves behind.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn output(&mut self, bytes: usize) -> Result<MemoryId, ExecuteError> {
        let kind = MemoryKind::Buffer { bytes };
        let id = self.executor.allocate(&kind, Access::ReadWrite, Some(&vec![POISON; bytes]))?;
        self.memory.push(id);
        Ok(id)
    }

    /// Passes the first `bytes` bytes of a result to `check`, unless the executor only predicts times.
    ///
    /// # Errors
    /// Any error of the executor, or that of `check`.
    pub fn verify(
        &mut self,
        id: MemoryId,
        bytes: usize,
        check: impl FnOnce(&[u8]) -> Result<(), PeakError>,
    ) -> Result<(), PeakError> {
        if !self.executor.time_source().executes() {
            return Ok(());
        }
        let mut contents = vec![0; bytes];
        self.executor.read(id, 0, &mut contents)?;
        check(&contents)
    }

    /// Target duration of a round: long compared with the clock's resolution and a launch's start, short on a slow
    /// device. A predicted time needs no more than its start-up to become negligible.
    pub fn round_seconds(&self, effort: Effort) -> f64 {
        match effort {
            _ if self.executor.time_source().is_predicted() => 0.001,
            Effort::Quick => 0.004,
            Effort::Full => 0.012,
        }
    }

    /// Runs launches back to back.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        self.executor.run(launches)
    }

    /// Seconds of one launch, alone.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn seconds(&mut self, launch: &Launch) -> Result<f64, ExecuteError> {
        let timings = self.executor.run(std::slice::from_ref(launch))?;
        Ok(timings.iter().map(Timing::seconds).sum())
    }

    /// Seconds of a launch. Each round repeats the launch until the round is full and takes the mean; the best round
    /// counts. Gaps between launches are not counted.
    ///
    /// # Errors
    /// Any error of the executor; its clock shows no time passing.
    pub fn best_seconds(&mut self, launch: &Launch, effort: Effort) -> Result<f64, PeakError> {
        let once = self.seconds(launch)?;
        if self.executor.time_source().is_predicted() {
            return Ok(once);
        }
        let repeats = (self.round_seconds(effort) / once.max(1e-9)).ceil().clamp(1.0, 500.0) as usize;
        let round = vec![launch.clone(); repeats];
        let mut best = f64::INFINITY;
        for _ in 0..effort.rounds() {
            let seconds: f64 = self.run(&round)?.iter().map(Timing::seconds).sum();
            best = best.min(seconds / repeats as f64);
        }
        if best > 0.0 { Ok(best) } else { Err(PeakError::Clock) }
    }
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        for id in self.memory.drain(..) {
            // A lost device has already released everything.
            let _ = self.executor.release(id);
        }
    }
}

impl Effort {
    fn rounds(self) -> usize {
        match self {
            Self::Quick => 2,
            Self::Full => 4,
        }
    }
}
