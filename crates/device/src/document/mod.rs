//! TOML documents, read key by key, with errors that name file, line and column.
//!
//! Every format of the project that people write by hand is read with this: GPU models, launch files.

mod error;
mod item;

use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;

pub use error::{LineColumn, ReadError, ReadReason, suggestion};
pub use item::{Item, Number};

use crate::nearest::nearest;

/// What was read from a file that is built in.
///
/// # Panics
/// The file is malformed; a test reads each of them.
#[allow(clippy::panic, reason = "embedded data: a test reads it and fails if it is malformed")]
pub fn built_in<T>(file: &str, read: Result<T, impl fmt::Display>) -> T {
    read.unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A document and its text.
#[derive(Debug)]
pub struct Document<'t> {
    text: &'t str,
    file: &'t str,
    /// Byte offsets at which the lines start.
    lines: Vec<usize>,
    root: Spanned<DeTable<'t>>,
}

impl<'t> Document<'t> {
    /// Parses `text`. `file` is its name in messages.
    ///
    /// # Errors
    /// [`ReadReason::Syntax`].
    pub fn parse(text: &'t str, file: &'t str) -> Result<Self, ReadError> {
        let lines =
            std::iter::once(0).chain(text.match_indices('\n').map(|(newline, _)| newline + 1)).collect();
        match DeTable::parse(text) {
            Ok(root) => Ok(Self { text, file, lines, root }),
            Err(error) => {
                let location = location(text, &lines, error.span().unwrap_or_default().start);
                let reason = ReadReason::Syntax { message: error.message().to_owned() };
                Err(ReadError { file: file.to_owned(), location, reason: Box::new(reason) })
            }
        }
    }

    /// The outermost table; `name` is its name in messages.
    pub fn root(&self, name: impl Into<String>) -> Table<'_> {
        Table { document: self, name: name.into(), span: 0..0, entries: self.root.get_ref() }
    }

    fn location(&self, offset: usize) -> LineColumn {
        location(self.text, &self.lines, offset)
    }

    fn error(&self, span: &Range<usize>, reason: ReadReason) -> ReadError {
        ReadError {
            file: self.file.to_owned(),
            location: self.location(span.start),
            reason: Box::new(reason),
        }
    }
}

/// The location of byte `offset`.
fn location(text: &str, lines: &[usize], offset: usize) -> LineColumn {
    let line = lines.partition_point(|start| *start <= offset).max(1);
    let start = lines.get(line - 1).copied().unwrap_or(0);
    let before = text.get(start..offset).unwrap_or_default();
    LineColumn { line, column: before.chars().count() + 1 }
}

/// One table of a document.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    document: &'a Document<'a>,
    name: String,
    span: Range<usize>,
    entries: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file's name.
    pub fn file(&self) -> &'a str {
        self.document.file
    }

    /// The location of the table's start.
    pub fn location(&self) -> LineColumn {
        self.document.location(self.span.start)
    }

    /// An error with `reason`, located at the table's head.
    pub fn error(&self, reason: ReadReason) -> ReadError {
        self.document.error(&self.span, reason)
    }

    /// The first key, in the order of the text, for which `known` returns false, with its location.
    pub fn stranger(&self, known: impl Fn(&str) -> bool) -> Option<(&'a str, LineColumn)> {
        let unknown =
            self.entries.keys().filter(|key| !known(key.get_ref())).min_by_key(|key| key.span().start)?;
        Some((unknown.get_ref().as_ref(), self.document.location(unknown.span().start)))
    }

    /// Rejects a key that is not among `allowed`.
    ///
    /// # Errors
    /// [`ReadReason::UnknownKey`].
    pub fn check_keys(&self, allowed: &[&'static str]) -> Result<(), ReadError> {
        let Some((key, location)) = self.stranger(|key| allowed.contains(&key)) else { return Ok(()) };
        let reason = ReadReason::UnknownKey {
            table: self.name.clone(),
            key: key.to_owned(),
            nearest: nearest(key, allowed.iter().copied()).map(str::to_owned),
            allowed: allowed.to_vec(),
        };
        Err(ReadError { file: self.document.file.to_owned(), location, reason: Box::new(reason) })
    }

    /// The values, in the order of their keys.
    pub fn items(&self) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let document = self.document;
        self.entries.iter().map(move |(key, value)| Item {
            document,
            key: key.get_ref().as_ref(),
            value: value.get_ref(),
            span: value.span(),
        })
    }

    /// The value under `key`, if present.
    pub fn get(&self, key: &'a str) -> Option<Item<'a>> {
        let found = self.entries.get(key)?;
        Some(Item { document: self.document, key, value: found.get_ref(), span: found.span() })
    }

    /// The value under `key`.
    ///
    /// # Errors
    /// [`ReadReason::MissingKey`].
    pub fn must(&self, key: &'static str) -> Result<Item<'a>, ReadError> {
        self.one_of(&[key])
    }

    /// The one of `keys` that is present.
    ///
    /// # Errors
    /// [`ReadReason::MissingKey`] if there is none, [`ReadReason::Conflict`] if there is more than one.
    pub fn one_of(&self, keys: &[&'static str]) -> Result<Item<'a>, ReadError> {
        self.at_most_one_of(keys)?.ok_or_else(|| self.missing(keys))
    }

    /// An error that none of `keys` is present.
    pub fn missing(&self, keys: &[&'static str]) -> ReadError {
        self.error(ReadReason::MissingKey { table: self.name.clone(), keys: keys.to_vec() })
    }

    /// The one of `keys` that is present, if any.
    ///
    /// # Errors
    /// [`ReadReason::Conflict`] if there is more than one.
    pub fn at_most_one_of(&self, keys: &[&'static str]) -> Result<Option<Item<'a>>, ReadError> {
        let mut there = keys.iter().filter_map(|key| self.get(key));
        let Some(first) = there.next() else { return Ok(None) };
        match there.next() {
            None => Ok(Some(first)),
            Some(second) => Err(second.error(ReadReason::Conflict {
                table: self.name.clone(),
                first: first.key.to_owned(),
                second: second.key.to_owned(),
            })),
        }
    }
}
