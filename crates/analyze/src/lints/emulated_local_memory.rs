//! `emulated-local-memory`: local memory is in global memory on this GPU.

use tripipe_device::LocalPlacement;
use tripipe_ir::diagnostic::{Rule, Severity, counted};
use tripipe_ir::flow::MemoryFact;
use tripipe_ir::flow::linear::Base;
use tripipe_ir::{Inst, Kernel, Op, Space, Type, Value, ValueDef};

use super::context::{Advice, Context};
use super::rewrite;
use crate::Stride;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "emulated-local-memory",
    severity: Severity::Warning,
    title: "local memory is emulated in global memory on this GPU",
    what: "
A copy of global memory in local memory, on a GPU without on-chip local memory: everything stored there was loaded
from memory that the kernel does not write, and at most converted to another type.",
    why: "
On Mali, `__local` is global memory behind the same cache. Copied data is read from that cache once more, and the copy
costs stores and barriers as well.",
    example: "
__local float tile[66];
tile[get_local_id(0)] = in[get_global_id(0)];
if (get_local_id(0) < 2)
    tile[64 + get_local_id(0)] = in[64 + get_global_id(0)];
barrier(CLK_LOCAL_MEM_FENCE);
out[i] = tile[get_local_id(0)] + tile[get_local_id(0) + 2];",
    advice: "Read global memory directly; neighbours in a warp share cache lines.",
    instead: "out[i] = in[i] + in[i + 2];",
    exceptions: "
Where the copy transposes the data, so that neighbours share lines only in the copy (see `scattered-access`). Kernels
whose work-items exchange computed values, as in a reduction, are not reported.",
    source: "- Arm OpenCL guides for Midgard, and for Bifrost and Valhall: local memory is not separate.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    if context.gpu.local_memory.placement.value != LocalPlacement::Emulated {
        return;
    }
    let (kernel, memory) = (context.kernel, context.facts.memory());
    let is_local =
        |fact: &&MemoryFact| kernel.ty(kernel.insts[fact.inst].operands[0]) == Type::Pointer(Space::Local);
    let local: Vec<&MemoryFact> = memory.iter().filter(is_local).collect();
    let stride = |inst| context.access(inst).map(|access| access.stride);
    let copied = |base: Base| {
        let (stores, loads): (Vec<&MemoryFact>, Vec<_>) =
            local.iter().filter(|fact| fact.base == base).partition(|fact| fact.writes);
        let Some(first) = stores.first() else { return false };
        let kept = stores.iter().all(|store| {
            let data = &kernel.insts[store.inst];
            matches!(data.op, Op::Store(_)) && is_loaded(context, data.operands[1], MOST_STEPS)
        });
        // If it is read in another order than it is written, it may be a transposition.
        let same_order = loads.iter().all(|load| {
            let stride_of_load = stride(load.inst);
            stride_of_load == Some(Stride::Bytes(0)) || stride_of_load == stride(first.inst)
        });
        kept && same_order
    };
    let mut bases: Vec<Base> = local.iter().map(|fact| fact.base).collect();
    bases.sort_unstable();
    bases.dedup();
    let copies: Vec<Base> = bases.iter().copied().filter(|base| copied(*base)).collect();
    let stores: Vec<&MemoryFact> =
        local.iter().copied().filter(|fact| fact.writes && copies.contains(&fact.base)).collect();
    let Some(first) = stores.first() else { return };
    // Barriers stay where they also order other local memory or global memory.
    let mut gone: Vec<Inst> = stores.iter().map(|fact| fact.inst).collect();
    let before = gone.len();
    if copies.len() == bases.len() {
        let only_local = |op| {
            let Op::Barrier { semantics, .. } = op else { return false };
            semantics.local && !semantics.global && !semantics.image
        };
        gone.extend(
            context.instructions().map(|(_, inst)| inst).filter(|inst| only_local(kernel.insts[*inst].op)),
        );
    }
    let barriers = gone.len() - before;
    let name = context.access(first.inst);
    found.push(Advice {
        rule: &RULE,
        location: kernel.insts[first.inst].location,
        message: format!(
            "{} to local memory {} `{}` only copy global memory; on {} both are behind the same cache",
            counted(before, "store"),
            match barriers {
                0 => "of".to_owned(),
                _ => format!("and {} for", counted(barriers, "barrier")),
            },
            name.map_or("", |access| access.name(kernel)),
            context.gpu.name()
        ),
        fix: "Read global memory directly, and remove the copy.".into(),
        // Reads of the copy become reads of global memory at the same price. A branch around a part of the copy is not
        // removed.
        gain: Some(context.rewritten(|kernel| rewrite::remove(kernel, &gone))),
    });
}

/// Instructions to follow a value back through.
const MOST_STEPS: u32 = 12;

/// Whether a value is only loaded from memory that the kernel does not write, at most converted, or a constant as an
/// alternative.
fn is_loaded(context: &Context<'_>, value: Value, steps: u32) -> bool {
    let kernel = context.kernel;
    let Some(steps) = steps.checked_sub(1) else { return false };
    let inst = match kernel.values[value].def {
        ValueDef::Constant(_) => return true,
        // At a border: the loaded value, or 0.
        ValueDef::Parameter(block, position) => {
            let calls = context.cfg.predecessors[block].iter();
            let calls = calls.flat_map(|from| kernel.blocks[*from].terminator.calls());
            let mut passed =
                calls.filter(|call| call.block == block).map(|call| call.arguments[position as usize]);
            return block != Kernel::ENTRY && passed.all(|value| is_loaded(context, value, steps));
        }
        ValueDef::Result(inst) => inst,
    };
    let data = &kernel.insts[inst];
    match data.op {
        Op::Load(access) => {
            let memory = context.facts.memory();
            let base = |inst| memory.iter().find(|fact| fact.inst == inst).map(|fact| fact.base);
            let space = kernel.ty(data.operands[0]);
            !access.volatile
                && matches!(space, Type::Pointer(Space::Global | Space::Constant))
                && !memory.iter().any(|fact| fact.writes && Some(fact.base) == base(inst))
        }
        Op::Construct | Op::Extract(_) | Op::Insert(_) | Op::Shuffle(_) | Op::Bitcast | Op::Convert(_) => {
            data.operands.iter().all(|operand| is_loaded(context, *operand, steps))
        }
        Op::Select => data.operands[1..].iter().all(|operand| is_loaded(context, *operand, steps)),
        _ => false,
    }
}
