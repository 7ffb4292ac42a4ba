//! In-order command queues.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::cl_command_queue;

use crate::api::{commands, objects, queries};
use crate::code::CallError;
use crate::context::{Context, ContextError};
use crate::handle::QueueHandle;
use crate::info;
use crate::tape::{Call, Tape};

/// An in-order queue: commands run one after the other. Cheap to clone; clones are the same queue, and any number of
/// threads may use it.
#[derive(Clone)]
pub struct Queue {
    handle: Arc<QueueHandle>,
    context: Context,
    profiling: bool,
    tape: Option<Tape>,
}

impl Queue {
    /// A queue without profiling.
    ///
    /// # Errors
    /// The driver fails, or the device is lost.
    pub fn new(context: &Context) -> Result<Self, CallError> {
        Self::create(context, false)
    }

    /// A queue with profiling: its events have times ([`crate::Event::timing`]).
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_profiling(context: &Context) -> Result<Self, CallError> {
        Self::create(context, true)
    }

    /// Wraps an existing queue, with its context, so that commands are enqueued there, in order with those of its
    /// creator. The queue is retained here; the caller keeps its own reference.
    ///
    /// # Safety
    /// `queue` is a live `cl_command_queue` of the OpenCL library that [`crate::library::load`] finds.
    ///
    /// # Errors
    /// The queue is out of order; as [`Context::over`].
    pub unsafe fn over(queue: *mut c_void) -> Result<Self, ContextError> {
        // This loads the library.
        crate::devices()?;
        // SAFETY: the caller guarantees a live object.
        let ask = |question| unsafe { queries::command_queue_info(queue, question) };
        let ask = |question| ask(question).map_err(CallError::at("clGetCommandQueueInfo"));
        let pointer = |question| Ok::<_, CallError>(info::number(&ask(question)?).unwrap_or(0) as usize);
        let properties = info::number(&ask(cl::CL_QUEUE_PROPERTIES)?).unwrap_or(0);
        if properties & cl::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0 {
            return Err(ContextError::OutOfOrder);
        }
        let (context, device) = (pointer(cl::CL_QUEUE_CONTEXT)?, pointer(cl::CL_QUEUE_DEVICE)?);
        // SAFETY: the driver says that the live queue has this context and this device, so both are live.
        let context = unsafe { Context::over(context as *mut c_void, device as *mut c_void) }?;
        // SAFETY: the caller guarantees a live object.
        unsafe { objects::retain_command_queue(queue) }.map_err(CallError::at("clRetainCommandQueue"))?;
        // SAFETY: the reference just taken is given to the owner.
        let handle = Arc::new(unsafe { QueueHandle::own(queue) });
        context.add_queue(&handle);
        let profiling = properties & cl::CL_QUEUE_PROFILING_ENABLE != 0;
        Ok(Self { handle, context, profiling, tape: None })
    }

    /// Enqueues a marker: its event (`cl_event`) completes once all commands before it have ended. The caller owns the event and
    /// releases it with `clReleaseEvent`.
    ///
    /// # Errors
    /// The driver fails, or the device is lost.
    pub fn marker(&self) -> Result<*mut c_void, CallError> {
        // SAFETY: live as long as its handle.
        unsafe { commands::enqueue_marker(self.raw()) }.map_err(CallError::at("clEnqueueMarkerWithWaitList"))
    }

    fn create(context: &Context, profiling: bool) -> Result<Self, CallError> {
        let device = context.device();
        let tape = Tape::of_queue(device);
        // A recording needs times, whether or not the caller does.
        let bits: cl::cl_command_queue_properties =
            if profiling || tape.is_some() { cl::CL_QUEUE_PROFILING_ENABLE } else { 0 };
        let (call, raw) = if device.version() >= (2, 0) {
            let properties = [cl::cl_queue_properties::from(cl::CL_QUEUE_PROPERTIES), bits, 0];
            // SAFETY: context and device are live and belong together; the list ends with 0.
            let raw = unsafe {
                objects::create_command_queue_with_properties(context.raw(), device.id(), &properties)
            };
            ("clCreateCommandQueueWithProperties", raw)
        } else {
            // The only such call in OpenCL 1.x.
            // SAFETY: as above.
            let raw = unsafe { objects::create_command_queue(context.raw(), device.id(), bits) };
            ("clCreateCommandQueue", raw)
        };
        let raw = raw.map_err(CallError::at(call))?;
        // SAFETY: just created.
        let handle = Arc::new(unsafe { QueueHandle::own(raw) });
        context.add_queue(&handle);
        Ok(Self { handle, context: context.clone(), profiling, tape })
    }

    /// The context it belongs to.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Whether its events have times.
    pub fn profiles(&self) -> bool {
        self.profiling
    }

    /// Submits all enqueued commands to the device, without waiting.
    ///
    /// # Errors
    /// The device is lost, or out of resources.
    pub fn flush(&self) -> Result<(), CallError> {
        // SAFETY: live as long as its handle.
        unsafe { objects::flush(self.raw()) }.map_err(CallError::at("clFlush"))
    }

    /// Waits until all enqueued commands have ended.
    ///
    /// # Errors
    /// The device is lost, or a command failed in a way that the driver reports here.
    pub fn finish(&self) -> Result<(), CallError> {
        let _span = tripipe_trace::span("wait", || "finish");
        // SAFETY: live as long as its handle.
        unsafe { objects::finish(self.raw()) }.map_err(CallError::at("clFinish"))
    }

    /// Begins a call that enqueues a command, for a recording of it.
    pub(crate) fn call(&self) -> Call {
        Tape::call(self.tape)
    }

    /// Whether its commands are recorded in a trace.
    pub(crate) fn is_recorded(&self) -> bool {
        self.tape.is_some()
    }

    pub(crate) fn raw(&self) -> cl_command_queue {
        self.handle.raw()
    }

    pub(crate) fn handle(&self) -> &Arc<QueueHandle> {
        &self.handle
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("context", &self.context)
            .field("profiling", &self.profiling)
            .finish_non_exhaustive()
    }
}
