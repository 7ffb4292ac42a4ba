//! A context: what belongs to one device.

use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use opencl_sys as cl;
use opencl_sys::cl_context;
use thiserror::Error;

use crate::api::{objects, queries};
use crate::code::CallError;
use crate::devices::{Device, DevicesError};
use crate::handle::{ContextHandle, QueueHandle};
use crate::info;

/// Why a context that exists cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ContextError {
    /// There are no devices.
    #[error(transparent)]
    Devices(#[from] DevicesError),
    /// The device is none that was found: a part of one, or of another OpenCL library than the one that was loaded.
    #[error("the device is none of those found; set {} to the library it is from", crate::library::VARIABLE)]
    UnknownDevice,
    /// The context has other devices.
    #[error("the context is not on {device}")]
    OtherDevice {
        /// The device's name.
        device: String,
    },
    /// The driver failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// A context over one device. Cheap to clone; may be used by any number of threads.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    handle: ContextHandle,
    device: Device,
    /// Queues that may have work under way; asked to finish before the host touches shared memory.
    queues: Mutex<Vec<Weak<QueueHandle>>>,
}

impl Context {
    /// A context of its own on `device`.
    ///
    /// # Errors
    /// The driver refuses; out of memory; the device is gone.
    pub fn new(device: &Device) -> Result<Self, CallError> {
        // cl_context_properties: CL_CONTEXT_PLATFORM, the platform, end. Named because some drivers take
        // the first platform when it is not.
        let properties = [cl::CL_CONTEXT_PLATFORM, device.platform() as isize, 0];
        // SAFETY: the list ends with 0.
        let raw = unsafe { objects::create_context(device.id(), &properties) }
            .map_err(CallError::at("clCreateContext"))?;
        // SAFETY: just created, and owned by nobody else.
        let handle = unsafe { ContextHandle::own(raw) };
        Ok(Self(Arc::new(Inner { handle, device: device.clone(), queues: Mutex::default() })))
    }

    /// A context that exists, for work with the objects of whoever made it. It is retained here, and the caller keeps
    /// a reference of its own.
    ///
    /// # Safety
    /// `context` is a live `cl_context` and `device` a `cl_device_id`, both of the OpenCL library that
    /// [`crate::library::load`] finds.
    ///
    /// # Errors
    /// No library; the context is not on the device; the device is none of [`crate::devices`], as a part of a device is
    /// (`clCreateSubDevices`); the driver fails.
    pub unsafe fn over(context: *mut c_void, device: *mut c_void) -> Result<Self, ContextError> {
        let device = crate::devices()?
            .into_iter()
            .find(|one| one.id() == device)
            .ok_or(ContextError::UnknownDevice)?;
        // SAFETY: live, as the caller says.
        let devices = unsafe { queries::context_info(context, cl::CL_CONTEXT_DEVICES) }
            .map_err(CallError::at("clGetContextInfo"))?;
        if !info::sizes(&devices).contains(&(device.id() as usize)) {
            return Err(ContextError::OtherDevice { device: device.probe().name.clone() });
        }
        // SAFETY: live, as the caller says.
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

    /// Whether both are the same context, so that one's objects may be used with the other's.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Remembers a new queue.
    pub(crate) fn add_queue(&self, queue: &Arc<QueueHandle>) {
        let mut queues = self.0.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(queue));
    }

    /// Waits for all work of this context, on every queue but `except`.
    ///
    /// # Errors
    /// The first queue that fails; the others are waited for nevertheless.
    pub(crate) fn finish(&self, except: Option<&Arc<QueueHandle>>) -> Result<(), CallError> {
        // Out of the lock before the wait: another thread may make a queue meanwhile. What it enqueues
        // there cannot be about an object the caller holds exclusively.
        let queues: Vec<_> = {
            let queues = self.0.queues.lock().unwrap_or_else(PoisonError::into_inner);
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
