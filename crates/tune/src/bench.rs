//! Measures one set of parameters.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tripipe_device::Probe;

use crate::{Problem, Trial};

/// How thoroughly a set of parameters is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// Timed runs, at most.
    pub runs: usize,
    /// Seconds that all runs may take, those of the reference kernel included, at most. At least one run is timed.
    pub seconds: f64,
    /// Seconds of the fastest parameters so far. A candidate that is clearly slower is dropped early.
    pub fastest: Option<f64>,
    /// [`crate::Times::relative_interval`] of the fastest parameters so far. The runs end once the candidate's interval
    /// is apart from it.
    pub rival: Option<[f64; 2]>,
    /// The runs end once the confidence interval is at most this fraction of the median.
    pub precision: f64,
}

impl Default for Effort {
    /// 30 runs, one second, a precision of 1 %.
    fn default() -> Self {
        Self { runs: 30, seconds: 1.0, fastest: None, rival: None, precision: 0.01 }
    }
}

/// Measures parameters for a problem.
pub trait Bench {
    /// The device that runs the kernels.
    fn probe(&self) -> &Probe;

    /// Verifies the result of the parameters, then times them. Everything that the parameters are to blame for, from a
    /// wrong result to a lost device, is an [`crate::Outcome`] of the trial.
    ///
    /// # Errors
    /// Nothing can be measured at all: the problem does not fit the device, or no device can be opened again.
    fn measure(&mut self, problem: &Problem, parameters: &str, effort: &Effort) -> Result<Trial, BenchError>;

    /// Times several sets of parameters in turns, until one of them is the fastest with confidence, or the effort is
    /// spent; `effort.runs` and `effort.seconds` are for each of them. Returns their trials in the same order.
    ///
    /// # Errors
    /// As [`Self::measure`].
    fn compare(
        &mut self,
        problem: &Problem,
        parameters: &[String],
        effort: &Effort,
    ) -> Result<Vec<Trial>, BenchError> {
        parameters.iter().map(|one| self.measure(problem, one, effort)).collect()
    }
}

/// Why nothing can be measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The problem cannot be set up on this device.
    #[error("{problem}: {reason}")]
    Problem {
        /// The problem.
        problem: String,
        /// What is wrong with it, and what to change.
        reason: String,
    },
    /// The device cannot be used any more.
    #[error("the device cannot be used: {0}")]
    Device(String),
}
