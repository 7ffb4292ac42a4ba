//! Which value a variable has where it is read, in code without branches.

use std::collections::BTreeMap;

use super::counted::changed;
use crate::syntax::{Expr, ExprKind, NameKind, Stmt, StmtKind, Symbol};

/// The expression that gave each read variable its value, by the byte at which the variable's name stands: an initial value,
/// or an assignment (`=`, `+=`) that is a statement. Variables that get their values in branches or loops are not there.
#[derive(Default)]
pub(super) struct Reaching<'t>(BTreeMap<usize, &'t Expr>);

/// What variables have at a place.
type Now<'t> = BTreeMap<Symbol, &'t Expr>;

/// The variable that a statement assigns to, and does nothing else.
pub(super) fn assigned(stmt: &Stmt) -> Option<Symbol> {
    let StmtKind::Expr(expr) = &stmt.kind else { return None };
    let ExprKind::Assign { target, value, .. } = &expr.bare().kind else { return None };
    let is_plain = matches!(target.bare().kind, ExprKind::Name { .. }) && !value.assigns();
    target.symbol().filter(|_| is_plain)
}

impl<'t> Reaching<'t> {
    pub(super) fn of(body: &'t Stmt) -> Self {
        let mut all = Self::default();
        all.visit(body, &mut Now::new());
        all
    }

    /// What gave a variable the value that is read.
    pub(super) fn value(&self, name: &Expr) -> Option<&'t Expr> {
        self.0.get(&name.place.range.start).copied()
    }

    fn note(&mut self, expr: &Expr, now: &Now<'t>) {
        expr.walk(&mut |it| {
            if let ExprKind::Name { symbol, kind: NameKind::Variable, .. } = &it.kind
                && let Some(value) = now.get(symbol)
            {
                self.0.insert(it.place.range.start, value);
            }
        });
    }

    fn visit(&mut self, stmt: &'t Stmt, now: &mut Now<'t>) {
        match &stmt.kind {
            StmtKind::Block(inner) => inner.iter().for_each(|inner| self.visit(inner, now)),
            StmtKind::Declare(variables) => {
                for variable in variables {
                    now.remove(&variable.symbol);
                    if let Some(value) = &variable.value {
                        self.note(value, now);
                        if !value.assigns() && !variable.shared {
                            now.insert(variable.symbol, value);
                        }
                    }
                }
            }
            StmtKind::Expr(expr) => {
                self.note(expr, now);
                forget(stmt, now);
                if let Some(symbol) = assigned(stmt) {
                    now.insert(symbol, expr.bare());
                }
            }
            _ => {
                // What a loop changes is different in the next turn.
                let mut inside = now.clone();
                if !matches!(stmt.kind, StmtKind::If { .. }) {
                    forget(stmt, &mut inside);
                }
                stmt.expressions().into_iter().for_each(|expr| self.note(expr, &inside));
                for child in stmt.children() {
                    self.visit(child, &mut inside.clone());
                }
                forget(stmt, now);
            }
        }
    }
}

/// Takes out what a statement changes.
fn forget(stmt: &Stmt, now: &mut Now<'_>) {
    let (changed, _) = changed(stmt);
    now.retain(|symbol, _| !changed.contains(symbol));
}
