//! Errors in data files.

use thiserror::Error;

/// An error in a data file, with its location.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{file}:{line}:{column}: {reason}")]
#[non_exhaustive]
pub struct DataError {
    /// The file's name, as given by the caller.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The cause.
    pub reason: DataReason,
}

/// Why a data file is not a GPU model.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum DataReason {
    /// The file is not TOML.
    #[error("not TOML: {message}")]
    Syntax {
        /// The message of the TOML parser.
        message: String,
    },
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
    /// A key that does not exist in the section.
    #[error("unknown key `{key}` in [{section}]{}", suggestion(.nearest.as_deref()))]
    UnknownKey {
        /// The section that contains it.
        section: String,
        /// The key.
        key: String,
        /// A key of the section with a similar name.
        nearest: Option<String>,
    },
    /// A required key is missing.
    #[error("`{key}` is missing in [{section}]")]
    MissingKey {
        /// The section that must contain it.
        section: String,
        /// The key.
        key: &'static str,
    },
    /// A value of the wrong type.
    #[error("`{key}` must be {want}, not {found}")]
    WrongType {
        /// The key.
        key: String,
        /// The expected type.
        want: &'static str,
        /// The TOML type found.
        found: &'static str,
    },
    /// A number that is impossible for a GPU.
    #[error("`{key}` is {found}, but must be {want}")]
    Impossible {
        /// The key.
        key: String,
        /// The number as written.
        found: String,
        /// The expected range.
        want: String,
    },
    /// A word that is not among the allowed ones.
    #[error("`{key}` is \"{found}\", but must be one of {}", .allowed.join(", "))]
    UnknownWord {
        /// The key.
        key: String,
        /// The word found.
        found: String,
        /// The words allowed.
        allowed: Vec<&'static str>,
    },
    /// A source that no `[sources]` table defines.
    #[error("unknown source \"{id}\"{}; sources stand in sources.toml or in the file's own [sources]", suggestion(.nearest.as_deref()))]
    UnknownSource {
        /// The source's key.
        id: String,
        /// A source with a similar key.
        nearest: Option<String>,
    },
    /// A value without a basis or source, neither its own nor its section's.
    #[error("`{key}` says nothing of its {what}, and neither does its section")]
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

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}
