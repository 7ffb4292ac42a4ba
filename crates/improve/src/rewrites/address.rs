//! Elements of memory: which buffer, and where in it.

use super::row_per_group::{is_collective, is_pure};
use crate::syntax::{Affine, Expr, ExprKind, Space, Stmt, Symbol, Tree, Type, affine};

/// An element of memory that an expression names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Address {
    /// The pointer: a parameter or a variable.
    pub(super) base: Symbol,
    /// Its name.
    pub(super) name: String,
    /// The element's distance from it, in elements.
    pub(super) sum: Affine,
}

/// The address of `p[i]`, `(p + i)[j]` or `*(p + i)`, where `p` points to memory of the device; `None` for everything
/// else, and for indices that are computed in fewer than 32 bits, which may wrap.
pub(super) fn address(tree: &Tree, expr: &Expr) -> Option<Address> {
    match &expr.kind {
        ExprKind::Parentheses(inner) => address(tree, inner),
        ExprKind::Index { base, index } => {
            let start = pointer(tree, base)?;
            Some(Address { sum: start.sum.plus(&sum(tree, index)?, 1), ..start })
        }
        ExprKind::Unary { operator, operand, .. } if operator == "*" => pointer(tree, operand),
        _ => None,
    }
}

/// The element that a pointer's value points to: `p`, `p + i`, `&p[i]`.
pub(super) fn pointer(tree: &Tree, expr: &Expr) -> Option<Address> {
    match &expr.kind {
        ExprKind::Parentheses(inner) | ExprKind::Cast { implicit: true, operand: inner, .. } => {
            pointer(tree, inner)
        }
        ExprKind::Name { symbol, name, .. } => match &expr.ty {
            Type::Pointer { space: Space::Global | Space::Constant | Space::Local, .. } => {
                Some(Address { base: *symbol, name: name.clone(), sum: Affine::default() })
            }
            _ => None,
        },
        ExprKind::Binary { operator, left, right } if operator == "+" || operator == "-" => {
            let start = pointer(tree, left)?;
            let times = if operator == "+" { 1 } else { -1 };
            Some(Address { sum: start.sum.plus(&sum(tree, right)?, times), ..start })
        }
        ExprKind::Unary { operator, operand, .. } if operator == "&" => address(tree, operand),
        _ => None,
    }
}

/// An index as a sum.
fn sum(tree: &Tree, index: &Expr) -> Option<Affine> {
    let wraps = index.any(|expr| {
        matches!(&expr.kind, ExprKind::Cast { operand, .. }
            if expr.ty.as_number().is_some_and(|to| to.bits() < 32)
                && !matches!(operand.bare().kind, ExprKind::Name { .. } | ExprKind::Integer(_)))
    });
    (!wraps).then(|| affine(index, &|it| tree.text(&it.place).to_owned(), &|_| None))
}

/// Whether a statement may store to memory, wait, or act outside the work-item. Variables and private arrays are not
/// memory.
pub(super) fn acts(tree: &Tree, stmt: &Stmt) -> bool {
    let mut acts = false;
    stmt.walk_expressions(&mut |expr| match &expr.kind {
        ExprKind::Assign { target, .. } => acts |= is_memory(target),
        ExprKind::Unary { operator, operand, .. } if ["++", "--", "&"].contains(&operator.as_str()) => {
            acts |= is_memory(operand);
        }
        ExprKind::Call { name, symbol, .. } => {
            acts |= match tree.function(*symbol) {
                Some(function) => !is_pure(function),
                None => !is_plain_call(name),
            };
        }
        ExprKind::Other { .. } => acts = true,
        _ => {}
    });
    acts
}

/// Whether a built-in function computes from its arguments and from memory alone.
fn is_plain_call(name: &str) -> bool {
    let others = ["vstore", "write_", "prefetch", "fract", "modf", "sincos", "frexp", "remquo", "lgamma_r"];
    !is_collective(name) && !others.iter().any(|other| name.starts_with(other))
}

/// Whether a target lies behind a pointer.
fn is_memory(target: &Expr) -> bool {
    match &target.kind {
        ExprKind::Parentheses(inner) => is_memory(inner),
        ExprKind::Name { .. } => false,
        ExprKind::Unary { operator, .. } => operator == "*",
        // An array of the kernel has a name of its own, which no pointer to memory reaches.
        ExprKind::Index { base, .. } => match base.bare().ty {
            Type::Array(..) | Type::Vector(..) => is_memory(base.bare()),
            _ => true,
        },
        ExprKind::Swizzle { base, .. } => is_memory(base),
        ExprKind::Field { base, arrow, .. } => *arrow || is_memory(base),
        _ => true,
    }
}

/// Calls `found` for the elements of memory that are loaded whenever the expression is evaluated.
pub(super) fn certain_loads<'t>(tree: &Tree, expr: &'t Expr, found: &mut dyn FnMut(&'t Expr, Address)) {
    match &expr.kind {
        ExprKind::Conditional { condition, .. } => certain_loads(tree, condition, found),
        ExprKind::Binary { operator, left, .. } if operator == "&&" || operator == "||" => {
            certain_loads(tree, left, found);
        }
        // An address alone is no load.
        ExprKind::Unary { operator, .. } if operator == "&" => {}
        ExprKind::Cast { implicit: true, conversion, operand } if conversion == "LValueToRValue" => {
            match address(tree, operand) {
                Some(address) => found(operand, address),
                None => certain_loads(tree, operand, found),
            }
        }
        _ => expr.children().into_iter().for_each(|child| certain_loads(tree, child, found)),
    }
}
