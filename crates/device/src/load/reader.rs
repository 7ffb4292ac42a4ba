//! Reads a section of a data file key by key and locates errors.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{DataError, DataReason};
use crate::nearest::nearest;
use crate::sourced::{Basis, Source, Sourced};

/// Sources by their key.
pub(crate) type Sources = BTreeMap<String, Arc<Source>>;

/// The text being read, to locate errors in it.
#[derive(Clone, Copy)]
pub(crate) struct Text<'t> {
    pub(crate) text: &'t str,
    pub(crate) file: &'t str,
}

impl Text<'_> {
    /// An error at the byte where `span` starts.
    pub(crate) fn error(&self, span: &Range<usize>, reason: DataReason) -> DataError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        DataError {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            reason,
        }
    }
}

/// Conversion of a TOML value to a type of the model.
pub(crate) trait FromToml: Sized {
    const WANT: &'static str;
    fn from_toml(value: &DeValue<'_>) -> Option<Self>;
}

impl FromToml for i64 {
    const WANT: &'static str = "a whole number";
    /// A number outside the type's range becomes its maximum or minimum, which every range check here rejects.
    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        let integer = value.as_integer()?;
        let negative = integer.as_str().starts_with('-');
        let beyond = if negative { Self::MIN } else { Self::MAX };
        Some(Self::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(beyond))
    }
}

impl FromToml for f64 {
    const WANT: &'static str = "a number";
    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        match value {
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::Integer(integer) => {
                i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|number| number as Self)
            }
            _ => None,
        }
    }
}

impl FromToml for bool {
    const WANT: &'static str = "true or false";
    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        value.as_bool()
    }
}

impl FromToml for String {
    const WANT: &'static str = "a string";
    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl FromToml for Vec<String> {
    const WANT: &'static str = "a list of strings";
    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        let items = value.as_array()?;
        items.iter().map(|item| String::from_toml(item.get_ref())).collect()
    }
}

impl FromToml for Vec<u32> {
    const WANT: &'static str = "a list of whole numbers";
    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        let items = value.as_array()?;
        items.iter().map(|item| u32::try_from(i64::from_toml(item.get_ref())?).ok()).collect()
    }
}

/// One section (or inline table) of a file. Every key must be read: [`Section::finish`] rejects the others.
pub(crate) struct Section<'a, 't> {
    pub(crate) text: Text<'t>,
    name: String,
    span: Range<usize>,
    table: &'a DeTable<'a>,
    sources: &'a Sources,
    asked: Vec<&'static str>,
}

/// A value with its key and location, and with its own provenance if it has one.
struct Entry<'a> {
    key: &'static str,
    value: &'a Spanned<DeValue<'a>>,
    basis: Option<Basis>,
    source: Option<Arc<Source>>,
    note: Option<String>,
}

impl<'a, 't> Section<'a, 't> {
    pub(crate) fn new(
        text: Text<'t>,
        name: impl Into<String>,
        span: Range<usize>,
        table: &'a DeTable<'a>,
        sources: &'a Sources,
    ) -> Self {
        Self { text, name: name.into(), span, table, sources, asked: Vec::new() }
    }

    fn find(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.asked.push(key);
        self.table.get(key)
    }

    /// An error with `reason`, located at the section's head.
    pub(crate) fn error(&self, reason: DataReason) -> DataError {
        self.text.error(&self.span, reason)
    }

    /// The value found under `key`; an error if it is missing.
    pub(crate) fn must<T>(&self, key: &'static str, found: Option<T>) -> Result<T, DataError> {
        found.ok_or_else(|| self.missing(key))
    }

    fn missing(&self, key: &'static str) -> DataError {
        self.error(DataReason::MissingKey { section: self.name.clone(), key })
    }

    /// An error with `reason`, located at the value of `key`.
    pub(crate) fn error_at(&self, key: &str, reason: DataReason) -> DataError {
        let span = self.table.get(key).map_or(self.span.clone(), Spanned::span);
        self.text.error(&span, reason)
    }

    /// A value without provenance.
    pub(crate) fn plain<T: FromToml>(&mut self, key: &'static str) -> Result<T, DataError> {
        self.plain_optional(key)?.ok_or_else(|| self.missing(key))
    }

    /// A value without provenance that may be absent.
    pub(crate) fn plain_optional<T: FromToml>(&mut self, key: &'static str) -> Result<Option<T>, DataError> {
        self.find(key).map(|value| self.convert(key, value)).transpose()
    }

    /// A word without provenance.
    pub(crate) fn plain_word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Result<T, DataError> {
        let value = self.find(key).ok_or_else(|| self.missing(key))?;
        self.choose(key, value, words)
    }

    fn convert<T: FromToml>(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<T, DataError> {
        T::from_toml(value.get_ref()).ok_or_else(|| {
            self.text.error(
                &value.span(),
                DataReason::WrongType {
                    key: key.to_owned(),
                    want: T::WANT,
                    found: value.get_ref().type_str(),
                },
            )
        })
    }

    fn choose<T: Copy>(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        words: &[(&'static str, T)],
    ) -> Result<T, DataError> {
        let found: String = self.convert(key, value)?;
        words.iter().find(|(word, _)| *word == found).map(|(_, meaning)| *meaning).ok_or_else(|| {
            self.text.error(
                &value.span(),
                DataReason::UnknownWord {
                    key: key.to_owned(),
                    found,
                    allowed: words.iter().map(|(word, _)| *word).collect(),
                },
            )
        })
    }

    fn source(&self, value: &Spanned<DeValue<'_>>) -> Result<Arc<Source>, DataError> {
        let id: String = self.convert("source", value)?;
        self.sources.get(&id).cloned().ok_or_else(|| {
            let nearest = nearest(&id, self.sources.keys().map(String::as_str));
            self.text.error(&value.span(), DataReason::UnknownSource { id, nearest })
        })
    }

    /// The default basis of the section's values.
    pub(crate) fn basis(&mut self) -> Result<Option<Basis>, DataError> {
        self.find("basis").map(|value| self.choose("basis", value, Basis::WORDS)).transpose()
    }

    /// The default source of the section's values.
    pub(crate) fn default_source(&mut self) -> Result<Option<Arc<Source>>, DataError> {
        self.find("source").map(|value| self.source(value)).transpose()
    }

    /// The entry under `key`: bare, or `{ value, basis, source, note }`.
    fn entry(&mut self, key: &'static str) -> Result<Option<Entry<'a>>, DataError> {
        let Some(value) = self.find(key) else {
            return Ok(None);
        };
        let bare = Entry { key, value, basis: None, source: None, note: None };
        let Some(table) = value.get_ref().as_table() else {
            return Ok(Some(bare));
        };
        if !table.contains_key("value") {
            return Ok(Some(bare));
        }
        let name = format!("{}.{key}", self.name);
        let mut inner = Section::new(self.text, name, value.span(), table, self.sources);
        let entry = Entry {
            key,
            value: inner.find("value").unwrap_or(value),
            basis: inner.basis()?,
            source: inner.default_source()?,
            note: inner.plain_optional("note")?,
        };
        inner.finish()?;
        Ok(Some(entry))
    }

    /// Adds provenance to a converted value: that of `entry`, else the section's.
    fn sourced<T>(&mut self, entry: Entry<'a>, value: T) -> Result<Sourced<T>, DataError> {
        let missing = |what| {
            self.text.error(&entry.value.span(), DataReason::NoProvenance { key: entry.key.to_owned(), what })
        };
        let (no_basis, no_source) = (missing("basis"), missing("source"));
        let basis = match entry.basis {
            Some(basis) => basis,
            None => self.basis()?.ok_or(no_basis)?,
        };
        let source = match entry.source {
            Some(source) => source,
            None => self.default_source()?.ok_or(no_source)?,
        };
        Ok(Sourced { value, basis, source, note: entry.note })
    }

    /// A value with its provenance.
    pub(crate) fn optional<T: FromToml>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<Sourced<T>>, DataError> {
        let Some(entry) = self.entry(key)? else {
            return Ok(None);
        };
        let value = self.convert(key, entry.value)?;
        self.sourced(entry, value).map(Some)
    }

    /// A required value with its provenance.
    pub(crate) fn required<T: FromToml>(&mut self, key: &'static str) -> Result<Sourced<T>, DataError> {
        self.optional(key)?.ok_or_else(|| self.missing(key))
    }

    /// A word with its provenance.
    pub(crate) fn optional_word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Result<Option<Sourced<T>>, DataError> {
        let Some(entry) = self.entry(key)? else {
            return Ok(None);
        };
        let value = self.choose(key, entry.value, words)?;
        self.sourced(entry, value).map(Some)
    }

    /// A required word with its provenance.
    pub(crate) fn required_word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Result<Sourced<T>, DataError> {
        self.optional_word(key, words)?.ok_or_else(|| self.missing(key))
    }

    /// An integer inside `range`, which `want` describes in words.
    pub(crate) fn whole(
        &mut self,
        key: &'static str,
        range: &RangeInclusive<i64>,
        want: &str,
    ) -> Result<Option<Sourced<i64>>, DataError> {
        let found: Option<Sourced<i64>> = self.optional(key)?;
        match found {
            Some(number) if !range.contains(&number.value) => Err(self.impossible(key, want)),
            found => Ok(found),
        }
    }

    /// A finite number above 0.
    pub(crate) fn positive(&mut self, key: &'static str) -> Result<Option<Sourced<f64>>, DataError> {
        let found: Option<Sourced<f64>> = self.optional(key)?;
        match found {
            Some(number) if !(number.value.is_finite() && number.value > 0.0) => {
                Err(self.impossible(key, "above 0"))
            }
            found => Ok(found),
        }
    }

    /// An error that the value of `key` is not `want`, quoting the value as written.
    pub(crate) fn impossible(&self, key: &str, want: &str) -> DataError {
        let value = self.table.get(key).map(|value| {
            let inner = value.get_ref().as_table().and_then(|table| table.get("value"));
            inner.unwrap_or(value)
        });
        let span = value.map_or(self.span.clone(), Spanned::span);
        let found = self.text.text.get(span.clone()).unwrap_or_default();
        self.text.error(
            &span,
            DataReason::Impossible { key: key.to_owned(), found: found.to_owned(), want: want.to_owned() },
        )
    }

    /// Reads the table under `key`, bare or with provenance, with `read`, and adds its provenance.
    pub(crate) fn table<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(Section<'a, 't>) -> Result<T, DataError>,
    ) -> Result<Option<Sourced<T>>, DataError> {
        let Some(entry) = self.entry(key)? else {
            return Ok(None);
        };
        let value = read(self.inner(key, entry.value)?)?;
        self.sourced(entry, value).map(Some)
    }

    /// Reads the list of tables under `key`, each with `read`, and adds its provenance.
    pub(crate) fn tables<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(Section<'a, 't>) -> Result<T, DataError>,
    ) -> Result<Option<Sourced<Vec<T>>>, DataError> {
        let Some(entry) = self.entry(key)? else {
            return Ok(None);
        };
        let items = entry.value.get_ref().as_array().ok_or_else(|| {
            self.text.error(
                &entry.value.span(),
                DataReason::WrongType {
                    key: key.to_owned(),
                    want: "a list of tables",
                    found: entry.value.get_ref().type_str(),
                },
            )
        })?;
        let mut rows = Vec::new();
        for item in items {
            rows.push(read(self.inner(key, item)?)?);
        }
        self.sourced(entry, rows).map(Some)
    }

    fn inner(
        &self,
        key: &'static str,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Result<Section<'a, 't>, DataError> {
        let table = value.get_ref().as_table().ok_or_else(|| {
            self.text.error(
                &value.span(),
                DataReason::WrongType {
                    key: key.to_owned(),
                    want: "a table",
                    found: value.get_ref().type_str(),
                },
            )
        })?;
        let name = format!("{}.{key}", self.name);
        Ok(Section::new(self.text, name, value.span(), table, self.sources))
    }

    /// All keys that have not been read, as figures above 0 with the section's provenance.
    pub(crate) fn figures(&mut self) -> Result<BTreeMap<String, Sourced<f64>>, DataError> {
        let basis = self.basis()?;
        let source = self.default_source()?;
        let mut figures = BTreeMap::new();
        for (key, value) in self.table {
            let key = key.get_ref().as_ref();
            if self.asked.contains(&key) {
                continue;
            }
            let number: f64 = self.convert(key, value)?;
            if !(number.is_finite() && number > 0.0) {
                return Err(self.impossible(key, "above 0"));
            }
            let missing =
                |what| self.text.error(&value.span(), DataReason::NoProvenance { key: key.to_owned(), what });
            let figure = Sourced {
                value: number,
                basis: basis.ok_or_else(|| missing("basis"))?,
                source: source.clone().ok_or_else(|| missing("source"))?,
                note: None,
            };
            figures.insert(key.to_owned(), figure);
        }
        Ok(figures)
    }

    /// Rejects the keys that were not read.
    pub(crate) fn finish(self) -> Result<(), DataError> {
        let stranger = self
            .table
            .keys()
            .filter(|key| !self.asked.contains(&key.get_ref().as_ref()))
            .min_by_key(|key| key.span().start);
        match stranger {
            None => Ok(()),
            Some(key) => {
                let name = key.get_ref().to_string();
                let nearest = nearest(&name, self.asked.iter().copied());
                Err(self
                    .text
                    .error(&key.span(), DataReason::UnknownKey { section: self.name, key: name, nearest }))
            }
        }
    }
}
