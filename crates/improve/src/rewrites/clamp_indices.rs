//! `clamp-indices`: limits of integers by `min` and `max`.

use tripipe_ir::diagnostic::Rule;

use super::count_loops::variables::{counts, is_costly, lists, mentions};
use super::counted::changed;
use super::effects::is_same;
use super::text::{changed_repeatedly, line_of};
use crate::syntax::print::ALONE;
use crate::syntax::text::Text;
use crate::syntax::{Edits, Expr, ExprKind, Function, Printer, Scalar, Stmt, StmtKind, Tree, Type, fold};
use crate::{Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "clamp-indices",
    title: "limits of integers by `min` and `max`",
    what: "
`if (x < 0) x = 0;`, `x < 0 ? 0 : x` and the like become `max(x, 0)` and `min(x, width - 1)`, in the declaration of the
variable where that is possible. `if (…) continue;` in a loop becomes an `if` around the rest.",
    why: "
Compilers make the same instructions of both, so that it gains nothing by itself. But other rewrites then see an index that
is limited, and decide for several outputs at once where it is inside.",
    example: "
int xx = x + i;
if (xx < 0) xx = 0;
if (xx >= width) xx = width - 1;",
    instead: "int xx = min(max(x + i, 0), width - 1);",
    exceptions: "
Floating-point numbers stay as they are: NaN and negative zeros would differ. The step stays in a result only if a later
one needs it.",
    source: "- OpenCL C, section 6.15.3: `min` and `max` of integers.",
    ..Rule::REWRITE
};

/// Changes at most.
const MOST: usize = 30;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let source = changed_repeatedly(view, MOST, |tree, kernel| {
        limited(tree, kernel)
            .or_else(|| chosen(tree, kernel))
            .or_else(|| folded(tree, kernel))
            .or_else(|| skipped(tree, kernel))
            .and_then(|source| view.parse(source))
    });
    let Some(source) = source else { return Vec::new() };
    vec![Proposal {
        title: "indices limited by `min` and `max`".to_owned(),
        why: "other rewrites see where an index is inside its limits".to_owned(),
        source,
        ..Proposal::of(RULE.code)
    }]
}

/// `condition ? value : other` as `min` or `max` of `other` and `value`, where that is the same for all integers.
fn limit(tree: &Tree, condition: &Expr, value: &Expr, other: &Expr) -> Option<Text> {
    let ExprKind::Binary { operator, left, right } = &condition.bare().kind else { return None };
    // `other < right ? value : other`.
    let (operator, end) = if is_same(left, other) {
        (operator.as_str(), right)
    } else if is_same(right, other) {
        let turned = match operator.as_str() {
            "<" => ">",
            "<=" => ">=",
            ">" => "<",
            ">=" => "<=",
            _ => return None,
        };
        (turned, left)
    } else {
        return None;
    };
    let is_int = |expr: &Expr| expr.bare().ty == Type::Scalar(Scalar::INT);
    if !is_int(other)
        || !is_int(value)
        || !is_int(end)
        || [value, other, &**end].into_iter().any(Expr::assigns)
    {
        return None;
    }
    let by = distance(value, end)?;
    let function = match (operator, by) {
        ("<", 0) | ("<=", 0 | 1) => "max",
        (">", 0) | (">=", 0 | -1) => "min",
        _ => return None,
    };
    let plain = Printer { tree, replaced: &|expr| limit_of(tree, expr), renamed: &|_| None };
    let [a, b] = [other, value].map(|expr| Some(plain.expression(expr)?.at(ALONE)));
    Some(Text::primary(format!("{function}({}, {})", a?, b?)))
}

/// A conditional expression as `min` or `max`.
fn limit_of(tree: &Tree, expr: &Expr) -> Option<Text> {
    let ExprKind::Conditional { condition, then, otherwise } = &expr.kind else { return None };
    limit(tree, condition, then, otherwise).or_else(|| {
        // `a > 0 ? a : 0`: the other way round.
        let ExprKind::Binary { operator, left, right } = &condition.bare().kind else { return None };
        let opposite = opposite(operator)?;
        let kind =
            ExprKind::Binary { operator: opposite.to_owned(), left: left.clone(), right: right.clone() };
        let turned = Expr { kind, ..condition.bare().clone() };
        limit(tree, &turned, otherwise, then)
    })
}

/// The comparison that holds where another does not.
pub(super) fn opposite(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "<" => ">=",
        "<=" => ">",
        ">" => "<=",
        ">=" => "<",
        "==" => "!=",
        "!=" => "==",
        _ => return None,
    })
}

/// The constant by which `a` is more than `b`.
fn distance(a: &Expr, b: &Expr) -> Option<i128> {
    if let (Some(a), Some(b)) = (fold(a.bare()), fold(b.bare())) {
        return Some(a - b);
    }
    let parts = |expr: &Expr| -> Option<(Expr, i128)> {
        match &expr.bare().kind {
            ExprKind::Binary { operator, left, right } if operator == "+" || operator == "-" => {
                let by = fold(right.bare())?;
                Some(((**left).clone(), if operator == "+" { by } else { -by }))
            }
            _ => None,
        }
    };
    let split = |expr: &Expr| parts(expr).unwrap_or_else(|| (expr.clone(), 0));
    let ((a, more), (b, less)) = (split(a), split(b));
    is_same(&a, &b).then_some(more - less)
}

/// Conditional expressions that limit.
fn chosen(tree: &Tree, kernel: &Function) -> Option<String> {
    let mut edits = Edits::new();
    let replaced = |expr: &Expr| limit_of(tree, expr);
    let printer = Printer { tree, replaced: &replaced, renamed: &|_| None };
    kernel.body.walk(&mut |stmt| {
        for expr in stmt.expressions() {
            if expr.any(|it| limit_of(tree, it).is_some()) {
                // What stands in a macro stays.
                let _ = printer.edit_expression(expr, &mut edits);
            }
        }
    });
    (!edits.is_empty()).then(|| edits.apply(&tree.source))
}

/// `if (x < 0) x = 0;`
fn limited(tree: &Tree, kernel: &Function) -> Option<String> {
    let mut edits = Edits::new();
    kernel.body.walk(&mut |stmt| {
        let StmtKind::If { condition, then, otherwise: None } = &stmt.kind else { return };
        let then = match &then.kind {
            StmtKind::Block(inner) if inner.len() == 1 => &inner[0],
            _ => &**then,
        };
        let StmtKind::Expr(expr) = &then.kind else { return };
        let ExprKind::Assign { operator: None, target, value, .. } = &expr.bare().kind else { return };
        let is_name = matches!(target.bare().kind, ExprKind::Name { .. }) && target.place.exact;
        if let Some(text) = limit(tree, condition, value, target).filter(|_| is_name) {
            let text = format!("{} = {};", tree.text(&target.place), text.text);
            let _ = edits.replace(stmt.full.clone(), text);
        }
    });
    (!edits.is_empty()).then(|| edits.apply(&tree.source))
}

/// `int x = a; x = max(x, 0);` as `int x = max(a, 0);`.
fn folded(tree: &Tree, kernel: &Function) -> Option<String> {
    lists(&kernel.body).into_iter().find_map(|list| {
        list.iter().enumerate().find_map(|(index, stmt)| {
            let StmtKind::Declare(variables) = &stmt.kind else { return None };
            variables.iter().find_map(|variable| {
                let value = variable.value.as_ref().filter(|value| value.place.exact && !is_costly(value))?;
                let at = list[index + 1..].iter().position(|it| counts(it, variable.symbol).0 > 0)?;
                let next = &list[index + 1 + at];
                let StmtKind::Expr(expr) = &next.kind else { return None };
                let ExprKind::Assign { operator: None, target, value: limit, .. } = &expr.bare().kind else {
                    return None;
                };
                let is_limit = match &limit.bare().kind {
                    ExprKind::Call { name, .. } => ["min", "max", "clamp"].contains(&name.as_str()),
                    _ => false,
                };
                let mut named = 0;
                limit.walk(&mut |it| {
                    named += usize::from(
                        matches!(&it.kind, ExprKind::Name { symbol, .. } if *symbol == variable.symbol),
                    );
                });
                let is_other = variables.iter().any(|it| {
                    it.symbol != variable.symbol
                        && it.value.as_ref().is_some_and(|it| mentions(it, variable.symbol))
                });
                // Nothing that the value depends on changes in between.
                let moved = list[index + 1..index + 1 + at].iter().any(|it| {
                    let moved = changed(it).0;
                    value.any(|it| it.symbol().is_some_and(|it| moved.contains(&it)))
                }) || limit.any(|it| {
                    it.symbol().is_some_and(|it| {
                        list[index + 1..index + 1 + at].iter().any(|stmt| {
                            matches!(&stmt.kind, StmtKind::Declare(all) if all.iter().any(|v| v.symbol == it))
                                || changed(stmt).0.contains(&it)
                        }) || it != variable.symbol && variables.iter().any(|v| v.symbol == it)
                    })
                });
                let is_int = variable.ty == Type::Scalar(Scalar::INT) && value.bare().ty == variable.ty;
                if !is_limit
                    || named != 1
                    || is_other
                    || moved
                    || !is_int
                    || target.symbol() != Some(variable.symbol)
                {
                    return None;
                }
                let first = Printer { tree, replaced: &|_| None, renamed: &|_| None }.expression(value)?;
                let replaced = |expr: &Expr| {
                    matches!(&expr.kind, ExprKind::Name { symbol, .. } if *symbol == variable.symbol)
                        .then(|| first.clone())
                };
                let text = Printer { tree, replaced: &replaced, renamed: &|_| None }.expression(limit)?;
                let mut edits = Edits::new();
                edits.replace(value.place.range.clone(), text.at(ALONE)).ok()?;
                edits.replace(line_of(&tree.source, &next.full), "").ok()?;
                Some(edits.apply(&tree.source))
            })
        })
    })
}

/// `if (…) continue;` as a test around the rest of a loop's body.
fn skipped(tree: &Tree, kernel: &Function) -> Option<String> {
    let mut found = None;
    kernel.body.walk(&mut |stmt| {
        let (StmtKind::For { body, .. } | StmtKind::While { body, after: false, .. }) = &stmt.kind else {
            return;
        };
        let StmtKind::Block(inner) = &body.kind else { return };
        if found.is_none() {
            found = inner
                .iter()
                .enumerate()
                .find_map(|(index, stmt)| without_continue(tree, &inner[index..], stmt));
        }
    });
    found
}

fn without_continue(tree: &Tree, rest: &[Stmt], stmt: &Stmt) -> Option<String> {
    let StmtKind::If { condition, then, otherwise: None } = &stmt.kind else { return None };
    let is_continue = match &then.kind {
        StmtKind::Block(inner) => matches!(&inner[..], [only] if matches!(only.kind, StmtKind::Continue)),
        kind => matches!(kind, StmtKind::Continue),
    };
    let last = rest.last().filter(|_| rest.len() > 1)?;
    if !is_continue || condition.assigns() || stmt.place.in_macro && !stmt.place.exact {
        return None;
    }
    let source = &tree.source;
    let test = negated(tree, condition)?.text;
    let inner = source
        .get(stmt.full.end..last.full.end)?
        .trim_start_matches([' ', '\t', '\r'])
        .trim_start_matches('\n');
    let indent = super::text::indentation(source, stmt.full.start);
    let inner: Vec<String> = inner
        .lines()
        .map(|line| if line.trim().is_empty() { String::new() } else { format!("    {line}") })
        .collect();
    let mut edits = Edits::new();
    let text = format!("if ({test}) {{\n{}\n{indent}}}", inner.join("\n"));
    edits.replace(stmt.full.start..last.full.end, text).ok()?;
    Some(edits.apply(source))
}

/// A condition that holds where another one does not.
fn negated(tree: &Tree, condition: &Expr) -> Option<Text> {
    let plain = Printer { tree, replaced: &|_| None, renamed: &|_| None };
    let is_integer = |expr: &Expr| expr.bare().ty.as_number().is_some_and(Scalar::is_integer);
    match &condition.bare().kind {
        ExprKind::Binary { operator, left, right } if operator == "||" || operator == "&&" => {
            let operator = if operator == "||" { "&&" } else { "||" };
            Some(negated(tree, left)?.binary(operator, &negated(tree, right)?))
        }
        ExprKind::Binary { operator, left, right } if is_integer(left) && is_integer(right) => {
            match opposite(operator) {
                Some(operator) => Some(plain.expression(left)?.binary(operator, &plain.expression(right)?)),
                None => Some(Text::primary(format!("!({})", plain.expression(condition)?.text))),
            }
        }
        ExprKind::Unary { operator, operand, .. } if operator == "!" => plain.expression(operand),
        _ => Some(Text::primary(format!("!({})", plain.expression(condition)?.text))),
    }
}
