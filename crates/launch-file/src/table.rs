//! Reads a TOML table key by key and locates errors.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::element::Number;
use crate::error::{FileError, FileReason, Place, nearest};

/// The text being read, to locate errors in it.
#[derive(Clone, Copy)]
pub(crate) struct Text<'t> {
    pub(crate) all: &'t str,
    pub(crate) file: &'t str,
    /// Byte offsets of the line starts ([`line_starts`]).
    pub(crate) lines: &'t [usize],
}

/// Byte offsets at which the lines of `text` start.
pub(crate) fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(newline, _)| newline + 1)).collect()
}

impl Text<'_> {
    /// The location of byte `offset`.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let before = self.all.get(start..offset).unwrap_or_default();
        Place { line, column: before.chars().count() + 1 }
    }

    /// An error with `reason`, located at the start of `span`.
    pub(crate) fn error(&self, span: &Range<usize>, reason: FileReason) -> FileError {
        FileError { file: self.file.to_owned(), place: self.place(span.start), reason: Box::new(reason) }
    }
}

/// A value with its key and its location.
pub(crate) struct Item<'a, 't> {
    pub(crate) text: Text<'t>,
    pub(crate) key: &'static str,
    value: &'a DeValue<'a>,
    span: Range<usize>,
}

/// One table of a file.
pub(crate) struct Table<'a, 't> {
    text: Text<'t>,
    /// Its name in messages.
    pub(crate) name: String,
    span: Range<usize>,
    entries: &'a DeTable<'a>,
}

impl<'a, 't> Table<'a, 't> {
    pub(crate) fn new(text: Text<'t>, name: String, span: Range<usize>, table: &'a DeTable<'a>) -> Self {
        Self { text, name, span, entries: table }
    }

    /// The location of the table's start.
    pub(crate) fn place(&self) -> Place {
        self.text.place(self.span.start)
    }

    /// An error with `reason`, located at the table's head.
    pub(crate) fn error(&self, reason: FileReason) -> FileError {
        self.text.error(&self.span, reason)
    }

    /// Rejects a key that is not among `allowed`.
    pub(crate) fn check_keys(&self, allowed: &[&'static str]) -> Result<(), FileError> {
        let known = |key: &str| allowed.contains(&key);
        let unknown =
            self.entries.keys().filter(|key| !known(key.get_ref())).min_by_key(|key| key.span().start);
        let Some(unknown) = unknown else { return Ok(()) };
        let key = unknown.get_ref().to_string();
        let nearest = nearest(&key, allowed.iter().copied());
        let reason =
            FileReason::UnknownKey { table: self.name.clone(), key, nearest, allowed: allowed.to_vec() };
        Err(self.text.error(&unknown.span(), reason))
    }

    /// The value under `key`, if present.
    pub(crate) fn get(&self, key: &'static str) -> Option<Item<'a, 't>> {
        let found = self.entries.get(key)?;
        Some(Item { text: self.text, key, value: found.get_ref(), span: found.span() })
    }

    /// The value under `key`; an error if it is missing.
    pub(crate) fn must(&self, key: &'static str) -> Result<Item<'a, 't>, FileError> {
        self.one_of(&[key])
    }

    /// The one of `keys` that is present; an error if there is none or more than one.
    pub(crate) fn one_of(&self, keys: &[&'static str]) -> Result<Item<'a, 't>, FileError> {
        self.at_most_one_of(keys)?.ok_or_else(|| {
            self.error(FileReason::MissingKey { table: self.name.clone(), keys: keys.to_vec() })
        })
    }

    /// The one of `keys` that is present, if any; an error if there is more than one.
    pub(crate) fn at_most_one_of(&self, keys: &[&'static str]) -> Result<Option<Item<'a, 't>>, FileError> {
        let mut there = keys.iter().filter_map(|key| self.get(key));
        let Some(first) = there.next() else { return Ok(None) };
        match there.next() {
            None => Ok(Some(first)),
            Some(second) => Err(second.error(FileReason::Conflict {
                table: self.name.clone(),
                first: first.key,
                second: second.key,
            })),
        }
    }
}

impl<'a, 't> Item<'a, 't> {
    /// The location of the value's start.
    pub(crate) fn place(&self) -> Place {
        self.text.place(self.span.start)
    }

    /// An error with `reason`, located at the value.
    pub(crate) fn error(&self, reason: FileReason) -> FileError {
        self.text.error(&self.span, reason)
    }

    fn wrong_type(&self, want: &'static str) -> FileError {
        let found = self.value.type_str();
        self.error(FileReason::WrongType { key: self.key.to_owned(), want, found })
    }

    /// An error that the value is not `want`, quoting it as written.
    pub(crate) fn impossible(&self, want: impl Into<String>) -> FileError {
        let found = self.text.all.get(self.span.clone()).unwrap_or_default().to_owned();
        self.error(FileReason::Impossible { key: self.key.to_owned(), found, want: want.into() })
    }

    /// Accepts only `true`.
    pub(crate) fn only_true(&self) -> Result<(), FileError> {
        match self.value {
            DeValue::Boolean(true) => Ok(()),
            DeValue::Boolean(false) => Err(self.impossible("true, or left out")),
            _ => Err(self.wrong_type("true")),
        }
    }

    pub(crate) fn boolean(&self) -> Result<bool, FileError> {
        self.value.as_bool().ok_or_else(|| self.wrong_type("true or false"))
    }

    /// A string that is not empty.
    pub(crate) fn string(&self) -> Result<&'a str, FileError> {
        match self.value.as_str() {
            Some("") => Err(self.impossible("not empty")),
            Some(string) => Ok(string),
            None => Err(self.wrong_type("a string")),
        }
    }

    /// The string, if it is one.
    pub(crate) fn as_string(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// Parses one of the given words.
    pub(crate) fn word<T>(
        &self,
        words: impl IntoIterator<Item = (String, T), IntoIter: Clone>,
    ) -> Result<T, FileError> {
        let words = words.into_iter();
        let found = self.string()?;
        if let Some((_, meaning)) = words.clone().find(|(word, _)| word == found) {
            return Ok(meaning);
        }
        let allowed: Vec<String> = words.map(|(word, _)| word).collect();
        let nearest = nearest(found, allowed.iter().map(String::as_str));
        Err(self.error(FileReason::UnknownWord {
            key: self.key.to_owned(),
            found: found.to_owned(),
            nearest,
            allowed,
        }))
    }

    /// A number.
    pub(crate) fn number(&self) -> Result<Number, FileError> {
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
    pub(crate) fn not_negative(&self) -> Result<f64, FileError> {
        let number = self.number()?.to_f64();
        let fine = number.is_finite() && number >= 0.0;
        fine.then_some(number).ok_or_else(|| self.impossible("0 or more"))
    }

    /// A whole number within `range`.
    pub(crate) fn whole<T: TryFrom<i128> + PartialOrd + std::fmt::Display>(
        &self,
        range: &RangeInclusive<T>,
    ) -> Result<T, FileError> {
        if !matches!(self.value, DeValue::Integer(_)) {
            return Err(self.wrong_type("a whole number"));
        }
        let Number::Integer(number) = self.number()? else { return Err(self.wrong_type("a whole number")) };
        T::try_from(number)
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| self.impossible(format!("from {} to {}", range.start(), range.end())))
    }

    /// The items of a list, or the value itself.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item<'a, 't>> {
        let list = self.value.as_array().map(|array| array.iter());
        let alone = if list.is_none() { Some(self.itself()) } else { None };
        let (text, key) = (self.text, self.key);
        let item = move |item: &'a Spanned<DeValue<'a>>| Item {
            text,
            key,
            value: item.get_ref(),
            span: item.span(),
        };
        list.into_iter().flatten().map(item).chain(alone)
    }

    fn itself(&self) -> Self {
        Self { text: self.text, key: self.key, value: self.value, span: self.span.clone() }
    }

    /// A number, or a list of numbers, which may be nested.
    pub(crate) fn numbers(&self) -> Result<Vec<Number>, FileError> {
        let mut numbers = Vec::new();
        // The TOML parser rejects deep nesting.
        self.append_numbers(&mut numbers)?;
        Ok(numbers)
    }

    fn append_numbers(&self, numbers: &mut Vec<Number>) -> Result<(), FileError> {
        if !self.is_list() {
            numbers.push(self.number()?);
            return Ok(());
        }
        self.items().try_for_each(|item| item.append_numbers(numbers))
    }

    fn is_list(&self) -> bool {
        self.value.as_array().is_some()
    }

    /// Extents of at least 1 each: one number or a list of at most `most`, whose product does not overflow.
    pub(crate) fn extents(&self, most: usize) -> Result<Vec<usize>, FileError> {
        let extents =
            self.items().map(|item| item.whole(&(1..=usize::MAX))).collect::<Result<Vec<_>, _>>()?;
        if extents.is_empty() || extents.len() > most {
            return Err(self.impossible(format!("one number, or a list of 1 to {most}")));
        }
        let product = extents.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
        if product.is_none() {
            return Err(self.impossible("no more than can be counted"));
        }
        Ok(extents)
    }

    /// The value as a table.
    pub(crate) fn table(&self, name: String) -> Result<Table<'a, 't>, FileError> {
        let table = self.value.as_table().ok_or_else(|| self.wrong_type("a table"))?;
        Ok(Table::new(self.text, name, self.span.clone(), table))
    }
}
