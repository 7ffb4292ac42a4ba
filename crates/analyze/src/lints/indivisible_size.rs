//! `indivisible-size`: the driver can only choose narrow work-groups.

use tripipe_ir::diagnostic::{Rule, Severity};

use super::context::{Advice, Context, Effect, Gain};

/// Work-items of a side of the work-groups that drivers choose.
const SIDE: u64 = 8;

/// The least side that still counts as square.
const LEAST: u64 = 4;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "indivisible-size",
    severity: Severity::Note,
    title: "the driver can only choose narrow work-groups",
    what: "
A launch in two or three dimensions without a work-group size, one of whose extents has a large prime divisor and no
divisor from 4 to 8.",
    why: "
A driver chooses a work-group size that divides the global size. If an extent is a prime, the work-groups are 1 wide in that
dimension: 64 x 1 instead of 8 x 8. Their work-items are spread over many rows, and share fewer cache lines and pages.",
    example: "
// 5 pixels in a work-item: 2048 / 5 = 409, a prime
clEnqueueNDRangeKernel(queue, kernel, 2, 0, (size_t[]){2048, 409}, 0, 0, 0, 0);",
    instead: "
// 416 = 8 * 52; work-items beyond the last one return at once
clEnqueueNDRangeKernel(queue, kernel, 2, 0, (size_t[]){2048, 416}, 0, 0, 0, 0);",
    exceptions: "
Where a narrow work-group suits the kernel: rows that lie along dimension 0 are read well by 64 x 1. The predicted time
tells; the advice is withdrawn if it does not fall.",
    source: "
- The published T604 ladder: five pixels in a work-item are 4.5 times as fast as one at most sizes, and 1.7 times at
  2048 x 2048; four pixels, which divide the width, recover.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let Some(global) = context.setup.global else { return };
    let dimensions = global.iter().filter(|extent| **extent > 1).count();
    let chosen = context.setup.local.is_none() && context.kernel.required_local_size.is_none();
    if !chosen || dimensions < 2 {
        return;
    }
    let side = |extent: u64| (1..=SIDE).rev().find(|size| extent.is_multiple_of(*size)).unwrap_or(1);
    let narrow: Vec<usize> =
        (0..3).filter(|dimension| global[*dimension] > SIDE && side(global[*dimension]) < LEAST).collect();
    if narrow.is_empty() {
        return;
    }
    let (mut fewer, mut padded) = (global, global);
    for dimension in &narrow {
        fewer[*dimension] -= global[*dimension] % SIDE;
        padded[*dimension] = global[*dimension].next_multiple_of(SIDE);
    }
    let items = |sizes: [u64; 3]| sizes.iter().map(|extent| *extent as f64).product::<f64>();
    let effect = Effect::Launch { global: fewer, factor: items(padded) / items(fewer) };
    let extents: Vec<String> = narrow
        .iter()
        .map(|dimension| {
            let extent = global[*dimension];
            format!("{extent} in dimension {dimension} has no divisor from {LEAST} to {SIDE}")
        })
        .collect();
    let shown = padded.map(|extent| extent.to_string());
    found.push(Advice {
        rule: &RULE,
        location: None,
        message: format!("{}, and the driver chooses among divisors", extents.join(", ")),
        fix: format!(
            "Round the global size up to {}, and let surplus work-items return.",
            shown[..2 + usize::from(global[2] > 1)].join(" x ")
        ),
        gain: Some(Gain::of_effect(effect)),
    });
}
