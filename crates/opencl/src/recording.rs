//! Launches that are recorded once and enqueued together: `cl_khr_command_buffer`.

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use opencl_sys as cl;
use opencl_sys::{CL_SUCCESS, cl_int};

use crate::api::{self, queries};
use crate::code::{CallError, Code};
use crate::event::Event;
use crate::handle::{count_in, count_out};
use crate::info;
use crate::kernel::BoundKernel;
use crate::queue::Queue;

const EXTENSION: &str = "cl_khr_command_buffer";
/// `CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR`, and its bit for buffers that are enqueued again before they have ended.
const CAPABILITIES: u32 = 0x12A9;
const SIMULTANEOUS_USE: u64 = 1 << 2;
/// `CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR`.
const FLAG_SIMULTANEOUS_USE: u64 = 1;

/// Launches in a queue, which the driver has prepared. Clears nothing, copies nothing: each replay reads memory as it is
/// then.
pub(crate) struct Recording {
    raw: cl::cl_command_buffer_khr,
    queue: Queue,
    functions: RecordingCalls,
}

/// The functions of the extension that a recording needs later.
#[derive(Clone, Copy)]
struct RecordingCalls {
    enqueue: EnqueueFn,
    release: ReleaseFn,
}

type CreateFn = unsafe extern "C" fn(
    cl::cl_uint,
    *const cl::cl_command_queue,
    *const cl::cl_command_buffer_properties_khr,
    *mut cl_int,
) -> cl::cl_command_buffer_khr;
type FinalizeFn = unsafe extern "C" fn(cl::cl_command_buffer_khr) -> cl_int;
type ReleaseFn = FinalizeFn;
type EnqueueFn = unsafe extern "C" fn(
    cl::cl_uint,
    *mut cl::cl_command_queue,
    cl::cl_command_buffer_khr,
    cl::cl_uint,
    *const cl::cl_event,
    *mut cl::cl_event,
) -> cl_int;
pub(crate) type CommandKernelFn = unsafe extern "C" fn(
    cl::cl_command_buffer_khr,
    cl::cl_command_queue,
    *const cl::cl_command_properties_khr,
    cl::cl_kernel,
    cl::cl_uint,
    *const usize,
    *const usize,
    *const usize,
    cl::cl_uint,
    *const cl::cl_sync_point_khr,
    *mut cl::cl_sync_point_khr,
    *mut cl::cl_mutable_command_khr,
) -> cl_int;

/// The function of an extension; `None` if the platform does not have it.
macro_rules! extension {
    ($queue:expr, $name:literal, $type:ty) => {{
        let name = CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()).ok();
        let platform = $queue.context().device().platform();
        let address = name.and_then(|name| api::extension(platform, name));
        address.map(|address| {
            // SAFETY: the driver reports this address for the function, and the extension defines its type.
            unsafe { std::mem::transmute::<*mut std::ffi::c_void, $type>(address.as_ptr()) }
        })
    }};
}

impl Recording {
    /// Records launches for a queue; `None` if the driver has no command buffers that may be enqueued again before they have
    /// ended. The owner keeps the kernels' memory alive.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn new(queue: &Queue, kernels: &[BoundKernel]) -> Result<Option<Self>, CallError> {
        let device = queue.context().device();
        let offers = device.probe().has_extension(EXTENSION)
            && queries::device_info(device.id(), CAPABILITIES)
                .ok()
                .and_then(|bytes| info::number(&bytes))
                .is_some_and(|capabilities| capabilities & SIMULTANEOUS_USE != 0);
        if !offers || kernels.is_empty() {
            return Ok(None);
        }
        let found = (
            extension!(queue, "clCreateCommandBufferKHR", CreateFn),
            extension!(queue, "clCommandNDRangeKernelKHR", CommandKernelFn),
            extension!(queue, "clFinalizeCommandBufferKHR", FinalizeFn),
            extension!(queue, "clEnqueueCommandBufferKHR", EnqueueFn),
            extension!(queue, "clReleaseCommandBufferKHR", ReleaseFn),
        );
        let (Some(create), Some(command), Some(finalize), Some(enqueue), Some(release)) = found else {
            return Ok(None);
        };
        let raw_queue = queue.raw();
        let properties = [cl::CL_COMMAND_BUFFER_FLAGS_KHR, FLAG_SIMULTANEOUS_USE, 0];
        let mut code = CL_SUCCESS;
        // SAFETY: one live queue; the list ends with 0; both live for the call.
        let raw = unsafe { create(1, &raw const raw_queue, properties.as_ptr(), &raw mut code) };
        let failed = |call, code| CallError { call, code: Code(code) };
        if code != CL_SUCCESS || raw.is_null() {
            return Err(failed("clCreateCommandBufferKHR", code));
        }
        count_in();
        let recording = Self { raw, queue: queue.clone(), functions: RecordingCalls { enqueue, release } };
        for kernel in kernels {
            // SAFETY: the recording is live and not final.
            let code = unsafe { kernel.record(command, recording.raw) };
            if code != CL_SUCCESS {
                return Err(failed("clCommandNDRangeKernelKHR", code));
            }
        }
        // SAFETY: live, and not final yet.
        match unsafe { finalize(recording.raw) } {
            CL_SUCCESS => Ok(Some(recording)),
            code => Err(failed("clFinalizeCommandBufferKHR", code)),
        }
    }

    /// Whether it was recorded for this queue.
    pub(crate) fn is_of(&self, queue: &Queue) -> bool {
        self.queue.raw() == queue.raw()
    }

    /// Enqueues all launches in its queue; the event is that of all of them.
    ///
    /// # Errors
    /// The driver fails; the device is lost.
    pub(crate) fn enqueue(&self) -> Result<Event, CallError> {
        let mut event = null_mut();
        // SAFETY: live and final; without queues it runs in that which it was recorded for, and without a wait list at once.
        let code = unsafe { (self.functions.enqueue)(0, null_mut(), self.raw, 0, null(), &raw mut event) };
        if code != CL_SUCCESS || event.is_null() {
            return Err(CallError { call: "clEnqueueCommandBufferKHR", code: Code(code) });
        }
        // SAFETY: the call returned a new event.
        Ok(unsafe { Event::own(event) })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        count_out();
        // SAFETY: created here, and released once.
        let code = unsafe { (self.functions.release)(self.raw) };
        if code != CL_SUCCESS {
            tracing::debug!(call = "clReleaseCommandBufferKHR", code = %Code(code), "release failed");
        }
    }
}

// SAFETY: the OpenCL specification makes all calls on all objects thread-safe except clSetKernelArg on one kernel, which is
// not called here; a finished recording does not change.
unsafe impl Send for Recording {}
// SAFETY: as above.
unsafe impl Sync for Recording {}
