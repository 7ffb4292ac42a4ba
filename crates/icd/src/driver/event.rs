//! Events.

use std::sync::{Arc, Condvar, Mutex};

use opencl_sys as cl;
use opencl_sys::{cl_command_type, cl_event_info, cl_int, cl_profiling_info};
use tripipe_launch::locks::{lock, recovered};

use super::context::Context;
use super::failure::{Failure, Outcome};
use super::handle::{ApiObject, Handle, api_object, register};
use super::info::{self, Answer};
use super::queue::Queue;
use super::timeline::Times;

/// A callback of the application; it gets the status that the event has.
pub type EventCallback = Box<dyn FnOnce(cl_int) + Send>;

/// The event of a command, or of the application.
pub struct Event {
    handle: Handle,
    context: Arc<Context>,
    queue: Option<Arc<Queue>>,
    command: cl_command_type,
    state: Mutex<Progress>,
    changed: Condvar,
}

struct Progress {
    status: cl_int,
    times: Times,
    /// The callbacks, each with the status at which it is due.
    callbacks: Vec<(cl_int, EventCallback)>,
}

api_object!(Event, cl::CL_INVALID_EVENT, "event", |object| &object.context);

impl Event {
    fn new(
        context: Arc<Context>,
        queue: Option<Arc<Queue>>,
        command: cl_command_type,
        status: cl_int,
    ) -> Self {
        let state = Mutex::new(Progress { status, times: Times::default(), callbacks: Vec::new() });
        Self { handle: Handle::default(), context, queue, command, state, changed: Condvar::new() }
    }

    /// The event of a command, without references of the application.
    pub fn of_command(queue: &Arc<Queue>, command: cl_command_type) -> Arc<Self> {
        let context = Arc::clone(queue.owner());
        let event = Self::new(context, Some(Arc::clone(queue)), command, cl::CL_QUEUED);
        lock(&event.state).times[0] = queue.device().timeline.host_ns();
        register(event, 0)
    }

    /// An event that the application completes.
    pub fn of_user(context: Arc<Context>) -> Arc<Self> {
        register(Self::new(context, None, cl::CL_COMMAND_USER, cl::CL_SUBMITTED), 1)
    }

    /// Its context.
    pub fn owner(&self) -> &Arc<Context> {
        &self.context
    }

    /// The queue of its command.
    pub fn queue(&self) -> Option<&Arc<Queue>> {
        self.queue.as_ref()
    }

    /// `CL_QUEUED` to `CL_COMPLETE`, or the code of an error.
    pub fn status(&self) -> cl_int {
        lock(&self.state).status
    }

    /// Whether its command has ended, successfully or not.
    pub fn is_done(&self) -> bool {
        self.status() <= cl::CL_COMPLETE
    }

    /// When its command was enqueued on the virtual timeline.
    pub fn queued_ns(&self) -> u64 {
        lock(&self.state).times[0]
    }

    /// When its command ended on the virtual timeline.
    pub fn end_ns(&self) -> u64 {
        lock(&self.state).times[3]
    }

    /// Sets when its command ran.
    pub fn set_times(&self, times: Times) {
        lock(&self.state).times = times;
    }

    /// Sets a later status, and calls the callbacks that are due.
    pub fn advance(&self, status: cl_int) {
        let due = {
            let mut state = lock(&self.state);
            state.status = status;
            let (due, later) = state.callbacks.drain(..).partition(|(at, _)| status <= *at);
            state.callbacks = later;
            let due: Vec<(cl_int, EventCallback)> = due;
            due
        };
        self.changed.notify_all();
        for (at, callback) in due {
            callback(if status < 0 { status } else { at });
        }
    }

    /// Sets the status of an event of the application.
    ///
    /// # Errors
    /// Not such an event, a status that is neither complete nor an error, or it was set before.
    pub fn set_user_status(&self, status: cl_int) -> Outcome<()> {
        if self.command != cl::CL_COMMAND_USER {
            return Err(Failure::new(cl::CL_INVALID_EVENT, "the event was not made by clCreateUserEvent"));
        }
        if status > cl::CL_COMPLETE {
            return Err(Failure::new(cl::CL_INVALID_VALUE, "a user event becomes CL_COMPLETE or an error"));
        }
        // Two threads may set it at the same time.
        {
            let mut state = lock(&self.state);
            if state.status <= cl::CL_COMPLETE {
                return Err(Failure::new(
                    cl::CL_INVALID_OPERATION,
                    "the status of the user event was set before",
                ));
            }
            state.status = status;
        }
        self.advance(status);
        self.context.worker.wake();
        Ok(())
    }

    /// Adds a callback, which is called at once if it is due.
    ///
    /// # Errors
    /// Not a status that events reach.
    pub fn on_status(&self, at: cl_int, callback: EventCallback) -> Outcome<()> {
        if !(cl::CL_COMPLETE..=cl::CL_SUBMITTED).contains(&at) {
            return Err(Failure::new(
                cl::CL_INVALID_VALUE,
                "callbacks are for CL_SUBMITTED, CL_RUNNING, CL_COMPLETE",
            ));
        }
        let mut state = lock(&self.state);
        let status = state.status;
        if status <= at {
            drop(state);
            callback(if status < 0 { status } else { at });
        } else {
            state.callbacks.push((at, callback));
        }
        Ok(())
    }

    /// Waits until it is done, and returns its status.
    pub fn wait(&self) -> cl_int {
        let mut state = lock(&self.state);
        while state.status > cl::CL_COMPLETE {
            state = recovered(self.changed.wait(state));
        }
        if let Some(queue) = &self.queue {
            queue.device().timeline.wait(state.times[3]);
        }
        state.status
    }

    /// Answers `clGetEventInfo`.
    ///
    /// # Errors
    /// There is no such query.
    pub fn info(&self, query: cl_event_info) -> Outcome<Answer> {
        Ok(match query {
            cl::CL_EVENT_COMMAND_QUEUE => info::pointer(
                self.queue.as_ref().map_or(std::ptr::null_mut(), |queue| queue.handle().pointer()),
            ),
            cl::CL_EVENT_CONTEXT => info::pointer(self.context.handle().pointer()),
            cl::CL_EVENT_COMMAND_TYPE => info::number(self.command),
            cl::CL_EVENT_COMMAND_EXECUTION_STATUS => info::number(self.status()),
            cl::CL_EVENT_REFERENCE_COUNT => info::number(self.handle.references()),
            _ => {
                return Err(Failure::new(
                    cl::CL_INVALID_VALUE,
                    format!("{query:#x} is not a query of events"),
                ));
            }
        })
    }

    /// Answers `clGetEventProfilingInfo`.
    ///
    /// # Errors
    /// There is no such query, the queue has no profiling, or the command has not completed.
    pub fn profiling(&self, query: cl_profiling_info) -> Outcome<Answer> {
        let number = match query {
            cl::CL_PROFILING_COMMAND_QUEUED => 0,
            cl::CL_PROFILING_COMMAND_SUBMIT => 1,
            cl::CL_PROFILING_COMMAND_START => 2,
            cl::CL_PROFILING_COMMAND_END | cl::CL_PROFILING_COMMAND_COMPLETE => 3,
            _ => {
                return Err(Failure::new(
                    cl::CL_INVALID_VALUE,
                    format!("{query:#x} is not a time of commands"),
                ));
            }
        };
        let unavailable = |why| Err(Failure::new(cl::CL_PROFILING_INFO_NOT_AVAILABLE, why));
        if !self.queue.as_ref().is_some_and(|queue| queue.is_profiling()) {
            return unavailable("the queue was made without CL_QUEUE_PROFILING_ENABLE");
        }
        let state = lock(&self.state);
        if state.status != cl::CL_COMPLETE {
            return unavailable("the command has not completed");
        }
        Ok(info::number(state.times[number]))
    }
}

/// Waits for events of one context.
///
/// # Errors
/// No events, events of several contexts, or one of them failed.
pub fn wait_for(events: &[Arc<Event>]) -> Outcome<()> {
    let Some(first) = events.first() else {
        return Err(Failure::new(cl::CL_INVALID_VALUE, "there is no event to wait for"));
    };
    if events.iter().any(|event| !Arc::ptr_eq(&event.context, &first.context)) {
        return Err(Failure::new(cl::CL_INVALID_CONTEXT, "the events are of several contexts"));
    }
    let failed = events.iter().map(|event| event.wait()).filter(|status| *status < 0).count();
    if failed > 0 {
        let code = cl::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        return Err(Failure::new(code, format!("{failed} of the events failed")));
    }
    Ok(())
}
