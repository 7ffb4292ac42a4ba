//! Elements of memory: which buffer, and where in it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::effects::{is_collective, is_pure};
use crate::syntax::{
    Affine, Edits, Expr, ExprKind, Function, Space, Stmt, StmtKind, Symbol, Tree, Type, affine,
};

/// Variables that are set once, and their values, which are looked into.
pub(super) type Values<'t> = BTreeMap<Symbol, &'t Expr>;

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
pub(super) fn address(tree: &Tree, expr: &Expr, values: &Values<'_>) -> Option<Address> {
    match &expr.kind {
        ExprKind::Parentheses(inner) => address(tree, inner, values),
        ExprKind::Index { base, index } => {
            let start = pointer(tree, base, values)?;
            Some(Address { sum: start.sum.plus(&sum(tree, index, values)?, 1), ..start })
        }
        ExprKind::Unary { operator, operand, .. } if operator == "*" => pointer(tree, operand, values),
        _ => None,
    }
}

/// The element that a pointer's value points to: `p`, `p + i`, `&p[i]`.
pub(super) fn pointer(tree: &Tree, expr: &Expr, values: &Values<'_>) -> Option<Address> {
    match &expr.kind {
        ExprKind::Parentheses(inner) | ExprKind::Cast { implicit: true, operand: inner, .. } => {
            pointer(tree, inner, values)
        }
        ExprKind::Name { symbol, .. } if values.contains_key(symbol) => {
            pointer(tree, values.get(symbol)?, values)
        }
        ExprKind::Name { symbol, name, .. } => match &expr.ty {
            Type::Pointer { space: Space::Global | Space::Constant | Space::Local, .. } => {
                Some(Address { base: *symbol, name: name.clone(), sum: Affine::default() })
            }
            _ => None,
        },
        ExprKind::Binary { operator, left, right } if operator == "+" || operator == "-" => {
            let start = pointer(tree, left, values)?;
            let times = if operator == "+" { 1 } else { -1 };
            Some(Address { sum: start.sum.plus(&sum(tree, right, values)?, times), ..start })
        }
        ExprKind::Unary { operator, operand, .. } if operator == "&" => address(tree, operand, values),
        _ => None,
    }
}

/// An index as a sum.
fn sum(tree: &Tree, index: &Expr, values: &Values<'_>) -> Option<Affine> {
    let known = |expr: &Expr| match &expr.kind {
        ExprKind::Name { symbol, .. } => sum(tree, values.get(symbol)?, values),
        _ => None,
    };
    (!wraps(index, values)).then(|| affine(index, &|it| tree.text(&it.place).to_owned(), &known))
}

/// Whether an index is computed in fewer than 32 bits.
fn wraps(index: &Expr, values: &Values<'_>) -> bool {
    let is_narrow = |expr: &Expr| expr.ty.as_number().is_some_and(|it| it.bits() < 32);
    index.any(|expr| match &expr.kind {
        ExprKind::Cast { operand, .. } => {
            let operand = operand.bare();
            is_narrow(expr) && !matches!(operand.kind, ExprKind::Name { .. } | ExprKind::Integer(_))
        }
        ExprKind::Name { symbol, .. } => {
            values.get(symbol).is_some_and(|value| is_narrow(expr) || wraps(value, values))
        }
        _ => false,
    })
}

/// The text of an expression outside the scope of variables that are set once: with their values instead. `None` where
/// a macro hides one.
pub(super) fn text_without(tree: &Tree, expr: &Expr, values: &Values<'_>) -> Option<String> {
    let mut edits = Edits::new();
    let mut fits = true;
    expr.walk(&mut |inner| {
        let ExprKind::Name { symbol, .. } = &inner.kind else { return };
        let Some(value) = values.get(symbol) else { return };
        let text = text_without(tree, value, values).filter(|_| inner.place.exact);
        let range = inner.place.range.clone();
        fits &= text.is_some_and(|text| edits.replace(range, format!("({text})")).is_ok());
    });
    (fits && expr.place.exact).then(|| edits.apply_to(&tree.source, expr.place.range.clone()))
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
pub(super) fn certain_loads<'t>(
    tree: &Tree,
    expr: &'t Expr,
    values: &Values<'_>,
    found: &mut dyn FnMut(&'t Expr, Address),
) {
    match &expr.kind {
        ExprKind::Conditional { condition, .. } => certain_loads(tree, condition, values, found),
        ExprKind::Binary { operator, left, .. } if operator == "&&" || operator == "||" => {
            certain_loads(tree, left, values, found);
        }
        // An address alone is no load.
        ExprKind::Unary { operator, .. } if operator == "&" => {}
        ExprKind::Cast { implicit: true, conversion, operand } if conversion == "LValueToRValue" => {
            match address(tree, operand, values) {
                Some(address) => found(operand, address),
                None => certain_loads(tree, operand, values, found),
            }
        }
        _ => expr.children().into_iter().for_each(|child| certain_loads(tree, child, values, found)),
    }
}

/// Whether what a pointer points to is declared `volatile`.
pub(super) fn is_volatile(tree: &Tree, kernel: &Function, base: Symbol) -> bool {
    let parameter = kernel.parameters.iter().find(|it| it.symbol == base);
    let mut declared: Vec<Range<usize>> = parameter.map(|it| it.place.range.clone()).into_iter().collect();
    kernel.body.walk(&mut |stmt: &Stmt| {
        if let StmtKind::Declare(variables) = &stmt.kind
            && variables.iter().any(|it| it.symbol == base)
        {
            declared.push(stmt.full.clone());
        }
    });
    declared.into_iter().any(|at| tree.source.get(at).is_some_and(|text| text.contains("volatile")))
}
