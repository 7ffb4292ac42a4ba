//! Parses the text of a data file into a model, or reports the location and reason of the error.
//!
//! The format is described in `data/README.md`.

mod error;
mod model;
mod reader;

use std::sync::{Arc, LazyLock};

use toml::de::DeTable;

pub use error::{DataError, DataReason};
use reader::{Sources, Text};

use crate::gpu::Gpu;
use crate::sourced::Source;

/// The sources that every data file may cite.
static SHARED_SOURCES: LazyLock<Sources> = LazyLock::new(|| {
    // A test reads the same text and fails if it is malformed.
    read_shared_sources().unwrap_or_default()
});

fn read_shared_sources() -> Result<Sources, DataError> {
    let text = Text { text: include_str!("../../data/sources.toml"), file: "sources.toml" };
    let document = parse(text)?;
    read_sources(text, document.get_ref())
}

/// The shared source of that name: one that every data file may cite.
pub(crate) fn shared_source(id: &str) -> Option<Arc<Source>> {
    SHARED_SOURCES.get(id).cloned()
}

impl Gpu {
    /// Parses `text`, a model in the format of `data/README.md`. `file_name` is only used in error messages.
    ///
    /// # Errors
    ///
    /// [`DataError`] with line and column: not TOML, an unknown or missing section or key, a value of the wrong type
    /// or an impossible one, a value without basis or source, or values that contradict each other.
    pub fn from_toml(text: &str, file_name: &str) -> Result<Self, DataError> {
        let text = Text { text, file: file_name };
        let document = parse(text)?;
        let root = document.get_ref();
        let mut sources = SHARED_SOURCES.clone();
        sources.append(&mut read_sources(text, root)?);
        model::read(text, root, &sources)
    }
}

fn parse(text: Text<'_>) -> Result<toml::Spanned<DeTable<'_>>, DataError> {
    DeTable::parse(text.text).map_err(|error| {
        let message = error.message().to_owned();
        text.error(&error.span().unwrap_or_default(), DataReason::Syntax { message })
    })
}

/// The `[sources]` of a file; empty if it has none.
fn read_sources(text: Text<'_>, root: &DeTable<'_>) -> Result<Sources, DataError> {
    let Some(found) = root.get("sources") else {
        return Ok(Sources::new());
    };
    let wrong = |span, key: &str, want, found| {
        text.error(&span, DataReason::WrongType { key: key.to_owned(), want, found })
    };
    let table = found
        .get_ref()
        .as_table()
        .ok_or_else(|| wrong(found.span(), "sources", "a section", found.get_ref().type_str()))?;
    let mut sources = Sources::new();
    for (id, citation) in table {
        let id = id.get_ref().to_string();
        let words = citation
            .get_ref()
            .as_str()
            .ok_or_else(|| wrong(citation.span(), &id, "a string", citation.get_ref().type_str()))?;
        let source = Source { id: id.clone(), citation: words.to_owned() };
        sources.insert(id, Arc::new(source));
    }
    Ok(sources)
}

#[cfg(test)]
mod tests;
