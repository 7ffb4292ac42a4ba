//! Commands: what the worker runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use opencl_sys as cl;

use super::event::Event;
use super::failure::{Failure, Outcome};
use super::settings::Settings;
use super::timeline::Span;

/// What a command does; it returns how long that takes on the device.
pub type Action = Box<dyn FnOnce() -> Outcome<Span> + Send>;

/// A command of a queue.
pub struct Command {
    /// Its event.
    pub event: Arc<Event>,
    /// The events that it waits for because of the order of its queue.
    pub after: Vec<Arc<Event>>,
    /// The events of its wait list.
    pub wait: Vec<Arc<Event>>,
    /// What it does.
    pub action: Action,
}

impl Command {
    /// Whether all events that it waits for are done.
    pub fn is_ready(&self) -> bool {
        self.after.iter().chain(&self.wait).all(|event| event.is_done())
    }

    /// Runs it, and completes its event.
    pub fn run(self) {
        let Self { event, after, wait, action } = self;
        let mut has_run = false;
        let outcome = if wait.iter().any(|event| event.status() < 0) {
            let code = cl::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
            Err(Failure::new(code, "an event that the command waits for failed"))
        } else {
            event.advance(cl::CL_SUBMITTED);
            event.advance(cl::CL_RUNNING);
            has_run = true;
            catch_unwind(AssertUnwindSafe(action))
                .unwrap_or_else(|_| Err(Failure::new(cl::CL_OUT_OF_RESOURCES, "the command panicked")))
        };
        let ready_ns = wait.iter().chain(&after).map(|event| event.end_ns()).max().unwrap_or(0);
        let span = outcome.as_ref().ok().copied().unwrap_or_default();
        if let Some(queue) = event.queue() {
            event.set_times(queue.device().timeline.append(event.queued_ns(), ready_ns, span));
            if let (Err(failure), true) = (&outcome, has_run) {
                queue.fail(failure);
                Settings::current().print_first(failure);
            }
            queue.forget(&event);
        }
        if let Err(failure) = &outcome {
            event.owner().report(failure);
        }
        event.advance(outcome.map_or_else(|failure| failure.code, |_| cl::CL_COMPLETE));
    }
}
