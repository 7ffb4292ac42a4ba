//! Where nodes stand in the source, macros included.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;

use super::node::SourceRange;

/// The end of the path under which clang sees the source.
const SOURCE_FILE: &str = "/kernel.cl";

/// One end of a node, or the location of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// Unknown, or in another file.
    Nowhere,
    /// A token of the source.
    Token { offset: usize, length: usize },
    /// A token of the expansion of the macro named at `offset`.
    Expansion {
        offset: usize,
        length: usize,
        /// Where the token is spelled, if that is in the source and in the macro's definition.
        spelled: Option<(usize, usize)>,
    },
}

impl Location {
    pub(super) fn is_in_source(self) -> bool {
        self != Self::Nowhere
    }

    /// The bytes of the token, or of the macro's name.
    pub(super) fn range(self) -> Range<usize> {
        match self {
            Self::Nowhere => 0..0,
            Self::Token { offset, length } | Self::Expansion { offset, length, .. } => {
                offset..offset + length
            }
        }
    }
}

/// Makes places of clang's locations.
pub(super) struct Places<'s> {
    pub(super) source: &'s str,
    /// The file of the last location.
    file: String,
    /// The bodies of macros that the source defines: name, body, whether it has parameters. Of several definitions of
    /// a name, the last before an expansion counts.
    macros: HashMap<&'s str, Vec<(Range<usize>, bool)>>,
}

impl<'s> Places<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        let mut macros: HashMap<&str, Vec<(Range<usize>, bool)>> = HashMap::new();
        let mut line_start = 0;
        while line_start < source.len() {
            let mut end = line_start + source[line_start..].find('\n').unwrap_or(source.len() - line_start);
            while source[line_start..end].ends_with('\\') && end < source.len() {
                end += 1 + source[end + 1..].find('\n').unwrap_or(source.len() - end - 1);
            }
            let line = &source[line_start..end];
            if let Some(rest) = line.trim_start().strip_prefix('#').map(str::trim_start)
                && let Some(rest) = rest.strip_prefix("define").map(str::trim_start)
            {
                let at = end - rest.len();
                let name_length = rest.find(|letter: char| !is_word(letter)).unwrap_or(rest.len());
                let (name, after) = rest.split_at(name_length);
                let has_parameters = after.starts_with('(');
                let head = if has_parameters { after.find(')').map_or(after.len(), |it| it + 1) } else { 0 };
                let body = &after[head..];
                let body = &body[..body.find("//").unwrap_or(body.len())];
                let start = at + name_length + head + (body.len() - body.trim_start().len());
                let range = start..start + body.trim().len();
                macros.entry(name).or_default().push((range, has_parameters));
            }
            line_start = end + 1;
        }
        Self { source, file: String::new(), macros }
    }

    /// Reads a location.
    pub(super) fn location(&mut self, json: &Value) -> Location {
        let (spelling, expansion) = (json.get("spellingLoc"), json.get("expansionLoc"));
        let (Some(spelling), Some(expansion)) = (spelling, expansion) else {
            return match self.token(json) {
                Some((offset, length)) => Location::Token { offset, length },
                None => Location::Nowhere,
            };
        };
        let spelled = self.token(spelling);
        let is_argument = expansion.get("isMacroArgExpansion").is_some();
        let Some((offset, length)) = self.token(expansion) else { return Location::Nowhere };
        // An argument is spelled in the source, but not in the definition: it never starts or ends a body.
        let spelled = if is_argument { Some((usize::MAX, 0)) } else { spelled };
        Location::Expansion { offset, length, spelled }
    }

    /// Offset and length of a token of the source.
    fn token(&mut self, json: &Value) -> Option<(usize, usize)> {
        if let Some(file) = json.get("file").and_then(Value::as_str) {
            file.clone_into(&mut self.file);
        }
        let number =
            |name: &str| json.get(name).and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
        let (offset, length) = (number("offset")?, number("tokLen")?);
        let in_source =
            self.file.ends_with(SOURCE_FILE) && self.source.get(offset..offset + length).is_some();
        in_source.then_some((offset, length))
    }

    /// The place between two locations, and the expansion that both lie in. `outer` is that of the enclosing node.
    pub(super) fn range_between(
        &self,
        begin: Location,
        end: Location,
        outer: Option<usize>,
    ) -> (SourceRange, Option<usize>) {
        let nowhere = (SourceRange { range: 0..0, exact: false, in_macro: true }, outer);
        let both = match (begin, end) {
            (Location::Expansion { offset: a, .. }, Location::Expansion { offset: b, .. }) if a == b => {
                Some(a)
            }
            _ => None,
        };
        // A macro of a header or an option is whole where the enclosing node is not part of it.
        let whole = both.is_some() && both != outer;
        let (start, starts) = match begin {
            Location::Nowhere => return nowhere,
            Location::Token { offset, .. } => (offset, true),
            Location::Expansion { offset, spelled, .. } => {
                let body = self.body(offset).map(|(body, _)| body.start);
                (offset, spelled.map_or(whole, |(at, _)| body == Some(at)))
            }
        };
        let (stop, ends) = match end {
            Location::Nowhere => return nowhere,
            Location::Token { offset, length } => (offset + length, true),
            Location::Expansion { offset, length, spelled } => {
                let body = self.body(offset).map(|(body, _)| body.end);
                let ends = spelled
                    .map_or(whole, |(at, length)| at.checked_add(length).is_some_and(|at| body == Some(at)));
                (self.expansion_end(offset, length), ends)
            }
        };
        if stop < start {
            return nowhere;
        }
        let in_macro = [begin, end].iter().any(|it| matches!(it, Location::Expansion { .. }));
        (SourceRange { range: start..stop, exact: starts && ends, in_macro }, both.or(outer))
    }

    /// The body of the macro named at `offset`.
    fn body(&self, offset: usize) -> Option<(Range<usize>, bool)> {
        let definitions = self.macros.get(self.word(offset))?;
        definitions.iter().rev().find(|(body, _)| body.start <= offset).cloned()
    }

    /// The end of an expansion: that of the arguments' closing parenthesis if the macro has parameters.
    fn expansion_end(&self, offset: usize, length: usize) -> usize {
        let end = offset + length;
        let has_parameters = self.body(offset).is_none_or(|(_, has_parameters)| has_parameters);
        let open = self.after(end);
        if !has_parameters || !self.source[open..].starts_with('(') {
            return end;
        }
        let mut depth = 0usize;
        for (at, letter) in self.source[open..].char_indices() {
            match letter {
                '(' => depth += 1,
                ')' if depth == 1 => return open + at + 1,
                ')' => depth -= 1,
                _ => {}
            }
        }
        end
    }

    /// The word at an offset.
    fn word(&self, offset: usize) -> &'s str {
        let rest = self.source.get(offset..).unwrap_or_default();
        &rest[..rest.find(|letter: char| !is_word(letter)).unwrap_or(rest.len())]
    }

    /// The word that clang's location `json` names; `None` where it is not spelled in the source.
    pub(super) fn word_at(&self, json: &Value) -> Option<&'s str> {
        let json = json.get("spellingLoc").unwrap_or(json);
        let offset = json.get("offset").and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok())?;
        Some(self.word(offset)).filter(|word| !word.is_empty())
    }

    /// The end of a node behind the parentheses that it opens: clang's place of `(short8)(0)` ends before the last one.
    pub(super) fn closed(&self, range: &Range<usize>) -> usize {
        let text = self.source.get(range.clone()).unwrap_or_default();
        if text.contains(['"', '\'']) || text.contains("/*") || text.contains("//") {
            return range.end;
        }
        let mut end = range.end;
        for _ in text.matches(')').count()..text.matches('(').count() {
            let at = self.after(end);
            if !self.source[at..].starts_with(')') {
                return range.end;
            }
            end = at + 1;
        }
        end
    }

    /// The first byte from `at` on that is neither space nor comment.
    pub(super) fn after(&self, at: usize) -> usize {
        let mut at = at;
        loop {
            let rest = self.source.get(at..).unwrap_or_default();
            let trimmed = rest.trim_start();
            at += rest.len() - trimmed.len();
            at += if trimmed.starts_with("//") {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
            } else {
                return at;
            };
        }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}
