//! The operations queued in a context, in order, and their outcomes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tripipe_launch::locks::lock;
use tripipe_launch::{ExecuteError, Submission};

use crate::error::Fault;
use crate::{Error, process};

/// The operations of a context whose outcome was not looked at yet, in the order they run in, and the failures that
/// were not reported yet.
#[derive(Default)]
pub(crate) struct OperationQueue(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The number of operations removed from the front of the queue so far.
    gone: u64,
    queued: VecDeque<Queued>,
    failures: Vec<Arc<Failure>>,
}

struct Queued {
    operation: &'static str,
    submission: Arc<dyn Submission>,
    /// The outcomes of the operations whose results it reads.
    rests_on: Vec<Arc<Outcome>>,
    outcome: Arc<Outcome>,
}

/// The outcome of an operation, once known: whether its result, and everything it was computed from, is valid.
#[derive(Default)]
pub(crate) struct Outcome(OnceLock<Option<Arc<Failure>>>);

/// An operation that failed after it was queued.
struct Failure {
    operation: &'static str,
    error: Arc<ExecuteError>,
    /// Whether the error was reported.
    reported: AtomicBool,
}

/// The number of operations that are looked at together, once twice as many are queued.
const AT_ONCE: usize = 16;

/// The number of failures retained for a call that waits for everything; the first ones are retained.
const FAILURES: usize = 64;

impl OperationQueue {
    /// Adds a queued operation after all earlier ones.
    pub(crate) fn add(
        &self,
        operation: &'static str,
        submission: &Arc<dyn Submission>,
        rests_on: Vec<Arc<Outcome>>,
    ) -> Arc<Outcome> {
        let outcome = Arc::new(Outcome::default());
        let queued =
            Queued { operation, submission: Arc::clone(submission), rests_on, outcome: Arc::clone(&outcome) };
        let mut inner = self.lock();
        inner.queued.push_back(queued);
        // Operations run in order: when one is done, so are those before it.
        if inner.queued.len() >= 2 * AT_ONCE && inner.queued[AT_ONCE - 1].submission.is_done() {
            inner.look_at(AT_ONCE);
        }
        outcome
    }

    /// Waits until all queued operations have ended, whether they succeeded or failed.
    ///
    /// # Errors
    /// They were queued by the process that this one was forked from, and never end here.
    pub(crate) fn settle(&self) -> Result<(), Error> {
        let (last, end) = {
            let inner = self.lock();
            let Some(last) = inner.queued.back() else { return Ok(()) };
            process::check()?;
            (Arc::clone(&last.submission), inner.gone + inner.queued.len() as u64)
        };
        // Not under the lock: other threads may queue operations meanwhile. The outcome is looked at below.
        let _ = last.wait();
        let mut inner = self.lock();
        let count = end.saturating_sub(inner.gone);
        inner.look_at(count as usize);
        Ok(())
    }

    /// The first failure that was not reported; those after it are discarded.
    ///
    /// # Errors
    /// There is an unreported failure.
    pub(crate) fn failure(&self) -> Result<(), Error> {
        let failures = std::mem::take(&mut self.lock().failures);
        let mut unreported =
            failures.into_iter().filter(|failure| !failure.reported.swap(true, Ordering::Relaxed));
        let first = unreported.next();
        unreported.for_each(drop);
        first.map_or(Ok(()), |failure| Err(failure.error()))
    }

    /// The outcome of an operation that has ended.
    ///
    /// # Errors
    /// It failed, or an operation whose result it read failed.
    pub(crate) fn look_at(&self, outcome: &Outcome) -> Result<(), Error> {
        if outcome.0.get().is_none() {
            let mut inner = self.lock();
            let place =
                inner.queued.iter().position(|queued| std::ptr::eq(&raw const *queued.outcome, outcome));
            if let Some(place) = place {
                inner.look_at(place + 1);
            }
        }
        outcome.result()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.0)
    }
}

impl Inner {
    /// Removes `count` operations, which have ended, from the front.
    fn look_at(&mut self, count: usize) {
        let count = count.min(self.queued.len());
        self.gone += count as u64;
        for Queued { operation, submission, rests_on, outcome } in self.queued.drain(..count) {
            let failure = match submission.outcome() {
                Ok(()) => rests_on.iter().find_map(|before| before.0.get().cloned().flatten()),
                Err(error) => {
                    let failure = Arc::new(Failure {
                        operation,
                        error: Arc::new(error),
                        reported: AtomicBool::new(false),
                    });
                    self.failures.retain(|failure| !failure.reported.load(Ordering::Relaxed));
                    if self.failures.len() < FAILURES {
                        self.failures.push(Arc::clone(&failure));
                    }
                    Some(failure)
                }
            };
            outcome.0.get_or_init(|| failure);
        }
    }
}

impl Outcome {
    /// Whether the outcome is known and successful.
    pub(crate) fn is_good(&self) -> bool {
        matches!(self.0.get(), Some(None))
    }

    /// # Errors
    /// The outcome is known and a failure.
    pub(crate) fn result(&self) -> Result<(), Error> {
        match self.0.get() {
            Some(Some(failure)) => {
                failure.reported.store(true, Ordering::Relaxed);
                Err(failure.error())
            }
            _ => Ok(()),
        }
    }
}

impl Failure {
    fn error(&self) -> Error {
        Error::from(Fault::Failed { operation: self.operation, source: Arc::clone(&self.error) })
    }
}
