//! The queue of the CPU path: operations in order, on a thread other than the caller's.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Instant;

use thiserror::Error;
use tripipe_launch::locks::{lock, recovered};
use tripipe_launch::{ExecuteError, Submission, Timing};

use crate::cpu::CpuError;
use crate::{Error, process};

/// Runs operations one after the other. The thread they run on is started with the first operation that is worth it and
/// ends with the queue.
pub(crate) struct HostQueue {
    start: Instant,
    line: Mutex<Worker>,
}

#[derive(Default)]
struct Worker {
    tasks: Option<Sender<QueuedTask>>,
    last: Option<Arc<HostTask>>,
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
        Self { start: Instant::now(), line: Mutex::default() }
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
            phase: Mutex::new(Phase::Under(Vec::new())),
            done: Condvar::new(),
        });
        let mut task = QueuedTask { name, work: Box::new(work), state: Arc::clone(&state) };
        let mut line = lock(&self.line);
        let waits = !small || line.last.as_ref().is_some_and(|last| !last.is_done());
        if waits {
            process::check()?;
        }
        let last = line.last.replace(Arc::clone(&state));
        if waits {
            match line.hand_over(task) {
                Ok(()) => return Ok(state),
                Err(back) => task = back,
            }
        }
        // The line stays locked, so nothing queued later overtakes it. The outcome of the last is checked elsewhere.
        if let Some(last) = last {
            let _ = last.finish();
        }
        task.run();
        Ok(state)
    }
}

impl Worker {
    /// Sends a task to the thread; returns it when there is none and none can be started.
    fn hand_over(&mut self, task: QueuedTask) -> Result<(), QueuedTask> {
        if self.tasks.is_none() {
            let (sender, tasks) = channel::<QueuedTask>();
            let run = move || tasks.into_iter().for_each(QueuedTask::run);
            let started = thread::Builder::new().name("tripipe-cpu-path".to_owned()).spawn(run);
            self.tasks = started.is_ok().then_some(sender);
        }
        match &self.tasks {
            Some(tasks) => tasks.send(task).map_err(|back| back.0),
            None => Err(task),
        }
    }
}

impl QueuedTask {
    fn run(self) {
        let start_ns = nanoseconds(self.state.start);
        let span = tripipe_trace::span("CPU path", || self.name);
        let outcome = guarded(self.work);
        drop(span);
        let end_ns = nanoseconds(self.state.start);
        let queued_ns = self.state.queued_ns;
        let timing = Timing { queued_ns, submit_ns: queued_ns, start_ns, end_ns };
        let outcome = outcome.map(|()| timing);
        let callbacks = match std::mem::replace(&mut *lock(&self.state.phase), Phase::Over(outcome)) {
            Phase::Under(callbacks) => callbacks,
            Phase::Over(_) => Vec::new(),
        };
        self.state.done.notify_all();
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

    fn finish(&self) -> Result<Timing, HostError> {
        let phase = lock(&self.phase);
        let waits = matches!(&*phase, Phase::Under(_));
        let _span = waits.then(|| tripipe_trace::span("wait", || "wait"));
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
    use super::*;

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
