//! What an OpenCL C program compiles to: its text without the branches that its definitions exclude.
//!
//! Conditionals are evaluated as a preprocessor does; the code keeps its form, its macros and its comments. The result
//! needs no options: those that it uses are definitions at its top.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use thiserror::Error;

use super::condition::{ConditionValue, evaluate};

/// Why the text of a program cannot be reduced.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LiveError {
    /// A conditional that cannot be evaluated.
    #[error("{part}, line {line}: {reason} in `{text}`")]
    Condition {
        /// Name of the part.
        part: String,
        /// Line in the part, 1-based.
        line: usize,
        /// The directive.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// `#else`, `#elif` or `#endif` without `#if`, or `#if` without `#endif`.
    #[error("{part}, line {line}: `#if` and `#endif` do not match")]
    Unbalanced {
        /// Name of the part.
        part: String,
        /// Line in the part, 1-based.
        line: usize,
    },
}

/// The text of a program, given as its parts with their names, with what its definitions leave: comments and code of the branches that are compiled, without
/// `#line`, without macros that nothing uses, and with the definitions that something uses at its top. It compiles to
/// the same code without `-D`; the program's other options still apply.
///
/// # Errors
/// A conditional that cannot be evaluated.
pub fn live<'t>(
    parts: impl IntoIterator<Item = (&'t str, &'t str)>,
    definitions: &[(String, String)],
) -> Result<String, LiveError> {
    let mut reader = Reader::default();
    for (name, value) in definitions {
        reader.macros.insert(name.clone(), Some(value.clone()));
    }
    for (name, text) in parts {
        reader.part(name, text)?;
    }
    let defines = definitions.iter().map(|(name, value)| OutputLine {
        text: format!("#define {name} {value}"),
        defines: Some(name.clone()),
        comment: false,
    });
    let mut lines: Vec<OutputLine> = defines.collect();
    let given = lines.len();
    lines.extend(reader.lines);
    let used = used(&lines);
    Ok(written(&lines, given, &used))
}

/// A line of the result: with its continuation lines, if it has any.
struct OutputLine {
    text: String,
    /// The macro that it defines.
    defines: Option<String>,
    /// Whether it consists of a comment.
    comment: bool,
}

/// A conditional that is open.
struct Open {
    /// Whether the lines around it are compiled.
    outside: bool,
    /// Whether one of its branches has been chosen.
    chosen: bool,
    /// Whether its condition depends on the compiler: all its branches and directives stay.
    kept: bool,
    line: usize,
}

#[derive(Default)]
struct Reader {
    /// Object-like macros with their text; `None` for one with parameters.
    macros: HashMap<String, Option<String>>,
    open: Vec<Open>,
    /// Whether the current line is compiled.
    live: bool,
    lines: Vec<OutputLine>,
}

impl Reader {
    fn part(&mut self, part: &str, text: &str) -> Result<(), LiveError> {
        self.live = true;
        // A blank line between the parts.
        self.keep(String::new(), None);
        let mut lines = text.lines().enumerate();
        while let Some((number, first)) = lines.next() {
            let mut whole = first.to_owned();
            while whole.ends_with('\\') {
                let Some((_, next)) = lines.next() else { break };
                let _ = write!(whole, "\n{next}");
            }
            let directive = whole.trim_start().strip_prefix('#').map(str::trim_start);
            match directive {
                Some(directive) => self.directive(part, number + 1, directive, &whole)?,
                None if self.live => self.keep(whole, None),
                None => {}
            }
        }
        match self.open.pop() {
            Some(open) => Err(LiveError::Unbalanced { part: part.to_owned(), line: open.line }),
            None => Ok(()),
        }
    }

    fn keep(&mut self, text: String, defines: Option<String>) {
        let comment = text.trim_start().starts_with("//");
        // One blank line is enough.
        if text.trim().is_empty() && self.lines.last().is_none_or(|last| last.text.trim().is_empty()) {
            return;
        }
        self.lines.push(OutputLine { text, defines, comment });
    }

    fn directive(&mut self, part: &str, line: usize, directive: &str, whole: &str) -> Result<(), LiveError> {
        let unbalanced = || LiveError::Unbalanced { part: part.to_owned(), line };
        let (word, rest) = split_word(directive);
        let rest = uncommented(rest);
        match word {
            "if" | "ifdef" | "ifndef" => {
                let value = match word {
                    // In a branch that is not compiled, conditions do not matter.
                    _ if !self.live => Some(0),
                    "if" => self.value(part, line, whole, &rest)?,
                    _ => self.defined(rest.trim()).map(|defined| i64::from(defined == (word == "ifdef"))),
                };
                self.open(line, value, whole);
            }
            "elif" => {
                let open = self.open.last().ok_or_else(unbalanced)?;
                if open.kept {
                    self.keep_if_live(whole);
                } else if open.chosen || !open.outside {
                    self.live = false;
                } else {
                    let value = self.value(part, line, whole, &rest)?;
                    // A condition that depends on the compiler after one that does not: not in these sources.
                    let is = value.ok_or_else(|| LiveError::Condition {
                        part: part.to_owned(),
                        line,
                        text: whole.to_owned(),
                        reason: "a condition that depends on the compiler".to_owned(),
                    })?;
                    self.live = is != 0;
                    if let Some(open) = self.open.last_mut() {
                        open.chosen = is != 0;
                    }
                }
            }
            "else" => {
                let open = self.open.last_mut().ok_or_else(unbalanced)?;
                if open.kept {
                    self.keep_if_live(whole);
                } else {
                    self.live = open.outside && !open.chosen;
                    open.chosen = true;
                }
            }
            "endif" => {
                let open = self.open.pop().ok_or_else(unbalanced)?;
                if open.kept {
                    self.keep_if_live(whole);
                }
                self.live = open.outside;
            }
            "line" => {}
            "define" if self.live => {
                let (name, body) = split_word(&rest);
                let (name, body) = (name.to_owned(), body.replace("\\\n", " "));
                let function_like = body.starts_with('(');
                // A definition that is given already has the same text.
                if !self.macros.contains_key(&name) || function_like {
                    self.macros.insert(name.clone(), (!function_like).then_some(body));
                    self.keep(whole.to_owned(), Some(name));
                }
            }
            "undef" if self.live => {
                self.macros.remove(rest.trim());
                self.keep(whole.to_owned(), None);
            }
            _ => self.keep_if_live(whole),
        }
        Ok(())
    }

    fn keep_if_live(&mut self, whole: &str) {
        if self.live {
            self.keep(whole.to_owned(), None);
        }
    }

    fn open(&mut self, line: usize, value: ConditionValue, whole: &str) {
        let outside = self.live;
        let kept = outside && value.is_none();
        if kept {
            self.keep(whole.to_owned(), None);
        }
        let chosen = value.is_some_and(|value| value != 0);
        self.live = outside && (kept || chosen);
        self.open.push(Open { outside, chosen, kept, line });
    }

    /// Whether a macro is defined; `None` when that depends on the compiler, whose macros begin with two underscores.
    fn defined(&self, name: &str) -> Option<bool> {
        if self.macros.contains_key(name) {
            Some(true)
        } else if name.starts_with("__") {
            None
        } else {
            Some(false)
        }
    }

    /// The value of a condition.
    fn value(
        &self,
        part: &str,
        line: usize,
        whole: &str,
        condition: &str,
    ) -> Result<ConditionValue, LiveError> {
        evaluate(condition, &|name| self.defined(name), &|name| self.macros.get(name)).map_err(|reason| {
            LiveError::Condition { part: part.to_owned(), line, text: whole.to_owned(), reason }
        })
    }
}

/// The first identifier, and what follows it.
fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    text.split_at(end)
}

/// The text without a comment at its end.
fn uncommented(text: &str) -> String {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or(line).trim_end())
        .collect::<Vec<_>>()
        .join("\n")
        .trim_start()
        .to_owned()
}

/// The identifiers and numbers of a text, without those in comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| {
            line.split("//").next().unwrap_or(line).split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        })
        .filter(|word| !word.is_empty())
}

/// The macros that the code uses, directly or through others.
///
/// A name that `##` makes is not in the text. Its first half is: a word that ends with an underscore. The second half is
/// the name or the number of something else that is used. So a macro is also used if both halves are.
fn used(lines: &[OutputLine]) -> BTreeSet<String> {
    let mut definitions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in lines {
        if let Some(name) = &line.defines {
            definitions.entry(name).or_default().push(&line.text);
        }
    }
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let code = lines.iter().filter(|line| line.defines.is_none() && !line.comment);
    seen.extend(code.flat_map(|line| words(&line.text)));
    let mut used = BTreeSet::new();
    loop {
        let pasted = |name: &str| {
            name.match_indices('_')
                .any(|(at, _)| seen.contains(&name[..=at]) && seen.contains(&name[at + 1..]))
        };
        let next: Vec<&str> = definitions
            .keys()
            .copied()
            .filter(|name| !used.contains(*name) && (seen.contains(name) || pasted(name)))
            .collect();
        if next.is_empty() {
            return used;
        }
        for name in next {
            used.insert(name.to_owned());
            // Its own name is in the text too.
            seen.extend(definitions[name].iter().flat_map(|text| words(text)));
        }
    }
}

/// The lines that remain. A comment above definitions goes with the last of them.
fn written(lines: &[OutputLine], given: usize, used: &BTreeSet<String>) -> String {
    let remains = |line: &OutputLine| line.defines.as_ref().is_none_or(|name| used.contains(name));
    let mut text = String::new();
    let mut put = |line: &str| {
        let blank = line.trim().is_empty();
        if !(blank && (text.is_empty() || text.ends_with("\n\n"))) {
            text.push_str(line);
            text.push('\n');
        }
    };
    let mut at = 0;
    while at < lines.len() {
        if at == given {
            put("");
        }
        let line = &lines[at];
        if line.comment {
            let end = at + lines[at..].iter().take_while(|line| line.comment).count();
            let mut below = lines[end..].iter().take_while(|line| line.defines.is_some()).peekable();
            if below.peek().is_none() || below.any(remains) {
                lines[at..end].iter().for_each(|line| put(&line.text));
            }
            at = end;
            continue;
        }
        if remains(line) {
            put(&line.text);
        }
        at += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, definitions: &[(&str, &str)]) -> Result<String, LiveError> {
        let owned = definitions.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        live([("f.cl", text)], &owned.collect::<Vec<_>>())
    }

    #[test]
    fn branches_that_are_not_compiled_go() -> Result<(), LiveError> {
        let text = "\
// A kernel.

#ifndef WIDE
#define WIDE 0
#endif
// Types.
#if WIDE == 2 && !defined(NARROW)
#define TYPE int2
#elif WIDE
#define TYPE int4
#else
#define TYPE int
#endif
// Of no use here.
#define OTHER 1
kernel void f(global TYPE *p)
{
#ifdef NARROW
    p[1] = 0;
#else
    p[0] = 0; // first
#endif
}
";
        let body = |ty: &str| {
            format!(
                "// A kernel.\n\n// Types.\n#define TYPE {ty}\nkernel void f(global TYPE *p)\n{{\n    p[0] = 0; // first\n}}\n"
            )
        };
        assert_eq!(shown(text, &[])?, body("int"));
        // WIDE itself is used by no code that is left.
        assert_eq!(shown(text, &[("WIDE", "2")])?, body("int2"));
        assert_eq!(shown(text, &[("WIDE", "3")])?, body("int4"));
        let narrow = shown(text, &[("NARROW", "1")])?;
        assert!(narrow.contains("p[1] = 0;") && !narrow.contains("p[0]"), "{narrow}");
        Ok(())
    }

    /// `TIMES_2` is pasted of `TIMES_` and the value of COUNT.
    #[test]
    fn pasted_names_are_used() -> Result<(), LiveError> {
        let text = "\
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define TIMES_1(X) X(0)
#define TIMES_2(X) TIMES_1(X) X(1)
#define TIMES_3(X) TIMES_2(X) X(2)
#define PUT(i) p[i] = 0;
kernel void f(global int *p) { PASTE(TIMES_, COUNT)(PUT) }
";
        let two = shown(text, &[("COUNT", "2")])?;
        assert!(two.starts_with("#define COUNT 2\n\n") && two.contains("TIMES_1(X) X(0)"), "{two}");
        assert!(!two.contains("TIMES_3"), "{two}");
        Ok(())
    }

    #[test]
    fn compiler_dependent_conditions_are_preserved() -> Result<(), LiveError> {
        let text = "#if ON && !defined(__there)\nint a;\n#else\nint b;\n#endif\n";
        assert_eq!(shown(text, &[("ON", "1")])?, format!("#define ON 1\n\n{text}"));
        assert_eq!(shown(text, &[("ON", "0")])?, "int b;\n");
        Ok(())
    }

    #[test]
    fn errors_have_a_line() {
        let part = || "f.cl".to_owned();
        assert_eq!(shown("#if 1\n", &[]), Err(LiveError::Unbalanced { part: part(), line: 1 }));
        assert_eq!(shown("\n#endif\n", &[]), Err(LiveError::Unbalanced { part: part(), line: 2 }));
        assert!(matches!(shown("#if 1 +\n#endif\n", &[]), Err(LiveError::Condition { line: 1, .. })));
        assert!(matches!(shown("#if A / B\n#endif\n", &[]), Err(LiveError::Condition { line: 1, .. })));
    }
}
