//! `coarsen`: several outputs of a work-item as copies.

use tripipe_ir::diagnostic::Rule;

use super::outputs::{Outputs, propose};
use crate::replicate::Plan;
use crate::{Proposal, View};

/// Its documentation.
pub(super) const RULE: Rule = Rule {
    code: "coarsen",
    title: "several outputs of a work-item as copies",
    what: "
A work-item computes 2, 4 or 8 outputs along a dimension. Each statement that depends on the output is repeated with
variables of its own (`sum`, `sum_1`, …), inside loops that are the same for all outputs; what does not depend on it is
done once.",
    why: "
What neighbouring outputs share is loaded once: a column of B serves all rows of a block of a product. Independent
copies hide the latency of each other, and loops and indices are paid once.",
    example: "
int y = get_global_id(1);
float sum = 0;
for (int k = 0; k < n; ++k)
    sum += a[y * n + k] * b[k * m + x];",
    instead: "
int y = 2 * get_global_id(1);
int y_1 = 2 * get_global_id(1) + 1;
float sum = 0;
float sum_1 = 0;
for (int k = 0; k < n; ++k) {
    sum += a[y * n + k] * b[k * m + x];
    sum_1 += a[y_1 * n + k] * b[k * m + x];
}",
    exceptions: "
Where outputs share nothing, only the number of work-items falls. Copies need registers: past the limit of a GPU they
halve its threads, or spill.",
    source: "Volkov, *Better Performance at Lower Occupancy* (GTC 2010); Arm, *Mali GPU OpenCL Developer Guide*.",
    ..Rule::REWRITE
};

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let mut plans = Vec::new();
    for dimension in 0..view.subject.launch.range.dimensions() {
        for count in [2, 4, 8] {
            plans.push(Plan { copies: Some((dimension, count)), ..Plan::default() });
        }
    }
    let outputs = Outputs {
        code: RULE.code,
        title: &|plan| {
            let (dimension, count) = plan.copies.unwrap_or_default();
            format!("{count} outputs a work-item in dimension {dimension}, as copies")
        },
        why: "what the outputs share is loaded and computed once",
    };
    propose(view, &plans, &outputs)
}
