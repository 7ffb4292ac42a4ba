//! `native-functions`: mathematical functions in the hardware's precision.

use tripipe_ir::diagnostic::Rule;

use crate::syntax::{Edits, ExprKind};
use crate::{Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "native-functions",
    title: "mathematical functions in the hardware's precision",
    what: "`exp`, `log`, `sqrt` and others become `native_exp`, `native_log`, `native_sqrt`.",
    why: "
The hardware computes the function in one or two instructions; the precise one corrects its result and its argument's range
with many more.",
    example: "weight = exp(-d * d);",
    instead: "weight = native_exp(-d * d);",
    exceptions: "
Where the precision of the vendor's instruction, which OpenCL leaves to it, is not enough; where arguments are very large.
Only with `--allow-rounding`.",
    source: "- OpenCL C, section 6.15.2: the precision of native functions is the implementation's.",
    ..Rule::REWRITE
};

/// The most that a result of the hardware's instruction deviates, relative; of arguments of usual magnitude. Guessed: OpenCL
/// gives no bound.
const ERROR: f64 = 1e-3;

/// Functions of `float` with a native form.
const FUNCTIONS: [&str; 12] =
    ["exp", "exp2", "exp10", "log", "log2", "log10", "sqrt", "rsqrt", "sin", "cos", "tan", "powr"];

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let Some(kernel) = view.kernel() else { return Vec::new() };
    let source = &view.subject.source;
    let mut edits = Edits::new();
    let mut fits = true;
    let mut names: Vec<&str> = Vec::new();
    kernel.body.walk_expressions(&mut |expr| {
        let ExprKind::Call { name, .. } = &expr.kind else { return };
        // There are none for `half` and `double`.
        let is_float = expr.ty.scalar().is_some_and(|scalar| scalar.bits() == 32 && !scalar.is_integer());
        if !FUNCTIONS.contains(&name.as_str()) || !is_float {
            return;
        }
        let start = expr.place.range.start;
        fits &= !expr.place.in_macro
            && source[start..].starts_with(name.as_str())
            && edits.insert(start, "native_").is_ok();
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    });
    if !fits || edits.is_empty() {
        return Vec::new();
    }
    let shown: Vec<String> = names.iter().map(|name| format!("`native_{name}`")).collect();
    vec![Proposal {
        title: format!("{} of the hardware", shown.join(", ")),
        why: "the precise functions correct what the hardware computes".to_owned(),
        source: edits.apply(source),
        relative_error: ERROR,
        ..Proposal::of(RULE.code)
    }]
}
