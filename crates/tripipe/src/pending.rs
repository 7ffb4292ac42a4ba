//! Operations under way.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as Task, Poll, Waker};
use std::time::Instant;

use tripipe_launch::{Submission, Timing};

use crate::Error;
use crate::host_queue::HostTask;

/// An operation that was queued: wait for it with [`Pending::wait`] or `.await`, or drop it and let it run.
///
/// Operations of one [`crate::Context`] run in the order they were queued in, and reading a result waits for it, so
/// nothing has to be waited for but to learn of an error early. What the CPU path does in a device's place is done when the call
/// returns.
#[must_use = "an operation that fails says so only to whoever waits for it"]
pub struct Pending {
    submission: Arc<dyn Submission>,
    /// Set once a waker was handed on.
    waker: Option<Arc<Mutex<Waker>>>,
}

impl Pending {
    pub(crate) fn new(submission: Arc<dyn Submission>) -> Self {
        Self { submission, waker: None }
    }

    /// Of nothing to do.
    pub(crate) fn done() -> Self {
        Self::new(Arc::new(HostTask::over(Instant::now())))
    }

    pub(crate) fn submission(&self) -> &Arc<dyn Submission> {
        &self.submission
    }

    /// Whether it has ended, well or not. Does not wait.
    pub fn is_done(&self) -> bool {
        self.submission.is_done()
    }

    /// Waits until it ended.
    ///
    /// # Errors
    /// It failed; the device is gone.
    pub fn wait(self) -> Result<(), Error> {
        self.submission.wait()?;
        Ok(())
    }

    /// Waits until it ended; seconds on the device from its start to its end, time in the queue left out.
    ///
    /// # Errors
    /// It failed; the device is gone.
    pub fn seconds(self) -> Result<f64, Error> {
        Ok(Timing::span_seconds(&self.submission.timings()?))
    }
}

impl Pending {
    /// Waits until it ended; seconds as [`Self::seconds`], nothing where no times are taken.
    ///
    /// # Errors
    /// It failed; the device is gone.
    pub(crate) fn seconds_if_taken(self) -> Result<Option<f64>, Error> {
        self.submission.wait()?;
        Ok(self.submission.timings().ok().map(|timings| Timing::span_seconds(&timings)))
    }
}

impl Future for Pending {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Self::Output> {
        if self.submission.is_done() {
            return Poll::Ready(self.submission.wait().map_err(Error::from));
        }
        if let Some(waker) = &self.waker {
            waker.lock().unwrap_or_else(PoisonError::into_inner).clone_from(task.waker());
        } else {
            let waker = Arc::new(Mutex::new(task.waker().clone()));
            self.waker = Some(Arc::clone(&waker));
            self.submission.on_done(Box::new(move || {
                waker.lock().unwrap_or_else(PoisonError::into_inner).wake_by_ref();
            }));
        }
        // It may have ended between the question and the wish to be told.
        if self.submission.is_done() {
            Poll::Ready(self.submission.wait().map_err(Error::from))
        } else {
            Poll::Pending
        }
    }
}

impl std::fmt::Debug for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").field("done", &self.is_done()).finish()
    }
}
