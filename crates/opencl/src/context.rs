//! A context: what belongs to one device.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cl3::types::cl_context;

use crate::code::CallError;
use crate::devices::Device;
use crate::handle::{ContextHandle, QueueHandle};

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
        let properties = [cl3::context::CL_CONTEXT_PLATFORM, device.platform() as isize, 0];
        let raw =
            cl3::context::create_context(&[device.id()], properties.as_ptr(), None, std::ptr::null_mut())
                .map_err(CallError::at("clCreateContext"))?;
        // SAFETY: just created, and owned by nobody else.
        let handle = unsafe { ContextHandle::own(raw) };
        Ok(Self(Arc::new(Inner { handle, device: device.clone(), queues: Mutex::default() })))
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
            let finished = cl3::command_queue::finish(queue.raw()).map_err(CallError::at("clFinish"));
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
