//! Submitted launches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tripipe_launch::{ExecuteError, Submission, Timing};

use crate::code::CallError;
use crate::devices::Device;
use crate::event::Event;
use crate::executor::error::call_error;

/// Submitted launches, in order.
pub(super) struct Submitted {
    /// One event per launch.
    pub(super) events: Vec<Event>,
    /// Events of earlier commands that have no submission of their own.
    pub(super) before: Vec<Event>,
    pub(super) timed: bool,
    /// Set when the driver has reported the end, which may be before its status query reports it.
    pub(super) over: Arc<AtomicBool>,
    pub(super) device: Device,
    /// Bytes that the executor had allocated, for memory errors.
    pub(super) allocated_bytes: u64,
}

impl Submitted {
    fn fail(&self, error: CallError) -> ExecuteError {
        call_error(&self.device, self.allocated_bytes, error)
    }
}

impl Submission for Submitted {
    fn wait(&self) -> Result<(), ExecuteError> {
        // In order: when the last has ended, all have. The event of a failed kernel knows the cause better than the
        // wait for the last.
        let last = self.events.last().or(self.before.last());
        let waited = last.map_or(Ok(()), Event::wait);
        let all = self.before.iter().chain(&self.events).map(Event::outcome);
        all.chain([waited]).collect::<Result<(), _>>().map_err(|error| self.fail(error))
    }

    fn timings(&self) -> Result<Vec<Timing>, ExecuteError> {
        self.wait()?;
        if !self.timed {
            return Err(ExecuteError::NotOffered {
                what: "the time of launches that were submitted when no times were taken".to_owned(),
                device: self.device.probe().name.clone(),
            });
        }
        self.events.iter().map(|event| event.timing().map_err(|error| self.fail(error))).collect()
    }

    fn is_done(&self) -> bool {
        self.over.load(Ordering::Acquire)
            || self.events.last().is_none_or(|event| event.is_done().unwrap_or(true))
    }

    fn on_done(&self, call: Box<dyn FnOnce() + Send>) {
        match self.events.last() {
            Some(event) => {
                let over = Arc::clone(&self.over);
                event.on_done(Box::new(move || {
                    over.store(true, Ordering::Release);
                    call();
                }));
            }
            None => call(),
        }
    }
}
