//! `widen`: several adjacent outputs of a work-item as vectors.

use tripipe_ir::diagnostic::Rule;

use super::outputs::{Outputs, propose};
use crate::replicate::Plan;
use crate::{Proposal, View};

/// Its documentation.
pub(super) const RULE: Rule = Rule {
    code: "widen",
    title: "several adjacent outputs of a work-item as vectors",
    what: "
A work-item computes 2, 4, 8 or 16 outputs along a dimension. What depends on the output becomes a vector: adjacent
loads and stores one `vloadN` and `vstoreN`, comparisons masks, `?:` and short branches `select`. Conditions on the
position are decided for all outputs at once; where they differ, the outputs are computed one by one.",
    why: "
An access of 16 bytes takes the load/store pipe as long as one of 1 byte on Midgard and Bifrost, and arithmetic on
8 and 16 bits fills a register of 128 or 32 bits only with several lanes. Indices, loops and branches are computed once
for all outputs.",
    example: "
int x = get_global_id(0);
if (x < n)
    y[x] += a * x[i];",
    instead: "
int x = 4 * get_global_id(0);
if (x + 3 < n)
    vstore4(vload4(0, y + x) + a * vload4(0, in + x), 0, y + x);
else
    for (int i = 0; i < 4; ++i)
        add_one(y, in, a, n, x + i);",
    remark: "
Integers of 32 bits whose values fit in 16 have lanes of `short`. A loop over the channels of a pixel does the same for
each number of a row: then the lanes are neighbouring numbers, not pixels. Where a test of the edges leaves outputs
over, groups may start at the first output inside, and the last one of a row is moved inwards and stores only the
outputs that its neighbour does not.",
    exceptions: "
Kernels with barriers, atomics or local memory are left alone. With fewer work-items, small launches fill the GPU less;
vectors need more registers; GPUs with scalar pipes gain by wider accesses alone.",
    source: "
Arm, *Mali GPU OpenCL Developer Guide* (vectorizing); Qualcomm, *Snapdragon OpenCL Programming Guide* (vectorized
loads).",
    ..Rule::REWRITE
};

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let mut plans = Vec::new();
    for dimension in 0..view.subject.launch.range.dimensions() {
        for lanes in [8, 4, 16, 2] {
            for channels in [None, Some(3), Some(4)] {
                for edges in [false, true] {
                    let vector = Some((dimension, lanes));
                    plans.push(Plan { vector, copies: None, narrow: true, channels, edges });
                }
            }
        }
    }
    let outputs = Outputs {
        code: RULE.code,
        title: &|plan| {
            let (dimension, lanes) = plan.vector.unwrap_or_default();
            let outputs = match plan.channels {
                Some(channels) => {
                    format!("{lanes} pixels of {channels} channels, as one row of numbers,")
                }
                None => format!("{lanes} outputs"),
            };
            let edges = if plan.edges { ", the last group of a row moved inwards" } else { "" };
            format!("{outputs} a work-item in dimension {dimension}, as vectors{edges}")
        },
        why: "wide accesses take the load/store pipe once for all outputs, and indices are computed once",
    };
    propose(view, &plans, &outputs)
}
