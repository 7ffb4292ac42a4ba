//! Plans with memory on one executor.

use tripipe_launch::{CpuLoad, ExecuteError, Executor, Launch, MemoryId, Timing, count_energy};

use super::Output;

/// Memory of a plan besides its operands, on one executor.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The memory of every slot; `None` for operands and views of them.
    pub(super) memory: Vec<Option<MemoryId>>,
    pub(super) made: Vec<MemoryId>,
}

impl Scratch {
    /// Frees it.
    pub fn release(self, executor: &mut dyn Executor) {
        release(executor, &self.made);
    }
}

/// Frees in reverse order, because images over buffers come after their buffer. A lost device has already released
/// everything.
pub(super) fn release(executor: &mut dyn Executor, made: &[MemoryId]) {
    for id in made.iter().rev() {
        let _ = executor.release(*id);
    }
}

/// A plan's launches over memory of one executor.
#[derive(Clone, Debug)]
pub struct Bound {
    pub(super) made: Vec<MemoryId>,
    /// The launches that run once, before the step.
    pub preparation: Vec<Launch>,
    /// The launches of the step.
    pub launches: Vec<Launch>,
    pub(super) output: Option<MemoryId>,
}

impl Bound {
    /// Frees the memory allocated for the plan. The operands stay.
    pub fn release(self, executor: &mut dyn Executor) {
        release(executor, &self.made);
    }
}

/// A plan with its memory on an executor; the memory is released when this is dropped.
pub struct Staged<'e> {
    pub(super) executor: &'e mut dyn Executor,
    pub(super) bound: Bound,
    pub(super) output: Option<Output>,
    pub(super) predicted_load: Option<CpuLoad>,
}

impl Staged<'_> {
    /// Runs the preparation. Returns its seconds on the device, or `None` when there is no preparation.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn prepare(&mut self) -> Result<Option<f64>, ExecuteError> {
        if self.bound.preparation.is_empty() {
            return Ok(None);
        }
        Ok(Some(Timing::span_seconds(&self.executor.run(&self.bound.preparation)?)))
    }

    /// Runs the step. Returns the seconds from the first launch's start to the last one's end on the device.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn run(&mut self) -> Result<f64, ExecuteError> {
        let timings = self.executor.run(&self.bound.launches)?;
        let is_predicted = self.executor.time_source().is_predicted();
        self.predicted_load = CpuLoad::predicted(&timings).filter(|_| is_predicted);
        Ok(Timing::span_seconds(&timings))
    }

    /// The load of the host's CPU beside the last run, if its times were predicted.
    pub fn predicted_load(&self) -> Option<CpuLoad> {
        self.predicted_load
    }

    /// The energy in joules of a run, if it is known: that of the last one, or of repeated ones by the device's own
    /// counter.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn joules(&mut self) -> Result<Option<f64>, ExecuteError> {
        let counted = count_energy(self.executor, &self.bound.launches)?;
        Ok(counted.map(|counted| counted.joules).or_else(|| self.executor.joules()))
    }

    /// The result, with rows tightly packed; empty when the plan has no output.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn output(&mut self) -> Result<Vec<u8>, ExecuteError> {
        let (Some(output), Some(id)) = (self.output, self.bound.output) else { return Ok(Vec::new()) };
        let span = output.rows.saturating_sub(1) * output.pitch_bytes + output.row_bytes;
        let mut bytes = vec![0; span];
        self.executor.read(id, output.offset_bytes, &mut bytes)?;
        if output.pitch_bytes == output.row_bytes {
            return Ok(bytes);
        }
        Ok(bytes.chunks(output.pitch_bytes).flat_map(|row| &row[..output.row_bytes]).copied().collect())
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        release(self.executor, &self.bound.made);
    }
}
