//! What several rewrites ask of a source.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::View;
use crate::syntax::{Edits, Expr, ExprKind, Function, Stmt, StmtKind, Tree};

/// The bytes of a statement, with the line where it stands there alone.
pub(super) fn line_of(source: &str, range: &Range<usize>) -> Range<usize> {
    let start = source[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = source[range.end..].find('\n').map_or(source.len(), |at| range.end + at + 1);
    let is_alone = source[start..range.start].trim().is_empty() && source[range.end..end].trim().is_empty();
    if is_alone { start..end } else { range.clone() }
}

/// The blanks at the start of the line of a byte; at most those before the byte.
pub(super) fn indentation(source: &str, at: usize) -> &str {
    let start = source[..at].rfind('\n').map_or(0, |line| line + 1);
    let line = &source[start..at];
    &line[..line.len() - line.trim_start().len()]
}

/// A source that is changed as long as `change` finds something in its kernel, at most `most` times; `None` if it never
/// does.
pub(super) fn changed_repeatedly(
    view: &View<'_>,
    most: usize,
    mut change: impl FnMut(&Tree, &Function) -> Option<Tree>,
) -> Option<String> {
    let mut tree: Option<Tree> = None;
    for _ in 0..most {
        let current = tree.as_ref().or(view.tree)?;
        let next = current.kernel(&view.subject.kernel).and_then(|kernel| change(current, kernel));
        let Some(next) = next else { break };
        tree = Some(next);
    }
    tree.map(|tree| tree.source)
}

/// Whether a statement ends a work-item, and does nothing else: `if (x >= width) return;`.
pub(super) fn is_bounds_test(statement: &Stmt) -> bool {
    let StmtKind::If { condition, then, otherwise: None } = &statement.kind else { return false };
    let then = match &then.kind {
        StmtKind::Block(inner) => match &inner[..] {
            [only] => only,
            _ => return false,
        },
        _ => &**then,
    };
    matches!(then.kind, StmtKind::Return(None)) && !condition.assigns()
}

/// The dimension that a call asks for: `get_global_id(1)`.
pub(super) fn dimension(expr: &Expr) -> Option<(&str, usize, &Expr)> {
    let ExprKind::Call { name, arguments, .. } = &expr.kind else { return None };
    let [argument] = &arguments[..] else { return None };
    let known = [
        "get_global_id",
        "get_global_size",
        "get_local_id",
        "get_local_size",
        "get_group_id",
        "get_num_groups",
        "get_global_offset",
        "get_enqueued_local_size",
    ];
    let ExprKind::Integer(dimension) = argument.bare().kind else { return None };
    let name = known.iter().find(|known| **known == name.as_str())?;
    Some((name, usize::try_from(dimension).ok()?, argument))
}

/// Names that the source does not have.
pub(super) struct Names(BTreeSet<String>);

impl Names {
    pub(super) fn new(tree: &Tree) -> Self {
        Self::of(&tree.source)
    }

    fn of(text: &str) -> Self {
        let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        Self(words.map(str::to_owned).collect())
    }

    /// Names that neither a kernel has nor what stands outside functions, and that no function has that is called.
    pub(super) fn inside(tree: &Tree, kernel: &Function) -> Self {
        let mut own = Edits::new();
        for function in tree.functions.iter().filter(|it| it.symbol != kernel.symbol) {
            // Functions do not overlap.
            let _ = own.replace(function.place.range.clone(), "");
        }
        let mut names = Self::of(&own.apply(&tree.source));
        for function in &tree.functions {
            names.0.insert(function.name.clone());
            function.body.walk_expressions(&mut |expr| {
                if let ExprKind::Call { name, .. } = &expr.kind {
                    names.0.insert(name.clone());
                }
            });
        }
        names
    }

    /// A name that starts with `wanted`.
    pub(super) fn fresh(&mut self, wanted: &str) -> String {
        let mut number = 1;
        let mut name = format!("{wanted}_{number}");
        while self.0.contains(&name) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        self.0.insert(name.clone());
        name
    }

    /// The name itself, or one that starts with it.
    pub(super) fn exactly(&mut self, wanted: &str) -> String {
        if self.0.insert(wanted.to_owned()) { wanted.to_owned() } else { self.fresh(wanted) }
    }
}
