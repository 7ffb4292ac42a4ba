//! Errors in data files.

use thiserror::Error;

use crate::document::{LineColumn, ReadError, ReadReason, suggestion};

/// An error in a data file, with its location.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{file}:{}:{}: {reason}", location.line, location.column)]
#[non_exhaustive]
pub struct DataError {
    /// The file's name, as given by the caller.
    pub file: String,
    /// The location.
    pub location: LineColumn,
    /// The cause.
    pub reason: Box<DataReason>,
}

impl From<ReadError> for DataError {
    fn from(ReadError { file, location, reason }: ReadError) -> Self {
        Self { file, location, reason: Box::new((*reason).into()) }
    }
}

/// Why a data file is not a GPU model.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum DataReason {
    /// Not TOML, an unknown or missing key, or a value of the wrong type or out of range.
    #[error(transparent)]
    Read(#[from] ReadReason),
    /// A section that does not exist in models.
    #[error("unknown section [{section}]{}", suggestion(.nearest.as_deref()))]
    UnknownSection {
        /// Its name.
        section: String,
        /// A section with a similar name.
        nearest: Option<String>,
    },
    /// A section that every model (of this family) must have is missing.
    #[error("section [{section}] is missing")]
    MissingSection {
        /// Its name.
        section: &'static str,
    },
    /// A source that no `[sources]` table defines.
    #[error(
        "unknown source \"{id}\"{}; sources are defined in sources.toml or in the file's own [sources]",
        suggestion(.nearest.as_deref())
    )]
    UnknownSource {
        /// The source's key.
        id: String,
        /// A source with a similar key.
        nearest: Option<String>,
    },
    /// A value without a basis or source, neither its own nor its section's.
    #[error("`{key}` has no {what}, and neither has its section")]
    NoProvenance {
        /// The key.
        key: String,
        /// `basis` or `source`.
        what: &'static str,
    },
    /// Values that contradict each other.
    #[error("{message}")]
    Contradiction {
        /// The values and the contradiction.
        message: String,
    },
}
