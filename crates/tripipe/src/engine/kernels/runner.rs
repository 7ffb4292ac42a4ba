//! Executors of kernels, and what only some kinds of them can do.

use crate::driver::memory::{External, Footprint};
use crate::driver::{BuiltProgram, Held};
use tripipe_kernels::Plan;
use tripipe_launch::{Access, ExecuteError, Executor, MemoryId};

/// An executor of kernels. What only some kinds can do is not offered by default.
pub(crate) trait Runner: Send {
    fn executor(&mut self) -> &mut dyn Executor;

    /// Whether operations are tried on it and on the CPU path, to see which is faster.
    #[cfg(feature = "cpu")]
    fn is_tried(&self) -> bool {
        false
    }

    /// Imported memory; `None` where memory cannot be imported.
    ///
    /// # Errors
    /// The device cannot import such memory; it is shorter than `bytes` bytes; the driver refuses.
    fn import(
        &mut self,
        _external: External,
        _bytes: usize,
    ) -> Result<Option<(MemoryId, Imported)>, ExecuteError> {
        Ok(None)
    }

    /// Access to an object from the host that does not keep the executor busy; `None` where there is none.
    ///
    /// # Errors
    /// The host is already using the object.
    fn hold(&mut self, _memory: MemoryId, _access: Access) -> Result<Option<Held>, ExecuteError> {
        Ok(None)
    }

    /// What builds the kernels of a plan that are not built yet, on any thread; `None` when nothing is left to build,
    /// or no other thread can do it. Programs that do not build are left out.
    fn builder(&mut self, _plan: &Plan<'static>) -> Option<BuildTask> {
        None
    }

    /// Takes over the programs that a [builder](Self::builder) has built.
    ///
    /// # Errors
    /// They were built for another device.
    fn adopt(&mut self, _programs: Vec<BuiltProgram>) -> Result<(), ExecuteError> {
        Ok(())
    }
}

/// Imported memory.
pub(crate) struct Imported {
    /// The bytes that it covers.
    pub(crate) footprint: Footprint,
    /// Whether the host can access them through the executor.
    #[cfg(feature = "cpu")]
    pub(crate) is_accessible: bool,
}

/// Builds programs.
pub(crate) type BuildTask = Box<dyn FnOnce() -> Vec<BuiltProgram> + Send>;

/// An executor that runs kernels and can do nothing else, such as a simulated GPU.
pub(crate) struct Plain<E>(pub(crate) E);

impl<E: Executor + Send> Runner for Plain<E> {
    fn executor(&mut self) -> &mut dyn Executor {
        &mut self.0
    }
}
