//! What is known about the statements of a function that is written out.

use std::collections::BTreeSet;

use super::super::counted::{changed, root};
use super::super::effects::is_collective;
use super::Pass;
use crate::syntax::text::{Text, UNARY};
use crate::syntax::{Expr, ExprKind, Function, Stmt, StmtKind, Symbol, Type};

/// A value in another type.
pub(super) fn convert(text: Text, from: &Type, to: &Type) -> Option<Text> {
    let is_number = |ty: &Type| ty.as_number().is_some();
    match (from, to) {
        _ if from == to => Some(text),
        _ if is_number(from) && is_number(to) => Some(Text::new(format!("({to}){}", text.at(UNARY)), UNARY)),
        _ => None,
    }
}

/// The only statement of a branch.
pub(super) fn only(branch: &Stmt) -> Option<&Stmt> {
    match &branch.kind {
        StmtKind::Block(inner) => match &inner[..] {
            [one] => only(one),
            _ => None,
        },
        _ => Some(branch),
    }
}

/// The `return` of a branch that does nothing else.
pub(super) fn only_return(branch: &Stmt) -> Option<&Stmt> {
    only(branch).filter(|stmt| matches!(stmt.kind, StmtKind::Return(_)))
}

/// The variable that both branches assign to, each once, and that is all.
pub(super) fn only_assigned(then: &Stmt, otherwise: Option<&Stmt>) -> Option<Symbol> {
    let target = |branch: &Stmt| match &only(branch)?.kind {
        StmtKind::Expr(expr) => match &expr.bare().kind {
            ExprKind::Assign { target, value, .. } if !value.assigns() => target.symbol(),
            _ => None,
        },
        _ => None,
    };
    let symbol = target(then)?;
    otherwise.is_none_or(|branch| target(branch) == Some(symbol)).then_some(symbol)
}

/// Variables that change inside loops, in several ways in a branch, or inside an expression.
pub(super) fn find_moving(statements: &[&Stmt], moving: &mut BTreeSet<Symbol>) {
    for stmt in statements {
        match &stmt.kind {
            StmtKind::Block(inner) => find_moving(&inner.iter().collect::<Vec<_>>(), moving),
            StmtKind::Expr(expr) => match &expr.bare().kind {
                ExprKind::Assign { target, value, .. }
                    if matches!(target.bare().kind, ExprKind::Name { .. }) && !value.assigns() => {}
                _ => moving.extend(changed(stmt).0),
            },
            StmtKind::If { then, otherwise, .. } => {
                let other = otherwise.as_deref();
                if only_return(then).is_some() {
                    find_moving(&other.into_iter().collect::<Vec<_>>(), moving);
                } else if only_assigned(then, other).is_none() {
                    moving.extend(changed(stmt).0);
                }
            }
            StmtKind::Declare(_) => {}
            _ => moving.extend(changed(stmt).0),
        }
    }
}

/// How often a variable is read before it has another value; twice in a loop.
pub(super) fn uses(statements: &[&Stmt], symbol: Symbol) -> usize {
    let mut count = 0;
    for stmt in statements {
        let mut own = 0;
        let mut is_target = false;
        stmt.walk_expressions(&mut |expr| match &expr.kind {
            ExprKind::Name { symbol: other, .. } => own += usize::from(*other == symbol),
            ExprKind::Assign { target, operator: None, .. } if target.symbol() == Some(symbol) => {
                is_target = true;
            }
            _ => {}
        });
        let is_loop = matches!(stmt.kind, StmtKind::For { .. } | StmtKind::While { .. });
        count += if is_loop { 2 * own } else { own - usize::from(is_target && own > 0) };
        if is_target && matches!(stmt.kind, StmtKind::Expr(_)) {
            break;
        }
    }
    count
}

/// Whether an expression reads memory, or asks a function that may.
pub(super) fn loads(expr: &Expr) -> bool {
    expr.any(|it| match &it.kind {
        ExprKind::Index { .. } => true,
        ExprKind::Unary { operator, .. } => operator == "*",
        ExprKind::Call { name, .. } => name.starts_with("vload") || name.starts_with("read_"),
        _ => false,
    })
}

/// Whether a function changes memory or its caller's variables, or does what has an order.
pub(super) fn stores(function: &Function) -> bool {
    let mut stores = false;
    function.body.walk_expressions(&mut |expr| match &expr.kind {
        ExprKind::Assign { target, .. } => stores |= root(target).is_none(),
        ExprKind::Unary { operator, operand, .. } if operator == "++" || operator == "--" => {
            stores |= root(operand).is_none();
        }
        ExprKind::Call { name, .. } => {
            stores |= is_collective(name)
                || ["vstore", "write_", "prefetch"].iter().any(|start| name.starts_with(start));
        }
        _ => {}
    });
    stores
}

/// Whether a name outside the function means something else where it is called.
pub(super) fn captures(pass: &Pass<'_>, function: &Function) -> bool {
    let mut own: BTreeSet<Symbol> = function.parameters.iter().map(|it| it.symbol).collect();
    function.body.walk(&mut |stmt| {
        if let StmtKind::Declare(variables) = &stmt.kind {
            own.extend(variables.iter().map(|it| it.symbol));
        }
    });
    let mut captured = false;
    function.body.walk_expressions(&mut |expr| match &expr.kind {
        ExprKind::Name { symbol, name, .. } => {
            captured |= !own.contains(symbol) && pass.declared.contains(name);
        }
        ExprKind::Call { name, .. } => captured |= pass.declared.contains(name),
        _ => {}
    });
    captured
}
