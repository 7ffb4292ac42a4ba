//! `vectorised-for-nothing`: 32-bit vectors that reduce the threads in flight and gain nothing.

use std::collections::BTreeSet;

use tripipe_ir::diagnostic::{Rule, Severity, counted};
use tripipe_ir::{Inst, Op, Value};
use tripipe_machine::Model;

use super::context::{Advice, Context};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "vectorised-for-nothing",
    severity: Severity::Note,
    title: "32-bit vectors that cost threads and gain nothing",
    what: "
Vectors of `float` or `int` that no wide load or store needs, live where the kernel needs most registers, on a GPU
that computes them lane by lane; without them more threads would fit in a core, or nothing would be spilled.",
    why: "
Bifrost, Valhall and Adreno have no vector units for 32 bits: a `float4` is four registers and each operation on it
four instructions. Wide vectors pay off where they make loads and stores wide. Elsewhere they occupy registers, and
fewer threads hide the latency of memory.",
    example: "
float16 term = (float16)(x);
for (int k = 0; k < n; ++k)
    term = term * steps + offsets;  // three vectors: 48 registers
out[i] = sum_of_lanes(term);",
    instead: "
float sum = 0;
for (int lane = 0; lane < 16; ++lane)  // or a work-item for each
    sum += series(x, lane, n);
out[i] = sum;",
    exceptions: "
Where lanes are independent of one another and hide each other's latency, and enough threads are in flight anyway.
Nothing is reported for Midgard, whose registers are vectors.",
    source: "
- Arm OpenCL guides for Bifrost and Valhall: scalar arithmetic. Mesa freedreno: scalar instructions. docs/model.md.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let (kernel, registers) = (context.kernel, context.registers);
    let spills = registers.work.spill_bytes > 0;
    if Model::of(context.gpu).layout.register_bits > 32
        || !spills && registers.occupancy.threads >= registers.occupancy.most
    {
        return;
    }
    let live: BTreeSet<Value> =
        registers.work.live.iter().copied().filter(|value| is_wide_vector(context, *value)).collect();
    let idle: Vec<Value> = live.into_iter().filter(|value| !meets_memory(context, *value)).collect();
    let bits = |value: &Value| kernel.ty(*value).bytes() * 8;
    // Processed one lane at a time.
    let saved: u32 =
        idle.iter().map(|value| bits(value) - bits(value) / u32::from(kernel.ty(*value).lanes())).sum();
    let width = context.gpu.registers.width_bits.value.max(1);
    let fewer = registers.work.needed.saturating_sub(saved / width).max(1);
    let required = kernel.sub_group_size(Some(context.gpu.opencl()));
    let threads = context.gpu.occupancy(fewer, required).threads;
    let held = idle.iter().map(bits).sum::<u32>().div_ceil(width);
    // More than the available registers: some of their lanes are elsewhere.
    let fits = spills && fewer <= registers.work.used;
    if idle.is_empty() || held > registers.work.needed || threads <= registers.occupancy.threads && !fits {
        return;
    }
    let touches = |inst: &Inst| kernel.insts[*inst].operands.iter().any(|operand| idle.contains(operand));
    let location = context
        .instructions()
        .filter(|(_, inst)| touches(inst))
        .find_map(|(_, inst)| kernel.insts[inst].location);
    let harm = if threads > registers.occupancy.threads {
        format!("{threads} threads would fit in a core, and {} do", registers.occupancy.threads)
    } else {
        format!("{} bytes are spilled", registers.work.spill_bytes)
    };
    found.push(Advice {
        rule: &RULE,
        location,
        message: format!(
            "{} that no load or store needs, {held} of {} registers: {harm}",
            counted(idle.len(), "wide vector"),
            registers.work.needed
        ),
        fix: "Compute one lane after the other, or one in each work-item.".into(),
        gain: context.gain_without_spills(),
    });
}

fn is_wide_vector(context: &Context<'_>, value: Value) -> bool {
    let ty = context.kernel.ty(value);
    ty.lanes() > 1 && ty.scalar().is_some_and(|scalar| scalar.bits() >= 32)
}

/// Whether a vector is loaded or stored as a whole, through vector operations.
fn meets_memory(context: &Context<'_>, value: Value) -> bool {
    let kernel = context.kernel;
    let passed: Vec<(Value, Value)> = context
        .cfg
        .order
        .iter()
        .flat_map(|block| kernel.blocks[*block].terminator.calls())
        .flat_map(|call| {
            call.arguments.iter().copied().zip(kernel.blocks[call.block].parameters.iter().copied())
        })
        .collect();
    let mut seen: BTreeSet<Value> = BTreeSet::from([value]);
    let mut work = vec![value];
    while let Some(value) = work.pop() {
        let mut next: Vec<Value> = Vec::new();
        let maker = kernel.defining(value);
        for inst in maker.iter().chain(&context.facts.uses(value).by) {
            let data = &kernel.insts[*inst];
            // Memory, an image or a group operation.
            if !data.op.is_pure() {
                return true;
            }
            if !matches!(data.op, Op::Extract(_) | Op::ExtractDynamic) {
                next.extend(data.operands.iter().copied().chain(data.result));
            }
        }
        for (argument, parameter) in &passed {
            if *argument == value {
                next.push(*parameter);
            } else if *parameter == value {
                next.push(*argument);
            }
        }
        let new = next
            .into_iter()
            .filter(|value| kernel.ty(*value).lanes() > 1 && kernel.constant(*value).is_none());
        work.extend(new.filter(|value| seen.insert(*value)));
    }
    false
}
