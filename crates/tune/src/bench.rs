//! Measures one set of parameters.

use thiserror::Error;

use crate::{Problem, Trial};

/// How thoroughly a set of parameters is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Timed runs, at most.
    pub runs: usize,
    /// Seconds that the timed runs may take, at most. At least one run is timed.
    pub seconds: f64,
    /// Seconds of the fastest parameters so far. A candidate that is clearly slower is dropped early.
    pub fastest: Option<f64>,
}

impl Default for Effort {
    /// 30 runs, one second.
    fn default() -> Self {
        Self { runs: 30, seconds: 1.0, fastest: None }
    }
}

/// Measures parameters for a problem.
pub trait Bench {
    /// Verifies the result of the parameters, then times them. Everything that the parameters are to blame for, from a
    /// wrong result to a lost device, is an [`crate::Outcome`] of the trial.
    ///
    /// # Errors
    /// Nothing can be measured at all: the problem does not fit the device, or no device can be opened again.
    fn measure(&mut self, problem: &Problem, parameters: &str, effort: &Effort) -> Result<Trial, BenchError>;
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
