//! Operations that have ended when they are queued.

#[cfg(feature = "cpu")]
use std::time::Instant;

use tripipe_launch::{ExecuteError, Submission, Timing};

/// An operation that has succeeded.
#[derive(Debug, Default)]
pub(crate) struct CompletedSubmission(Timing);

impl CompletedSubmission {
    /// One that began at `start` and has just ended.
    #[cfg(feature = "cpu")]
    pub(crate) fn begun(start: Instant) -> Self {
        let end_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Self(Timing { end_ns, ..Timing::default() })
    }
}

impl Submission for CompletedSubmission {
    fn wait(&self) -> Result<(), ExecuteError> {
        Ok(())
    }

    fn timings(&self) -> Result<Vec<Timing>, ExecuteError> {
        Ok(vec![self.0])
    }

    fn is_done(&self) -> bool {
        true
    }

    fn on_done(&self, call: Box<dyn FnOnce() + Send>) {
        call();
    }
}
