//! How statements change and read variables.

use super::super::counted::root;
use crate::syntax::{Expr, ExprKind, Function, Stmt, StmtKind, Symbol, Variable, fold};

/// A change of a variable by an amount: `v++`, `v += a`, `v = v + a`.
pub(super) struct Growth<'t> {
    /// The amount; `None` for 1.
    pub(super) by: Option<&'t Expr>,
    /// Whether it is subtracted.
    pub(super) down: bool,
    /// Whether the expression's value is that before the change.
    pub(super) after: bool,
}

/// How an expression changes a variable.
pub(super) fn growth(expr: &Expr, symbol: Symbol) -> Option<Growth<'_>> {
    match &expr.kind {
        ExprKind::Parentheses(inner) => growth(inner, symbol),
        ExprKind::Unary { operator, postfix, operand } if operand.symbol() == Some(symbol) => {
            let is_step = operator == "++" || operator == "--";
            is_step.then_some(Growth { by: None, down: operator == "--", after: *postfix })
        }
        ExprKind::Assign { operator: Some(operator), target, value, .. }
            if target.symbol() == Some(symbol) =>
        {
            let fits = (operator == "+" || operator == "-") && !mentions(value, symbol);
            fits.then_some(Growth { by: Some(value), down: operator == "-", after: false })
        }
        ExprKind::Assign { operator: None, target, value, .. } if target.symbol() == Some(symbol) => {
            let ExprKind::Binary { operator, left, right } = &value.bare().kind else { return None };
            let (own, by) = match (left.symbol() == Some(symbol), right.symbol() == Some(symbol)) {
                (true, false) => (operator == "+" || operator == "-", right),
                (false, true) => (operator == "+", left),
                _ => return None,
            };
            let fits = own && !mentions(by, symbol);
            fits.then_some(Growth { by: Some(by), down: operator == "-", after: false })
        }
        _ => None,
    }
}

/// Whether an expression changes a variable.
pub(super) fn changes(expr: &Expr, symbol: Symbol) -> bool {
    match &expr.kind {
        ExprKind::Assign { target, .. } => root(target) == Some(symbol),
        ExprKind::Unary { operator, operand, .. } if ["++", "--", "&"].contains(&operator.as_str()) => {
            root(operand) == Some(symbol)
        }
        _ => false,
    }
}

pub(in super::super) fn mentions(expr: &Expr, symbol: Symbol) -> bool {
    expr.any(|it| matches!(&it.kind, ExprKind::Name { symbol: other, .. } if *other == symbol))
}

/// How often a statement names a variable, and changes it.
pub(in super::super) fn counts(stmt: &Stmt, symbol: Symbol) -> (usize, usize) {
    let (mut named, mut changed) = (0, 0);
    stmt.walk_expressions(&mut |expr| {
        named += usize::from(matches!(&expr.kind, ExprKind::Name { symbol: other, .. } if *other == symbol));
        changed += usize::from(changes(expr, symbol));
    });
    (named, changed)
}

/// All lists of statements, the outermost first.
pub(in super::super) fn lists(body: &Stmt) -> Vec<&[Stmt]> {
    let mut all = Vec::new();
    body.walk(&mut |stmt| {
        if let StmtKind::Block(inner) = &stmt.kind {
            all.push(&inner[..]);
        }
    });
    all
}

/// Integers and pointers that are declared in the kernel, with the statement.
pub(super) fn locals(kernel: &Function) -> Vec<(&Variable, &Stmt)> {
    let mut all = Vec::new();
    kernel.body.walk(&mut |stmt| {
        if let StmtKind::Declare(variables) = &stmt.kind {
            all.extend(
                variables.iter().filter(|it| !it.shared && !it.name_range.is_empty()).map(|it| (it, stmt)),
            );
        }
    });
    all
}

/// Whether an expression reads memory, changes something, or asks for more than its operands.
pub(in super::super) fn is_costly(expr: &Expr) -> bool {
    expr.assigns()
        || expr.any(|it| match &it.kind {
            ExprKind::Index { .. } | ExprKind::Other { .. } => true,
            ExprKind::Call { name, .. } => !["min", "max", "clamp", "get_global_id"].contains(&name.as_str()),
            ExprKind::Unary { operator, .. } => operator == "*",
            _ => false,
        })
}

/// Whether a loop is left or cut short from inside.
pub(super) fn is_left(body: &Stmt) -> bool {
    let mut left = false;
    body.walk(&mut |stmt| {
        left |= matches!(
            stmt.kind,
            StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::Other { .. }
        );
    });
    left
}

/// A constant.
pub(super) fn constant(expr: &Expr) -> Option<i128> {
    fold(expr.bare())
}
