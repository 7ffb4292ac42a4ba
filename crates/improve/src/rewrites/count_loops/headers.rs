//! `while`, `do` and unfinished `for` loops as `for (int k = a; k < b; k++)`.

use super::super::counted::changed;
use super::super::text::line_of;
use super::variables::{changes, constant, counts, growth, is_costly, lists, mentions};
use crate::syntax::{Edits, Expr, ExprKind, Function, Scalar, Stmt, StmtKind, Symbol, Tree, Type, Variable};

/// The source with one loop written as one that counts.
pub(super) fn counted(tree: &Tree, kernel: &Function) -> Option<String> {
    lists(&kernel.body).into_iter().find_map(|list| {
        (0..list.len()).find_map(|index| {
            let mut edits = Edits::new();
            header(tree, kernel, list, index, &mut edits)?;
            Some(edits.apply(&tree.source))
        })
    })
}

/// Where a counter gets its first value.
struct Start<'t> {
    stmt: &'t Stmt,
    /// The variables that are declared there; empty for an assignment.
    variables: &'t [Variable],
    value: &'t Expr,
}

fn header(tree: &Tree, kernel: &Function, list: &[Stmt], index: usize, edits: &mut Edits) -> Option<()> {
    let stmt = &list[index];
    let (condition, step, body, after) = match &stmt.kind {
        StmtKind::While { condition, body, after } => (condition, None, body, *after),
        StmtKind::For { first, condition: Some(condition), step, body } => {
            let is_whole = first.is_some() && step.is_some();
            if first.is_some() || is_whole {
                return None;
            }
            (condition, step.as_ref(), body, false)
        }
        _ => return None,
    };
    let ExprKind::Binary { operator, left, right } = &condition.bare().kind else { return None };
    if !["<", "<=", ">", ">="].contains(&operator.as_str())
        || !condition.place.exact
        || stmt.place.in_macro && !stmt.place.exact
    {
        return None;
    }
    // `while (++k < n)` after the body.
    let (left, is_stepped) = match &left.bare().kind {
        ExprKind::Unary { operator, postfix: false, operand } if operator == "++" && after => {
            (&**operand, true)
        }
        _ => (&**left, false),
    };
    let counter = left.symbol().filter(|_| matches!(left.bare().kind, ExprKind::Name { .. }))?;
    if mentions(right, counter) {
        return None;
    }
    let StmtKind::Block(inner) = &body.kind else { return None };
    let step_text = match step {
        Some(step) if counts(body, counter).1 == 0 => tree.text(&step.place).to_owned(),
        Some(_) => return None,
        None if is_stepped && counts(body, counter).1 == 0 => format!("++{}", tree.text(&left.place)),
        None if is_stepped => return None,
        None => moved_step(tree, inner, counter, edits)?,
    };
    let start = start(list, index, counter)?;
    let source = &tree.source;
    let name = tree.text(&left.bare().place);
    let value = start.value.place.exact.then(|| tree.text(&start.value.place))?;
    let end = right.place.exact.then(|| tree.text(&right.place))?;
    // After the body, the condition does not decide on the first turn.
    let end = match (after, constant(start.value)) {
        (false, _) => end.to_owned(),
        (true, Some(first)) => {
            let least = if operator == "<" { first + 1 } else { first };
            let is_int = right.bare().ty == Type::Scalar(Scalar::INT);
            match constant(right) {
                Some(end) if end >= least && operator.starts_with('<') => tree.text(&right.place).to_owned(),
                None if is_int && operator.starts_with('<') => format!("max({end}, {least})"),
                _ => return None,
            }
        }
        (true, None) => return None,
    };
    let is_declared = !start.variables.is_empty();
    let mut last = 0;
    kernel.body.walk_expressions(&mut |expr| {
        if matches!(&expr.kind, ExprKind::Name { symbol, .. } if *symbol == counter) {
            last = last.max(expr.place.range.end);
        }
    });
    let is_own = is_declared && last <= stmt.full.end;
    let first = match start.variables {
        [only] if is_own => {
            edits.replace(line_of(source, &start.stmt.full), "").ok()?;
            format!("{} {name} = {value}", only.ty)
        }
        [] => {
            edits.replace(line_of(source, &start.stmt.full), "").ok()?;
            format!("{name} = {value}")
        }
        several => {
            let own = several.iter().position(|it| it.symbol == counter)?;
            if is_own && several.iter().all(|it| it.ty == several[0].ty) {
                let rest = if own == 0 {
                    several[0].name_range.start..several[1].name_range.start
                } else {
                    several[own - 1].place.range.end..several[own].place.range.end
                };
                edits.replace(rest, "").ok()?;
                format!("{} {name} = {value}", several[own].ty)
            } else {
                format!("{name} = {value}")
            }
        }
    };
    let head = format!("for ({first}; {name} {operator} {end}; {step_text})");
    if after {
        edits.replace(stmt.place.range.start..body.full.start, format!("{head} ")).ok()?;
        edits.replace(body.full.end..stmt.full.end, "").ok()?;
    } else {
        let from = stmt.place.range.start;
        let close = source.get(from..body.full.start)?.rfind(')')? + 1;
        edits.replace(from..from + close, head).ok()?;
    }
    Some(())
}

/// Takes the counter's step out of a body; the statements after it see the value before.
fn moved_step(tree: &Tree, body: &[Stmt], counter: Symbol, edits: &mut Edits) -> Option<String> {
    let at = body.iter().position(|stmt| counts(stmt, counter).1 > 0)?;
    let mut cut = false;
    for stmt in body {
        stmt.walk(&mut |inner| cut |= matches!(inner.kind, StmtKind::Continue | StmtKind::Other { .. }));
    }
    let total: usize = body.iter().map(|stmt| counts(stmt, counter).1).sum();
    if cut || total != 1 {
        return None;
    }
    let StmtKind::Expr(expr) = &body[at].kind else { return None };
    let (step, by) = if let Some(growth) = growth(expr, counter) {
        edits.replace(line_of(&tree.source, &body[at].full), "").ok()?;
        let by = growth.by.map_or(Some(1), constant)?;
        (tree.text(&expr.place).to_owned(), if growth.down { -by } else { by })
    } else {
        // `a[k++]`: the only place where the statement names it.
        let mut found = None;
        expr.walk(&mut |inner| {
            if changes(inner, counter) {
                found = Some(inner);
            }
        });
        let found = found?;
        let growth = growth(found, counter).filter(|it| it.after && it.by.is_none())?;
        if counts(&body[at], counter).0 != 1 || is_sometimes(expr, found) || !found.place.exact {
            return None;
        }
        let ExprKind::Unary { operand, .. } = &found.bare().kind else { return None };
        let name = tree.text(&operand.place);
        edits.replace(found.place.range.clone(), name).ok()?;
        (format!("{name}{}", if growth.down { "--" } else { "++" }), if growth.down { -1 } else { 1 })
    };
    for stmt in &body[at + 1..] {
        let mut fits = true;
        stmt.walk_expressions(&mut |expr| {
            if matches!(&expr.kind, ExprKind::Name { symbol, .. } if *symbol == counter) {
                let name = tree.text(&expr.place);
                let text = if by < 0 { format!("({name} - {})", -by) } else { format!("({name} + {by})") };
                fits &= expr.place.exact && edits.replace(expr.place.range.clone(), text).is_ok();
            }
        });
        if !fits {
            return None;
        }
    }
    Some(step)
}

/// Whether a part of an expression is evaluated only sometimes.
pub(super) fn is_sometimes(expr: &Expr, part: &Expr) -> bool {
    let inside = |expr: &Expr| expr.any(|it| std::ptr::eq(it, part));
    expr.any(|it| match &it.kind {
        ExprKind::Conditional { then, otherwise, .. } => inside(then) || inside(otherwise),
        ExprKind::Binary { operator, right, .. } => (operator == "&&" || operator == "||") && inside(right),
        _ => false,
    })
}

/// The statement before a loop that gives the counter its first value, which is the same at the loop.
fn start(list: &[Stmt], index: usize, counter: Symbol) -> Option<Start<'_>> {
    let declares = |stmt: &Stmt| {
        let StmtKind::Declare(variables) = &stmt.kind else { return false };
        variables.iter().any(|it| it.symbol == counter)
    };
    let at = (0..index).rev().find(|at| counts(&list[*at], counter).0 > 0 || declares(&list[*at]))?;
    let stmt = &list[at];
    let found = match &stmt.kind {
        StmtKind::Declare(variables) => {
            let own = variables.iter().position(|it| it.symbol == counter)?;
            // Another one of the same declaration may use it.
            let value = variables[own].value.as_ref().filter(|_| counts(stmt, counter).0 == 0)?;
            Start { stmt, variables, value }
        }
        StmtKind::Expr(expr) => match &expr.bare().kind {
            ExprKind::Assign { operator: None, target, value, .. }
                if matches!(target.bare().kind, ExprKind::Name { .. }) && !mentions(value, counter) =>
            {
                Start { stmt, variables: &[], value }
            }
            _ => return None,
        },
        _ => return None,
    };
    let moved = list[at + 1..index].iter().any(|stmt| {
        let changed = changed(stmt).0;
        found.value.any(|it| it.symbol().is_some_and(|it| changed.contains(&it)))
    });
    let is_plain = !found.value.assigns() && (at + 1 == index || !is_costly(found.value));
    (!moved && is_plain).then_some(found)
}
