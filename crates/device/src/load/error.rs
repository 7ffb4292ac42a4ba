//! What can be wrong with a data file.

use thiserror::Error;

/// A data file that cannot be a GPU model: where, and why.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{file}:{line}:{column}: {reason}")]
#[non_exhaustive]
pub struct DataError {
    /// The file's name as the caller gave it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Why.
    pub reason: DataReason,
}

/// Why a data file is no GPU model.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum DataReason {
    /// It is not TOML.
    #[error("not TOML: {message}")]
    Syntax {
        /// What the TOML parser says.
        message: String,
    },
    /// A section that no model has.
    #[error("unknown section [{section}]{}", suggestion(.nearest.as_deref()))]
    UnknownSection {
        /// Its name.
        section: String,
        /// A section with a similar name.
        nearest: Option<String>,
    },
    /// A section that every model (of this family) has is not there.
    #[error("section [{section}] is missing")]
    MissingSection {
        /// Its name.
        section: &'static str,
    },
    /// A key that the section does not have.
    #[error("unknown key `{key}` in [{section}]{}", suggestion(.nearest.as_deref()))]
    UnknownKey {
        /// Section it stands in.
        section: String,
        /// The key.
        key: String,
        /// A key of the section with a similar name.
        nearest: Option<String>,
    },
    /// A key that the section must have is not there.
    #[error("`{key}` is missing in [{section}]")]
    MissingKey {
        /// Section it should stand in.
        section: String,
        /// The key.
        key: &'static str,
    },
    /// A value of another type.
    #[error("`{key}` must be {want}, not {found}")]
    WrongType {
        /// The key.
        key: String,
        /// What it must be.
        want: &'static str,
        /// The TOML type found.
        found: &'static str,
    },
    /// A number no GPU can have.
    #[error("`{key}` is {found}, but must be {want}")]
    Impossible {
        /// The key.
        key: String,
        /// The number as written.
        found: String,
        /// What it must be.
        want: String,
    },
    /// A word that is none of the words allowed.
    #[error("`{key}` is \"{found}\", but must be one of {}", .allowed.join(", "))]
    UnknownWord {
        /// The key.
        key: String,
        /// The word found.
        found: String,
        /// The words allowed.
        allowed: Vec<&'static str>,
    },
    /// A source that no `[sources]` table explains.
    #[error("unknown source \"{id}\"{}; sources stand in sources.toml or in the file's own [sources]", suggestion(.nearest.as_deref()))]
    UnknownSource {
        /// The source's key.
        id: String,
        /// A source with a similar key.
        nearest: Option<String>,
    },
    /// A value with neither a basis of its own nor one from its section.
    #[error("`{key}` says nothing of its {what}, and neither does its section")]
    NoProvenance {
        /// The key.
        key: String,
        /// `basis` or `source`.
        what: &'static str,
    },
    /// Values that cannot be true together.
    #[error("{message}")]
    Contradiction {
        /// Which, and why not.
        message: String,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}
