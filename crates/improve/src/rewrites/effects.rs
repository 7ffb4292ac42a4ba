//! What expressions and functions do beside computing a value.

use crate::syntax::{Expr, ExprKind, Function};

/// Whether two expressions without effects are the same, apart from their places.
pub(super) fn is_same(a: &Expr, b: &Expr) -> bool {
    let (a, b) = (a.bare(), b.bare());
    let own = match (&a.kind, &b.kind) {
        (ExprKind::Integer(a), ExprKind::Integer(b)) => a == b,
        (ExprKind::Float(a), ExprKind::Float(b)) => a.to_bits() == b.to_bits(),
        (ExprKind::Name { symbol: a, .. }, ExprKind::Name { symbol: b, .. })
        | (ExprKind::Call { symbol: a, .. }, ExprKind::Call { symbol: b, .. }) => a == b,
        (ExprKind::Binary { operator: a, .. }, ExprKind::Binary { operator: b, .. })
        | (ExprKind::Unary { operator: a, .. }, ExprKind::Unary { operator: b, .. }) => a == b,
        (ExprKind::Index { .. }, ExprKind::Index { .. }) => true,
        (ExprKind::Cast { .. }, ExprKind::Cast { .. }) => a.ty == b.ty,
        _ => false,
    };
    let (inner, other) = (a.children(), b.children());
    own && inner.len() == other.len() && inner.iter().zip(other).all(|(a, b)| is_same(a, b))
}

/// Whether a function waits for other work-items, or exchanges something with them.
pub(super) fn is_collective(name: &str) -> bool {
    [
        "barrier",
        "work_group",
        "sub_group",
        "atom",
        "async",
        "wait_group",
        "mem_fence",
        "read_mem_fence",
        "printf",
    ]
    .iter()
    .any(|part| name.contains(part))
}

/// Whether a function of the source computes from its arguments alone.
pub(super) fn is_pure(function: &Function) -> bool {
    let mut pure = function.parameters.iter().all(|parameter| parameter.ty.scalar().is_some());
    function.body.walk_expressions(&mut |expr| {
        if let ExprKind::Call { name, .. } = &expr.kind {
            pure &= !name.starts_with("get_") && !is_collective(name);
        }
    });
    pure
}
