//! The executor of a device, and what only some kinds of them can do.

use crate::driver::BuiltProgram;
use crate::driver::memory::Footprint;
use tripipe_launch::Executor;

/// An executor of kernels. What an OpenCL device can do besides is in `opencl`; without one, nothing of it is offered.
pub(crate) struct Runner(Box<dyn Executor + Send>);

impl Runner {
    pub(super) fn new(executor: impl Executor + Send + 'static) -> Self {
        Self(Box::new(executor))
    }

    pub(super) fn executor(&mut self) -> &mut dyn Executor {
        &mut *self.0
    }
}

/// Imported memory.
pub(super) struct Imported {
    /// The bytes that it covers.
    pub(super) footprint: Footprint,
    /// Whether the host can access them through the executor.
    #[cfg(feature = "cpu")]
    pub(super) is_accessible: bool,
}

/// Builds programs.
pub(super) type BuildTask = Box<dyn FnOnce() -> Vec<BuiltProgram> + Send>;
