//! `tile-product`: a block of outputs whose loop takes several steps in one turn.

use tripipe_ir::diagnostic::{Rule, Severity};

use super::batch_loads::batched;
use super::outputs::{Outputs, propose};
use crate::replicate::Plan;
use crate::{Proposal, Rewrite, View};

const RULE: Rule = Rule {
    code: "tile-product",
    severity: Severity::Note,
    title: "a block of outputs of a work-item, with several steps of its loop in one turn",
    explanation: r"## What it does

`block` and `batch-loads` in one step: a work-item computes a block of outputs, as vectors along one dimension, and takes
four steps of the loop in one turn. What the rows of the block read along the loop are vectors, too. Results are the same
bits.

## Why

Either step alone leaves scalar loads, which cost as much as vectors: a block of 4 x 8 outputs takes 4 scalar loads and a
vector for 32 products, with four steps in one turn 8 vectors for 128.

## Example

```c
for (int k = 0; k < n; k++)
    sum += a[y * n + k] * b[k * m + x];
```

## Instead

```c
for (; k + 3 < n; k += 4) {
    const float4 a_1 = vload4(0, &a[y * n + k]);
    const float4 a_2 = vload4(0, &a[y_1 * n + k]);
    sum += a_1.s0 * vload4(0, b + k * m + x);
    sum_1 += a_2.s0 * vload4(0, b + k * m + x);
    sum += a_1.s1 * vload4(0, b + (k + 1) * m + x);
    // …
}
```

## When not

As with `block`; where the loop reads no neighbouring elements in turn.

## Source

Goto and van de Geijn, *Anatomy of High-Performance Matrix Multiplication* (2008); Arm, *Mali GPU OpenCL Developer Guide*
(vectorized loads).
",
};

/// Steps of a turn: 16 bytes of `float`.
const STEPS: usize = 4;

/// The rewrite.
pub(super) struct TileProduct;

impl Rewrite for TileProduct {
    fn rule(&self) -> &'static Rule {
        &RULE
    }

    fn proposals(&self, view: &View<'_>) -> Vec<Proposal> {
        let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
        if batched(tree, kernel, &[STEPS]).is_empty() {
            return Vec::new();
        }
        let dimensions = view.subject.launch.range.dimensions();
        let mut plans = Vec::new();
        for (along, across) in [(0, 1), (1, 0)] {
            for (lanes, count) in [(8, 4), (4, 4), (8, 2)] {
                let (vector, copies) = (Some((along, lanes)), Some((across, count)));
                plans.push(Plan { vector, copies, narrow: true, ..Plan::default() });
            }
        }
        plans.retain(|_| dimensions > 1);
        let outputs = Outputs {
            code: RULE.code,
            title: &|plan| {
                let ((along, lanes), (_, count)) =
                    (plan.vector.unwrap_or_default(), plan.copies.unwrap_or_default());
                format!("{lanes} x {count} outputs a work-item, vectors along dimension {along}")
            },
            why: "a block of outputs shares its loads in both directions, and one load takes the elements of four steps",
        };
        let blocks = propose(view, &plans, &outputs);
        blocks.into_iter().filter_map(|block| with_steps(view, block)).collect()
    }
}

/// A block of outputs with several steps in one turn.
fn with_steps(view: &View<'_>, block: Proposal) -> Option<Proposal> {
    let subject = block.subject(view.subject);
    let tree = subject.tree(view.gpus.first().map(|gpu| gpu.opencl().clone())).ok()?;
    let batched = batched(&tree, tree.kernel(&subject.kernel)?, &[STEPS]).into_iter().next()?;
    Some(Proposal {
        title: format!("{}, {STEPS} steps of the loop in one turn", block.title),
        source: batched.source,
        ..block
    })
}
