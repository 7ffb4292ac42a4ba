//! Errors of documents, with their locations.

use thiserror::Error;

/// A location in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// An error in a document, with its location.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{file}:{}:{}: {reason}", location.line, location.column)]
pub struct ReadError {
    /// The file's name, as given by the caller.
    pub file: String,
    /// The location.
    pub location: LineColumn,
    /// The cause.
    pub reason: Box<ReadReason>,
}

/// Why a document cannot be read.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ReadReason {
    /// The file is not TOML.
    #[error("not TOML: {message}")]
    Syntax {
        /// The message of the TOML parser.
        message: String,
    },
    /// A key that the table does not have.
    #[error("unknown key `{key}` in {table}{}; there are {}", suggestion(.nearest.as_deref()), .allowed.join(", "))]
    UnknownKey {
        /// The table that contains it.
        table: String,
        /// The key.
        key: String,
        /// A key of the table with a similar name.
        nearest: Option<String>,
        /// The keys of the table.
        allowed: Vec<&'static str>,
    },
    /// Exactly one of several keys is required, and none is present.
    #[error("{table} needs {}", either(.keys))]
    MissingKey {
        /// The table.
        table: String,
        /// The keys, one of which is required.
        keys: Vec<&'static str>,
    },
    /// Keys that exclude each other.
    #[error("{table} has both `{first}` and `{second}`; keep one")]
    Conflict {
        /// The table.
        table: String,
        /// A key.
        first: String,
        /// The other key.
        second: String,
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
    /// A value out of range.
    #[error("`{key}` is {found}, but must be {want}")]
    Impossible {
        /// The key.
        key: String,
        /// The value as written.
        found: String,
        /// The expected range.
        want: String,
    },
    /// A word that is not among the allowed ones.
    #[error("`{key}` is \"{found}\"{}; there are {}", suggestion(.nearest.as_deref()), .allowed.join(", "))]
    UnknownWord {
        /// The key.
        key: String,
        /// The word found.
        found: String,
        /// An allowed word with a similar name.
        nearest: Option<String>,
        /// The words allowed.
        allowed: Vec<String>,
    },
}

/// `, did you mean ...?` for a message; empty without a suggestion.
pub fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}

fn either(keys: &[&str]) -> String {
    match keys {
        [key] => format!("`{key}`"),
        keys => format!("one of {}", keys.join(", ")),
    }
}
