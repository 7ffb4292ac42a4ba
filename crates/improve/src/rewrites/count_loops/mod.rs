//! `count-loops`: loops that count, and memory that is walked along with indices.

mod headers;
mod pointers;
mod sink;
mod walks;

use std::ops::Range;

use tripipe_ir::diagnostic::Rule;

use super::text::changed_repeatedly;
use crate::syntax::{Expr, ExprKind, Function, Stmt, StmtKind, Symbol, Tree, Variable, fold};
use crate::{Proposal, Rewrite, View};

const RULE: Rule = Rule {
    code: "count-loops",
    title: "loops that count, and memory that is walked along with indices",
    what: "
`while` and `do` loops that count become `for` loops; pointers that walk (`*p++`, `p += stride`) become indices, and
numbers that grow by the same amount in each turn become multiples of the loop's counter. Variables are declared where
they get their value.",
    why: "
Compilers do the same, so that it gains nothing by itself. But other rewrites then see which elements a loop reads, and
that its turns do not depend on each other.",
    example: "
int k = 0;
while (k < n) {
    sum += *p++ * w[k];
    k++;
}",
    instead: "
for (int k = 0; k < n; k++) {
    sum += p[k] * w[k];
}",
    exceptions: "
Where a loop is left early, or a pointer moves by an amount that changes. The step stays in a result only if a later one
needs it.",
    source: "- Every compiler's induction variables (Aho et al., *Compilers*, section 9.1.8).",
    ..Rule::REWRITE
};

/// The source with one thing changed; `None` where there is nothing to change.
type Change = fn(&Tree, &Function) -> Option<String>;

/// Changes at most.
const MOST: usize = 40;

/// The rewrite.
pub(super) struct CountLoops;

impl Rewrite for CountLoops {
    fn rule(&self) -> &'static Rule {
        &RULE
    }

    fn prepares(&self) -> bool {
        true
    }

    fn proposals(&self, view: &View<'_>) -> Vec<Proposal> {
        let all: [(&str, Change); 4] = [
            ("loops count", headers::counted),
            ("pointers become indices", pointers::indexed),
            ("walks become multiples of the counter", walks::multiplied),
            ("variables are declared where they get their value", sink::sunk),
        ];
        let mut done: Vec<&str> = Vec::new();
        let source = changed_repeatedly(view, MOST, |tree, kernel| {
            let (what, next) = all.iter().find_map(|(what, change)| {
                let source = change(tree, kernel)?;
                Some((*what, view.parse(source)?))
            })?;
            if !done.contains(&what) {
                done.push(what);
            }
            Some(next)
        });
        let Some(source) = source else { return Vec::new() };
        // Where variables are declared changes nothing for others.
        if done.iter().all(|what| what.starts_with("variables")) {
            return Vec::new();
        }
        vec![Proposal {
            title: done.join(", "),
            why: "other rewrites see which elements a loop reads".to_owned(),
            source,
            ..Proposal::of(RULE.code)
        }]
    }
}

/// A change of a variable by an amount: `v++`, `v += a`, `v = v + a`.
struct Growth<'t> {
    /// The amount; `None` for 1.
    by: Option<&'t Expr>,
    /// Whether it is subtracted.
    down: bool,
    /// Whether the expression's value is that before the change.
    after: bool,
}

/// How an expression changes a variable.
fn growth(expr: &Expr, symbol: Symbol) -> Option<Growth<'_>> {
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
fn changes(expr: &Expr, symbol: Symbol) -> bool {
    match &expr.kind {
        ExprKind::Assign { target, .. } => super::counted::root(target) == Some(symbol),
        ExprKind::Unary { operator, operand, .. } if ["++", "--", "&"].contains(&operator.as_str()) => {
            super::counted::root(operand) == Some(symbol)
        }
        _ => false,
    }
}

pub(super) fn mentions(expr: &Expr, symbol: Symbol) -> bool {
    expr.any(|it| matches!(&it.kind, ExprKind::Name { symbol: other, .. } if *other == symbol))
}

/// How often a statement names a variable, and changes it.
pub(super) fn counts(stmt: &Stmt, symbol: Symbol) -> (usize, usize) {
    let (mut named, mut changed) = (0, 0);
    stmt.walk_expressions(&mut |expr| {
        named += usize::from(matches!(&expr.kind, ExprKind::Name { symbol: other, .. } if *other == symbol));
        changed += usize::from(changes(expr, symbol));
    });
    (named, changed)
}

/// All lists of statements, the outermost first.
pub(super) fn lists(body: &Stmt) -> Vec<&[Stmt]> {
    let mut all = Vec::new();
    body.walk(&mut |stmt| {
        if let StmtKind::Block(inner) = &stmt.kind {
            all.push(&inner[..]);
        }
    });
    all
}

/// Integers and pointers that are declared in the kernel, with the statement.
fn locals(kernel: &Function) -> Vec<(&Variable, &Stmt)> {
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
pub(super) fn is_costly(expr: &Expr) -> bool {
    expr.assigns()
        || expr.any(|it| match &it.kind {
            ExprKind::Index { .. } | ExprKind::Other { .. } => true,
            ExprKind::Call { name, .. } => !["min", "max", "clamp", "get_global_id"].contains(&name.as_str()),
            ExprKind::Unary { operator, .. } => operator == "*",
            _ => false,
        })
}

/// The bytes of a statement, with the line where it stands there alone.
pub(super) fn line_of(source: &str, range: &Range<usize>) -> Range<usize> {
    let start = source[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = source[range.end..].find('\n').map_or(source.len(), |at| range.end + at + 1);
    let is_alone = source[start..range.start].trim().is_empty() && source[range.end..end].trim().is_empty();
    if is_alone { start..end } else { range.clone() }
}

/// Whether a loop is left or cut short from inside.
fn is_left(body: &Stmt) -> bool {
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
fn constant(expr: &Expr) -> Option<i128> {
    fold(expr.bare())
}
