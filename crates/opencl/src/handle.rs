//! Owners of driver objects: each releases its object exactly once.

use std::sync::atomic::{AtomicUsize, Ordering};

use opencl_sys::{cl_command_queue, cl_context, cl_event, cl_kernel, cl_mem, cl_program, cl_sampler};

use crate::api::objects;

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Number of driver objects (contexts, queues, programs, kernels, memory objects, samplers, events, SVM allocations)
/// that this process holds through this crate. For leak checks.
pub fn live_objects() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// Counts a driver object that is not owned by one of the types below.
pub(crate) fn count_in() {
    LIVE.fetch_add(1, Ordering::Relaxed);
}

/// Undoes [`count_in`].
pub(crate) fn count_out() {
    LIVE.fetch_sub(1, Ordering::Relaxed);
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident($raw:ty) by $release:path, $call:literal;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name($raw);

        impl $name {
            /// Takes ownership of the reference that a create call returned.
            ///
            /// # Safety
            /// `raw` is a live object, and the caller gives up its reference.
            pub(crate) unsafe fn own(raw: $raw) -> Self {
                count_in();
                Self(raw)
            }

            /// The raw object, valid as long as `self`.
            pub(crate) fn raw(&self) -> $raw {
                self.0
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                count_out();
                // SAFETY: `own` received this reference, and it is released once, here.
                if let Err(code) = unsafe { $release(self.0) } {
                    // After a device was lost, drivers refuse even this; nothing more can be done.
                    tracing::debug!(call = $call, code = %crate::Code(code), "release failed");
                }
            }
        }

        // SAFETY: the OpenCL specification makes all calls on all objects thread-safe except clSetKernelArg on one
        // kernel, which `Kernel` guards with a lock.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}
    )*};
}

handles! {
    /// A context.
    ContextHandle(cl_context) by objects::release_context, "clReleaseContext";
    /// A command queue.
    QueueHandle(cl_command_queue) by objects::release_command_queue, "clReleaseCommandQueue";
    /// A program.
    ProgramHandle(cl_program) by objects::release_program, "clReleaseProgram";
    /// A kernel.
    KernelHandle(cl_kernel) by objects::release_kernel, "clReleaseKernel";
    /// A buffer or an image.
    MemHandle(cl_mem) by objects::release_mem_object, "clReleaseMemObject";
    /// A sampler.
    SamplerHandle(cl_sampler) by objects::release_sampler, "clReleaseSampler";
    /// An event.
    EventHandle(cl_event) by objects::release_event, "clReleaseEvent";
}
