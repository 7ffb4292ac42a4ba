//! `powers`: products instead of small constant powers.

use tripipe_ir::diagnostic::Rule;

use crate::syntax::{Edits, Expr, ExprKind, Function, Printer, Scalar, Tree};
use crate::{Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "powers",
    title: "products instead of small constant powers",
    what: "`pow`, `powr` and `pown` with the constant exponent 2, 3 or 4 become products.",
    why: "
`pow` computes a logarithm and an exponential with more digits than a `float` has: over a hundred instructions, where a square
is one. Compilers may not replace it without `-cl-fast-relaxed-math`, and those of phones do not always.",
    example: "energy[i] = pow(x[i], 2.0f);",
    instead: "energy[i] = x[i] * x[i];",
    exceptions: "
Products are rounded once to three times, and less where they become part of a fused multiply-add: closer than the 16 units in
the last place that `pow` may be off, but not the same bits.",
    source: "
- OpenCL C, table of accuracy: `pow` and `pown` within 16 units in the last place, a product within half a unit.",
    ..Rule::REWRITE
};

/// The most that results deviate, relative: three products are half a unit in the last place off each, 6e-8, and what
/// follows adds a few of its own.
const ERROR: f64 = 5e-7;

/// The largest exponent: higher powers are seldom written.
const MOST: usize = 4;

const FLOAT: Scalar = Scalar::Float { bits: 32 };

/// Names, operators, numbers and conversions of a base that is written repeatedly.
const SIZE: usize = 20;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    // A base is read once for each factor, which `volatile` forbids.
    let is_volatile = view.subject.source.contains("volatile");
    proposal(tree, kernel).filter(|_| !is_volatile).into_iter().collect()
}

/// Powers as products; `None` if there is none outside of macros.
fn proposal(tree: &Tree, kernel: &Function) -> Option<Proposal> {
    let plain = Printer { tree, replaced: &|_| None, renamed: &|_| None };
    let replaced = |expr: &Expr| {
        let (base, exponent) = power(expr)?;
        let base = plain.expression(base)?;
        Some((1..exponent).fold(base.clone(), |product, _| product.binary("*", &base)))
    };
    let printer = Printer { tree, replaced: &replaced, renamed: &|_| None };
    let mut edits = Edits::new();
    let mut count = 0;
    kernel.body.walk(&mut |stmt| {
        for expr in stmt.expressions() {
            let mut own = 0;
            expr.walk(&mut |it| own += usize::from(power(it).is_some()));
            // What stands in a macro stays.
            if own > 0 && printer.edit_expression(expr, &mut edits).is_some() {
                count += own;
            }
        }
    });
    (count > 0).then(|| Proposal {
        title: match count {
            1 => "a constant power as a product".to_owned(),
            _ => format!("{count} constant powers as products"),
        },
        why: "a power is a logarithm and an exponential of many digits".to_owned(),
        source: edits.apply(&tree.source),
        relative_error: ERROR,
        ..Proposal::of(RULE.code)
    })
}

/// The base and the exponent of a power that can be a product.
fn power(expr: &Expr) -> Option<(&Expr, usize)> {
    let ExprKind::Call { name, arguments, .. } = &expr.kind else { return None };
    let [base, exponent] = &arguments[..] else { return None };
    if !["pow", "powr", "pown"].contains(&name.as_str()) || expr.ty.scalar() != Some(FLOAT) {
        return None;
    }
    let exponent = (2..=MOST).find(|power| constant(exponent) == Some(*power as f64))?;
    let base = base.bare();
    let mut size = 0;
    base.walk(&mut |_| size += 1);
    let is_simple =
        size <= SIZE && !base.assigns() && !base.any(|it| matches!(it.kind, ExprKind::Call { .. }));
    // A base of another type would be multiplied in that type.
    (is_simple && base.ty == expr.ty).then_some((base, exponent))
}

/// The value of a number.
fn constant(expr: &Expr) -> Option<f64> {
    match &expr.bare().kind {
        ExprKind::Integer(value) => Some(*value as f64),
        ExprKind::Float(value) => Some(*value),
        ExprKind::Cast { operand, .. } => constant(operand),
        _ => None,
    }
}
