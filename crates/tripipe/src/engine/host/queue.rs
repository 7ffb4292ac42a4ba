//! The queue of the CPU path: operations in order, on a thread of its own, or on one that waits for them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::thread;
use std::time::Instant;

use thiserror::Error;
use tripipe_launch::locks::{lock, recovered};
use tripipe_launch::{ExecuteError, Submission, Timing};

use crate::cpu::CpuError;
use crate::{Error, process};

/// Runs operations one after the other. Its thread is started with the first operation that is worth it and ends with the
/// queue. A thread that waits for an operation does what has not begun itself: the queue's thread may get no processor.
pub(crate) struct HostQueue {
    start: Instant,
    tasks: Arc<Tasks>,
}

/// The operations that have not begun, in order.
#[derive(Default)]
struct Tasks {
    queued: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    tasks: VecDeque<QueuedTask>,
    /// Whether one runs, on any thread.
    runs: bool,
    /// The number of threads that wait until none runs, besides that of the queue.
    waiters: usize,
    /// Whether the thread of the queue was started.
    has_thread: bool,
    /// Whether the queue is gone: its thread ends once nothing is left.
    ends: bool,
}

struct QueuedTask {
    name: &'static str,
    work: QueuedWork,
    state: Arc<HostTask>,
}

type QueuedWork = Box<dyn FnOnce() -> Result<(), CpuError> + Send>;

/// A queued operation of the CPU path.
pub(crate) struct HostTask {
    start: Instant,
    queued_ns: u64,
    queue: Weak<Tasks>,
    phase: Mutex<Phase>,
    done: Condvar,
}

enum Phase {
    Under(Vec<Box<dyn FnOnce() + Send>>),
    Over(Result<Timing, HostError>),
}

/// Why an operation of the CPU path failed.
#[derive(Clone, Debug, Error)]
pub(crate) enum HostError {
    #[error(transparent)]
    Cpu(#[from] CpuError),
    #[error("the operation was abandoned: {0}")]
    Panicked(String),
}

impl From<HostError> for ExecuteError {
    fn from(error: HostError) -> Self {
        Self::Backend { during: "an operation of the CPU path".to_owned(), source: Box::new(error) }
    }
}

/// Does the work of the CPU path; a panic is reported as a failure.
///
/// # Errors
/// The work failed.
pub(crate) fn guarded(work: impl FnOnce() -> Result<(), CpuError>) -> Result<(), HostError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(outcome) => Ok(outcome?),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(HostError::Panicked(said.unwrap_or("no reason given").to_owned()))
        }
    }
}

/// The result of work that the CPU path did in the call.
pub(crate) fn done(outcome: Result<(), HostError>) -> Result<(), Error> {
    match outcome {
        Err(HostError::Cpu(error)) => Err(error.into()),
        outcome => Ok(outcome.map_err(ExecuteError::from)?),
    }
}

impl HostQueue {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), tasks: Arc::default() }
    }

    /// Queues an operation, which runs whether or not those before it failed. A `small` operation that has nothing to
    /// wait for runs at once, on the calling thread: waking another would take longer.
    ///
    /// # Errors
    /// It needs the thread, which the child of a `fork` does not have.
    pub(crate) fn submit(
        &self,
        name: &'static str,
        small: bool,
        work: impl FnOnce() -> Result<(), CpuError> + Send + 'static,
    ) -> Result<Arc<HostTask>, Error> {
        let state = Arc::new(HostTask {
            start: self.start,
            queued_ns: nanoseconds(self.start),
            queue: Arc::downgrade(&self.tasks),
            phase: Mutex::new(Phase::Under(Vec::new())),
            done: Condvar::new(),
        });
        let mut queued = lock(&self.tasks.queued);
        let has_to_wait = queued.runs || !queued.tasks.is_empty();
        if has_to_wait || !small {
            process::check()?;
        }
        queued.tasks.push_back(QueuedTask { name, work: Box::new(work), state: Arc::clone(&state) });
        if (has_to_wait || !small) && (queued.has_thread || self.start_thread()) {
            queued.has_thread = true;
            drop(queued);
            self.tasks.changed.notify_one();
        } else {
            drop(queued);
            // The outcome is looked at elsewhere.
            let _ = state.finish();
        }
        Ok(state)
    }

    fn start_thread(&self) -> bool {
        let tasks = Arc::clone(&self.tasks);
        let builder = thread::Builder::new().name("tripipe-cpu-path".to_owned());
        builder.spawn(move || tasks.run_until_the_end()).is_ok()
    }
}

impl Drop for HostQueue {
    fn drop(&mut self) {
        lock(&self.tasks.queued).ends = true;
        self.tasks.changed.notify_all();
    }
}

impl Tasks {
    /// What the thread of the queue does.
    fn run_until_the_end(&self) {
        loop {
            let waits = |queued: &mut QueueState| queued.runs || (queued.tasks.is_empty() && !queued.ends);
            let queued = recovered(self.changed.wait_while(lock(&self.queued), waits));
            if queued.tasks.is_empty() {
                return;
            }
            self.run_next(queued);
        }
    }

    /// Runs operations that have not begun, and waits for those that have, until `is_done` or until none is left.
    fn run_until(&self, is_done: impl Fn() -> bool) {
        while !is_done() {
            let mut queued = lock(&self.queued);
            if queued.runs {
                let _span = tripipe_trace::span("wait", || "wait");
                queued.waiters += 1;
                queued = recovered(self.changed.wait_while(queued, |queued| queued.runs && !is_done()));
                queued.waiters -= 1;
            }
            if is_done() || !self.run_next(queued) {
                break;
            }
        }
    }

    /// Runs the next operation, if there is one and none runs; returns whether it did.
    fn run_next(&self, mut queued: MutexGuard<'_, QueueState>) -> bool {
        if queued.runs {
            return false;
        }
        let Some(task) = queued.tasks.pop_front() else { return false };
        queued.runs = true;
        drop(queued);
        task.run(self);
        true
    }
}

impl QueuedTask {
    fn run(self, queue: &Tasks) {
        let start_ns = nanoseconds(self.state.start);
        let span = tripipe_trace::span("CPU path", || self.name);
        let outcome = guarded(self.work);
        drop(span);
        let end_ns = nanoseconds(self.state.start);
        let queued_ns = self.state.queued_ns;
        let timing = Timing { queued_ns, submit_ns: queued_ns, start_ns, end_ns };
        let outcome = outcome.map(|()| timing);
        // A waiting thread that finds this one ended must not begin with a later one.
        let mut queued = lock(&queue.queued);
        let phase = std::mem::replace(&mut *lock(&self.state.phase), Phase::Over(outcome));
        queued.runs = false;
        let is_awaited = !queued.tasks.is_empty() || queued.waiters > 0 || queued.ends;
        drop(queued);
        if is_awaited {
            queue.changed.notify_all();
        }
        self.state.done.notify_all();
        let callbacks = if let Phase::Under(callbacks) = phase { callbacks } else { Vec::new() };
        for callback in callbacks {
            // A waker that panics is its owner's concern: the tasks queued behind it must still run.
            let _ = catch_unwind(AssertUnwindSafe(callback));
        }
    }
}

impl HostTask {
    /// Whether it has ended successfully.
    pub(crate) fn went_well(&self) -> bool {
        matches!(&*lock(&self.phase), Phase::Over(Ok(_)))
    }

    /// Waits until it has ended. Operations up to this one that have not begun are done by the calling thread.
    fn finish(&self) -> Result<Timing, HostError> {
        if let Some(tasks) = self.queue.upgrade() {
            tasks.run_until(|| self.is_done());
        }
        let phase = lock(&self.phase);
        let under = |phase: &mut Phase| matches!(phase, Phase::Under(_));
        let phase = recovered(self.done.wait_while(phase, under));
        match &*phase {
            Phase::Over(outcome) => outcome.clone(),
            Phase::Under(_) => Err(HostError::Panicked("it did not finish".to_owned())),
        }
    }
}

impl Submission for HostTask {
    fn wait(&self) -> Result<(), ExecuteError> {
        self.timings().map(drop)
    }

    fn timings(&self) -> Result<Vec<Timing>, ExecuteError> {
        Ok(vec![self.finish()?])
    }

    fn is_done(&self) -> bool {
        matches!(&*lock(&self.phase), Phase::Over(_))
    }

    fn on_done(&self, call: Box<dyn FnOnce() + Send>) {
        let mut phase = lock(&self.phase);
        match &mut *phase {
            Phase::Under(callbacks) => callbacks.push(call),
            Phase::Over(_) => {
                drop(phase);
                call();
            }
        }
    }
}

fn nanoseconds(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// As where the system gives the thread of the queue no processor: it is believed to be there.
    #[test]
    fn a_thread_that_waits_does_what_has_not_begun() {
        let queue = HostQueue::new();
        lock(&queue.tasks.queued).has_thread = true;
        let (tell, told) = channel();
        let submit = |number: usize| {
            let tell = tell.clone();
            let task = queue.submit("a test", false, move || {
                let _ = tell.send((number, thread::current().id()));
                Ok(())
            });
            task.unwrap()
        };
        let [_, second, third] = [0, 1, 2].map(submit);
        second.wait().unwrap();
        let own = thread::current().id();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [(0, own), (1, own)]);
        assert!(!third.is_done());
        // One that runs elsewhere is waited for, and what comes after it is done here.
        let (begin, begun) = channel();
        let (end, ended) = channel::<()>();
        let held = queue.submit("a test", false, move || {
            let _ = (begin.send(()), ended.recv());
            Ok(())
        });
        let held = held.unwrap();
        let last = submit(3);
        thread::scope(|scope| {
            let other = scope.spawn(|| held.wait());
            begun.recv().unwrap();
            let waits = scope.spawn(|| last.wait());
            while lock(&queue.tasks.queued).waiters == 0 {
                thread::yield_now();
            }
            drop(end);
            assert!(other.join().unwrap().is_ok() && waits.join().unwrap().is_ok());
        });
        assert!(third.is_done() && last.is_done());
    }

    /// A completion callback may panic; other operations still run.
    #[test]
    fn a_panicking_callback_does_not_stop_the_queue() {
        let queue = HostQueue::new();
        let (tell, told) = channel::<()>();
        let held = queue.submit("a test", false, move || {
            // Waits until the callback is registered.
            let _ = told.recv();
            Ok(())
        });
        let held = held.unwrap();
        held.on_done(Box::new(|| panic!("as it should")));
        let next = queue.submit("a test", false, || Ok(())).unwrap();
        tell.send(()).unwrap();
        assert!(held.wait().is_ok());
        assert!(next.wait().is_ok());
        assert!(queue.submit("a test", false, || Ok(())).unwrap().wait().is_ok());
    }
}
