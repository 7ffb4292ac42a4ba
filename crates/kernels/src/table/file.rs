//! Files of tables: times and entries of products, times of filters and of products with quantised weights, in one format.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::TimeSeries;
use crate::filter::TimedChain;
use crate::gemm::{Entry, TimedProduct};
use crate::quantised::QuantisedProduct;

/// Why a table could not be loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// A file or folder that cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The folder of tables cannot be read.
    #[error("the folder of tables {} cannot be read: {source}; TRIPIPE_TABLES names another", path.display())]
    Folder {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file that is not a table: too large for one, or not a regular file.
    #[error("{} is not a table: {found}; a table is a file of at most {} MiB", path.display(), FILE_MAX >> 20)]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// A table of a newer version of this library, with what this one does not know.
    #[error(
        "{file} was written by Tripipe {version}, which is newer than this one, {}: update Tripipe, or make the table \
         again: {source}",
        env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// The file.
        file: String,
        /// The version that it names.
        version: String,
        /// What is not known.
        source: Box<toml::de::Error>,
    },
    /// A table of an earlier build, whose times of products have another form.
    #[error(
        "{file} was written by an earlier build of Tripipe, whose times of products had another form: make the table again \
         from its log, with `tripipe tune export LOG -o {file}`"
    )]
    Older {
        /// The file.
        file: String,
    },
    /// A file that is not a valid table.
    #[error("{file}: {source}")]
    Parse {
        /// The file.
        file: String,
        /// The location and cause.
        source: Box<toml::de::Error>,
    },
}

/// The largest file that is read, in bytes: some eighty times the largest shipped table.
const FILE_MAX: u64 = 16 << 20;

/// The contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableFile {
    /// Times of products.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gemm: Vec<TimeSeries<TimedProduct>>,
    /// Parameters of products by class of shapes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entry: Vec<Entry>,
    /// Times of filters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<TimeSeries<TimedChain>>,
    /// Times of products with quantised weights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantised: Vec<TimeSeries<QuantisedProduct>>,
}

impl TableFile {
    /// Parses the text of the file `name`.
    ///
    /// # Errors
    /// Text that is not a table, with the location; or one of a newer version.
    pub fn parse(name: &str, text: &str) -> Result<Self, TableError> {
        toml::from_str(text).map_err(|source| {
            let (file, source) = (name.to_owned(), Box::new(source));
            let table = text.parse::<toml::Table>().unwrap_or_default();
            match newer_version(&table) {
                Some(version) => TableError::Newer { file, version, source },
                None if table.contains_key("series") => TableError::Older { file },
                None => TableError::Parse { file, source },
            }
        })
    }

    /// All `.toml` files of a folder, in the order of their names.
    ///
    /// # Errors
    /// There is no such folder; a file that cannot be read, or is not a valid table.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, TableError> {
        let read = |path: PathBuf| {
            let text = read_text(&path)?;
            Self::parse(&path.display().to_string(), &text)
        };
        files(folder)?.into_iter().map(read).collect()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.gemm.is_empty() && self.entry.is_empty() && self.filter.is_empty() && self.quantised.is_empty()
    }

    /// Its text.
    ///
    /// # Errors
    /// None in practice: TOML can represent every table.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string_pretty(self)
    }
}

/// The text of a table.
fn read_text(path: &Path) -> Result<String, TableError> {
    let failed = |source| TableError::Read { path: path.to_owned(), source };
    let refused = |found| Err(TableError::NotAFile { path: path.to_owned(), found });
    // Opening a pipe would wait for its writer.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return refused("it is not a regular file");
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(FILE_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > FILE_MAX { refused("it is larger") } else { Ok(text) }
}

/// The newest version that entries of a table name, if it is newer than this library.
fn newer_version(table: &toml::Table) -> Option<String> {
    let numbers = |version: &str| -> Vec<u64> {
        version.split('.').map(|number| number.parse().unwrap_or_default()).collect()
    };
    let entries =
        table.values().filter_map(toml::Value::as_array).flatten().filter_map(toml::Value::as_table);
    // Those of entries are with their measurement.
    let named = entries.filter_map(|entry| {
        let measured = entry.get("measured").and_then(toml::Value::as_table).unwrap_or(entry);
        measured.get("version")?.as_str()
    });
    let newest = named.max_by_key(|version| numbers(version))?;
    (numbers(newest) > numbers(env!("CARGO_PKG_VERSION"))).then(|| newest.to_owned())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, TableError> {
    let failed = |source| TableError::Folder { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
