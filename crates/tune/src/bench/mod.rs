//! Measures one set of parameters: verified first, then timed in turns with a reference kernel, then verified again.

mod in_process;
mod kernel;
mod operands;
mod subject;

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tripipe_device::Probe;

pub use in_process::InProcess;
pub use operands::{sample, sample_image};

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
    /// Whether a reference kernel runs in turns with the candidate: the problem itself with the parameters that the
    /// library chooses.
    pub reference: bool,
}

impl Default for Effort {
    /// 30 runs, one second, a precision of 1 %, a reference kernel.
    fn default() -> Self {
        Self { runs: 30, seconds: 1.0, fastest: None, rival: None, precision: 0.01, reference: true }
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

/// The phases of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Phase {
    /// Operands and the expected result are made, once for each problem.
    SetUp,
    /// The reference kernel is built and run, once for each problem.
    Reference,
    /// The driver builds the candidate's kernels; operands are packed.
    Build,
    /// The candidate runs, and its result is checked.
    Verify,
    /// The candidate is timed.
    Time,
}

impl fmt::Display for Phase {
    /// What happens, e.g. `building the kernel`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::SetUp => "preparing the problem",
            Self::Reference => "running the reference kernel",
            Self::Build => "building the kernel",
            Self::Verify => "verifying the result",
            Self::Time => "timing the kernel",
        })
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
    /// The measurement was cancelled from outside.
    #[error("the measurement was cancelled")]
    Cancelled,
}
