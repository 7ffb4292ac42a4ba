//! Why a data file cannot be read.

/// An error in a data file. A test reads the built-in files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The text is not TOML of the expected form.
    #[error("{message}")]
    Syntax {
        /// The parser's message, with line and column.
        message: String,
    },
    /// A recipe that cannot be read.
    #[error("[{section}] {work}: `{step}`: {reason}")]
    Recipe {
        /// The type.
        section: String,
        /// The operation.
        work: String,
        /// The step.
        step: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// A word that is not allowed in its position.
    #[error("[{section}]: `{word}` is not a valid {what}")]
    Word {
        /// The type.
        section: String,
        /// The word.
        word: String,
        /// What it should be.
        what: &'static str,
    },
}
