//! `narrow-index`: indices of 64 bits become 32 bits wide.

use tripipe_ir::diagnostic::Rule;

use super::text::dimension;
use crate::syntax::{Edits, Expr, ExprKind, Function, Scalar, Stmt, StmtKind, Type};
use crate::{Condition, Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "narrow-index",
    title: "indices of 64 bits become 32 bits wide",
    what: "
Variables of type `size_t`, `ulong` and `long` become `uint` and `int`, and so do the numbers of the work-item in sums.",
    why: "
GPUs of phones compute with 32 bits. A product of 64 bits takes four multiplications, a sum two operations, and each value
two registers.",
    example: "const size_t at = get_global_id(1) * width + get_global_id(0);",
    instead: "const uint at = (uint)get_global_id(1) * width + (uint)get_global_id(0);",
    exceptions: "Where a buffer has more than 2^31 elements.",
    source: "- Arm's and Qualcomm's OpenCL guides: `size_t` has 64 bits on these GPUs.",
    ..Rule::REWRITE
};

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let Some(kernel) = view.kernel() else { return Vec::new() };
    narrowed(&view.subject.source, kernel).into_iter().collect()
}

/// Whether an integer type of 64 bits is signed; `None` for all other types.
fn wide(ty: &Type) -> Option<bool> {
    match ty.as_number()? {
        Scalar::Integer { bits: 64, signed } => Some(signed),
        _ => None,
    }
}

fn narrowed(source: &str, kernel: &Function) -> Option<Proposal> {
    let mut edits = Edits::new();
    let mut fits = true;
    let mut names: Vec<&str> = Vec::new();
    kernel.body.walk(&mut |stmt| fits &= declaration(source, stmt, &mut edits, &mut names));
    kernel.body.walk(&mut |stmt| {
        for expr in stmt.expressions() {
            // A variable that is initialised with the number of the work-item converts it.
            let is_initial = matches!(stmt.kind, StmtKind::Declare(_));
            casts(expr, is_initial, &mut edits, &mut fits);
        }
    });
    if !fits || edits.is_empty() {
        return None;
    }
    let shown: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let what = if shown.is_empty() { "numbers of the work-item".to_owned() } else { shown.join(", ") };
    Some(Proposal {
        title: format!("{what} in 32 bits"),
        why: "sums and products of 64 bits take several operations".to_owned(),
        source: edits.apply(source),
        conditions: vec![Condition::Stated("no buffer has 2^31 elements or more".to_owned())],
        ..Proposal::of(RULE.code)
    })
}

/// Changes the type of a declaration; whether that is possible.
fn declaration<'k>(source: &str, stmt: &'k Stmt, edits: &mut Edits, names: &mut Vec<&'k str>) -> bool {
    let StmtKind::Declare(all) = &stmt.kind else { return true };
    let Some(first) = all.first() else { return true };
    let Some(signed) = wide(&first.ty) else { return true };
    if !all.iter().all(|variable| wide(&variable.ty) == Some(signed)) || stmt.place.in_macro {
        return false;
    }
    let start = stmt.full.start;
    let Some(head) = source.get(start..first.name_range.start) else { return false };
    let words = [
        ("size_t", "uint"),
        ("ulong", "uint"),
        ("unsigned long", "uint"),
        ("ptrdiff_t", "int"),
        ("long", "int"),
    ];
    for (word, narrow) in words {
        if let Some(at) = head.find(word) {
            names.extend(all.iter().map(|variable| variable.name.as_str()));
            return edits.replace(start + at..start + at + word.len(), narrow).is_ok();
        }
    }
    false
}

/// Casts the numbers of the work-item that take part in sums of 64 bits.
fn casts(expr: &Expr, is_initial: bool, edits: &mut Edits, fits: &mut bool) {
    if dimension(expr).is_some() && !is_initial {
        *fits &= expr.place.exact
            && !expr.place.in_macro
            && edits.insert(expr.place.range.start, "(uint)").is_ok();
        return;
    }
    // A cast to 32 bits or fewer, said or not, makes the number narrow already.
    let converts = |expr: &Expr| matches!(expr.kind, ExprKind::Cast { .. }) && wide(&expr.ty).is_none();
    for child in expr.children() {
        let keeps = matches!(expr.kind, ExprKind::Parentheses(_)) && is_initial;
        let narrow = converts(expr) || keeps;
        casts(child, narrow, edits, fits);
    }
}
