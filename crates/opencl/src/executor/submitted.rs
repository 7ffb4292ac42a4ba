//! Submitted launches and transfers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tripipe_launch::locks::lock;
use tripipe_launch::{Block, ExecuteError, Reading, Submission, Timing};

use crate::code::CallError;
use crate::devices::Device;
use crate::event::Event;
use crate::executor::error::call_error;
use crate::in_flight::InFlight;

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

    /// The times of a command that has ended.
    fn timing(&self, event: &Event) -> Result<Timing, ExecuteError> {
        if !self.timed {
            return Err(ExecuteError::NotOffered {
                what: "the time of launches that were submitted without timing".to_owned(),
                device: self.device.probe().name.clone(),
            });
        }
        event.timing().map_err(|error| self.fail(error))
    }

    /// Calls `call` when the command has ended.
    fn tell(&self, event: &Event, call: Box<dyn FnOnce() + Send>) {
        let over = Arc::clone(&self.over);
        event.on_done(Box::new(move || {
            over.store(true, Ordering::Release);
            call();
        }));
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

    fn outcome(&self) -> Result<(), ExecuteError> {
        let mut all = self.before.iter().chain(&self.events);
        all.try_for_each(Event::end).map_err(|error| self.fail(error))
    }

    fn has_times(&self) -> bool {
        self.timed
    }

    fn timings(&self) -> Result<Vec<Timing>, ExecuteError> {
        self.wait()?;
        self.events.iter().map(|event| self.timing(event)).collect()
    }

    fn is_done(&self) -> bool {
        self.over.load(Ordering::Acquire)
            || self.events.last().is_none_or(|event| event.is_done().unwrap_or(true))
    }

    fn on_done(&self, call: Box<dyn FnOnce() + Send>) {
        match self.events.last() {
            Some(event) => self.tell(event, call),
            None => call(),
        }
    }
}

/// A queued transfer between host memory and a memory object.
pub(super) struct Transferred {
    /// The block itself, if the transfer was complete when the call returned.
    pub(super) transfer: Result<InFlight, Mutex<Option<Block>>>,
    /// The properties of every submission; it has no events of its own.
    pub(super) of: Submitted,
}

impl Transferred {
    fn event(&self) -> Option<&Event> {
        self.transfer.as_ref().ok().map(InFlight::event)
    }
}

impl Submission for Transferred {
    fn wait(&self) -> Result<(), ExecuteError> {
        let own = self.event().map_or(Ok(()), |event| event.wait().and_then(|()| event.outcome()));
        self.of.wait().and(own.map_err(|error| self.of.fail(error)))
    }

    fn outcome(&self) -> Result<(), ExecuteError> {
        let own = self.event().map_or(Ok(()), Event::end);
        self.of.outcome().and(own.map_err(|error| self.of.fail(error)))
    }

    fn has_times(&self) -> bool {
        self.of.timed
    }

    fn timings(&self) -> Result<Vec<Timing>, ExecuteError> {
        self.wait()?;
        self.event().into_iter().map(|event| self.of.timing(event)).collect()
    }

    fn is_done(&self) -> bool {
        let done = |event: &Event| event.is_done().unwrap_or(true);
        self.of.over.load(Ordering::Acquire) || self.event().is_none_or(done)
    }

    fn on_done(&self, call: Box<dyn FnOnce() + Send>) {
        match self.event() {
            Some(event) => self.of.tell(event, call),
            None => call(),
        }
    }
}

impl Reading for Transferred {
    fn take(&self) -> Option<Block> {
        match &self.transfer {
            Ok(transfer) => transfer.take().ok().flatten(),
            Err(block) => lock(block).take(),
        }
    }
}
