//! What nothing needs once a tile is gone, and positions in a group as ids of the launch.

use std::collections::BTreeSet;

use super::asked;
use crate::View;
use crate::rewrites::address::{Values, acts};
use crate::rewrites::counted::changed;
use crate::rewrites::text::{changed_repeatedly, line_of};
use crate::syntax::text::{ADDITIVE, Text, UNARY};
use crate::syntax::{
    Edits, Expr, ExprKind, Function, Printer, Scalar, Stmt, StmtKind, Symbol, Tree, Type, Variable, fold,
};

/// Rounds at most: each removes what the one before it left without use.
const MOST: usize = 8;

/// The source of a kernel without what nothing needs; `None` if it needs everything.
pub(super) fn tidied(view: &View<'_>) -> Option<String> {
    let local = view.subject.launch.range.local_size();
    changed_repeatedly(view, MOST, |tree, kernel| {
        let source = without_idle(tree, kernel).or_else(|| with_ids(tree, kernel, local?))?;
        view.parse(source)
    })
}

fn without_idle(tree: &Tree, kernel: &Function) -> Option<String> {
    let mut used: BTreeSet<Symbol> = BTreeSet::new();
    kernel.body.walk_expressions(&mut |expr| {
        if let ExprKind::Name { symbol, .. } = &expr.kind {
            used.insert(*symbol);
        }
    });
    let mut edits = Edits::new();
    remove_idle(tree, &kernel.body, &used, &mut edits);
    (!edits.is_empty()).then(|| edits.apply(&tree.source))
}

fn remove_idle(tree: &Tree, stmt: &Stmt, used: &BTreeSet<Symbol>, edits: &mut Edits) {
    let StmtKind::Block(inner) = &stmt.kind else {
        return stmt.children().into_iter().for_each(|child| remove_idle(tree, child, used, edits));
    };
    for stmt in inner {
        let is_used = |variable: &&Variable| {
            used.contains(&variable.symbol) || variable.value.as_ref().is_some_and(Expr::assigns)
        };
        match &stmt.kind {
            StmtKind::Declare(all) if !all.iter().all(|it| is_used(&it)) => {
                let kept: Vec<&Variable> = all.iter().filter(is_used).collect();
                remove(tree, stmt, all, &kept, edits);
            }
            _ if !matches!(stmt.kind, StmtKind::Declare(_)) && is_idle(tree, stmt) => {
                let _ = edits.replace(line_of(&tree.source, &stmt.full), "");
            }
            _ => remove_idle(tree, stmt, used, edits),
        }
    }
}

/// Declares fewer variables.
fn remove(tree: &Tree, stmt: &Stmt, all: &[Variable], kept: &[&Variable], edits: &mut Edits) {
    let source = &tree.source;
    if kept.is_empty() {
        let _ = edits.replace(line_of(source, &stmt.full), "");
        return;
    }
    let is_number = |variable: &Variable| variable.ty.scalar().is_some();
    let Some(first) = all.first().filter(|_| all.iter().all(is_number) && stmt.place.exact) else { return };
    let Some(ty) = source.get(stmt.full.start..first.name_range.start) else { return };
    let text = |it: &&Variable| source.get(it.name_range.start..it.place.range.end).unwrap_or_default();
    let texts: Vec<&str> = kept.iter().map(text).collect();
    let _ = edits.replace(stmt.full.clone(), format!("{ty}{};", texts.join(", ")));
}

/// Whether a statement does nothing that another one sees.
fn is_idle(tree: &Tree, stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Empty => true,
        StmtKind::Block(inner) => inner.iter().all(|it| is_idle(tree, it)),
        // Only what is inside sees them.
        StmtKind::Declare(all) => {
            all.iter().all(|it| !it.shared && !it.value.as_ref().is_some_and(Expr::assigns))
        }
        StmtKind::If { condition, then, otherwise } => {
            !condition.assigns()
                && is_idle(tree, then)
                && otherwise.as_ref().is_none_or(|otherwise| is_idle(tree, otherwise))
        }
        StmtKind::For { first: Some(first), body, .. } => {
            matches!(first.kind, StmtKind::Declare(_)) && is_idle(tree, body) && !acts(tree, stmt)
        }
        _ => false,
    }
}

/// `16 * get_group_id(0) + get_local_id(0)` as `get_global_id(0)`.
fn with_ids(tree: &Tree, kernel: &Function, local: [usize; 3]) -> Option<String> {
    let (_, values) = changed(&kernel.body);
    let replaced = |expr: &Expr| id(tree, expr, &values, local);
    let printer = Printer { tree, replaced: &replaced, renamed: &|_| None };
    let mut edits = Edits::new();
    kernel.body.walk(&mut |stmt| {
        for expr in stmt.expressions() {
            if expr.any(|it| replaced(it).is_some()) {
                // What stands in a macro stays.
                let _ = printer.edit_expression(expr, &mut edits);
            }
        }
    });
    (!edits.is_empty()).then(|| edits.apply(&tree.source))
}

fn id(tree: &Tree, expr: &Expr, values: &Values<'_>, local: [usize; 3]) -> Option<Text> {
    let Type::Scalar(Scalar::Integer { bits: bits @ 32.., .. }) = expr.ty else { return None };
    if !matches!(expr.kind, ExprKind::Binary { .. }) {
        return None;
    }
    let mut terms = Vec::new();
    flatten(expr, false, &mut terms);
    let along = |wanted: &str, expr: &Expr| match asked(expr, values) {
        Some((name, along)) if name == wanted => Some(along),
        _ => None,
    };
    let group = |expr: &Expr| {
        let ExprKind::Binary { operator, left, right } = &expr.bare().kind else { return None };
        let size = |side: &Expr| fold(side.bare()).and_then(|it| usize::try_from(it).ok());
        let (along, size) = match (along("get_group_id", left), along("get_group_id", right)) {
            (Some(along), _) => (along, size(right)?),
            (_, Some(along)) => (along, size(left)?),
            _ => return None,
        };
        (operator == "*" && local.get(along) == Some(&size)).then_some(along)
    };
    let groups = terms.iter().position(|(minus, term)| !minus && group(term).is_some())?;
    let dimension = group(terms[groups].1)?;
    let lane =
        terms.iter().position(|(minus, term)| !minus && along("get_local_id", term) == Some(dimension))?;
    let call = format!("get_global_id({dimension})");
    let mut text =
        if bits == 64 { Text::primary(call) } else { Text::new(format!("({}){call}", expr.ty), UNARY) };
    let plain = Printer { tree, replaced: &|_| None, renamed: &|_| None };
    for (index, (minus, term)) in terms.iter().enumerate() {
        if index != groups && index != lane {
            text = text.binary(if *minus { "-" } else { "+" }, &plain.expression(term)?);
        }
    }
    Some(Text::new(text.text, if terms.len() == 2 { text.level } else { ADDITIVE }))
}

/// The terms of a sum, and whether they are subtracted.
fn flatten<'e>(expr: &'e Expr, minus: bool, terms: &mut Vec<(bool, &'e Expr)>) {
    match &expr.bare().kind {
        ExprKind::Binary { operator, left, right } if operator == "+" || operator == "-" => {
            flatten(left, minus, terms);
            flatten(right, minus != (operator == "-"), terms);
        }
        _ => terms.push((minus, expr.bare())),
    }
}
