//! Files of tables: times and entries of products, times of filters and of products with quantised weights, in one format.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::filter::ChainSeries;
use crate::gemm::{Entry, Series};
use crate::quantised::QuantisedSeries;

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
    /// A file that is not a valid table.
    #[error("{file}: {source}")]
    Parse {
        /// The file.
        file: String,
        /// The location and cause.
        source: Box<toml::de::Error>,
    },
}

/// The contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableFile {
    /// Times of products.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
    /// Parameters of products by class of shapes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entry: Vec<Entry>,
    /// Times of filters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<ChainSeries>,
    /// Times of products with quantised weights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantised: Vec<QuantisedSeries>,
}

impl TableFile {
    /// Parses the text of the file `name`.
    ///
    /// # Errors
    /// Text that is not a table, with the location.
    pub fn parse(name: &str, text: &str) -> Result<Self, TableError> {
        toml::from_str(text)
            .map_err(|source| TableError::Parse { file: name.to_owned(), source: Box::new(source) })
    }

    /// All `.toml` files of a folder, in the order of their names. A missing folder counts as empty.
    ///
    /// # Errors
    /// A file that cannot be read or is not a valid table.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, TableError> {
        let read = |path: PathBuf| {
            let text = std::fs::read_to_string(&path)
                .map_err(|source| TableError::Read { path: path.clone(), source })?;
            Self::parse(&path.display().to_string(), &text)
        };
        files(folder)?.into_iter().map(read).collect()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty() && self.entry.is_empty() && self.filter.is_empty() && self.quantised.is_empty()
    }

    /// Its text.
    ///
    /// # Errors
    /// None in practice: TOML can represent every table.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string_pretty(self)
    }
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, TableError> {
    let failed = |source| TableError::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
