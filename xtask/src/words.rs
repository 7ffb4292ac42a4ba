//! Finds phrases that plain English has better words for, links of documents that lead nowhere, pages that the site's
//! table of contents lacks, and lines of code that are too long.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::source::{self, Kind};

/// Phrases, separated by commas, and what to write instead.
const PHRASES: &[(&str, &str)] = &[
    ("dearest, the dearest way", "most expensive"),
    ("for ever", "forever"),
    ("at least so long", "at least as long"),
    ("is no number, is no integer, is no multiple, is no power of two, is no text", "is not a number, ..."),
    ("what is no", "a value that is not"),
    (
        "anybody, whoever waits, whoever writes, whoever calls",
        "any work-item, the caller, the waiting thread",
    ),
    ("the likes of", "such as"),
    ("in the place of", "instead of"),
    ("unless told", "by default"),
    ("at the most, at the least", "at most, at least"),
    ("from round to round, in every round, rounds of a loop", "iteration"),
    ("goes both ways, go both ways, go different ways, goes apart", "diverge"),
    ("on every way, the way here, longest way, dearest way", "path"),
    ("a text with letters, a sum with letters, sums with letters", "symbolic"),
    ("that there is not", "that does not exist"),
    ("of nothing to do, nothing was to be done", "there was nothing to do"),
    ("next door", "neighbouring"),
    ("hand over, hands over, handed over, handing over", "pass, submit"),
    ("comes to its end, come to an end, coming to its end", "ends, reaches its end"),
    ("said twice, told twice", "given twice, reported twice"),
    ("anew", "again"),
    ("is told of, tells on", "is reported to, depends on"),
    ("one does not have", "you do not have"),
];

/// The table of contents of the site.
const SUMMARY: &str = "docs/SUMMARY.md";

/// The most columns of a line of code. The formatter leaves longer ones as they are.
const COLUMNS: usize = 120;

/// Checks every tracked text file against [`PHRASES`], the links of every document, that [`SUMMARY`] lists every page, and
/// the length of lines of Rust.
///
/// Returns a line that says what was checked. Phrases are found across line breaks and comment markers, in any case.
///
/// # Errors
/// What was found, with file and line; no Git.
pub(crate) fn check() -> Result<String> {
    let (mut faults, mut files, mut documents) = (Vec::new(), 0, 0);
    let summary = fs::read_to_string(SUMMARY).context(SUMMARY)?;
    let pages: Vec<&str> = links(&summary).map(|(_, link)| link).collect();
    for name in &source::tracked(&[])? {
        let path = Path::new(name);
        let is_document = path.extension().is_some_and(|extension| extension == "md");
        if !is_document && !is_prose(path) {
            continue;
        }
        let Ok(text) = fs::read_to_string(name) else { continue };
        if is_document {
            documents += 1;
            let page = name.strip_prefix("docs/").filter(|_| name != SUMMARY);
            if page.is_some_and(|page| !pages.contains(&page)) {
                faults.push(format!("{SUMMARY}: {name} is missing"));
            }
            let dead = links(&text).filter(|(_, link)| !leads_somewhere(path, &text, link));
            faults.extend(dead.map(|(line, link)| format!("{name}:{line}: nothing is at the link {link}")));
        }
        if is_prose(path) {
            files += 1;
            let found = find(&text, PHRASES).into_iter();
            faults.extend(
                found.map(|(line, words, instead)| format!("{name}:{line}: \"{words}\": write {instead}")),
            );
            if path.extension().is_some_and(|extension| extension == "rs") {
                let long = long_lines(&text).into_iter();
                faults.extend(long.map(|line| format!("{name}:{line}: code in more than {COLUMNS} columns")));
            }
        }
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n       "));
    Ok(format!("words: {files} files, none of {} phrases; links of {documents} documents", PHRASES.len()))
}

/// Source, documents and data that people read; not what is measured or made elsewhere.
fn is_prose(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let other = path.starts_with("data/runs") || path.ends_with("words.rs");
    !other && ["rs", "md", "toml", "cl", "sh", "snap", "py", "pyi"].contains(&extension)
        || path.starts_with("scripts")
}

/// The lines with code behind column [`COLUMNS`], from 1. Comments and literals of text may be longer, with the signs that
/// close what they are in.
fn long_lines(text: &str) -> Vec<usize> {
    let tokens = source::tokens(text);
    let (mut start, mut long) = (0, Vec::new());
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let code = line.trim_end().trim_end_matches([')', ']', ',', ';']);
        if let Some((at, _)) = code.char_indices().nth(COLUMNS) {
            let after = tokens.partition_point(|token| token.start + token.text.len() <= start + at);
            let mut behind = tokens[after..].iter().take_while(|token| token.start < start + code.len());
            if !behind.any(|token| matches!(token.kind, Kind::Text | Kind::Comment)) {
                long.push(number);
            }
        }
        start += line.len();
    }
    long
}

/// The targets of a document's links within the repository, each with its line; code is left out.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    let lines = text.lines().zip(1..).filter(move |(line, _)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.flat_map(|(line, number)| {
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        targets.map(move |(target, _)| (number, target)).filter(|(_, target)| !target.contains("://"))
    })
}

/// Whether a link's file exists, and its heading if the file is a document.
fn leads_somewhere(document: &Path, text: &str, link: &str) -> bool {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let path = document.parent().unwrap_or(Path::new("")).join(file);
    if !file.is_empty() && !path.exists() {
        return false;
    }
    let has =
        |text: &str| text.lines().filter(|line| line.starts_with('#')).any(|line| anchor(line) == heading);
    if heading.is_empty() || !link.contains(".md") && !file.is_empty() {
        return true;
    }
    if file.is_empty() { has(text) } else { fs::read_to_string(path).is_ok_and(|text| has(&text)) }
}

/// The name by which GitHub links to a heading.
fn anchor(heading: &str) -> String {
    let letters = heading.trim_start_matches('#').trim().to_lowercase();
    let letters = letters.chars().filter(|c| c.is_alphanumeric() || "_- ".contains(*c));
    letters.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The phrases in a text, each with the line that it begins in and what to write instead.
fn find<'p>(text: &str, phrases: &[(&'p str, &'p str)]) -> Vec<(usize, &'p str, &'p str)> {
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
    for (words, instead) in
        phrases.iter().flat_map(|(all, instead)| all.split(", ").map(move |one| (one, instead)))
    {
        for (at, _) in run.match_indices(words) {
            let is_edge = |byte: u8| !byte.is_ascii_alphanumeric();
            let end = at + words.len();
            if is_edge(run.as_bytes()[at - 1]) && run.as_bytes().get(end).is_none_or(|byte| is_edge(*byte)) {
                found.push((starts.partition_point(|start| *start <= at), words, *instead));
            }
        }
    }
    found.sort_by_key(|(line, ..)| *line);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_across_lines_and_in_any_case() {
        let text =
            "/// It runs for\n    /// ever. The Dearest, of course.\nforever, for every\n\"for \\\n ever\"\n";
        let phrases = [("for ever, dearest", "forever")];
        let found: Vec<(usize, &str)> =
            find(text, &phrases).into_iter().map(|(line, words, _)| (line, words)).collect();
        assert_eq!(found, [(1, "for ever"), (2, "dearest"), (4, "for ever")]);
        assert!(PHRASES.iter().all(|(words, _)| *words == words.to_lowercase()));
    }

    #[test]
    fn code_in_more_than_120_columns_is_found() {
        let words = |length: usize| "x".repeat(length);
        let text = format!(
            "{}\n{}\n    // {}\na(\"{}\", b);\na(\"\", {});\nlet a = \"\n{}\";\n",
            words(120),
            words(121),
            words(121),
            words(121),
            words(121),
            words(121)
        );
        assert_eq!(long_lines(&text), [2, 5]);
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        let text = "# One `two`, three\n[a](words.rs) [b](gone.md)\n```\n[c](gone.md)\n```\n[d](https://x.y) [e](#one-two-three) [f](#four)\n";
        let document = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/here.md"));
        let dead: Vec<_> = links(text).filter(|(_, link)| !leads_somewhere(document, text, link)).collect();
        assert_eq!(dead, [(2, "gone.md"), (6, "#four")]);
    }
}
