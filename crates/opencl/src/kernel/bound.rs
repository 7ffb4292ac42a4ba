//! Kernels with bound arguments and range.

use std::ptr::{null, null_mut};

use tripipe_launch::NdRange;

use crate::event::Event;
use crate::handle::KernelHandle;
use crate::kernel::{Arg, Kernel, LaunchError, create};
use crate::queue::Queue;
use crate::recording::CommandKernelFn;

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

    /// Adds the kernel to a recording by the extension's function.
    ///
    /// # Safety
    /// `recording` is live, not final, and of a queue of the kernel's context.
    pub(crate) unsafe fn record(
        &self,
        command: CommandKernelFn,
        recording: opencl_sys::cl_command_buffer_khr,
    ) -> i32 {
        let range = &self.range;
        let (global, offset, local) = (range.global_size(), range.global_offset(), range.local_size());
        let local = local.as_ref().map_or(null(), |local| local.as_ptr());
        let dimensions = range.dimensions() as u32;
        // SAFETY: all arguments are set to live objects; the arrays have three elements and live for the call; the recording
        // is the caller's, and its only queue is used.
        unsafe {
            command(
                recording,
                null_mut(),
                null(),
                self.handle.raw(),
                dimensions,
                offset.as_ptr(),
                global.as_ptr(),
                local,
                0,
                null(),
                null_mut(),
                null_mut(),
            )
        }
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
