//! Submitted launches and queued reads, and those that were complete when the call returned.

use std::any::Any;
use std::sync::Mutex;

use super::Timing;
use crate::locks::lock;
use crate::{Block, ExecuteError, Launch};

/// Submitted launches.
pub trait Submission: Send + Sync {
    /// Waits for the last of them. May be called repeatedly.
    ///
    /// # Errors
    /// A launch failed, or the device is lost.
    fn wait(&self) -> Result<(), ExecuteError>;

    /// Waits for the last of them; returns one [`Timing`] each, all on the same clock. May be called repeatedly.
    ///
    /// # Errors
    /// As [`Submission::wait`]; or no times were taken ([`crate::Executor::take_times`]).
    fn timings(&self) -> Result<Vec<Timing>, ExecuteError>;

    /// As [`Submission::wait`], for a caller that does not read what the launches wrote: a device need not make it visible.
    ///
    /// # Errors
    /// As [`Submission::wait`].
    fn outcome(&self) -> Result<(), ExecuteError> {
        self.wait()
    }

    /// Whether times are taken. Without them, [`Submission::timings`] is an error.
    fn has_times(&self) -> bool {
        true
    }

    /// Whether all have ended, successfully or not. Does not wait.
    fn is_done(&self) -> bool;

    /// Calls `call` once when all have ended, successfully or not; immediately if they already have.
    /// [`Submission::is_done`] is true by then. The call may happen on a driver thread: `call` should only wake a
    /// waiter, and must neither block nor use the executor.
    fn on_done(&self, call: Box<dyn FnOnce() + Send>);
}

/// The submission of an executor that has already waited.
pub(super) struct Done(pub(super) Vec<Timing>);

impl Submission for Done {
    fn wait(&self) -> Result<(), ExecuteError> {
        Ok(())
    }

    fn timings(&self) -> Result<Vec<Timing>, ExecuteError> {
        Ok(self.0.clone())
    }

    fn is_done(&self) -> bool {
        true
    }

    fn on_done(&self, call: Box<dyn FnOnce() + Send>) {
        call();
    }
}

/// A queued read.
pub trait Reading: Submission {
    /// The filled block, once. `None` before the read has ended, if it failed, and after the first call that returned
    /// it.
    fn take(&self) -> Option<Block>;
}

/// A read that was complete when the call returned.
pub(super) struct Read(pub(super) Mutex<Option<Block>>);

impl Submission for Read {
    fn wait(&self) -> Result<(), ExecuteError> {
        Ok(())
    }

    fn timings(&self) -> Result<Vec<Timing>, ExecuteError> {
        Ok(Vec::new())
    }

    fn is_done(&self) -> bool {
        true
    }

    fn on_done(&self, call: Box<dyn FnOnce() + Send>) {
        call();
    }
}

impl Reading for Read {
    fn take(&self) -> Option<Block> {
        lock(&self.0).take()
    }
}

/// Launches that an executor has checked and that can be submitted to it any number of times.
pub struct Prepared {
    launches: Vec<Launch>,
    own: Option<Box<dyn Any + Send + Sync>>,
}

impl Prepared {
    /// Launches without executor-specific data.
    pub fn new(launches: &[Launch]) -> Self {
        Self { launches: launches.to_vec(), own: None }
    }

    /// Launches with executor-specific data.
    pub fn with(launches: &[Launch], own: impl Any + Send + Sync) -> Self {
        Self { launches: launches.to_vec(), own: Some(Box::new(own)) }
    }

    /// The launches, in order.
    pub fn launches(&self) -> &[Launch] {
        &self.launches
    }

    /// The executor-specific data; `None` if it has another type, because it is from another kind of executor.
    pub fn own<T: Any>(&self) -> Option<&T> {
        self.own.as_ref()?.downcast_ref()
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("launches", &self.launches).finish_non_exhaustive()
    }
}
