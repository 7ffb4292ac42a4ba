//! The statements of a program as lines, and which of them a reproducer needs.

use tripipe_launch::Executor as _;
use tripipe_simulate::Simulator;
use tripipe_simulate::depend::NeededLines;

use super::Case;

/// What a brace encloses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brace {
    /// Statements: each gets a line.
    Block,
    /// Statements of a `do`, whose `while` follows the brace.
    Do,
    /// An initialiser, or the members of a type: all in the line of the statement.
    Inner,
}

/// A source with one statement on each line, without comments. A statement without braces after `if`, `for` or `while` stays
/// on their line. Lines of the preprocessor stay as they are.
pub(super) fn one_per_line(source: &str) -> Vec<String> {
    let mut writer = Writer::default();
    let source = source.replace("\\\r\n", "\\\n");
    let mut rest = &source[..];
    let mut at_line_start = true;
    while let Some(next) = rest.chars().next() {
        let taken = if at_line_start && rest.trim_start_matches([' ', '\t']).starts_with('#') {
            let length = directive_length(rest);
            writer.directive(rest[..length].trim_end());
            length
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            writer.space();
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("\\\n") {
            2
        } else if next == '"' || next == '\'' {
            let length = literal_length(rest);
            writer.push(&rest[..length]);
            length
        } else {
            writer.character(next);
            next.len_utf8()
        };
        // A directive takes its line break along; spaces before one do not end the start of a line.
        let ended = &rest[..taken];
        at_line_start = ended.ends_with('\n') || (at_line_start && ended.trim().is_empty());
        rest = &rest[taken..];
    }
    writer.end_line();
    writer.lines
}

/// Bytes of a line of the preprocessor, with the lines that continue it and its line break.
fn directive_length(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if !line.trim_end_matches('\n').ends_with('\\') {
            break;
        }
    }
    length
}

/// Bytes of a text or character literal.
fn literal_length(text: &str) -> usize {
    let quote = text.chars().next();
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if Some(letter) == quote {
            return at + letter.len_utf8();
        }
    }
    text.len()
}

#[derive(Default)]
struct Writer {
    lines: Vec<String>,
    /// The statement so far.
    line: String,
    braces: Vec<Brace>,
    parentheses: usize,
}

impl Writer {
    fn inner(&self) -> bool {
        self.braces.last() == Some(&Brace::Inner)
    }

    fn depth(&self) -> usize {
        self.braces.iter().filter(|brace| **brace != Brace::Inner).count()
    }

    fn space(&mut self) {
        if !self.line.is_empty() && !self.line.ends_with(' ') {
            self.line.push(' ');
        }
    }

    fn push(&mut self, text: &str) {
        self.line.push_str(text);
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim();
        if !line.is_empty() {
            let depth = self.depth().saturating_sub(usize::from(line == "}"));
            self.lines.push("    ".repeat(depth) + line);
        }
    }

    fn directive(&mut self, text: &str) {
        // A directive within a statement, such as a list of parameters, stays where it is.
        let before = std::mem::take(&mut self.line);
        if !before.trim().is_empty() {
            self.lines.push(before.trim_end().to_owned());
        }
        self.lines.extend(text.lines().map(str::to_owned));
    }

    fn character(&mut self, letter: char) {
        match letter {
            _ if letter.is_whitespace() => self.space(),
            '(' | '[' => {
                self.parentheses += 1;
                self.line.push(letter);
            }
            ')' | ']' => {
                self.parentheses = self.parentheses.saturating_sub(1);
                self.line.push(letter);
            }
            '{' => self.open(),
            '}' => self.close(),
            ';' => {
                self.line.push(letter);
                if self.parentheses == 0 && !self.inner() {
                    self.end_line();
                }
            }
            _ => self.line.push(letter),
        }
    }

    fn open(&mut self) {
        let before = self.line.trim_end();
        let word = |name: &str| before.split(|letter: char| !letter.is_alphanumeric()).any(|one| one == name);
        let is_type = ["struct", "union", "enum"].into_iter().any(word) && !before.ends_with(')');
        let inner = self.inner() || self.parentheses > 0 || is_type || before.ends_with(['=', ',']);
        let kind = if inner {
            Brace::Inner
        } else if before == "do" || before.ends_with(" do") {
            Brace::Do
        } else {
            Brace::Block
        };
        self.line.push('{');
        if kind != Brace::Inner {
            self.end_line();
        }
        self.braces.push(kind);
    }

    fn close(&mut self) {
        match self.braces.last().copied() {
            Some(Brace::Inner) => {
                self.line.push('}');
                self.braces.pop();
            }
            kind => {
                self.end_line();
                self.line.push('}');
                if kind == Some(Brace::Do) {
                    // Its line goes on with `while`, one level out.
                    self.line.push(' ');
                    self.braces.pop();
                } else {
                    self.end_line();
                    self.braces.pop();
                }
            }
        }
    }
}

/// The end of a part of the source that starts at a line: with a block that starts in it, or right after it, and with the
/// `else` of an `if`.
pub(super) fn block_end(lines: &[String], start: usize, mut end: usize) -> usize {
    let open = |end: usize| {
        let count =
            |brace: char| -> usize { lines[start..end].iter().map(|line| line.matches(brace).count()).sum() };
        count('{') > count('}')
    };
    let follows = |end: usize| {
        let next = lines.get(end).map_or("", |line| line.trim_start());
        next.starts_with('{') || next.starts_with("else")
    };
    while end < lines.len() && (open(end) || follows(end)) {
        end += 1;
    }
    end
}

/// The line after a block's first line that closes it.
pub(super) fn closing(lines: &[String], start: usize) -> Option<usize> {
    let mut depth = 0i32;
    for (at, line) in lines.iter().enumerate().skip(start) {
        depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
        if depth <= 0 {
            return Some(at).filter(|at| *at > start && lines[*at].trim() == "}");
        }
    }
    None
}

/// The lines that the number at a byte offset of an argument depends on; `None` if that is not known.
pub(super) fn needed(case: &Case, argument: usize, offset: usize) -> Option<NeededLines> {
    let mut simulator = Simulator::new(case.options.clone());
    simulator.prepare(&case.program, &case.loaded.kernel).ok()?;
    let position = case.loaded.memory.iter().position(|memory| memory.argument == argument)?;
    let staged = case.loaded.clone().stage(&mut simulator, case.program.clone()).ok()?;
    let id = staged.memory.get(position)?.id;
    let lines = simulator.needed_lines(&staged.launch, (id, offset)).ok()?;
    (!lines.needed.is_empty()).then_some(lines)
}

/// Parts of the source, first line and the line after the last, of which no line is needed: statements, and whole blocks.
pub(super) fn superfluous(lines: &[String], name: &str, found: &NeededLines) -> Vec<(usize, usize)> {
    let line = |at: usize| (name.to_owned(), at as u32 + 1);
    let mut parts = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let end = block_end(lines, at, at + 1);
        let known = (at..end).any(|at| found.known.contains(&line(at)));
        let needed = (at..end).any(|at| found.needed.contains(&line(at)));
        if known && !needed {
            parts.push((at, end));
            at = end;
        } else {
            at += 1;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_statement_gets_a_line() {
        let source = "#define N 4\n#define TWICE(x) \\\n    ((x) * 2)\n/* a\n comment; */\ntypedef struct { int a; int b; } \
                      Pair;\nconstant int table[] = { 1, 2, 3 };\nkernel void k(global int *out, // where\n   int n)\n{\n  \
                      for (int i = 0; i < n; i++) { out[i] = ';'; out[0] += TWICE(i); }\n  if (n) out[1] = 2; else { \
                      out[2] = 3; }\n  do n--; while (n > 4);\n  do { n -= 1; } while (n);\n  int v[2] = {1, \
                      2}; printf(\"{;} \\\" //\");\n}\n";
        let want = [
            "#define N 4",
            "#define TWICE(x) \\",
            "    ((x) * 2)",
            "typedef struct { int a; int b; } Pair;",
            "constant int table[] = { 1, 2, 3 };",
            "kernel void k(global int *out, int n) {",
            "    for (int i = 0; i < n; i++) {",
            "        out[i] = ';';",
            "        out[0] += TWICE(i);",
            "    }",
            "    if (n) out[1] = 2;",
            "    else {",
            "        out[2] = 3;",
            "    }",
            "    do n--;",
            "    while (n > 4);",
            "    do {",
            "        n -= 1;",
            "    } while (n);",
            "    int v[2] = {1, 2};",
            "    printf(\"{;} \\\" //\");",
            "}",
        ];
        assert_eq!(one_per_line(source), want);
    }

    #[test]
    fn what_is_superfluous_is_whole_blocks_and_statements() {
        let lines: Vec<String> =
            ["void k() {", "a;", "if (x) {", "b;", "}", "else {", "c;", "}", "for (;;) {", "d;", "}", "}"]
                .map(str::to_owned)
                .into();
        let of = |numbers: &[u32]| -> BTreeSet<_> {
            numbers.iter().map(|number| ("k.cl".to_owned(), *number)).collect()
        };
        let known = of(&[2, 3, 4, 7, 9, 10]);
        let parts = |needed: &[u32]| {
            let found = NeededLines { needed: of(needed), known: known.clone() };
            superfluous(&lines, "k.cl", &found)
        };
        assert_eq!(parts(&[2, 9, 10]), [(2, 8)]);
        assert_eq!(parts(&[3, 4]), [(1, 2), (5, 8), (8, 11)]);
        assert_eq!(parts(&[2, 3, 4, 7, 9]), [(9, 10)]);
        assert_eq!(closing(&lines, 8), Some(10));
        assert_eq!(closing(&lines, 1), None);
    }
}
