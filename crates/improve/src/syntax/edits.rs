//! Changes of a text.

use std::ops::Range;

/// Replacements of ranges of a text, which do not overlap. Everything else stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    replaced: Vec<(Range<usize>, String)>,
}

/// Two edits of one place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bytes {} to {} are edited twice", at.start, at.end)]
pub struct Overlap {
    /// The second edit's range.
    pub at: Range<usize>,
}

impl Edits {
    /// No change.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.replaced.is_empty()
    }

    /// Replaces the bytes of a range. An empty range inserts; insertions at one place stand in the order of the calls.
    ///
    /// # Errors
    /// The range overlaps that of an earlier edit.
    pub fn replace(&mut self, at: Range<usize>, text: impl Into<String>) -> Result<(), Overlap> {
        let overlaps = |other: &Range<usize>| at.start < other.end && other.start < at.end;
        if self.replaced.iter().any(|(other, _)| overlaps(other)) {
            return Err(Overlap { at });
        }
        self.replaced.push((at, text.into()));
        Ok(())
    }

    /// Inserts text.
    ///
    /// # Errors
    /// The place lies inside an earlier edit.
    pub fn insert(&mut self, at: usize, text: impl Into<String>) -> Result<(), Overlap> {
        self.replace(at..at, text)
    }

    /// The changed text. Ranges past its end, or inside a character, are left out.
    pub fn apply(&self, text: &str) -> String {
        self.apply_to(text, 0..text.len())
    }

    /// A part of the text with the edits in it.
    pub fn apply_to(&self, text: &str, part: Range<usize>) -> String {
        let mut edits: Vec<_> =
            self.replaced.iter().filter(|(at, _)| at.start >= part.start && at.end <= part.end).collect();
        edits.sort_by_key(|(at, _)| (at.start, at.end));
        let mut result = String::with_capacity(text.len());
        let mut done = part.start;
        for (at, new) in edits {
            result.push_str(text.get(done..at.start).unwrap_or_default());
            result.push_str(new);
            done = at.end;
        }
        result.push_str(text.get(done..part.end).unwrap_or_default());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_replace_their_ranges_alone() {
        let mut edits = Edits::new();
        edits.replace(4..5, "bb").unwrap();
        edits.insert(0, "// ").unwrap();
        edits.insert(7, "!").unwrap();
        assert_eq!(edits.apply("a = b;\n"), "// a = bb;\n!");
        assert_eq!(edits.apply_to("a = b;\n", 4..6), "bb;");
    }

    #[test]
    fn overlapping_edits_are_refused() {
        let mut edits = Edits::new();
        edits.replace(2..6, "").unwrap();
        assert_eq!(edits.replace(5..7, ""), Err(Overlap { at: 5..7 }));
        assert_eq!(edits.insert(3, "x"), Err(Overlap { at: 3..3 }));
        edits.insert(6, "x").unwrap();
    }
}
