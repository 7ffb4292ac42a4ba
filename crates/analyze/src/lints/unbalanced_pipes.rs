//! `unbalanced-pipes`: arithmetic bounds, and a small table could hold its results.

use cranelift_entity::EntitySet;
use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::flow::Range;
use tripipe_ir::op::{Binary, BuiltinSignature};
use tripipe_ir::{Inst, Kernel, Op, Value, ValueDef};
use tripipe_machine::Pipe;

use super::context::{Advice, Context, Gain};
use crate::Column;

/// The largest number of entries of a table.
const MOST_ENTRIES: u64 = 256;
/// The least gain that justifies the cache space of a table.
const WORTH_A_TABLE: f64 = 0.2;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "unbalanced-pipes",
    severity: Severity::Note,
    title: "arithmetic bounds the kernel where a small table would suffice",
    what: "
Arithmetic that depends on one integer of at most 256 values, such as an 8-bit pixel, in a kernel that is bound by
arithmetic while loads and stores have slack.",
    why: "
A power or a logarithm takes tens of operations for each pixel, and there are only 256 different ones. The pipes run
in parallel: a load costs nothing as long as another pipe bounds the kernel.",
    example: "out[i] = convert_uchar_sat(255 * pow(in[i] / 255.0f, gamma));",
    instead: "out[i] = table[in[i]];  // 256 bytes, made once by the host",
    exceptions: "
Where other kernels need the cache. The gain assumes the worst case, that each work-item of a warp reads a different
line: on GPUs with warps a table must save much to pay off, on Midgard little. The reverse, loads that bound the
kernel while arithmetic has slack, has its own lints: `overlapping-loads`, `image-or-buffer`, `private-table`.",
    source: "- The pipes of each family, and the cost of the functions: docs/model.md.",
    ..Rule::LINT
};

/// Arithmetic from one small integer to one result.
struct Slice {
    /// The integer.
    from: Value,
    /// All instructions of the computation, including the result.
    insts: EntitySet<Inst>,
}

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let weigh = |column: Column| {
        let at = context.columns.iter().position(|other| *other == column);
        at.map_or(0.0, |at| context.longest.columns[at].evaluate(crate::ASSUMED_TRIPS))
    };
    let arithmetic = weigh(Column::Arithmetic).max(weigh(Column::Special));
    if 2.0 * weigh(Column::LoadStore) > arithmetic {
        return;
    }
    let mut done: EntitySet<Inst> = EntitySet::new();
    for (_, inst) in context.instructions() {
        let is_function = match context.kernel.insts[inst].op {
            Op::Builtin(builtin) => matches!(builtin.signature(), BuiltinSignature::Float(_)),
            Op::Binary(Binary::FDiv) => true,
            _ => false,
        };
        let Some(slice) = (is_function && !done.contains(inst)).then(|| slice(context, inst)).flatten()
        else {
            continue;
        };
        let (result, slice) = extended(context, inst, slice);
        done.extend(slice.insts.iter());
        let Some(gain) = gain(context, result, &slice).filter(|gain| gain.share() >= WORTH_A_TABLE) else {
            continue;
        };
        let Some(range) = context.range(slice.from) else { continue };
        found.push(Advice {
            rule: &RULE,
            location: context.kernel.insts[inst].location,
            message: format!(
                "{} operations depend on one integer of {} values, while loads and stores have slack",
                slice.insts.iter().count(),
                numbers(range)
            ),
            fix: "Look up the result in a table that the host computes once.".into(),
            gain: Some(gain),
        });
    }
}

/// The computation of an instruction's result from one small integer, lane by lane; `None` if it depends on more.
fn slice(context: &Context<'_>, inst: Inst) -> Option<Slice> {
    let kernel = context.kernel;
    let mut from = None;
    let mut insts = EntitySet::new();
    let mut work = vec![inst];
    while let Some(inst) = work.pop() {
        if !insts.insert(inst) {
            continue;
        }
        let data = &kernel.insts[inst];
        if !is_by_lane(data.op) {
            return None;
        }
        for operand in data.operands.iter().copied() {
            let same_for_all = match kernel.values[operand].def {
                ValueDef::Constant(_) => true,
                ValueDef::Parameter(block, _) => block == Kernel::ENTRY,
                ValueDef::Result(_) => false,
            };
            if same_for_all || from == Some(operand) {
                continue;
            }
            let small = context.range(operand).is_some_and(|range| numbers(range) <= MOST_ENTRIES);
            match kernel.defining(operand) {
                // Continue towards the load while the integer stays small.
                Some(maker) if !small || leads_on(context, maker) => work.push(maker),
                _ if small && from.is_none() => from = Some(operand),
                _ => return None,
            }
        }
    }
    Some(Slice { from: from?, insts })
}

/// The number of integers in a range.
fn numbers(range: Range) -> u64 {
    range.high.abs_diff(range.low).saturating_add(1)
}

/// Whether an instruction only converts a small integer to another form.
fn leads_on(context: &Context<'_>, inst: Inst) -> bool {
    let data = &context.kernel.insts[inst];
    is_by_lane(data.op) && data.operands.iter().all(|operand| context.range(*operand).is_some())
}

fn is_by_lane(op: Op) -> bool {
    match op {
        Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Convert(_) => true,
        Op::Builtin(builtin) => matches!(builtin.signature(), BuiltinSignature::Float(_)),
        _ => false,
    }
}

/// Extends a slice by every instruction that is the only user of its result, one after the other.
fn extended(context: &Context<'_>, mut inst: Inst, mut slice: Slice) -> (Inst, Slice) {
    while let Some(result) = context.kernel.insts[inst].result {
        let uses = context.facts.uses(result);
        let next = match uses.by[..] {
            [next] if !uses.at_end => next,
            _ => break,
        };
        match self::slice(context, next) {
            Some(longer) if longer.from == slice.from => (inst, slice) = (next, longer),
            _ => break,
        }
    }
    (inst, slice)
}

/// The gain when the result is looked up instead: without the instructions that only lead to it, plus one load per
/// lane.
fn gain(context: &Context<'_>, result: Inst, slice: &Slice) -> Option<Gain> {
    let kernel = context.kernel;
    let mut gone: EntitySet<Inst> = EntitySet::new();
    let order: Vec<Inst> =
        context.instructions().map(|(_, inst)| inst).filter(|inst| slice.insts.contains(*inst)).collect();
    for inst in order.into_iter().rev() {
        let only = kernel.insts[inst].result.is_some_and(|value| {
            let uses = context.facts.uses(value);
            !uses.at_end && uses.by.iter().all(|by| gone.contains(*by))
        });
        if inst == result || only {
            gone.insert(inst);
        }
    }
    let mut pipes = context.pipes.to_vec();
    for share in context.shares.iter().filter(|share| gone.contains(share.inst)) {
        let pipe = &mut pipes[share.pipe.index()];
        *pipe = pipe.plus(&(context.weight)(share.block).times(-share.clocks));
    }
    let ty = kernel.ty(kernel.insts[result].result?);
    let home = context.facts.home(kernel.insts[result].result?)?;
    // In the worst case each lane's load is in a line of its own.
    let loads = (context.weight)(home).times(f64::from(ty.lanes()));
    let pipe = &mut pipes[Pipe::LoadStore.index()];
    *pipe = pipe.plus(&loads);
    context.gain_with(&pipes)
}
