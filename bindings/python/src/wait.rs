//! Waiting without the interpreter's lock, and with Ctrl-C.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tripipe::Pending;

use crate::error;

/// How often a wait looks for signals.
const SIGNALS: Duration = Duration::from_millis(50);
/// How long a wait polls before it sleeps: waking up takes longer than a small operation.
const POLLED: Duration = Duration::from_micros(100);

/// Wakes a thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for an operation. Ctrl-C ends the wait with `KeyboardInterrupt`, not the operation.
///
/// # Errors
/// The operation failed; a signal handler raised.
pub(crate) fn wait<T: Send + 'static>(py: Python<'_>, mut pending: Pending<T>) -> PyResult<T> {
    let start = Instant::now();
    while !pending.is_done() && start.elapsed() < POLLED {
        std::hint::spin_loop();
    }
    loop {
        let polled = py.detach(|| {
            let waker = Waker::from(Arc::new(Unpark(thread::current())));
            let polled = Pin::new(&mut pending).poll(&mut Context::from_waker(&waker));
            if polled.is_pending() {
                thread::park_timeout(SIGNALS);
            }
            polled
        });
        match polled {
            Poll::Ready(value) => return value.map_err(|failed| error::of(&failed)),
            Poll::Pending => py.check_signals()?,
        }
    }
}

/// Runs work without the interpreter's lock. Long work runs on a thread of its own: Ctrl-C then ends the wait with
/// `KeyboardInterrupt`, while the work runs to its end and frees what it owns.
///
/// # Errors
/// The work failed; a signal handler raised.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    is_long: bool,
    work: impl FnOnce() -> Result<T, tripipe::Error> + Send + 'static,
) -> PyResult<T> {
    if !is_long {
        return py.detach(work).map_err(|failed| error::of(&failed));
    }
    let (sender, receiver) = sync_channel(1);
    let started = thread::Builder::new().name("tripipe-python".to_owned()).spawn(move || {
        // The receiver is gone after Ctrl-C.
        let _ = sender.send(work());
    });
    started.map_err(|failed| error::Error::new_err(format!("no thread for the operation: {failed}")))?;
    let receiver = std::sync::Mutex::new(receiver);
    loop {
        let received = py.detach(|| {
            let receiver = receiver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            receiver.recv_timeout(SIGNALS)
        });
        match received {
            Ok(value) => return value.map_err(|failed| error::of(&failed)),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(error::Error::new_err("the operation ended without a result"));
            }
        }
    }
}
