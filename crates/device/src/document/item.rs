//! Values of a document, and their types.

use std::fmt;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::DeValue;

use super::{Document, LineColumn, ReadError, ReadReason, Table};
use crate::nearest::nearest;

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

/// A value with its key and its location.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    pub(super) document: &'a Document<'a>,
    pub(super) key: &'a str,
    pub(super) value: &'a DeValue<'a>,
    pub(super) span: Range<usize>,
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
    pub fn location(&self) -> LineColumn {
        self.document.location(self.span.start)
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
        self.extents_by(most, |item| item.whole(&(1..=usize::MAX)))
    }

    /// The same with numbers that `read` reads.
    ///
    /// # Errors
    /// As [`Self::extents`]; those of `read`.
    pub fn extents_by<E: From<ReadError>>(
        &self,
        most: usize,
        read: impl FnMut(Item<'a>) -> Result<usize, E>,
    ) -> Result<Vec<usize>, E> {
        let extents = self.items().map(read).collect::<Result<Vec<_>, _>>()?;
        if extents.is_empty() || extents.len() > most {
            return Err(self.impossible(format!("one number, or a list of 1 to {most}")).into());
        }
        let product = extents.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
        if product.is_none() {
            return Err(self.impossible("smaller: their product overflows").into());
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
