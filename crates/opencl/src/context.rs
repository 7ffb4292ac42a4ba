//! Contexts, each on one device.

use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use opencl_sys as cl;
use opencl_sys::cl_context;
use thiserror::Error;
use tripipe_launch::locks::lock;

use crate::api::{objects, queries};
use crate::code::CallError;
use crate::devices::{Device, DevicesError};
use crate::handle::{ContextHandle, QueueHandle};
use crate::info;

/// Why an existing context or queue cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ContextError {
    /// There are no devices.
    #[error(transparent)]
    Devices(#[from] DevicesError),
    /// The device was not found by this crate: it is a sub-device, or belongs to another OpenCL library than the
    /// loaded one.
    #[error(
        "the device is not among those found; set {} to the library that it comes from",
        crate::library::VARIABLE
    )]
    UnknownDevice,
    /// The context is on other devices.
    #[error("the context is not on {device}")]
    OtherDevice {
        /// The device's name.
        device: String,
    },
    /// The queue is out of order.
    #[error("the command queue is out of order; make one without CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE")]
    OutOfOrder,
    /// The driver failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// A context on one device. Cheap to clone; may be used by any number of threads.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    handle: ContextHandle,
    device: Device,
    /// Queues that may have unfinished work. They are finished before the host accesses shared memory.
    queues: Mutex<Vec<Weak<QueueHandle>>>,
}

impl Context {
    /// Creates a context on `device`.
    ///
    /// # Errors
    /// The driver fails; out of memory; the device is lost.
    pub fn new(device: &Device) -> Result<Self, CallError> {
        // cl_context_properties: CL_CONTEXT_PLATFORM, the platform, end. Some drivers use the first platform if none
        // is given.
        let properties = [cl::CL_CONTEXT_PLATFORM, device.platform() as isize, 0];
        // SAFETY: the list ends with 0.
        let raw = unsafe { objects::create_context(device.id(), &properties) }
            .map_err(CallError::at("clCreateContext"))?;
        // SAFETY: just created, and owned by nobody else.
        let handle = unsafe { ContextHandle::own(raw) };
        Ok(Self(Arc::new(Inner { handle, device: device.clone(), queues: Mutex::default() })))
    }

    /// Wraps an existing context, to work with the objects of its creator. The context is retained here; the caller
    /// keeps its own reference.
    ///
    /// # Safety
    /// `context` is a live `cl_context` and `device` a `cl_device_id`, both of the OpenCL library that
    /// [`crate::library::load`] finds.
    ///
    /// # Errors
    /// No library; the context is not on the device; the device is not among [`crate::devices`], such as a sub-device
    /// (`clCreateSubDevices`); the driver fails.
    pub unsafe fn over(context: *mut c_void, device: *mut c_void) -> Result<Self, ContextError> {
        let device = crate::devices()?
            .into_iter()
            .find(|one| one.id() == device)
            .ok_or(ContextError::UnknownDevice)?;
        // SAFETY: the caller guarantees a live object.
        let devices = unsafe { queries::context_info(context, cl::CL_CONTEXT_DEVICES) }
            .map_err(CallError::at("clGetContextInfo"))?;
        if !info::sizes(&devices).contains(&(device.id() as usize)) {
            return Err(ContextError::OtherDevice { device: device.probe().name.clone() });
        }
        // SAFETY: the caller guarantees a live object.
        unsafe { objects::retain_context(context) }.map_err(CallError::at("clRetainContext"))?;
        // SAFETY: the reference just taken is given to the owner.
        let handle = unsafe { ContextHandle::own(context) };
        Ok(Self(Arc::new(Inner { handle, device, queues: Mutex::default() })))
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    pub(crate) fn raw(&self) -> cl_context {
        self.0.handle.raw()
    }

    /// Whether both are the same context, so that the objects of one may be used with the other.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Registers a new queue.
    pub(crate) fn add_queue(&self, queue: &Arc<QueueHandle>) {
        let mut queues = lock(&self.0.queues);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(queue));
    }

    /// Waits for all work of this context, on every queue except `except`.
    ///
    /// # Errors
    /// The error of the first queue that fails; the other queues are finished nevertheless.
    pub(crate) fn finish(&self, except: Option<&Arc<QueueHandle>>) -> Result<(), CallError> {
        // The lock is released before the wait, because another thread may make a queue meanwhile. What it enqueues
        // there cannot use an object that the caller holds exclusively.
        let _span = tripipe_trace::span("wait", || "finish other queues");
        let queues: Vec<_> = {
            let queues = lock(&self.0.queues);
            queues.iter().filter_map(Weak::upgrade).collect()
        };
        let mut outcome = Ok(());
        for queue in queues {
            if except.is_some_and(|except| Arc::ptr_eq(except, &queue)) {
                continue;
            }
            // SAFETY: live as long as its handle.
            let finished = unsafe { objects::finish(queue.raw()) }.map_err(CallError::at("clFinish"));
            outcome = outcome.and(finished);
        }
        outcome
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Context").field(&self.0.device).finish()
    }
}
