//! Finds the phrases of CONTRIBUTING.md's glossary that plain English has better words for.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

/// The table starts after this line of CONTRIBUTING.md.
const MARK: &str = "<!-- words -->";

/// A phrase in lower case, and what to write instead.
struct Phrase {
    words: String,
    instead: String,
}

/// Checks every tracked text file against the glossary.
///
/// Returns a line that says what was checked. Phrases are found across line breaks and comment markers, in any case.
///
/// # Errors
/// Phrases that were found, with file and line; a glossary that cannot be read; no Git.
pub(crate) fn check() -> Result<String> {
    let text = fs::read_to_string("CONTRIBUTING.md").context("CONTRIBUTING.md, in the current folder")?;
    let phrases = parse_table(&text)?;
    let listed = Command::new("git").args(["ls-files", "-z"]).output().context("git ls-files")?;
    ensure!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr).trim());
    let names = String::from_utf8(listed.stdout).context("names of tracked files")?;
    let mut faults = Vec::new();
    let mut files = 0;
    for name in names.split_terminator('\0').filter(|name| is_prose(Path::new(name))) {
        let Ok(text) = fs::read_to_string(name) else { continue };
        // The glossary itself.
        let text = if name == "CONTRIBUTING.md" { without_table(&text) } else { text };
        files += 1;
        faults.extend(
            find(&text, &phrases).map(|(line, phrase)| {
                format!("{name}:{line}: \"{}\": write {}", phrase.words, phrase.instead)
            }),
        );
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n       "));
    Ok(format!("words: {files} files, none of {} phrases", phrases.len()))
}

/// Source, documents and data that people read; not what is measured or made elsewhere.
fn is_prose(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let other = path.starts_with("data/runs") || path.ends_with("words.rs");
    !other && ["rs", "md", "toml", "cl", "sh", "snap", "py", "pyi"].contains(&extension)
        || path.starts_with("scripts")
}

fn parse_table(text: &str) -> Result<Vec<Phrase>> {
    let Some((_, table)) = text.split_once(MARK) else { bail!("CONTRIBUTING.md has no line `{MARK}`") };
    let rows =
        table.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let mut phrases = Vec::new();
    // The first two rows are the heading and its rule.
    for row in rows.skip(2) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [words, instead] = cells.as_slice() else {
            bail!("CONTRIBUTING.md, glossary: want `| not | but |`, found {row}")
        };
        let each = words
            .split(", ")
            .map(|words| Phrase { words: words.to_lowercase(), instead: (*instead).to_owned() });
        phrases.extend(each);
    }
    ensure!(!phrases.is_empty(), "CONTRIBUTING.md, glossary: no rows after `{MARK}`");
    Ok(phrases)
}

fn without_table(text: &str) -> String {
    let Some((before, table)) = text.split_once(MARK) else { return text.to_owned() };
    let blanked = table.lines().map(|line| if line.starts_with('|') { "" } else { line });
    [before, MARK].concat() + &blanked.collect::<Vec<_>>().join("\n")
}

/// The phrases in a text, each with the line that it begins in.
fn find<'p>(text: &str, phrases: &'p [Phrase]) -> impl Iterator<Item = (usize, &'p Phrase)> {
    // One run of words; `starts` has, for every line, where it begins in that run.
    let (mut run, mut starts) = (String::from(" "), Vec::new());
    for line in text.lines() {
        starts.push(run.len());
        let line = line.trim_start().trim_start_matches(['/', '!', '#', '*', '>']);
        // A string literal that continues on the next line.
        let line = line.trim_end().trim_end_matches('\\');
        for word in line.split_whitespace() {
            run.push_str(&word.to_lowercase());
            run.push(' ');
        }
    }
    let mut found = Vec::new();
    for phrase in phrases {
        for (at, _) in run.match_indices(&phrase.words) {
            let is_edge = |byte: u8| !byte.is_ascii_alphanumeric();
            let end = at + phrase.words.len();
            if is_edge(run.as_bytes()[at - 1]) && run.as_bytes().get(end).is_none_or(|byte| is_edge(*byte)) {
                found.push((starts.partition_point(|start| *start <= at), phrase));
            }
        }
    }
    found.sort_by_key(|(line, _)| *line);
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_across_lines_and_in_any_case() {
        let table = "text\n<!-- words -->\n\n| not | but |\n|---|---|\n| for ever, dearest | forever |\n";
        let phrases = parse_table(table).unwrap();
        let text =
            "/// It runs for\n    /// ever. The Dearest, of course.\nforever, for every\n\"for \\\n ever\"\n";
        let found: Vec<(usize, &str)> =
            find(text, &phrases).map(|(line, phrase)| (line, phrase.words.as_str())).collect();
        assert_eq!(found, [(1, "for ever"), (2, "dearest"), (4, "for ever")]);
        assert_eq!(find(&without_table(table), &phrases).count(), 0);
    }

    #[test]
    fn a_glossary_without_rows_is_an_error() {
        assert!(parse_table("no mark").is_err());
        assert!(parse_table("<!-- words -->\n\n| not | but |\n|---|---|\n").is_err());
        assert!(parse_table("<!-- words -->\n\n| a | b |\n|---|---|\n| one |\n").is_err());
    }
}
