//! `block`: a rectangle of outputs of a work-item, vectors along one dimension and copies along another.

use tripipe_ir::diagnostic::Rule;

use super::outputs::{Outputs, propose};
use crate::replicate::Plan;
use crate::{Proposal, View};

/// Its documentation.
pub(super) const RULE: Rule = Rule {
    code: "block",
    title: "a block of outputs of a work-item, in registers",
    what: "`widen` along one dimension and `coarsen` along another, in one step.",
    why: "
In a product of matrices, a block of r x c outputs takes r + c loads for r * c products, where single outputs take two
loads a product. Either step alone may gain nothing.",
    example: "sum += a[y * n + k] * b[k * m + x];",
    instead: "
sum += a[y * n + k] * vload4(0, b + k * m + x);
sum_1 += a[y_1 * n + k] * vload4(0, b + k * m + x);",
    exceptions: "As with `widen` and `coarsen`.",
    source: "Goto and van de Geijn, *Anatomy of High-Performance Matrix Multiplication* (2008).",
    ..Rule::REWRITE
};

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let mut plans = Vec::new();
    let dimensions = view.subject.launch.range.dimensions();
    for (along, across) in [(0, 1), (1, 0)] {
        if along.max(across) >= dimensions {
            continue;
        }
        for lanes in [4, 8] {
            for count in [2, 4, 8] {
                plans.push(Plan {
                    vector: Some((along, lanes)),
                    copies: Some((across, count)),
                    narrow: true,
                    ..Plan::default()
                });
            }
        }
    }
    let outputs = Outputs {
        code: RULE.code,
        title: &|plan| {
            let ((along, lanes), (_, count)) =
                (plan.vector.unwrap_or_default(), plan.copies.unwrap_or_default());
            format!("{lanes} x {count} outputs a work-item, vectors along dimension {along}")
        },
        why: "a block of outputs shares its loads in both directions",
    };
    propose(view, &plans, &outputs)
}
