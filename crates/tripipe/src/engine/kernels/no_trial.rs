//! What stands in for trials without the feature `cpu`: there is no CPU path to compare with.

use crate::engine::Core;
use crate::explanation::RunnerUp;

/// The times of an operation on the device and on the CPU path; there are none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Trial {}

impl Trial {
    /// The alternative that was not taken.
    pub(crate) fn runner_up(&self, _: &Core, _: &str) -> RunnerUp {
        match *self {}
    }
}
