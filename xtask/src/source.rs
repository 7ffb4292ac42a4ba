//! The sources of the project: their names, and the tokens of Rust.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// The paths of tracked files; of all, or of those that a pattern of Git matches.
///
/// # Errors
/// No Git.
pub(crate) fn tracked(patterns: &[&str]) -> Result<Vec<String>> {
    let listed =
        Command::new("git").args(["ls-files", "-z"]).args(patterns).output().context("git ls-files")?;
    ensure!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr).trim());
    let names = String::from_utf8(listed.stdout).context("names of tracked files")?;
    Ok(names.split_terminator('\0').map(str::to_owned).collect())
}

/// The folder of the crate whose library or program contains the file; `None` for tests, examples and build scripts.
pub(crate) fn crate_of(path: &Path) -> Option<String> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let (["crates" | "bindings", folder, "src", inside @ ..] | [folder, "src", inside @ ..]) =
        parts.as_slice()
    else {
        return None;
    };
    let tests = inside.iter().any(|part| ["tests", "tests.rs"].contains(part));
    (!tests).then(|| (*folder).to_owned())
}

/// A part of a source that is not white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind,
    pub(crate) text: &'t str,
    /// Byte offset.
    pub(crate) start: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier, a keyword, a number or a lifetime.
    Word,
    /// `::`, or one other character.
    Sign,
    /// A literal of text, with its quotes.
    Text,
    Comment,
}

/// The tokens of a source, comments included.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut all = Vec::new();
    let mut start = 0;
    while let Some(first) = source[start..].chars().next() {
        let rest = &source[start..];
        let (kind, length) = if first.is_whitespace() {
            start += first.len_utf8();
            continue;
        } else if rest.starts_with("//") {
            (Kind::Comment, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (Kind::Comment, block_comment(rest))
        } else if let Some(length) = text_literal(rest) {
            (Kind::Text, length)
        } else if is_word(first) || first == '\'' {
            (Kind::Word, 1 + rest[1..].find(|c| !is_word(c)).unwrap_or(rest.len() - 1))
        } else if rest.starts_with("::") {
            (Kind::Sign, 2)
        } else {
            (Kind::Sign, first.len_utf8())
        };
        all.push(Token { kind, text: &rest[..length], start });
        start += length;
    }
    all
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The length of the block comment at the start of a text; comments nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while let Some(next) = text.as_bytes().get(at..at + 2) {
        at += match next {
            b"/*" => {
                depth += 1;
                2
            }
            b"*/" => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of the string or character literal at the start of a text, if there is one.
fn text_literal(text: &str) -> Option<usize> {
    let marked = text.trim_start_matches(['b', 'c', 'r']);
    let prefix = text.len() - marked.len();
    let body = marked.trim_start_matches('#');
    let hashes = marked.len() - body.len();
    if prefix > 2 || !body.starts_with(['"', '\'']) || body.starts_with('\'') && hashes > 0 {
        return None;
    }
    if text[..prefix].ends_with('r') && body.starts_with('"') {
        let end = format!("\"{}", "#".repeat(hashes));
        let length = body[1..].find(&end).map_or(body.len(), |at| 1 + at + end.len());
        return Some(prefix + hashes + length);
    }
    let quote = body.chars().next().filter(|_| hashes == 0)?;
    let mut inside = body.char_indices().skip(1);
    if quote == '\'' {
        // `'a` is a lifetime; `'a'` and `'\n'` are characters.
        let (_, first) = inside.next()?;
        let (at, second) = inside.next()?;
        if first != '\\' {
            return (second == '\'').then_some(prefix + at + 1);
        }
    }
    while let Some((at, c)) = inside.next() {
        if c == quote {
            return Some(prefix + at + 1);
        }
        if c == '\\' {
            inside.next();
        }
    }
    Some(text.len())
}

#[cfg(test)]
mod tests {
    use super::Kind::{Comment, Sign, Text, Word};
    use super::*;

    #[test]
    fn tests_examples_and_build_scripts_are_left_out() {
        let of = |path: &str| crate_of(Path::new(path));
        assert_eq!(of("crates/ir/src/flow/cfg.rs").as_deref(), Some("ir"));
        assert_eq!(of("xtask/src/main.rs").as_deref(), Some("xtask"));
        for path in [
            "crates/ir/build.rs",
            "crates/ir/tests/a.rs",
            "crates/ir/src/a/tests.rs",
            "crates/ir/src/tests/a.rs",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
    }

    #[test]
    fn literals_lifetimes_and_comments_are_told_apart() {
        let source = "a::<'b>(\"x\\\" // y\", '\\'', 'é', b'\"', r#\"\" /* \"#, cr\"\\\") /* c /* d */ \" */ // '\nr.e";
        let found: Vec<(Kind, &str)> =
            tokens(source).into_iter().map(|token| (token.kind, token.text)).collect();
        let want = [
            (Word, "a"),
            (Sign, "::"),
            (Sign, "<"),
            (Word, "'b"),
            (Sign, ">"),
            (Sign, "("),
            (Text, "\"x\\\" // y\""),
            (Sign, ","),
            (Text, "'\\''"),
            (Sign, ","),
            (Text, "'é'"),
            (Sign, ","),
            (Text, "b'\"'"),
            (Sign, ","),
            (Text, "r#\"\" /* \"#"),
            (Sign, ","),
            (Text, "cr\"\\\""),
            (Sign, ")"),
            (Comment, "/* c /* d */ \" */"),
            (Comment, "// '"),
            (Word, "r"),
            (Sign, "."),
            (Word, "e"),
        ];
        assert_eq!(found, want);
    }
}
