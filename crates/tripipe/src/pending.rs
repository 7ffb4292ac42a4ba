//! Operations in progress.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context as Task, Poll, Waker};
use std::thread;

use tripipe_launch::locks::lock;
use tripipe_launch::{Submission, Timing};

use crate::engine::CompletedSubmission;
use crate::error::Fault;
use crate::operation_queue::{OperationQueue, Outcome};
use crate::{Error, process};

/// A queued operation: wait for it with [`Self::wait`] or `.await`, or drop it and let it run.
///
/// Operations of one [`crate::Context`] run in the order they were queued in, and reading a result waits for it, so
/// waiting is needed only to learn of an error early: the error of an operation that is not waited for is reported when
/// the result is read, and by [`crate::Context::finish`], as documented at [`crate::Context`]. An operation that the
/// CPU path does as a fallback for a device is done when the call returns.
///
/// Calls that store into something that exists return their event; a new object has it:
/// [`Vector::event`](crate::Vector::event), and so on. Clones are the same operation.
///
/// Wakers are called on a thread of the library. They may use the context, and wait.
pub struct Event {
    submission: Arc<dyn Submission>,
    /// Where its outcome is looked up; `None` for an operation that succeeded.
    outcome: Option<(Arc<OperationQueue>, Arc<Outcome>)>,
    /// Set once a waker was registered.
    waker: Option<Arc<Mutex<Waker>>>,
}

impl Event {
    /// An operation that has succeeded.
    pub(crate) fn ended(submission: Arc<dyn Submission>) -> Self {
        Self { submission, outcome: None, waker: None }
    }

    /// A queued operation.
    pub(crate) fn queued(
        submission: Arc<dyn Submission>,
        queue: &Arc<OperationQueue>,
        outcome: &Arc<Outcome>,
    ) -> Self {
        Self { outcome: Some((Arc::clone(queue), Arc::clone(outcome))), ..Self::ended(submission) }
    }

    /// An operation with nothing to do.
    pub(crate) fn done() -> Self {
        Self::ended(Arc::new(CompletedSubmission::default()))
    }

    /// The value that `make` returns when the operation has ended.
    pub(crate) fn then<T>(
        self,
        make: impl FnOnce(()) -> Result<T, Error> + Send + Sync + 'static,
    ) -> Pending<T> {
        Pending { event: self, value: Some(Box::new(move || make(()))) }
    }

    /// What is known of its outcome; `None` if it has succeeded.
    pub(crate) fn outcome(&self) -> Option<&Arc<Outcome>> {
        self.outcome.as_ref().map(|(_, outcome)| outcome)
    }

    pub(crate) fn submission(&self) -> &Arc<dyn Submission> {
        &self.submission
    }

    /// Whether it has ended, whether it succeeded or failed. Does not wait.
    pub fn is_done(&self) -> bool {
        self.submission.is_done()
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// It failed; [an operation whose result it reads](crate::ErrorKind::Dependency) failed; the device is gone.
    pub fn wait(self) -> Result<(), Error> {
        self.result()
    }

    /// The outcome, once it has ended.
    fn result(&self) -> Result<(), Error> {
        if !self.submission.is_done() {
            process::check()?;
        }
        let ended = self.submission.wait();
        let looked_up = self.outcome.as_ref().map_or(Ok(()), |(queue, outcome)| queue.look_at(outcome));
        // Its own error says more than the recorded one.
        ended?;
        looked_up
    }

    /// Waits until it has ended; returns the seconds on the device from its start to its end, without the time in the
    /// queue.
    ///
    /// # Errors
    /// As [`Self::wait`]; the context does not take times ([`crate::ContextBuilder::profiling`]).
    pub fn seconds(self) -> Result<f64, Error> {
        self.result()?;
        Ok(Timing::span_seconds(&self.submission.timings()?))
    }

    /// Waits until it has ended; returns seconds as [`Self::seconds`], or `None` when no times are taken.
    ///
    /// # Errors
    /// It failed; the device is gone.
    pub(crate) fn seconds_if_taken(self) -> Result<Option<f64>, Error> {
        self.result()?;
        Ok(self.submission.timings().ok().map(|timings| Timing::span_seconds(&timings)))
    }

    /// Whether it has ended; if not, `task` is woken when it has.
    fn poll_end(&mut self, task: &Task<'_>) -> Poll<()> {
        if self.submission.is_done() || process::check().is_err() {
            return Poll::Ready(());
        }
        if let Some(waker) = &self.waker {
            lock(waker).clone_from(task.waker());
        } else {
            let waker = Arc::new(Mutex::new(task.waker().clone()));
            self.waker = Some(Arc::clone(&waker));
            self.submission.on_done(Box::new(move || wake(waker)));
        }
        // It may have ended between the check above and the registration of the waker.
        if self.submission.is_done() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Clone for Event {
    fn clone(&self) -> Self {
        Self { submission: Arc::clone(&self.submission), outcome: self.outcome.clone(), waker: None }
    }
}

impl Future for Event {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Self::Output> {
        self.poll_end(task).map(|()| self.result())
    }
}

/// The value of a queued operation: [`Self::wait`] or `.await` returns it.
///
/// Sums, extremes and histograms are such values, and elements that [are read](crate::Vector::queue_read) in the order of
/// the queue. The operation runs even if its value is dropped.
#[must_use = "the value is returned by `wait` or `.await`"]
pub struct Pending<T> {
    event: Event,
    /// Makes the value once the operation has succeeded; `None` once it was taken.
    value: Option<Value<T>>,
}

type Value<T> = Box<dyn FnOnce() -> Result<T, Error> + Send + Sync>;

impl<T> Pending<T> {
    /// Replaces the value with one made from it when the operation has ended.
    pub(crate) fn then<U>(
        self,
        make: impl FnOnce(T) -> Result<U, Error> + Send + Sync + 'static,
    ) -> Pending<U>
    where
        T: 'static,
    {
        let Self { event, value } = self;
        let value = value.map(|value| -> Value<U> { Box::new(move || make(value()?)) });
        Pending { event, value }
    }

    /// Whether the operation has ended, whether it succeeded or failed. Does not wait.
    pub fn is_done(&self) -> bool {
        self.event.is_done()
    }

    /// Waits until the operation has ended; returns its value.
    ///
    /// # Errors
    /// As [`Event::wait`].
    pub fn wait(mut self) -> Result<T, Error> {
        self.give()
    }

    /// The value, once the operation has ended.
    fn give(&mut self) -> Result<T, Error> {
        self.event.result()?;
        self.value.take().map_or(Err(Error::from(Fault::ValueTaken)), |value| value())
    }

    /// The operation without its value.
    pub fn into_event(self) -> Event {
        self.event
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Self::Output> {
        self.event.poll_end(task).map(|()| self.give())
    }
}

/// Calls a waker on a dedicated thread: on the thread that reports the end of an operation, a driver's or the CPU
/// path's, a waker that waits would wait forever.
fn wake(waker: Arc<Mutex<Waker>>) {
    static WAKERS: OnceLock<Option<Sender<Arc<Mutex<Waker>>>>> = OnceLock::new();
    let call = |waker: Arc<Mutex<Waker>>| {
        // Not under the lock: the woken task may poll again.
        let waker = lock(&waker).clone();
        // A waker that panics is its owner's concern: others still have to be called.
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

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Event").field("done", &self.is_done()).finish()
    }
}

impl<T> std::fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").field("done", &self.is_done()).finish()
    }
}

#[cfg(all(test, feature = "cpu"))]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use std::sync::mpsc::Receiver;
    use std::sync::{Arc, Mutex};

    use tripipe_device::Probe;
    use tripipe_kernels::Role;
    use tripipe_kernels::filter::{Border, Chain, Interpolation};

    use crate::Event;
    use crate::cpu::Threads;

    use crate::gemm::Product;
    use crate::operation::{Host, Inputs, Offset, Operation, OperationSize, Refused, RunOn};
    use crate::{Context, Device, Elementwise, Extents, Image, Matrix, Size, Vector};

    /// An operation that ends when the test says so.
    fn holding(context: &Context, told: Receiver<()>) -> Event {
        let told = Mutex::new(told);
        let work = move |_: &Inputs<'_>, _: &mut [u8], _: Threads| {
            let _ = told.lock().map(|told| told.recv());
            Ok(())
        };
        let size =
            OperationSize { inputs: Vec::new(), result: (Role::Result, 1), written: 1, operations: 1.0 };
        let host = Host { name: "a test", work: Arc::new(work), small: false, size };
        let plan = |_: &Probe| Err(Refused::Lacks("kernels".to_owned()));
        let operation = Operation::new(context, plan, host, RunOn::Fastest).unwrap();
        let result = Vector::from_slice(context, &[0u8]).unwrap();
        operation.run(&[], result.memory(), Offset::default()).unwrap()
    }

    /// The queue is held until the test releases it: an operation that was waited for would wait forever.
    #[test]
    fn queuing_does_not_wait_on_the_cpu_path() {
        let context = Context::new(&Device::Cpu).unwrap();
        let mut x = Vector::from_slice(&context, &[3i32, 1, 2]).unwrap();
        let photo = Image::from_slice(&context, Size::square(4), 1, &[7u8; 16]).unwrap();
        let a = Matrix::from_slice(&context, Extents::new(1, 1), &[3.0f32]).unwrap();
        let chain = Chain::parse("box:3", Border::Replicate).unwrap();
        let (tell, told) = std::sync::mpsc::channel::<()>();
        let held = holding(&context, told);
        let extremes = (x.sum().unwrap(), x.dot(&x).unwrap(), x.min().unwrap(), x.max().unwrap());
        let read = x.queue_read().unwrap();
        x.write(vec![5, 5, 5]).unwrap();
        let written = x.event();
        let sum = Elementwise::new(&x).add_scalar(1).into_array().unwrap();
        let blurred = photo.filtered::<u8>(&chain).unwrap();
        let small = photo.resized(Size::square(2), Interpolation::Area).unwrap();
        let counts = photo.histogram().unwrap();
        let pixels = photo.view().queue_read().unwrap();
        let wide = photo.converted::<f32>(1.0, 0.5).unwrap();
        let uploaded = Vector::from_vec(&context, vec![1u8; 100_000]).unwrap();
        let product = Product::new(&a, &a).unwrap().into_matrix().unwrap();
        let events = [sum.event(), blurred.event(), small.event(), wide.event(), product.event()];
        assert!(!read.is_done() && !written.is_done() && !events.iter().any(Event::is_done));
        tell.send(()).unwrap();
        assert!(held.wait().is_ok());
        let (all, squares, least, most) = extremes;
        assert_eq!((all.wait().unwrap(), squares.wait().unwrap()), (6, 14));
        assert_eq!((least.wait().unwrap(), most.wait().unwrap()), (Some((1, 1)), Some((3, 0))));
        for event in events {
            event.wait().unwrap();
        }
        assert_eq!((read.wait().unwrap(), sum.to_vec().unwrap()), (vec![3, 1, 2], vec![6; 3]));
        written.wait().unwrap();
        assert_eq!(blurred.to_vec().unwrap(), [7; 16]);
        assert_eq!(small.to_vec().unwrap(), [7; 4]);
        assert_eq!((counts.wait().unwrap()[7], pixels.wait().unwrap()), (16, vec![7; 16]));
        assert_eq!(wide.to_vec().unwrap(), [7.5; 16]);
        assert_eq!(uploaded.sum().unwrap().wait().unwrap(), 100_000);
        assert_eq!(product.to_vec().unwrap(), [9.0]);
    }
}
