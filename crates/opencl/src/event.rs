//! Events: whether a command ended, and when.

use cl3::event as cl;
use cl3::types::cl_event;
use tripipe_launch::Timing;

use crate::code::{CallError, Code};
use crate::handle::EventHandle;
use crate::info;

/// A command that was given to a queue.
pub struct Event(EventHandle);

impl Event {
    /// # Safety
    /// `raw` is a live event whose reference is given up by the caller.
    pub(crate) unsafe fn own(raw: cl_event) -> Self {
        // SAFETY: handed on.
        Self(unsafe { EventHandle::own(raw) })
    }

    /// Waits until the command ended.
    ///
    /// # Errors
    /// The command failed, or the device is gone.
    pub fn wait(&self) -> Result<(), CallError> {
        let waited = cl::wait_for_events(&[self.0.raw()]).map_err(CallError::at("clWaitForEvents"));
        // The wait only says that some command failed; the event itself knows why.
        self.outcome().and(waited)
    }

    /// What became of the command: its own error if it failed, `Ok` if it ended well or still runs.
    ///
    /// # Errors
    /// The command failed, or the driver does not answer.
    pub fn outcome(&self) -> Result<(), CallError> {
        match self.status()? {
            status if status < 0 => Err(CallError { call: "command", code: Code(status) }),
            _ => Ok(()),
        }
    }

    /// Whether the command has ended, well or not.
    ///
    /// # Errors
    /// The driver does not answer.
    pub fn is_done(&self) -> Result<bool, CallError> {
        Ok(self.status()? <= cl::CL_COMPLETE)
    }

    fn status(&self) -> Result<i32, CallError> {
        let answer = cl::get_event_data(self.0.raw(), cl::CL_EVENT_COMMAND_EXECUTION_STATUS)
            .map_err(CallError::at("clGetEventInfo"))?;
        Ok(info::number(&answer).map_or(cl::CL_QUEUED, |status| status as u32 as i32))
    }

    /// When the command was queued, submitted, started and ended.
    ///
    /// # Errors
    /// The queue does not profile, or the command has not ended.
    pub fn timing(&self) -> Result<Timing, CallError> {
        let at = |question| {
            cl::get_event_profiling_data(self.0.raw(), question)
                .map(|bytes| info::number(&bytes).unwrap_or(0))
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
