//! Events: whether and when a command ended.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use opencl_sys as cl;
use opencl_sys::cl_event;
use tripipe_launch::Timing;

use crate::api::{objects, queries};
use crate::code::{CallError, Code};
use crate::handle::EventHandle;
use crate::info;

/// An enqueued command.
pub struct Event(EventHandle);

impl Event {
    /// # Safety
    /// `raw` is a live event whose reference is given up by the caller.
    pub(crate) unsafe fn own(raw: cl_event) -> Self {
        // SAFETY: handed on.
        Self(unsafe { EventHandle::own(raw) })
    }

    /// Another owner of the same event.
    pub(crate) fn again(&self) -> Result<Self, CallError> {
        // SAFETY: live as long as its handle.
        unsafe { objects::retain_event(self.0.raw()) }.map_err(CallError::at("clRetainEvent"))?;
        // SAFETY: the reference just taken is given to the owner.
        Ok(unsafe { Self::own(self.0.raw()) })
    }

    /// Waits until the command has ended.
    ///
    /// # Errors
    /// The command failed, or the device is lost.
    pub fn wait(&self) -> Result<(), CallError> {
        let _span = tripipe_trace::span("wait", || "wait");
        // SAFETY: live as long as its handle.
        let waited = unsafe { queries::wait_for_event(self.0.raw()) };
        waited.map_err(CallError::at("clWaitForEvents")).or_else(|waited| {
            // The wait only reports that some command failed; the event has the cause.
            self.outcome().and(Err(waited))
        })
    }

    /// The outcome of the command: its own error if it failed, `Ok` if it succeeded or still runs.
    ///
    /// # Errors
    /// The command failed, or the driver does not answer.
    pub fn outcome(&self) -> Result<(), CallError> {
        match self.status()? {
            status if status < 0 => Err(CallError { call: "command", code: Code(status) }),
            _ => Ok(()),
        }
    }

    /// The outcome of the command, after its end. Of a command that has ended already, only the status is asked for: that is
    /// faster than a wait, but what the command wrote need not be visible to the host.
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub(crate) fn end(&self) -> Result<(), CallError> {
        match self.status()? {
            cl::CL_COMPLETE => Ok(()),
            status if status < 0 => Err(CallError { call: "command", code: Code(status) }),
            _ => self.wait(),
        }
    }

    /// Whether the command has ended, successfully or not.
    ///
    /// # Errors
    /// The driver does not answer.
    pub fn is_done(&self) -> Result<bool, CallError> {
        Ok(self.status()? <= cl::CL_COMPLETE)
    }

    /// Calls `call` once when the command has ended, successfully or not; immediately if it already has. It is called
    /// on a thread of the driver or on the current one, and must neither block nor call the driver. If the driver does
    /// not accept the callback, this function waits for the command.
    pub fn on_done(&self, call: Box<dyn FnOnce() + Send>) {
        extern "C" fn ended(_: cl_event, _: i32, call: *mut c_void) {
            // SAFETY: the pointer comes from `Box::into_raw` below, and the driver calls this once.
            notify(*unsafe { Box::from_raw(call.cast::<Box<dyn FnOnce() + Send>>()) });
        }
        let call = Box::into_raw(Box::new(call));
        // SAFETY: live as long as its handle; the box is for `ended` alone, which is called once.
        let set = unsafe { queries::set_event_callback(self.0.raw(), cl::CL_COMPLETE, ended, call.cast()) };
        if let Err(code) = set {
            tracing::debug!(code = %Code(code), "clSetEventCallback failed, waiting instead");
            // An error of the wait is reported by `outcome`.
            let _ = self.wait();
            // SAFETY: the driver refused the callback, so nothing else has the pointer.
            notify(*unsafe { Box::from_raw(call) });
        }
    }

    /// Drops `kept` when the command has ended, and not before. Returns at once, unless the driver rejects callbacks.
    pub(crate) fn keep_until_done<K: Send + 'static>(&self, kept: K) {
        extern "C" fn ended<K>(_: cl_event, _: i32, kept: *mut c_void) {
            // SAFETY: the pointer comes from `Box::into_raw` below, and the driver calls this once.
            let kept = unsafe { Box::from_raw(kept.cast::<K>()) };
            notify(move || drop(kept));
        }
        if self.is_done() == Ok(true) {
            return;
        }
        let kept = Box::into_raw(Box::new(kept));
        // SAFETY: live as long as its handle; the box is for `ended` alone, which is called once.
        let set =
            unsafe { queries::set_event_callback(self.0.raw(), cl::CL_COMPLETE, ended::<K>, kept.cast()) };
        if let Err(code) = set {
            tracing::debug!(code = %Code(code), "clSetEventCallback failed, waiting instead");
            let _ = self.wait();
            if self.is_done() == Ok(true) {
                // SAFETY: the driver refused the callback, so nobody else has the pointer.
                drop(unsafe { Box::from_raw(kept) });
            } else {
                // The command may still use it: a leak is safer than a free.
                tracing::error!("a command has not ended and cannot be waited for; its memory is not freed");
            }
        }
    }

    fn status(&self) -> Result<i32, CallError> {
        // SAFETY: live as long as its handle.
        match unsafe { queries::event_info(self.0.raw(), cl::CL_EVENT_COMMAND_EXECUTION_STATUS) } {
            // The status is signed: errors are negative.
            Ok(bytes) => Ok(info::number(&bytes).map_or(cl::CL_QUEUED, |status| status as i32)),
            Err(code) => Err(CallError { call: "clGetEventInfo", code: Code(code) }),
        }
    }

    /// The times at which the command was queued, submitted, started and ended.
    ///
    /// # Errors
    /// The queue does not profile, or the command has not ended.
    pub fn timing(&self) -> Result<Timing, CallError> {
        let at = |question| {
            // SAFETY: live as long as its handle.
            unsafe { queries::event_profiling_info(self.0.raw(), question) }
                .map_err(CallError::at("clGetEventProfilingInfo"))
        };
        Ok(Timing {
            queued_ns: at(cl::CL_PROFILING_COMMAND_QUEUED)?,
            submit_ns: at(cl::CL_PROFILING_COMMAND_SUBMIT)?,
            start_ns: at(cl::CL_PROFILING_COMMAND_START)?,
            end_ns: at(cl::CL_PROFILING_COMMAND_END)?,
        })
    }
}

/// Calls `call` and catches a panic, because the caller may be C.
fn notify(call: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(call)).is_err() {
        tracing::error!("a callback for the end of a command panicked");
    }
}
