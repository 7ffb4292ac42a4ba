//! Reads a section of a data file key by key, with the provenance of its values.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::error::{DataError, DataReason};
use crate::document::{Item, ReadError, Table};
use crate::nearest::nearest;
use crate::sourced::{Basis, Source, Sourced};

/// Sources by their key.
pub(crate) type Sources = BTreeMap<String, Arc<Source>>;

/// Conversion of a TOML value to a type of the model.
pub(crate) trait FromToml: Sized {
    fn from_toml(item: &Item<'_>) -> Result<Self, ReadError>;
}

impl FromToml for f64 {
    fn from_toml(item: &Item<'_>) -> Result<Self, ReadError> {
        Ok(item.number()?.to_f64())
    }
}

impl FromToml for bool {
    fn from_toml(item: &Item<'_>) -> Result<Self, ReadError> {
        item.boolean()
    }
}

impl FromToml for String {
    fn from_toml(item: &Item<'_>) -> Result<Self, ReadError> {
        item.string_or_empty().map(str::to_owned)
    }
}

impl FromToml for Vec<String> {
    fn from_toml(item: &Item<'_>) -> Result<Self, ReadError> {
        let items = item.list().ok_or_else(|| item.wrong_type("a list of strings"))?;
        items.map(|item| String::from_toml(&item)).collect()
    }
}

impl FromToml for Vec<u32> {
    fn from_toml(item: &Item<'_>) -> Result<Self, ReadError> {
        let items = item.list().ok_or_else(|| item.wrong_type("a list of whole numbers"))?;
        items.map(|item| item.whole(&(0..=u32::MAX))).collect()
    }
}

/// One section (or inline table) of a file. Every key must be read: [`Section::finish`] rejects the others.
pub(crate) struct Section<'a> {
    table: Table<'a>,
    sources: &'a Sources,
    asked: Vec<&'static str>,
}

/// A value, and its own provenance if it has one.
struct Entry<'a> {
    item: Item<'a>,
    basis: Option<Basis>,
    source: Option<Arc<Source>>,
    note: Option<String>,
}

/// An error with `reason`, located at the value.
fn error_at(item: &Item<'_>, reason: DataReason) -> DataError {
    DataError { file: item.file().to_owned(), location: item.location(), reason: Box::new(reason) }
}

fn choose<T: Copy>(item: &Item<'_>, words: &[(&'static str, T)]) -> Result<T, ReadError> {
    item.word(words.iter().map(|(word, meaning)| ((*word).to_owned(), *meaning)))
}

impl<'a> Section<'a> {
    pub(crate) fn new(table: Table<'a>, sources: &'a Sources) -> Self {
        Self { table, sources, asked: Vec::new() }
    }

    fn find(&mut self, key: &'static str) -> Option<Item<'a>> {
        self.asked.push(key);
        self.table.get(key)
    }

    /// An error with `reason`, located at the section's head.
    pub(crate) fn error(&self, reason: DataReason) -> DataError {
        DataError {
            file: self.table.file().to_owned(),
            location: self.table.location(),
            reason: Box::new(reason),
        }
    }

    /// The value found under `key`; an error if it is missing.
    pub(crate) fn must<T>(&self, key: &'static str, found: Option<T>) -> Result<T, DataError> {
        found.ok_or_else(|| self.missing(key))
    }

    fn missing(&self, key: &'static str) -> DataError {
        self.table.missing(&[key]).into()
    }

    /// An error with `reason`, located at the value of `key`.
    pub(crate) fn error_at(&self, key: &'static str, reason: DataReason) -> DataError {
        match self.table.get(key) {
            Some(item) => error_at(&item, reason),
            None => self.error(reason),
        }
    }

    /// A value without provenance.
    pub(crate) fn plain<T: FromToml>(&mut self, key: &'static str) -> Result<T, DataError> {
        self.plain_optional(key)?.ok_or_else(|| self.missing(key))
    }

    /// A value without provenance that may be absent.
    pub(crate) fn plain_optional<T: FromToml>(&mut self, key: &'static str) -> Result<Option<T>, DataError> {
        Ok(self.find(key).map(|item| T::from_toml(&item)).transpose()?)
    }

    /// An integer inside `range`, which `want` describes in words, without provenance.
    pub(crate) fn plain_whole(
        &mut self,
        key: &'static str,
        range: &RangeInclusive<i64>,
        want: &str,
    ) -> Result<i64, DataError> {
        let item = self.find(key).ok_or_else(|| self.missing(key))?;
        Ok(item.whole_of(range, || want.to_owned())?)
    }

    /// A word without provenance.
    pub(crate) fn plain_word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Result<T, DataError> {
        let item = self.find(key).ok_or_else(|| self.missing(key))?;
        Ok(choose(&item, words)?)
    }

    fn source(&self, item: &Item<'_>) -> Result<Arc<Source>, DataError> {
        let id = String::from_toml(item)?;
        self.sources.get(&id).cloned().ok_or_else(|| {
            let nearest = nearest(&id, self.sources.keys().map(String::as_str)).map(str::to_owned);
            error_at(item, DataReason::UnknownSource { id, nearest })
        })
    }

    /// The default basis of the section's values.
    pub(crate) fn basis(&mut self) -> Result<Option<Basis>, DataError> {
        Ok(self.find("basis").map(|item| choose(&item, Basis::WORDS)).transpose()?)
    }

    /// The default source of the section's values.
    pub(crate) fn default_source(&mut self) -> Result<Option<Arc<Source>>, DataError> {
        self.find("source").map(|item| self.source(&item)).transpose()
    }

    /// The entry under `key`: bare, or `{ value, basis, source, note }`.
    fn entry(&mut self, key: &'static str) -> Result<Option<Entry<'a>>, DataError> {
        let Some(item) = self.find(key) else {
            return Ok(None);
        };
        let with_value = item
            .as_table(self.inner_name(key))
            .and_then(|table| Some((table.get("value")?.named(key), table)));
        let Some((value, table)) = with_value else {
            return Ok(Some(Entry { item, basis: None, source: None, note: None }));
        };
        let mut inner = Section::new(table, self.sources);
        inner.asked.push("value");
        let entry = Entry {
            item: value,
            basis: inner.basis()?,
            source: inner.default_source()?,
            note: inner.plain_optional("note")?,
        };
        inner.finish()?;
        Ok(Some(entry))
    }

    /// `[core.key]` for the section `[core]`.
    fn inner_name(&self, key: &str) -> String {
        format!("[{}.{key}]", self.table.name().trim_matches(['[', ']']))
    }

    /// Adds provenance to a converted value: that of `entry`, else the section's.
    fn sourced<T>(&mut self, entry: Entry<'a>, value: T) -> Result<Sourced<T>, DataError> {
        let missing =
            |what| error_at(&entry.item, DataReason::NoProvenance { key: entry.item.key().to_owned(), what });
        let basis = match entry.basis {
            Some(basis) => basis,
            None => self.basis()?.ok_or_else(|| missing("basis"))?,
        };
        let source = match &entry.source {
            Some(source) => Arc::clone(source),
            None => self.default_source()?.ok_or_else(|| missing("source"))?,
        };
        Ok(Sourced { value, basis, source, note: entry.note })
    }

    /// The value under `key`, converted by `read`, with its provenance.
    fn optional_by<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Item<'a>) -> Result<T, ReadError>,
    ) -> Result<Option<Sourced<T>>, DataError> {
        let Some(entry) = self.entry(key)? else {
            return Ok(None);
        };
        let value = read(&entry.item)?;
        self.sourced(entry, value).map(Some)
    }

    /// A value with its provenance.
    pub(crate) fn optional<T: FromToml>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<Sourced<T>>, DataError> {
        self.optional_by(key, T::from_toml)
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
        self.optional_by(key, |item| choose(item, words))
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
        self.optional_by(key, |item| item.whole_of(range, || want.to_owned()))
    }

    /// A finite number above 0.
    pub(crate) fn positive(&mut self, key: &'static str) -> Result<Option<Sourced<f64>>, DataError> {
        self.optional_by(key, above_zero)
    }

    /// An error that the value of `key` is not `want`, quoting the value as written.
    pub(crate) fn impossible(&self, key: &'static str, want: &str) -> DataError {
        let Some(item) = self.table.get(key) else { return self.missing(key) };
        let inner = item.as_table(key).and_then(|table| Some(table.get("value")?.named(key)));
        inner.unwrap_or(item).impossible(want).into()
    }

    /// Reads the table under `key`, bare or with provenance, with `read`, and adds its provenance.
    pub(crate) fn table<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(Section<'a>) -> Result<T, DataError>,
    ) -> Result<Option<Sourced<T>>, DataError> {
        let Some(entry) = self.entry(key)? else {
            return Ok(None);
        };
        let value = read(self.inner(key, &entry.item)?)?;
        self.sourced(entry, value).map(Some)
    }

    /// Reads the list of tables under `key`, each with `read`, and adds its provenance.
    pub(crate) fn tables<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(Section<'a>) -> Result<T, DataError>,
    ) -> Result<Option<Sourced<Vec<T>>>, DataError> {
        let Some(entry) = self.entry(key)? else {
            return Ok(None);
        };
        let items = entry.item.list().ok_or_else(|| entry.item.wrong_type("a list of tables"))?;
        let mut rows = Vec::new();
        for item in items {
            rows.push(read(self.inner(key, &item)?)?);
        }
        self.sourced(entry, rows).map(Some)
    }

    fn inner(&self, key: &'static str, item: &Item<'a>) -> Result<Section<'a>, DataError> {
        Ok(Section::new(item.table(self.inner_name(key))?, self.sources))
    }

    /// All keys that have not been read, as figures above 0 with the section's provenance.
    pub(crate) fn figures(&mut self) -> Result<BTreeMap<String, Sourced<f64>>, DataError> {
        let basis = self.basis()?;
        let source = self.default_source()?;
        let mut figures = BTreeMap::new();
        for item in self.table.items().filter(|item| !self.asked.contains(&item.key())) {
            let key = item.key().to_owned();
            let missing = |what| error_at(&item, DataReason::NoProvenance { key: key.clone(), what });
            let figure = Sourced {
                value: above_zero(&item)?,
                basis: basis.ok_or_else(|| missing("basis"))?,
                source: source.clone().ok_or_else(|| missing("source"))?,
                note: None,
            };
            figures.insert(key, figure);
        }
        Ok(figures)
    }

    /// Rejects the keys that were not read.
    pub(crate) fn finish(mut self) -> Result<(), DataError> {
        self.asked.sort_unstable();
        self.asked.dedup();
        Ok(self.table.check_keys(&self.asked)?)
    }
}

fn above_zero(item: &Item<'_>) -> Result<f64, ReadError> {
    let number = item.number()?.to_f64();
    if number.is_finite() && number > 0.0 { Ok(number) } else { Err(item.impossible("above 0")) }
}
