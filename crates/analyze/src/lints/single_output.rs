//! `single-output`: a work-item computes one output where vectors have room for several.

use tripipe_ir::Op;
use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::flow::MemoryFact;

use super::context::{Advice, Context, Gain, WorkEffect};
use super::outputs::{Movement, WORD, data, filled, idle, neighbours, span, work_in_groups};

/// The share of idle lanes from which it is reported.
const IDLE: f64 = 0.5;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "single-output",
    severity: Severity::Warning,
    title: "one output per work-item leaves most lanes idle",
    explanation: r"## What it finds

A kernel on a GPU with vector registers (Midgard) in which at least half of all lanes compute nothing, and whose outputs
of neighbouring work-items are adjacent in memory, so that one work-item could compute several of them.

## Why it costs

Midgard issues one word for each operation, whether it fills one lane of the 128-bit register or all of them, and one
load or store for up to 16 bytes. A work-item with several outputs fills the lanes, and loads what the outputs share once.

## Example

```c
kernel void scale(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    out[i] = 3 * in[i] - in[i + 1];
}
```

## Instead

```c
kernel void scale(global const float *in, global float *out)  // with a quarter of the work-items
{
    const int i = get_global_id(0);
    vstore4(3 * vload4(i, in) - vload4(0, in + 4 * i + 1), i, out);
}
```

## When it is wrong

Where work-items take different paths, which vectors cannot; where the launch has too few work-items already; where the
values of several outputs do not fit the registers. The gain supposes that the same operations fill all lanes.

## Source

- The published T604 ladder: its first step from one pixel to five pixels in vectors brought a factor of 5.7 to 6.3.
",
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let share = idle(context);
    if context.gpu.core.warp_width.value != 1 || share < IDLE || work_in_groups(context) {
        return;
    }
    let facts = context.facts.memory();
    let stores: Vec<(&MemoryFact, Movement)> =
        facts.iter().filter(|fact| fact.writes).map(|fact| (fact, Movement::of(context, fact))).collect();
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
    let outputs = WORD / step;
    let mut times = Vec::new();
    let data = data(context);
    for (_, inst) in context.instructions() {
        let several = match context.kernel.insts[inst].op {
            Op::ImageRead { .. } | Op::ImageSample(_) | Op::ImageWrite { .. } => Some(outputs as f64),
            _ if data.contains(inst) => filled(context, inst).map(|filled| outputs as f64 * filled),
            _ => None,
        };
        times.extend(several.map(|several| (inst, several)));
    }
    for group in neighbours(facts.iter()) {
        let movement = Movement::of(context, group[0]);
        let (count, each) = (group.len() as f64, movement.bytes[dimension].abs());
        let several = if movement.unknown[dimension] {
            outputs as f64
        } else if each == 0 {
            1.0
        } else {
            // What one output reads is spread over so many vectors of all outputs.
            let vectors = (span(&group) + each - 1) / each;
            let bytes = outputs * each;
            let words = if group[0].writes { stored_words(bytes, &group) } else { (bytes + WORD - 1) / WORD };
            ((vectors * words) as f64 / count).min(outputs as f64)
        };
        times.extend(group.iter().map(|fact| (fact.inst, several)));
    }
    let mut merged = [1; 3];
    merged[dimension] = outputs.unsigned_abs();
    let gain = context.gain_by_outputs(WorkEffect { times, outputs: merged });
    let Some(gain) = gain.filter(Gain::is_worth_it) else { return };
    let name = context.access(first.inst).map_or("the result", |access| access.name(context.kernel));
    found.push(Advice {
        rule: &RULE,
        location: context.kernel.insts[first.inst].location,
        message: format!(
            "{:.0}% of the lanes compute nothing, and the outputs of neighbours in dimension {dimension} are {step} \
            bytes apart in `{name}`",
            100.0 * share
        ),
        fix: format!(
            "Compute {outputs} outputs in a work-item, in vectors (vloadN, vstoreN), and launch 1/{outputs} of the \
            work-items in dimension {dimension}."
        ),
        gain: Some(gain),
    });
}

/// Stores that write a number of adjacent bytes: as vectors of 2, 4, 8 and 16 elements.
fn stored_words(bytes: i64, group: &[&MemoryFact]) -> i64 {
    let element = i64::from(group.iter().map(|fact| fact.bytes).min().unwrap_or(1).max(1));
    bytes / WORD + i64::from(((bytes % WORD) / element).count_ones())
}
