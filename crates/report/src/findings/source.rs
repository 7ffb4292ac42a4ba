//! Locations in source texts.

use tripipe_ir::diagnostic::SourceLocation;

use super::Report;

/// Lines before and after that of a location.
const CONTEXT: u32 = 2;

/// The line of a location, and the position in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The line without its end.
    pub(super) text: &'a str,
    /// The column as an offset in bytes that is not inside a character; `None` if the column is unknown.
    pub(super) offset: Option<usize>,
}

impl<'a> Report<'a> {
    /// The line of a location; `None` when its text is not available or has no such line.
    pub(super) fn line(&self, location: &SourceLocation) -> Option<Line<'a>> {
        let text = self.sources.get(&location.file)?.lines().nth((location.line as usize).checked_sub(1)?)?;
        // Compilers count columns in bytes.
        let offset = (location.column as usize).checked_sub(1).map(|offset| {
            let within = 0..=offset.min(text.len());
            within.rev().find(|offset| text.is_char_boundary(*offset)).unwrap_or(0)
        });
        Some(Line { text, offset })
    }

    /// The line of a location with up to [`CONTEXT`] lines on either side, and the number of the first of them; `None` as
    /// for [`Self::line`].
    pub(super) fn context(&self, location: &SourceLocation) -> Option<(u32, Vec<&'a str>)> {
        self.line(location)?;
        let first = location.line.saturating_sub(CONTEXT).max(1);
        let count = location.line - first + 1 + CONTEXT;
        let text = self.sources.get(&location.file)?;
        Some((first, text.lines().skip(first as usize - 1).take(count as usize).collect()))
    }

    /// The 1-based column in characters; the original column in bytes where the text is not available. `None` if
    /// unknown.
    pub(super) fn column(&self, location: &SourceLocation) -> Option<usize> {
        match self.line(location) {
            Some(Line { text, offset }) => Some(text[..offset?].chars().count() + 1),
            None => (location.column > 0).then_some(location.column as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn sources(text: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("a.cl".to_owned(), text.to_owned())])
    }

    fn report(sources: &BTreeMap<String, String>) -> Report<'_> {
        Report { launches: &[], rules: &[], left_out: &[], findings: &[], sources }
    }

    fn location(line: u32, column: u32) -> SourceLocation {
        SourceLocation { file: "a.cl".to_owned(), line, column }
    }

    #[test]
    fn columns_are_bytes_in_and_characters_out() {
        let sources = sources("one\r\nzwölf = ü + x;\n");
        let report = report(&sources);
        let line = |line, column| report.line(&location(line, column));
        assert_eq!(line(1, 1), Some(Line { text: "one", offset: Some(0) }));
        // `ö` and `ü` are two bytes each: `x` is byte 14 (1-based 15), character 13.
        assert_eq!(line(2, 15).and_then(|line| line.text.get(line.offset?..)), Some("x;"));
        assert_eq!(report.column(&location(2, 15)), Some(13));
        // Inside `ö`: its start.
        assert_eq!(report.column(&location(2, 4)), Some(3));
        // Past the end of the line: after its last character.
        assert_eq!(report.column(&location(1, 99)), Some(4));
    }

    #[test]
    fn context_ends_with_the_text() {
        let sources = sources("1\n2\n3\n4\n5\n6\n");
        let report = report(&sources);
        assert_eq!(report.context(&location(1, 1)), Some((1, vec!["1", "2", "3"])));
        assert_eq!(report.context(&location(4, 1)), Some((2, vec!["2", "3", "4", "5", "6"])));
        assert_eq!(report.context(&location(6, 1)), Some((4, vec!["4", "5", "6"])));
        assert_eq!(report.context(&location(7, 1)), None);
    }

    #[test]
    fn missing_lines_and_columns_are_none() {
        let sources = sources("one\n");
        let report = report(&sources);
        assert_eq!(report.line(&location(2, 1)), None);
        assert_eq!(report.line(&location(0, 1)), None);
        assert_eq!(report.column(&location(1, 0)), None);
        assert_eq!(report.column(&location(7, 5)), Some(5));
        assert_eq!(report.column(&location(7, 0)), None);
    }
}
