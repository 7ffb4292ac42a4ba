//! The branches of `#if` inside functions that are compiled.

use std::ops::Range;

use super::node::{Expr, Function};
use super::{Edits, Tree};

/// `#if`, its `#elif` and `#else`, and `#endif`, without another one inside.
#[derive(Default)]
struct Group {
    /// The lines of the directives.
    lines: Vec<Range<usize>>,
    has_inner: bool,
}

/// A directive's word, and its line with the line break.
pub(super) fn directives<'t>(
    text: &'t str,
    within: &Range<usize>,
) -> impl Iterator<Item = (&'t str, Range<usize>)> {
    let end = within.end.min(text.len());
    let mut at = within.start;
    std::iter::from_fn(move || {
        while at < end {
            let start = at;
            at += text[start..].find('\n').map_or(text.len() - start, |length| length + 1);
            let line = text[start..at].trim_start();
            let Some(rest) = line.strip_prefix('#').map(str::trim_start) else { continue };
            // Its continuation lines belong to it.
            while text[..at].trim_end_matches(['\n', '\r']).ends_with('\\') && at < end {
                at += text[at..].find('\n').map_or(text.len() - at, |length| length + 1);
            }
            let length = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
            return Some((&rest[..length], start..at));
        }
        None
    })
}

/// Whether a directive is one of a conditional.
pub(super) fn is_conditional(word: &str) -> bool {
    ["if", "ifdef", "ifndef", "elif", "else", "endif"].contains(&word)
}

impl Tree {
    /// The source with only the compiled branches of the innermost conditionals inside functions that a kernel may use.
    /// `None` if there are none, or if it is not known which branch is compiled: where nothing of any is in the tree.
    pub(crate) fn with_compiled_branches(&self, kernel: &str) -> Option<String> {
        let mut edits = Edits::new();
        for function in self.functions.iter().filter(|it| !it.is_kernel || it.name == kernel) {
            let mut open: Vec<Group> = Vec::new();
            for (word, line) in directives(&self.source, &function.place.range) {
                match word {
                    "if" | "ifdef" | "ifndef" => {
                        if let Some(outer) = open.last_mut() {
                            outer.has_inner = true;
                        }
                        open.push(Group { lines: vec![line], has_inner: false });
                    }
                    "elif" | "else" => open.last_mut()?.lines.push(line),
                    "endif" => {
                        let mut group = open.pop()?;
                        group.lines.push(line);
                        if !group.has_inner {
                            self.reduce(function, &group, &mut edits)?;
                        }
                    }
                    _ => {}
                }
            }
        }
        (!edits.is_empty()).then(|| edits.apply(&self.source))
    }

    fn reduce(&self, function: &Function, group: &Group, edits: &mut Edits) -> Option<()> {
        let nodes = nodes(function);
        let branches = group.lines.windows(2).map(|pair| pair[0].end..pair[1].start);
        let is_live = |branch: &Range<usize>| nodes.iter().any(|at| branch.contains(at));
        let live = branches.clone().position(|branch| is_live(&branch));
        for (index, branch) in branches.enumerate() {
            if live == Some(index) {
                continue;
            }
            let text = &self.source[branch.clone()];
            // Without a node, it is not known whether these are compiled.
            let is_unknown = directives(&self.source, &branch).next().is_some()
                || !text.trim().is_empty() && !text.split(|it: char| !it.is_alphanumeric()).any(is_node_word);
            if live.is_none() && is_unknown {
                return None;
            }
            edits.replace(branch, "").ok()?;
        }
        group.lines.iter().try_for_each(|line| edits.replace(line.clone(), "").ok())
    }
}

/// Whether a word of compiled code has a node of its own.
fn is_node_word(word: &str) -> bool {
    !word.is_empty() && word != "else"
}

/// The first and last bytes of all nodes of a function.
fn nodes(function: &Function) -> Vec<usize> {
    let mut all = Vec::new();
    let mut add = |range: &Range<usize>| {
        if !range.is_empty() {
            all.extend([range.start, range.end - 1]);
        }
    };
    for parameter in &function.parameters {
        add(&parameter.place.range);
    }
    function.body.walk(&mut |stmt| {
        add(&stmt.full);
        add(&stmt.place.range);
        if let super::StmtKind::Declare(variables) = &stmt.kind {
            for variable in variables {
                add(&variable.place.range);
            }
        }
    });
    function.body.walk_expressions(&mut |expr: &Expr| add(&expr.place.range));
    all
}
