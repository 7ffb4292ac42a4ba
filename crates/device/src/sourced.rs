//! A figure with its provenance.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A figure with its basis and source.
#[derive(Clone, Debug, PartialEq)]
pub struct Sourced<T> {
    /// The figure itself.
    pub value: T,
    /// How it is known.
    pub basis: Basis,
    /// The source; for a guess, what it was guessed from.
    pub source: Arc<Source>,
    /// Additional information for readers of the figure.
    pub note: Option<String>,
}

impl<T> Sourced<T> {
    /// Converts the figure to another type.
    pub(crate) fn map<U>(self, convert: impl FnOnce(T) -> U) -> Sourced<U> {
        Sourced { value: convert(self.value), basis: self.basis, source: self.source, note: self.note }
    }
}

impl<T: fmt::Display> fmt::Display for Sourced<T> {
    /// The figure and its provenance on one line: `533 (documented: Leadcore, ...)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}: {})", self.value, self.basis, self.source.citation)
    }
}

/// A document, an open driver or a measurement that figures come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The short name by which the data files cite it, e.g. `arm-datasheet`.
    pub id: String,
    /// The full citation.
    pub citation: String,
}

/// How a figure is known, in descending order of certainty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// Documented by the vendor.
    Documented,
    /// Found by the authors of an open driver by reverse engineering.
    ReverseEngineered,
    /// Measured, or reported by the device's driver.
    Measured,
    /// Chosen so that the model reproduces a measurement.
    Fitted,
    /// Inferred, remembered, or picked for a typical configuration.
    Guessed,
}

impl Basis {
    /// Every basis with the word the data files use for it.
    pub(crate) const WORDS: &'static [(&'static str, Self)] = &[
        ("documented", Self::Documented),
        ("reverse-engineered", Self::ReverseEngineered),
        ("measured", Self::Measured),
        ("fitted", Self::Fitted),
        ("guessed", Self::Guessed),
    ];
}

impl FromStr for Basis {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::WORDS.iter().find(|(known, _)| *known == text).map(|(_, basis)| *basis).ok_or(())
    }
}

impl fmt::Display for Basis {
    /// The word used in the data files: `documented`, `reverse-engineered`, ...
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(word(Self::WORDS, *self))
    }
}

/// The word for `value` in a table of words; empty if it is not in the table.
pub(crate) fn word<T: Copy + PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, known)| *known == value).map_or("", |(word, _)| word)
}
