//! Why a ceiling could not be measured.

use thiserror::Error;
use tripipe_launch::ExecuteError;

/// Why a ceiling is missing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PeakError {
    /// The device lacks the measured feature.
    #[error("not offered: {what}")]
    NotOffered {
        /// What is missing.
        what: String,
    },
    /// The kernel computed a wrong result, so its time is meaningless.
    #[error("wrong result: {what}")]
    Wrong {
        /// What is wrong, and its location.
        what: String,
    },
    /// The device's clock did not move while the kernel ran.
    #[error("the device's clock shows no time passing")]
    Clock,
    /// The kernel did not run.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}
