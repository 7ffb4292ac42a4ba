//! Why a problem has no plan.

use thiserror::Error;

use crate::filter::FilterError;

/// Why a problem has no plan on a device.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// The device lacks something the step needs; the step is left out.
    #[error("needs {what}, which the device does not support")]
    NotOffered {
        /// What is missing.
        what: String,
    },
    /// The problem does not fit a limit of the device.
    #[error("{what} is over the device's limit of {limit}")]
    OverLimit {
        /// What is too large.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// An operand that does not match its extents.
    #[error("operand {what}: {found} were given")]
    Operand {
        /// The operand and what it should hold.
        what: String,
        /// How much was given.
        found: usize,
    },
    /// A filter that does not exist, or that does not fit these images.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// A parameter value that the kernel does not support.
    #[error("{parameter} is {found}: {want}")]
    Parameter {
        /// The parameter.
        parameter: &'static str,
        /// The requested value.
        found: String,
        /// The accepted values.
        want: String,
    },
}
