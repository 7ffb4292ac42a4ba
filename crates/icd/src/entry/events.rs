//! Events, markers and barriers.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::{cl_command_queue, cl_context, cl_event, cl_event_info, cl_int, cl_profiling_info, cl_uint};

use super::boundary::{asked, list, reported, submitted};
use crate::driver::context::Context;
use crate::driver::event::{Event, wait_for};
use crate::driver::failure::{Failure, Outcome, require};
use crate::driver::handle::{ApiObject as _, find};
use crate::driver::queue::{Queue, Waits};
use crate::driver::timeline::Span;

/// A command that does nothing.
fn nothing(queue: &Arc<Queue>, kind: u32, wait: Vec<Arc<Event>>, waits: Waits) -> Outcome<Arc<Event>> {
    reported(queue, queue.submit(kind, wait, waits, Box::new(|| Ok(Span::default()))))
}

constructor! {
    fn clCreateUserEvent(context: cl_context) {
        Ok(Event::of_user(find::<Context>(context)?).handle().pointer())
    }
}

references! { Event: clRetainEvent, clReleaseEvent; }

function! {
    fn clSetUserEventStatus(event: cl_event, status: cl_int) {
        let event = find::<Event>(event)?;
        reported(&event, event.set_user_status(status))
    }

    fn clWaitForEvents(count: cl_uint, events: *const cl_event) {
        require(count > 0 && !events.is_null(), cl::CL_INVALID_VALUE, "there is no event to wait for")?;
        let handles = list(events, count as usize, cl::CL_INVALID_VALUE)?;
        let events: Vec<Arc<Event>> = handles.into_iter().map(find::<Event>).collect::<Outcome<_>>()?;
        wait_for(&events)
    }

    fn clSetEventCallback(
        event: cl_event,
        at: cl_int,
        callback: Option<unsafe extern "C" fn(cl_event, cl_int, *mut c_void)>,
        user_data: *mut c_void,
    ) {
        let found = find::<Event>(event)?;
        let callback = callback.ok_or_else(|| Failure::new(cl::CL_INVALID_VALUE, "the callback is NULL"))?;
        let (handle, user_data) = (event as usize, user_data as usize);
        // SAFETY: the application passed a function for this, which may be called from any thread.
        let call = move |status| unsafe { callback(handle as *mut c_void, status, user_data as *mut c_void) };
        reported(&found, found.on_status(at, Box::new(call)))
    }

    fn clEnqueueMarker(queue: cl_command_queue, event: *mut cl_event) {
        let queue = find::<Queue>(queue)?;
        require(!event.is_null(), cl::CL_INVALID_VALUE, "there is no place for the event")?;
        submitted(&nothing(&queue, cl::CL_COMMAND_MARKER, Vec::new(), Waits::All)?, false, event)
    }

    fn clEnqueueBarrier(queue: cl_command_queue) {
        let queue = find::<Queue>(queue)?;
        nothing(&queue, cl::CL_COMMAND_BARRIER, Vec::new(), Waits::Barrier).map(drop)
    }

    fn clEnqueueWaitForEvents(queue: cl_command_queue, count: cl_uint, events: *const cl_event) {
        let queue = find::<Queue>(queue)?;
        require(count > 0 && !events.is_null(), cl::CL_INVALID_VALUE, "there is no event to wait for")?;
        let handles = list(events, count as usize, cl::CL_INVALID_VALUE)?;
        let wait: Vec<Arc<Event>> = handles.into_iter().map(find::<Event>).collect::<Outcome<_>>()?;
        nothing(&queue, cl::CL_COMMAND_BARRIER, wait, Waits::Barrier).map(drop)
    }
}

query! {
    fn clGetEventInfo(event: cl_event, query: cl_event_info) {
        asked::<Event>(event, |event| event.info(query))
    }

    fn clGetEventProfilingInfo(event: cl_event, query: cl_profiling_info) {
        asked::<Event>(event, |event| event.profiling(query))
    }
}

command! {
    fn clEnqueueMarkerWithWaitList(queue, wait; ) {
        let waits = if wait.is_empty() { Waits::All } else { Waits::Queue };
        queue.submit(cl::CL_COMMAND_MARKER, wait, waits, Box::new(|| Ok(Span::default())))
    }

    fn clEnqueueBarrierWithWaitList(queue, wait; ) {
        queue.submit(cl::CL_COMMAND_BARRIER, wait, Waits::Barrier, Box::new(|| Ok(Span::default())))
    }
}
