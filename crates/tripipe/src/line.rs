//! What was queued in a context, in order, and what became of it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tripipe_launch::{ExecuteError, Submission};

use crate::Error;

/// The operations of a context whose outcome nobody has looked at yet, in the order they run in, and the failures that nobody was told of.
#[derive(Default)]
pub(crate) struct Line(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// How many went before those that are queued.
    gone: u64,
    queued: VecDeque<Queued>,
    failures: Vec<Arc<Failure>>,
}

struct Queued {
    operation: &'static str,
    submission: Arc<dyn Submission>,
    /// Those whose results it reads.
    rests_on: Vec<Arc<Outcome>>,
    outcome: Arc<Outcome>,
}

/// What became of an operation, once that is known: whether its result, and all that it was computed of, is there.
#[derive(Default)]
pub(crate) struct Outcome(OnceLock<Option<Arc<Failure>>>);

/// An operation that failed after it was queued.
struct Failure {
    operation: &'static str,
    error: Arc<ExecuteError>,
    /// Somebody was given the error.
    told: AtomicBool,
}

/// Operations that are looked at in one go, once twice as many are queued.
const AT_ONCE: usize = 16;

/// Failures that are kept for whoever waits for all; the first ones stay.
const FAILURES: usize = 64;

impl Line {
    /// Notes what was queued, behind all that was before.
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
        // They run in order: when one is done, so are those before it.
        if inner.queued.len() >= 2 * AT_ONCE && inner.queued[AT_ONCE - 1].submission.is_done() {
            inner.look_at(AT_ONCE);
        }
        outcome
    }

    /// Waits until all that is queued has ended, well or not.
    pub(crate) fn settle(&self) {
        let (last, end) = {
            let inner = self.lock();
            let Some(last) = inner.queued.back() else { return };
            (Arc::clone(&last.submission), inner.gone + inner.queued.len() as u64)
        };
        // Not under the lock: others queue meanwhile. What came of it is looked at below.
        let _ = last.wait();
        let mut inner = self.lock();
        let count = end.saturating_sub(inner.gone);
        inner.look_at(count as usize);
    }

    /// The first failure that nobody was told of; those after it go with it.
    ///
    /// # Errors
    /// There is one.
    pub(crate) fn failure(&self) -> Result<(), Error> {
        let failures = std::mem::take(&mut self.lock().failures);
        let mut untold = failures.into_iter().filter(|failure| !failure.told.swap(true, Ordering::Relaxed));
        let first = untold.next();
        untold.for_each(drop);
        first.map_or(Ok(()), |failure| Err(failure.error()))
    }

    /// The outcome of an operation that has ended.
    ///
    /// # Errors
    /// It failed, or one whose result it read.
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Takes so many off the front, which have ended.
    fn look_at(&mut self, count: usize) {
        let count = count.min(self.queued.len());
        self.gone += count as u64;
        for Queued { operation, submission, rests_on, outcome } in self.queued.drain(..count) {
            let failure = match submission.wait() {
                Ok(()) => rests_on.iter().find_map(|before| before.0.get().cloned().flatten()),
                Err(error) => {
                    let failure =
                        Arc::new(Failure { operation, error: Arc::new(error), told: AtomicBool::new(false) });
                    self.failures.retain(|failure| !failure.told.load(Ordering::Relaxed));
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
    /// Whether it is known, and good.
    pub(crate) fn is_good(&self) -> bool {
        matches!(self.0.get(), Some(None))
    }

    /// # Errors
    /// It is known, and not good.
    pub(crate) fn result(&self) -> Result<(), Error> {
        match self.0.get() {
            Some(Some(failure)) => {
                failure.told.store(true, Ordering::Relaxed);
                Err(failure.error())
            }
            _ => Ok(()),
        }
    }
}

impl Failure {
    fn error(&self) -> Error {
        Error::Failed { operation: self.operation, source: Arc::clone(&self.error) }
    }
}
