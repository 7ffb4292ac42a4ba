//! Why a page cannot be made.

use thiserror::Error;

/// A file cannot be shown as a page.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageError {
    /// There is nothing in it.
    #[error("{file} is empty; save the output of a command with --format json in it")]
    Empty {
        /// The file.
        file: String,
    },
    /// It is not JSON, or ends early.
    #[error("{file}:{line}: not JSON: {reason}")]
    Syntax {
        /// The file.
        file: String,
        /// The line of the error, from 1.
        line: usize,
        /// What the parser says.
        reason: String,
    },
    /// It is JSON, but not a result of a command.
    #[error("{file}:{line}: not a result of a tripipe command with --format json")]
    Foreign {
        /// The file.
        file: String,
        /// The line where the value ends, from 1.
        line: usize,
    },
    /// A result of a command lacks what a page shows, or has it in another form.
    #[error("{file}:{line}: not a complete result of tripipe {command} --format json: {reason}")]
    Incomplete {
        /// The file.
        file: String,
        /// The line where the value ends, from 1.
        line: usize,
        /// The command.
        command: String,
        /// What is missing or wrong.
        reason: String,
    },
}
