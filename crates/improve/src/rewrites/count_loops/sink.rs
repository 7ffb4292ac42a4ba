//! Variables that are declared where they get their value; indices that stay 0.

use super::super::text::line_of;
use super::variables::{constant, counts, lists, locals, mentions};
use crate::syntax::{Edits, ExprKind, Function, Stmt, StmtKind, Symbol, Tree, Type, Variable};

/// The source with one such variable.
pub(super) fn sunk(tree: &Tree, kernel: &Function) -> Option<String> {
    locals(kernel).into_iter().find_map(|(variable, stmt)| {
        zero(tree, kernel, variable, stmt).or_else(|| moved(tree, kernel, variable, stmt))
    })
}

/// An index of [`super::pointers`] that stays 0 vanishes.
fn zero(tree: &Tree, kernel: &Function, variable: &Variable, stmt: &Stmt) -> Option<String> {
    let StmtKind::Declare(all) = &stmt.kind else { return None };
    let name = &variable.name;
    let is_zero = variable.value.as_ref().and_then(constant) == Some(0);
    if all.len() != 1
        || !is_zero
        || !name.ends_with("_at")
        || variable.ty != Type::Scalar(crate::syntax::Scalar::INT)
    {
        return None;
    }
    let mut edits = Edits::new();
    let mut fits = true;
    let source = &tree.source;
    // What only sets it to 0 again vanishes, too.
    let mut resets = Vec::new();
    kernel.body.walk(&mut |inner| {
        if let StmtKind::Expr(expr) = &inner.kind
            && let ExprKind::Assign { operator: None, target, value, .. } = &expr.bare().kind
            && target.symbol() == Some(variable.symbol)
            && constant(value) == Some(0)
        {
            resets.push(inner.full.clone());
        }
    });
    if counts(&kernel.body, variable.symbol).1 != resets.len() {
        return None;
    }
    for range in &resets {
        edits.replace(line_of(source, range), "").ok()?;
    }
    kernel.body.walk_expressions(&mut |expr| {
        let at = &expr.place.range;
        if !matches!(&expr.kind, ExprKind::Name { symbol, .. } if *symbol == variable.symbol)
            || resets.iter().any(|it| it.contains(&at.start))
        {
            return;
        }
        let rest = &source[at.end..];
        let (end, text) = if rest.starts_with(" + ") { (at.end + 3, "") } else { (at.end, "0") };
        let before = &source[..at.start];
        let range = match before.strip_suffix(" + ") {
            Some(before) if text == "0" => before.len()..at.end,
            _ => at.start..end,
        };
        let text = if range.end == at.end && range.start < at.start { "" } else { text };
        fits &= expr.place.exact && edits.replace(range, text).is_ok();
    });
    edits.replace(line_of(source, &stmt.full), "").ok()?;
    fits.then(|| edits.apply(source))
}

/// `int v; … v = a;` as `int v = a;`.
fn moved(tree: &Tree, kernel: &Function, variable: &Variable, stmt: &Stmt) -> Option<String> {
    let StmtKind::Declare(all) = &stmt.kind else { return None };
    let fits = variable.value.is_none() && variable.ty.scalar().is_some()
        || is_pointer(&variable.ty) && all.len() == 1;
    if !fits || variable.value.is_some() || all.iter().any(|it| it.ty != variable.ty) {
        return None;
    }
    let source = &tree.source;
    let (list, first) = home(kernel, variable.symbol)?;
    let StmtKind::Expr(expr) = &list[first].kind else { return None };
    let ExprKind::Assign { operator: None, target, value, .. } = &expr.bare().kind else { return None };
    let is_own = target.symbol() == Some(variable.symbol) && !mentions(value, variable.symbol);
    let total = counts(&kernel.body, variable.symbol).1;
    if !is_own || total != 1 || !expr.place.exact || list[first].place.in_macro {
        return None;
    }
    let mut edits = Edits::new();
    let ty = if is_pointer(&variable.ty) { variable.ty.to_string() } else { format!("{} ", variable.ty) };
    edits.insert(list[first].full.start, ty).ok()?;
    match &all[..] {
        [_] => edits.replace(line_of(source, &stmt.full), "").ok()?,
        several => {
            let own = several.iter().position(|it| it.symbol == variable.symbol)?;
            let range = if own == 0 {
                several[0].name_range.start..several[1].name_range.start
            } else {
                several[own - 1].place.range.end..several[own].place.range.end
            };
            edits.replace(range, "").ok()?;
        }
    }
    Some(edits.apply(source))
}

fn is_pointer(ty: &Type) -> bool {
    matches!(ty, Type::Pointer { .. })
}

/// The list of statements that names a variable, and its first statement that does, if no other list does.
fn home(kernel: &Function, symbol: Symbol) -> Option<(&[Stmt], usize)> {
    let total = counts(&kernel.body, symbol).0;
    let own = |list: &[Stmt]| list.iter().map(|stmt| counts(stmt, symbol).0).sum::<usize>();
    let list = lists(&kernel.body).into_iter().rev().find(|list| total > 0 && own(list) == total)?;
    Some((list, list.iter().position(|stmt| counts(stmt, symbol).0 > 0)?))
}
