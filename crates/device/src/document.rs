//! TOML documents, read key by key, with errors that name file, line and column.
//!
//! Every format of the project that people write by hand is read with this: GPU models, launch files.

use std::fmt;
use std::ops::{Range, RangeInclusive};

use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::nearest::nearest;

/// A location in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// An error in a document, with its location.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{file}:{}:{}: {reason}", place.line, place.column)]
pub struct ReadError {
    /// The file's name, as given by the caller.
    pub file: String,
    /// The location.
    pub place: Place,
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

/// A number as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Without decimal point and exponent.
    Integer(i128),
    /// With decimal point or exponent, or infinite, or NaN.
    Float(f64),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number:?}"),
        }
    }
}

impl Number {
    /// The nearest `f64`.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Float(number) => number,
        }
    }
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
                let place = place(text, &lines, error.span().unwrap_or_default().start);
                let reason = ReadReason::Syntax { message: error.message().to_owned() };
                Err(ReadError { file: file.to_owned(), place, reason: Box::new(reason) })
            }
        }
    }

    /// The outermost table; `name` is its name in messages.
    pub fn root(&self, name: impl Into<String>) -> Table<'_> {
        Table { document: self, name: name.into(), span: 0..0, entries: self.root.get_ref() }
    }

    fn place(&self, offset: usize) -> Place {
        place(self.text, &self.lines, offset)
    }

    fn error(&self, span: &Range<usize>, reason: ReadReason) -> ReadError {
        ReadError { file: self.file.to_owned(), place: self.place(span.start), reason: Box::new(reason) }
    }
}

/// The location of byte `offset`.
fn place(text: &str, lines: &[usize], offset: usize) -> Place {
    let line = lines.partition_point(|start| *start <= offset).max(1);
    let start = lines.get(line - 1).copied().unwrap_or(0);
    let before = text.get(start..offset).unwrap_or_default();
    Place { line, column: before.chars().count() + 1 }
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
    pub fn place(&self) -> Place {
        self.document.place(self.span.start)
    }

    /// An error with `reason`, located at the table's head.
    pub fn error(&self, reason: ReadReason) -> ReadError {
        self.document.error(&self.span, reason)
    }

    /// The first key, in the order of the text, for which `known` returns false, with its location.
    pub fn stranger(&self, known: impl Fn(&str) -> bool) -> Option<(&'a str, Place)> {
        let unknown =
            self.entries.keys().filter(|key| !known(key.get_ref())).min_by_key(|key| key.span().start)?;
        Some((unknown.get_ref().as_ref(), self.document.place(unknown.span().start)))
    }

    /// Rejects a key that is not among `allowed`.
    ///
    /// # Errors
    /// [`ReadReason::UnknownKey`].
    pub fn check_keys(&self, allowed: &[&'static str]) -> Result<(), ReadError> {
        let Some((key, place)) = self.stranger(|key| allowed.contains(&key)) else { return Ok(()) };
        let reason = ReadReason::UnknownKey {
            table: self.name.clone(),
            key: key.to_owned(),
            nearest: nearest(key, allowed.iter().copied()).map(str::to_owned),
            allowed: allowed.to_vec(),
        };
        Err(ReadError { file: self.document.file.to_owned(), place, reason: Box::new(reason) })
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

/// A value with its key and its location.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    document: &'a Document<'a>,
    key: &'a str,
    value: &'a DeValue<'a>,
    span: Range<usize>,
}

impl<'a> Item<'a> {
    /// Its key; for an item of a list, the list's.
    pub fn key(&self) -> &'a str {
        self.key
    }

    /// The same value, with another key in messages.
    #[must_use]
    pub fn named(self, key: &'a str) -> Self {
        Self { key, ..self }
    }

    /// The file's name.
    pub fn file(&self) -> &'a str {
        self.document.file
    }

    /// The location of the value's start.
    pub fn place(&self) -> Place {
        self.document.place(self.span.start)
    }

    /// An error with `reason`, located at the value.
    pub fn error(&self, reason: ReadReason) -> ReadError {
        self.document.error(&self.span, reason)
    }

    /// An error that the value is of another type than `want`.
    pub fn wrong_type(&self, want: &'static str) -> ReadError {
        let found = self.value.type_str();
        self.error(ReadReason::WrongType { key: self.key.to_owned(), want, found })
    }

    /// An error that the value is not `want`, quoting it as written.
    pub fn impossible(&self, want: impl Into<String>) -> ReadError {
        let found = self.document.text.get(self.span.clone()).unwrap_or_default().to_owned();
        self.error(ReadReason::Impossible { key: self.key.to_owned(), found, want: want.into() })
    }

    /// Accepts only `true`.
    ///
    /// # Errors
    /// Anything else.
    pub fn only_true(&self) -> Result<(), ReadError> {
        match self.value {
            DeValue::Boolean(true) => Ok(()),
            DeValue::Boolean(false) => Err(self.impossible("true, or left out")),
            _ => Err(self.wrong_type("true")),
        }
    }

    /// A boolean.
    ///
    /// # Errors
    /// [`ReadReason::WrongType`].
    pub fn boolean(&self) -> Result<bool, ReadError> {
        self.value.as_bool().ok_or_else(|| self.wrong_type("true or false"))
    }

    /// A string that is not empty.
    ///
    /// # Errors
    /// Another type, or an empty string.
    pub fn string(&self) -> Result<&'a str, ReadError> {
        match self.string_or_empty()? {
            "" => Err(self.impossible("not empty")),
            string => Ok(string),
        }
    }

    /// A string.
    ///
    /// # Errors
    /// [`ReadReason::WrongType`].
    pub fn string_or_empty(&self) -> Result<&'a str, ReadError> {
        self.value.as_str().ok_or_else(|| self.wrong_type("a string"))
    }

    /// The string, if it is one.
    pub fn as_string(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// The meaning of one of the given words.
    ///
    /// # Errors
    /// Another type, or [`ReadReason::UnknownWord`].
    pub fn word<T>(
        &self,
        words: impl IntoIterator<Item = (String, T), IntoIter: Clone>,
    ) -> Result<T, ReadError> {
        let words = words.into_iter();
        let found = self.string()?;
        if let Some((_, meaning)) = words.clone().find(|(word, _)| word == found) {
            return Ok(meaning);
        }
        let allowed: Vec<String> = words.map(|(word, _)| word).collect();
        Err(self.error(ReadReason::UnknownWord {
            key: self.key.to_owned(),
            found: found.to_owned(),
            nearest: nearest(found, allowed.iter().map(String::as_str)).map(str::to_owned),
            allowed,
        }))
    }

    /// A number.
    ///
    /// # Errors
    /// Another type, or a number that neither 127 bits nor a double can hold.
    pub fn number(&self) -> Result<Number, ReadError> {
        match self.value {
            DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
                .map(Number::Integer)
                .map_err(|_| self.impossible("a number of at most 127 bits")),
            DeValue::Float(float) => {
                let text = float.as_str();
                let number: f64 = text.parse().map_err(|_| self.wrong_type("a number"))?;
                if number.is_infinite() && !text.contains("inf") {
                    return Err(self.impossible("a number that a double holds"));
                }
                Ok(Number::Float(number))
            }
            _ => Err(self.wrong_type("a number")),
        }
    }

    /// A finite number of at least 0.
    ///
    /// # Errors
    /// Anything else.
    pub fn not_negative(&self) -> Result<f64, ReadError> {
        let number = self.number()?.to_f64();
        let fine = number.is_finite() && number >= 0.0;
        fine.then_some(number).ok_or_else(|| self.impossible("0 or more"))
    }

    /// A whole number within `range`.
    ///
    /// # Errors
    /// Anything else.
    pub fn whole<T: TryFrom<i128> + PartialOrd + fmt::Display>(
        &self,
        range: &RangeInclusive<T>,
    ) -> Result<T, ReadError> {
        self.whole_of(range, || format!("from {} to {}", range.start(), range.end()))
    }

    /// A whole number within `range`, which `want` describes.
    ///
    /// # Errors
    /// Anything else.
    pub fn whole_of<T: TryFrom<i128> + PartialOrd>(
        &self,
        range: &RangeInclusive<T>,
        want: impl FnOnce() -> String,
    ) -> Result<T, ReadError> {
        let DeValue::Integer(integer) = self.value else { return Err(self.wrong_type("a whole number")) };
        i128::from_str_radix(integer.as_str(), integer.radix())
            .ok()
            .and_then(|number| T::try_from(number).ok())
            .filter(|number| range.contains(number))
            .ok_or_else(|| self.impossible(want()))
    }

    /// The items of a list, or the value itself.
    pub fn items(&self) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let alone = if self.is_list() { None } else { Some(self.clone()) };
        self.list().into_iter().flatten().chain(alone)
    }

    /// The items of a list; `None` if it is not a list.
    pub fn list(&self) -> Option<impl Iterator<Item = Item<'a>> + use<'a>> {
        let (document, key) = (self.document, self.key);
        let item = move |item: &'a Spanned<DeValue<'a>>| Item {
            document,
            key,
            value: item.get_ref(),
            span: item.span(),
        };
        self.value.as_array().map(|array| array.iter().map(item))
    }

    fn is_list(&self) -> bool {
        self.value.as_array().is_some()
    }

    /// A number, or a list of numbers, which may be nested.
    ///
    /// # Errors
    /// As [`Self::number`].
    pub fn numbers(&self) -> Result<Vec<Number>, ReadError> {
        let mut numbers = Vec::new();
        // The TOML parser rejects deep nesting.
        self.append_numbers(&mut numbers)?;
        Ok(numbers)
    }

    fn append_numbers(&self, numbers: &mut Vec<Number>) -> Result<(), ReadError> {
        if !self.is_list() {
            numbers.push(self.number()?);
            return Ok(());
        }
        self.items().try_for_each(|item| item.append_numbers(numbers))
    }

    /// Extents of at least 1 each: one number or a list of at most `most`, whose product does not overflow.
    ///
    /// # Errors
    /// Anything else.
    pub fn extents(&self, most: usize) -> Result<Vec<usize>, ReadError> {
        let extents =
            self.items().map(|item| item.whole(&(1..=usize::MAX))).collect::<Result<Vec<_>, _>>()?;
        if extents.is_empty() || extents.len() > most {
            return Err(self.impossible(format!("one number, or a list of 1 to {most}")));
        }
        let product = extents.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
        if product.is_none() {
            return Err(self.impossible("smaller: their product overflows"));
        }
        Ok(extents)
    }

    /// The table, if it is one; `name` is its name in messages.
    pub fn as_table(&self, name: impl Into<String>) -> Option<Table<'a>> {
        let entries = self.value.as_table()?;
        Some(Table { document: self.document, name: name.into(), span: self.span.clone(), entries })
    }

    /// The value as a table; `name` is its name in messages.
    ///
    /// # Errors
    /// [`ReadReason::WrongType`].
    pub fn table(&self, name: impl Into<String>) -> Result<Table<'a>, ReadError> {
        self.as_table(name).ok_or_else(|| self.wrong_type("a table"))
    }
}
