//! Parses the text of a data file into a model, or reports the location and reason of the error.
//!
//! The format is described in `data/README.md`.

mod error;
mod machine;
mod model;
mod reader;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

pub use error::{DataError, DataReason};
use reader::{Section, Sources};

use crate::document::{Document, Table, built_in};
use crate::family::Family;
use crate::gpu::{Gpu, Images};
use crate::sourced::Source;

/// The sources that every data file may cite.
static SHARED_SOURCES: LazyLock<Sources> = LazyLock::new(|| built_in("sources.toml", read_shared_sources()));

fn read_shared_sources() -> Result<Sources, DataError> {
    read_sources(
        &Document::parse(include_str!("../../data/sources.toml"), "sources.toml")?.root("a data file"),
    )
}

/// What the built-in files say, each with its name and its text.
pub(crate) fn read_all<T>(files: &[(&str, &str)], read: fn(&str, &str) -> Result<T, DataError>) -> Vec<T> {
    files.iter().map(|(name, text)| built_in(name, read(text, name))).collect()
}

/// The limits of images of each family.
static IMAGES: LazyLock<BTreeMap<Family, Images>> =
    LazyLock::new(|| built_in("images.toml", read_images(include_str!("../../data/images.toml"))));

/// The limits of images of every family, from a text with one section for each.
fn read_images(text: &str) -> Result<BTreeMap<Family, Images>, DataError> {
    let document = Document::parse(text, "images.toml")?;
    let root = document.root("a data file");
    root.check_keys(&Family::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>())?;
    let mut images = BTreeMap::new();
    for (word, family) in Family::WORDS {
        let item = root.get(word).ok_or_else(|| root.missing(&[word]))?;
        let table = item.as_table(format!("[{word}]")).ok_or_else(|| item.wrong_type("a section"))?;
        images.insert(*family, model::images(Section::new(table, &SHARED_SOURCES))?);
    }
    Ok(images)
}

/// The limits of images of a family.
fn images_of(family: Family) -> &'static Images {
    &IMAGES[&family]
}

impl Source {
    /// The source of that name among those that every data file may cite (`data/sources.toml`).
    pub fn named(id: &str) -> Option<Arc<Self>> {
        SHARED_SOURCES.get(id).cloned()
    }
}

impl Gpu {
    /// Parses `text`, a model in the format of `data/README.md`. `file_name` is only used in error messages.
    ///
    /// # Errors
    ///
    /// [`DataError`] with line and column: not TOML, an unknown or missing section or key, a value of the wrong type
    /// or an impossible one, a value without basis or source, or values that contradict each other.
    pub fn from_toml(text: &str, file_name: &str) -> Result<Self, DataError> {
        let document = Document::parse(text, file_name)?;
        let root = document.root("a data file");
        let mut sources = SHARED_SOURCES.clone();
        sources.append(&mut read_sources(&root)?);
        model::read(&root, &sources)
    }
}

/// The `[sources]` of a file; empty if it has none.
fn read_sources(root: &Table<'_>) -> Result<Sources, DataError> {
    let Some(found) = root.get("sources") else {
        return Ok(Sources::new());
    };
    let table = found.as_table("[sources]").ok_or_else(|| found.wrong_type("a section"))?;
    let mut sources = Sources::new();
    for item in table.items() {
        let id = item.key().to_owned();
        let source = Source { id: id.clone(), citation: item.string_or_empty()?.to_owned() };
        sources.insert(id, Arc::new(source));
    }
    Ok(sources)
}

#[cfg(test)]
mod tests;
