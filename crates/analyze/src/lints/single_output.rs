//! `single-output`: a work-item computes one output where vectors have room for several.

use tripipe_ir::diagnostic::{Rule, Severity, counted};
use tripipe_ir::flow::MemoryFact;

use super::context::{Advice, Context};
use super::outputs::{Movement, WORD, idle, work_in_groups};

/// The share of idle lanes from which it is reported where vectors have lanes.
const IDLE: f64 = 0.5;

/// Bytes of an output that fill a lane of a warp.
const WORD_OF_A_LANE: i64 = 4;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "single-output",
    severity: Severity::Warning,
    title: "a work-item computes one output where it could compute several",
    what: "
A kernel whose outputs of neighbouring work-items are adjacent in memory, so that one work-item could compute several of
them. On a GPU with vector registers (Midgard) it is reported where at least half of all lanes compute nothing; on others
for outputs of 8 and 16 bits.",
    why: "
A load or store takes one slot of the load/store pipe whether it moves 1 byte or 16, and addresses are computed once for
each work-item. A work-item with several outputs loads what they share once, and stores them together. Midgard also issues
one word for each operation, whether it fills one lane of the 128-bit register or all of them.",
    example: "
kernel void scale(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    out[i] = 3 * in[i] - in[i + 1];
}",
    instead: "
kernel void scale(global const float *in, global float *out)  // with a quarter of the work-items
{
    const int i = get_global_id(0);
    vstore4(3 * vload4(i, in) - vload4(0, in + 4 * i + 1), i, out);
}",
    exceptions: "
Where work-items take different paths, which vectors cannot; where the launch has too few work-items already; where the
values of several outputs do not fit the registers.",
    source: "
- The published T604 ladder: its first step from one pixel to five pixels in vectors brought a factor of 5.7 to 6.3.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let (share, has_lanes) = (idle(context), context.gpu.core.warp_width.value == 1);
    if (has_lanes && share < IDLE) || work_in_groups(context) {
        return;
    }
    let stores: Vec<(&MemoryFact, Movement)> = context
        .facts
        .memory()
        .iter()
        .filter(|fact| fact.writes)
        .map(|fact| (fact, Movement::of(context, fact)))
        .collect();
    let Some((first, _)) = stores.first() else { return };
    // The dimension in which the outputs of neighbours are closest.
    let steps = (0..3).filter_map(|dimension| {
        let mut all = stores.iter().map(|(_, movement)| {
            let bytes = movement.bytes[dimension].abs();
            (!movement.unknown[dimension] && bytes > 0 && 2 * bytes <= WORD).then_some(bytes)
        });
        let most = all.try_fold(0, |most, bytes| Some(bytes?.max(most)))?;
        Some((dimension, most))
    });
    let Some((dimension, step)) = steps.min_by_key(|(_, step)| *step) else { return };
    // Neighbours that load whole words already use all that a warp fetches.
    if !has_lanes && step >= WORD_OF_A_LANE {
        return;
    }
    let name = context.access(first.inst).map_or("the result", |access| access.name(context.kernel));
    let idle = if has_lanes {
        format!("{:.0}% of the lanes compute nothing, and the outputs", 100.0 * share)
    } else {
        "the outputs".to_owned()
    };
    found.push(Advice {
        rule: &RULE,
        location: context.kernel.insts[first.inst].location,
        message: format!(
            "{idle} of neighbours in dimension {dimension} are {} apart in `{name}`",
            counted(usize::try_from(step).unwrap_or(0), "byte")
        ),
        fix: "Compute several outputs in a work-item, in vectors (vloadN, vstoreN) where that is faster, and launch as many \
            times fewer work-items."
            .to_owned(),
        gain: None,
    });
}
