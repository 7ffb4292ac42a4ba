//! `widen`: several adjacent outputs of a work-item as vectors.

use tripipe_ir::diagnostic::{Rule, Severity};

use super::outputs::{Outputs, propose};
use crate::replicate::Plan;
use crate::{Proposal, Rewrite, View};

/// The rewrite.
#[derive(Debug)]
pub(super) struct Widen;

/// Its documentation.
pub(super) const RULE: Rule = Rule {
    code: "widen",
    severity: Severity::Note,
    title: "several adjacent outputs of a work-item as vectors",
    explanation: r"## What it does

A work-item computes 2, 4, 8 or 16 outputs along a dimension. What depends on the output becomes a vector: adjacent
loads and stores one `vloadN` and `vstoreN`, comparisons masks, `?:` and short branches `select`. Conditions on the
position are decided for all outputs at once; where they differ, the outputs are computed one by one.

## Why

An access of 16 bytes takes the load/store pipe as long as one of 1 byte on Midgard and Bifrost, and arithmetic on
8 and 16 bits fills a register of 128 or 32 bits only with several lanes. Indices, loops and branches are computed once
for all outputs.

## Example

```c
int x = get_global_id(0);
if (x < n)
    y[x] += a * x[i];
```

## Instead

```c
int x = 4 * get_global_id(0);
if (x + 3 < n)
    vstore4(vload4(0, y + x) + a * vload4(0, in + x), 0, y + x);
else
    for (int i = 0; i < 4; ++i)
        add_one(y, in, a, n, x + i);
```

## When not

Kernels with barriers, atomics or local memory are left alone. With fewer work-items, small launches fill the GPU less;
vectors need more registers; GPUs with scalar pipes gain by wider accesses alone.

## Sources

Arm, *Mali GPU OpenCL Developer Guide* (vectorizing); Qualcomm, *Snapdragon OpenCL Programming Guide* (vectorized
loads).
",
};

impl Rewrite for Widen {
    fn rule(&self) -> &'static Rule {
        &RULE
    }

    fn proposals(&self, view: &View<'_>) -> Vec<Proposal> {
        let mut plans = Vec::new();
        for dimension in 0..view.subject.launch.range.dimensions() {
            for lanes in [2, 4, 8, 16] {
                plans.push(Plan { vector: Some((dimension, lanes)), ..Plan::default() });
            }
        }
        let outputs = Outputs {
            code: RULE.code,
            title: &|plan| {
                let (dimension, lanes) = plan.vector.unwrap_or_default();
                format!("{lanes} outputs a work-item in dimension {dimension}, as vectors")
            },
            why: "wide accesses take the load/store pipe once for all outputs, and indices are computed once",
        };
        propose(view, &plans, &outputs)
    }
}
