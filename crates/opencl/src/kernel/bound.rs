//! Kernels with bound arguments and range.

use tripipe_launch::NdRange;

use crate::event::Event;
use crate::handle::KernelHandle;
use crate::kernel::{Arg, Kernel, LaunchError, create};
use crate::queue::Queue;

/// A kernel whose arguments stay set, to be launched any number of times, by any number of threads. The owner must
/// also keep the argument objects alive: the driver does not.
pub(crate) struct BoundKernel {
    kernel: Kernel,
    handle: KernelHandle,
    range: NdRange,
}

impl BoundKernel {
    /// # Errors
    /// As [`Kernel::launch`].
    pub(crate) fn new(kernel: &Kernel, arguments: &[Arg<'_>], range: &NdRange) -> Result<Self, LaunchError> {
        kernel.check(arguments, range)?;
        let handle = create(&kernel.0.program, kernel.entry())?;
        kernel.set_all(&handle, arguments)?;
        Ok(Self { kernel: kernel.clone(), handle, range: *range })
    }

    /// Enqueues the kernel in `queue` and returns without waiting for it. Stores its event in `event` if that is
    /// given.
    ///
    /// # Errors
    /// A queue of another context; the driver fails; the device is lost.
    pub(crate) fn launch(&self, queue: &Queue, event: Option<&mut Option<Event>>) -> Result<(), LaunchError> {
        self.kernel.enqueue(&self.handle, queue, &self.range, event)
    }
}
