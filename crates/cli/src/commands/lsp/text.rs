//! Positions in texts, and the names of files, as the protocol writes them.

use std::path::PathBuf;

use gen_lsp_types::{Position, Range, TextEdit};
use percent_encoding::percent_decode_str;

/// The file that a URI names; `None` for other schemes, such as texts that are not saved.
pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    // `file://host/path`; a host is this one.
    let path = path.get(path.find('/')?..)?;
    Some(PathBuf::from(percent_decode_str(path).decode_utf8().ok()?.into_owned()))
}

/// A line of a text, from 0, without its end; empty behind the last.
pub(super) fn line_of(text: &str, line: u32) -> &str {
    text.lines().nth(line as usize).unwrap_or_default()
}

/// The number of UTF-16 units, which positions count by default.
fn units(text: &str) -> u32 {
    text.encode_utf16().count() as u32
}

/// The byte of a line at a number of UTF-16 units, at most its end.
pub(super) fn byte_at(line: &str, character: u32) -> usize {
    let mut passed = 0;
    for (byte, letter) in line.char_indices() {
        if passed >= character {
            return byte;
        }
        passed += letter.len_utf16() as u32;
    }
    line.len()
}

/// The word at a line and a column as compilers count them, from 1, in bytes; without a column, the whole line.
pub(super) fn word_at(text: &str, line: u32, column: u32) -> Range {
    let line = line.saturating_sub(1);
    let content = line_of(text, line);
    let start = content.len() - content.trim_start().len();
    let range = match (column as usize).checked_sub(1) {
        Some(byte) if byte < content.len() && content.is_char_boundary(byte) => {
            let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
            let rest = &content[byte..];
            let word = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            let first = rest.chars().next().map_or(0, char::len_utf8);
            byte..byte + word.max(first)
        }
        _ => start..content.trim_end().len().max(start),
    };
    let position = |byte: usize| Position { line, character: units(&content[..byte]) };
    Range { start: position(range.start), end: position(range.end) }
}

/// The end of a line, from 0.
pub(super) fn end_of(text: &str, line: u32) -> Position {
    Position { line, character: units(line_of(text, line)) }
}

/// The change from one text to another: the lines between the first and the last that differ.
pub(super) fn edit(from: &str, to: &str) -> TextEdit {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (from.split_inclusive('\n').collect(), to.split_inclusive('\n').collect());
    let before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let is_cut = !from.is_empty() && !from.ends_with('\n');
    let position = |line: usize| {
        // The end of a text whose last line has none is behind that line.
        if line == old.len() && is_cut {
            return end_of(from, line as u32 - 1);
        }
        Position { line: line as u32, character: 0 }
    };
    TextEdit {
        range: Range { start: position(before), end: position(old.len() - after) },
        new_text: new[before..new.len() - after].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn uris_are_paths() {
        assert_eq!(path_of("file:///a%20b/c.cl"), Some(PathBuf::from("/a b/c.cl")));
        assert_eq!(path_of("file://host/c.cl"), Some(PathBuf::from("/c.cl")));
        for none in ["untitled:1", "file:", "file://", "file://host", "file:///%ff", "", "/a"] {
            assert_eq!(path_of(none), None, "{none}");
        }
    }

    #[test]
    fn columns_of_compilers_become_units() {
        // `é` has two bytes and one unit, `😀` four bytes and two units.
        let text = "int é; /* 😀 */ abc = 1;\n  x;\n";
        let byte = text.find("abc").unwrap() as u32;
        assert_eq!(word_at(text, 1, byte + 1), Range { start: at(0, 16), end: at(0, 19) });
        assert_eq!(word_at(text, 2, 0), Range { start: at(1, 2), end: at(1, 4) });
        assert_eq!(byte_at(line_of(text, 0), 16), byte as usize);
        // What is not there is at the nearest place.
        for (line, column) in [(9, 9), (0, 0), (1, 999), (1, 6)] {
            let range = word_at(text, line, column);
            assert!(range.start <= range.end, "{line}, {column}");
        }
        assert_eq!(byte_at("ab", 99), 2);
    }

    /// An edit, applied as the protocol says, gives the other text.
    #[test]
    fn edits_lead_from_one_text_to_the_other() {
        let texts = ["", "a\n", "a\nb\nc\n", "a\nx\nc\n", "a\nb\nb\nc\n", "a\nb", "b\nc\n", "a\nb\nc", "x"];
        for from in texts {
            for to in texts {
                let TextEdit { range, new_text } = edit(from, to);
                let byte = |position: Position| {
                    let lines: usize =
                        from.split_inclusive('\n').take(position.line as usize).map(str::len).sum();
                    lines + byte_at(line_of(from, position.line), position.character)
                };
                let changed = [&from[..byte(range.start)], &new_text, &from[byte(range.end)..]].concat();
                assert_eq!(changed, to, "from {from:?}");
            }
        }
    }
}
