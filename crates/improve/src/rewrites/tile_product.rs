//! `tile-product`: a block of outputs whose loop takes several steps in one turn.

use tripipe_device::OpenCl;
use tripipe_ir::diagnostic::Rule;

use super::batch_loads::{batched, most_rows};
use super::integer_dot::dotted;
use super::outputs::{Outputs, propose};
use crate::replicate::Plan;
use crate::syntax::ExprKind;
use crate::{Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "tile-product",
    title: "a block of outputs of a work-item, with several steps of its loop in one turn",
    what: "
`block` and `batch-loads` in one step: a work-item computes a block of outputs, as vectors along one dimension, and
takes four steps of the loop in one turn. What the rows of the block read along the loop are vectors, too. Where both
factors lie in rows along the loop, the outputs are copies instead, and bytes are multiplied by `integer-dot`. Results
are the same bits.",
    why: "
Either step alone leaves scalar loads, which cost as much as vectors: a block of 4 x 8 outputs takes 4 scalar loads and
a vector for 32 products, with four steps in one turn 8 vectors for 128.",
    example: "
for (int k = 0; k < n; k++)
    sum += a[y * n + k] * b[k * m + x];",
    instead: "
for (; k + 3 < n; k += 4) {
    const float4 a_1 = vload4(0, &a[y * n + k]);
    const float4 a_2 = vload4(0, &a[y_1 * n + k]);
    sum += a_1.s0 * vload4(0, b + k * m + x);
    sum_1 += a_2.s0 * vload4(0, b + k * m + x);
    sum += a_1.s1 * vload4(0, b + (k + 1) * m + x);
    // …
}",
    exceptions: "As with `block`; where the loop reads no neighbouring elements in turn.",
    source: "
Goto and van de Geijn, *Anatomy of High-Performance Matrix Multiplication* (2008); Arm, *Mali GPU OpenCL Developer
Guide* (vectorized loads).",
    ..Rule::REWRITE
};

const WHY: &str =
    "a block of outputs shares its loads in both directions, and one load takes several steps' elements";

/// Steps of a turn: 16 bytes of `float`.
const STEPS: usize = 4;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    // A block of blocks needs more registers than there are.
    let mut has_vectors = false;
    kernel.body.walk_expressions(&mut |expr| {
        has_vectors |= matches!(&expr.kind, ExprKind::Call { name, .. } if name.starts_with("vload"));
    });
    if has_vectors {
        return Vec::new();
    }
    let dimensions = view.subject.launch.range.dimensions();
    let blocks = match most_rows(tree, kernel) {
        0 => return Vec::new(),
        1 if dimensions > 1 => vectors(view),
        _ => copies(view, dimensions),
    };
    blocks.into_iter().flat_map(|block| with_steps(view, &block)).collect()
}

/// Blocks with vectors along one dimension, whose outputs read neighbouring elements.
fn vectors(view: &View<'_>) -> Vec<Proposal> {
    let mut plans = Vec::new();
    for (along, across) in [(0, 1), (1, 0)] {
        for (lanes, count) in [(8, 4), (4, 4), (8, 2)] {
            let (vector, copies) = (Some((along, lanes)), Some((across, count)));
            plans.push(Plan { vector, copies, narrow: true, ..Plan::default() });
        }
    }
    let title = |plan: &Plan| {
        let ((along, lanes), (_, count)) = (plan.vector.unwrap_or_default(), plan.copies.unwrap_or_default());
        format!("{lanes} x {count} outputs a work-item, vectors along dimension {along}")
    };
    propose(view, &plans, &Outputs { code: RULE.code, title: &title, why: WHY })
}

/// Blocks of copies: all that the loop reads lies in rows along it.
fn copies(view: &View<'_>, dimensions: usize) -> Vec<Proposal> {
    let shapes: &[[usize; 2]] = if dimensions == 1 { &[[4, 1], [2, 1]] } else { &[[4, 4], [2, 4], [2, 2]] };
    shapes.iter().filter_map(|shape| copied(view, *shape)).collect()
}

/// Copies along dimensions 0 and 1.
fn copied(view: &View<'_>, [columns, rows]: [usize; 2]) -> Option<Proposal> {
    let title = |_: &Plan| format!("{columns} x {rows} outputs a work-item, as copies");
    let outputs = Outputs { code: RULE.code, title: &title, why: WHY };
    let along = |dimension, count| [Plan { copies: Some((dimension, count)), ..Plan::default() }];
    let first = propose(view, &along(0, columns), &outputs).pop()?;
    if rows == 1 {
        return Some(first);
    }
    let subject = first.subject(view.subject);
    let tree = subject.tree(offered(view)).ok()?;
    let next = View { subject: &subject, tree: Some(&tree), ..*view };
    let second = propose(&next, &along(1, rows), &outputs).pop()?;
    Some(Proposal {
        conditions: [first.conditions, second.conditions].concat(),
        host: [first.host, second.host].concat(),
        ..second
    })
}

/// A block of outputs with several steps in one turn: as dot products where that is possible.
fn with_steps(view: &View<'_>, block: &Proposal) -> Vec<Proposal> {
    let subject = block.subject(view.subject);
    let Ok(tree) = subject.tree(offered(view)) else { return Vec::new() };
    let Some(kernel) = tree.kernel(&subject.kernel) else { return Vec::new() };
    let mut all = dotted(&tree, kernel, view.gpus, &[STEPS, 4 * STEPS]);
    if all.is_empty() {
        all = batched(&tree, kernel, &[STEPS]).into_iter().take(1).collect();
    }
    let with = |steps: Proposal| Proposal {
        title: format!("{}; {}", block.title, steps.title),
        source: steps.source,
        ..block.clone()
    };
    all.into_iter().map(with).collect()
}

fn offered(view: &View<'_>) -> Option<OpenCl> {
    view.gpus.first().map(|gpu| gpu.opencl().clone())
}
