//! Operations under way.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context as Task, Poll, Waker};
use std::thread;
use std::time::Instant;

use tripipe_launch::{Submission, Timing};

use crate::Error;
use crate::host_queue::HostTask;
use crate::line::{Line, Outcome};

/// An operation that was queued: wait for it with [`Pending::wait`] or `.await`, or drop it and let it run.
///
/// Operations of one [`crate::Context`] run in the order they were queued in, and reading a result waits for it, so
/// nothing has to be waited for but to learn of an error early: one that nobody waits for is told by whoever reads the result, and
/// by [`crate::Context::finish`], as is written there. What the CPU path does in a device's place is done when the call returns.
///
/// Wakers are called on a thread of the library's own. They may use the context, and wait.
#[must_use = "whoever waits for an operation learns first that it failed; it can be dropped"]
pub struct Pending {
    submission: Arc<dyn Submission>,
    /// Where its outcome is looked up; nothing for one that has ended well.
    outcome: Option<(Arc<Line>, Arc<Outcome>)>,
    /// Set once a waker was handed on.
    waker: Option<Arc<Mutex<Waker>>>,
}

impl Pending {
    /// An operation that has ended well.
    pub(crate) fn ended(submission: Arc<dyn Submission>) -> Self {
        Self { submission, outcome: None, waker: None }
    }

    /// An operation in line.
    pub(crate) fn queued(submission: Arc<dyn Submission>, line: &Arc<Line>, outcome: &Arc<Outcome>) -> Self {
        let outcome = Some((Arc::clone(line), Arc::clone(outcome)));
        Self { submission, outcome, waker: None }
    }

    /// Of nothing to do.
    pub(crate) fn done() -> Self {
        Self::ended(Arc::new(HostTask::over(Instant::now())))
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
    /// It failed; [an operation whose result it reads](Error::Failed) did; the device is gone.
    pub fn wait(self) -> Result<(), Error> {
        self.result()
    }

    /// What came of it, once it has ended.
    fn result(&self) -> Result<(), Error> {
        let ended = self.submission.wait();
        let looked_up = self.outcome.as_ref().map_or(Ok(()), |(line, outcome)| line.look_at(outcome));
        // Its own error says more than that there was one.
        ended?;
        looked_up
    }

    /// Waits until it ended; seconds on the device from its start to its end, time in the queue left out.
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub fn seconds(self) -> Result<f64, Error> {
        self.result()?;
        Ok(Timing::span_seconds(&self.submission.timings()?))
    }
}

impl Pending {
    /// Waits until it ended; seconds as [`Self::seconds`], nothing where no times are taken.
    ///
    /// # Errors
    /// It failed; the device is gone.
    pub(crate) fn seconds_if_taken(self) -> Result<Option<f64>, Error> {
        self.result()?;
        Ok(self.submission.timings().ok().map(|timings| Timing::span_seconds(&timings)))
    }
}

impl Future for Pending {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Self::Output> {
        if self.submission.is_done() {
            return Poll::Ready(self.result());
        }
        if let Some(waker) = &self.waker {
            waker.lock().unwrap_or_else(PoisonError::into_inner).clone_from(task.waker());
        } else {
            let waker = Arc::new(Mutex::new(task.waker().clone()));
            self.waker = Some(Arc::clone(&waker));
            self.submission.on_done(Box::new(move || wake(waker)));
        }
        // It may have ended between the question and the wish to be told.
        if self.submission.is_done() { Poll::Ready(self.result()) } else { Poll::Pending }
    }
}

/// Calls a waker on a thread that is there for that: where the end of an operation is told of, on a driver's thread or the CPU path's, whoever
/// waited would wait for ever.
fn wake(waker: Arc<Mutex<Waker>>) {
    static WAKERS: OnceLock<Option<Sender<Arc<Mutex<Waker>>>>> = OnceLock::new();
    let call = |waker: Arc<Mutex<Waker>>| {
        // Not under the lock: whoever is woken may ask again.
        let waker = waker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // A waker that panics is its owner's affair: others are still to be called.
        let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
    };
    let wakers = WAKERS.get_or_init(|| {
        let (sender, wakers) = channel();
        let started = thread::Builder::new().name("tripipe-wakers".to_owned());
        started.spawn(move || wakers.into_iter().for_each(call)).is_ok().then_some(sender)
    });
    match wakers {
        Some(wakers) => {
            if let Err(back) = wakers.send(waker) {
                call(back.0);
            }
        }
        None => call(waker),
    }
}

impl std::fmt::Debug for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").field("done", &self.is_done()).finish()
    }
}
