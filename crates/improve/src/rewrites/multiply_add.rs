//! `multiply-add`: products and sums by the instruction that is fast on the GPU.

use tripipe_ir::diagnostic::Rule;

use crate::syntax::print::ALONE;
use crate::syntax::text::{Text, UNARY};
use crate::syntax::{Edits, Expr, ExprKind, Function, Printer, Scalar, StmtKind, Tree, Type};
use crate::{Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "multiply-add",
    title: "products and sums by the instruction that is fast on the GPU",
    what: "`fma(a, b, c)` and `mad(a, b, c)` become `a * b + c`, or `a * b + c` becomes `fma(a, b, c)`.",
    why: "
`fma` rounds once. Where the hardware has no such instruction, as on Midgard and Adreno, a function computes it with many.
Where the hardware has one, it does the work of two. `mad` may round either way.",
    example: "sum = fma(a[k], b[k], sum);",
    instead: "sum = a[k] * b[k] + sum;",
    exceptions: "
Where an algorithm needs the single rounding, as in exact products and compensated sums. Results are rounded differently,
so only with `--allow-rounding`; `mad` becomes `a * b + c` without it, as OpenCL allows both.",
    source: "
- OpenCL C, section 6.15.2: `fma` is correctly rounded, the accuracy of `mad` is the implementation's.
- Which GPUs have the instruction: docs/model.md; on a Mali-T830, `fma` was measured at a quarter of the rate of `mad`.",
    ..Rule::REWRITE
};

/// The most that a result deviates, relative: as of a sum in another order.
const FLOAT_ERROR: f64 = 1e-5;
const HALF_ERROR: f64 = 1e-2;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    let plain = "the GPU has no such instruction for the type, and a function computes it";
    let none: &StatementChange<'_> = &|_| None;
    let mad = change(tree, kernel, &|expr| apart(tree, expr, "mad"), none)
        .map(|source| proposal("`mad` as a product and a sum", plain, source, 0.0));
    let error = error(kernel);
    let apart = change(tree, kernel, &|expr| apart(tree, expr, "fma"), none)
        .map(|source| proposal("`fma` as a product and a sum", plain, source, error));
    let fused = change(tree, kernel, &|expr| fused(tree, expr), &|expr| fused_sum(tree, expr))
        .filter(|_| view.allowed.rounding)
        .map(|source| proposal("products and sums as `fma`", "one instruction does both", source, error));
    [mad, apart, fused].into_iter().flatten().collect()
}

fn proposal(title: &str, why: &str, source: String, relative_error: f64) -> Proposal {
    let (title, why) = (title.to_owned(), why.to_owned());
    Proposal { title, why, source, relative_error, ..Proposal::of(RULE.code) }
}

/// The bound for the types that a kernel computes with.
fn error(kernel: &Function) -> f64 {
    let mut has_half = false;
    kernel
        .body
        .walk_expressions(&mut |expr| has_half |= expr.ty.scalar() == Some(Scalar::Float { bits: 16 }));
    if has_half { HALF_ERROR } else { FLOAT_ERROR }
}

/// What a whole statement's expression becomes.
type StatementChange<'t> = dyn Fn(&Expr) -> Option<String> + 't;

/// The source with a change of the kernel's expressions, and of those that are statements.
fn change(
    tree: &Tree,
    kernel: &Function,
    replaced: &dyn Fn(&Expr) -> Option<Text>,
    whole: &StatementChange<'_>,
) -> Option<String> {
    let printer = Printer { tree, replaced, renamed: &|_| None };
    let mut edits = Edits::new();
    let mut fits = true;
    kernel.body.walk(&mut |stmt| {
        for expr in stmt.expressions() {
            let text = if matches!(stmt.kind, StmtKind::Expr(_)) { whole(expr) } else { None };
            fits &= match text {
                Some(text) => expr.place.exact && edits.replace(expr.place.range.clone(), text).is_ok(),
                None => printer.edit_expression(expr, &mut edits).is_some(),
            };
        }
    });
    (fits && !edits.is_empty()).then(|| edits.apply(&tree.source))
}

/// `fma(a, b, c)` as `a * b + c`.
fn apart(tree: &Tree, expr: &Expr, function: &str) -> Option<Text> {
    let ExprKind::Call { name, arguments, .. } = &expr.kind else { return None };
    let [a, b, c] = &arguments[..] else { return None };
    if name != function || !is_float(&expr.ty) {
        return None;
    }
    let replaced = |expr: &Expr| apart(tree, expr, function);
    let printer = Printer { tree, replaced: &replaced, renamed: &|_| None };
    let text = |expr: &Expr| converted(&printer, expr);
    Some(text(a)?.binary("*", &text(b)?).binary("+", &text(c)?))
}

/// An operand in its own type: a conversion that only the function's parameters ask for is written.
fn converted(printer: &Printer<'_>, expr: &Expr) -> Option<Text> {
    let text = printer.expression(expr)?;
    let from = &expr.bare().ty;
    if *from == expr.ty || matches!(expr.bare().kind, ExprKind::Float(_)) {
        return Some(text);
    }
    Some(Text::new(format!("({}){}", expr.ty, text.at(UNARY)), UNARY))
}

/// `a * b + c` as `fma(a, b, c)`.
fn fused(tree: &Tree, expr: &Expr) -> Option<Text> {
    let ExprKind::Binary { operator, left, right } = &expr.kind else { return None };
    if operator != "+" || !is_float(&expr.ty) {
        return None;
    }
    let (product, other) = if factors(left).is_some() { (left, right) } else { (right, left) };
    call(tree, product, &|printer| Some(converted(printer, other)?.at(ALONE)))
}

/// `c += a * b` as `c = fma(a, b, c)`.
fn fused_sum(tree: &Tree, expr: &Expr) -> Option<String> {
    let ExprKind::Assign { operator: Some(operator), target, value, computed } = &expr.bare().kind else {
        return None;
    };
    let is_name = matches!(target.bare().kind, ExprKind::Name { .. });
    if operator != "+" || !is_float(&expr.ty) || !is_name || *computed != target.ty || value.ty != target.ty {
        return None;
    }
    let name = tree.text(&target.place);
    Some(format!("{name} = {}", call(tree, value, &|_| Some(name.to_owned()))?.text))
}

/// `fma` of the factors of a product and what `other` gives.
fn call(tree: &Tree, product: &Expr, other: &dyn Fn(&Printer<'_>) -> Option<String>) -> Option<Text> {
    let (a, b) = factors(product)?;
    let replaced = |expr: &Expr| fused(tree, expr);
    let printer = Printer { tree, replaced: &replaced, renamed: &|_| None };
    let [a, b] = [a, b].map(|factor| Some(converted(&printer, factor)?.at(ALONE)));
    Some(Text::primary(format!("fma({}, {}, {})", a?, b?, other(&printer)?)))
}

/// The factors of a product of numbers or vectors of floating point.
fn factors(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match &expr.bare().kind {
        ExprKind::Binary { operator, left, right } if operator == "*" && expr.bare().ty == expr.ty => {
            Some((left, right))
        }
        _ => None,
    }
}

fn is_float(ty: &Type) -> bool {
    ty.scalar().is_some_and(|it| !it.is_integer())
}
