//! `unhoisted-load`: every iteration of a loop repeats the same load or store.

use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::flow::MemoryFact;
use tripipe_ir::{Block, Inst, Op, Space, Type};

use super::context::{Advice, Context};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "unhoisted-load",
    severity: Severity::Warning,
    title: "every iteration of a loop repeats the same load or store",
    what: "
Loads in a loop whose address does not change between iterations, and which the compiler does not hoist because a
store in the loop might change the value; and stores to one address in every iteration, which the loop might load.",
    why: "
Two pointers may point to the same memory unless one of them is `restrict`. After each store the compiler loads the
value again; a sum in memory is loaded and stored in every iteration.",
    example: "
for (int i = 0; i < n; ++i)
    out[row] += in[row * n + i] * factor[0];",
    instead: "
float sum = out[row], f = factor[0];
for (int i = 0; i < n; ++i)
    sum += in[row * n + i] * f;
out[row] = sum;",
    remark: "Or declare all of them `restrict`, where none overlaps another.",
    exceptions: "Where the pointers do overlap.",
    source: "- C99, 6.7.3.1: `restrict`.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let loops = context.facts.loops();
    for (index, each) in loops.all.iter().enumerate() {
        let inside: Vec<&MemoryFact> =
            context.facts.memory().iter().filter(|fact| each.blocks.contains(&fact.block)).collect();
        let meets = |inst: &Inst| {
            let op = context.kernel.insts[*inst].op;
            matches!(
                op,
                Op::Barrier { .. } | Op::Fence { .. } | Op::Atomic(_) | Op::Copy(_) | Op::AsyncCopy { .. }
            )
        };
        let others_come_in =
            each.blocks.iter().any(|block| context.kernel.blocks[*block].insts.iter().any(meets));
        if others_come_in || !inside.iter().any(|fact| fact.writes) {
            continue;
        }
        let every_iteration = |block: Block| {
            loops.around(block) == Some(index)
                && each.latches.iter().all(|latch| context.facts.dominators().dominates(block, *latch))
        };
        let is_ahead = |value| context.facts.home(value).is_none_or(|home| !loops.contains(index, home));
        let is_again = |fact: &MemoryFact| {
            let data = &context.kernel.insts[fact.inst];
            let plain = match data.op {
                Op::Load(access) | Op::Store(access) => !access.volatile,
                _ => false,
            };
            plain && is_shared(context, fact) && every_iteration(fact.block) && is_ahead(data.operands[0])
        };
        // Another write in the loop may change the loaded value, and another load in the loop may read the stored one.
        let alone = |fact: &MemoryFact| {
            let mut own = inside.iter().filter(|other| other.base == fact.base);
            let written = own.clone().any(|other| other.writes);
            !written || own.all(|other| other.offset == fact.offset && other.bytes == fact.bytes)
        };
        let moved: Vec<&MemoryFact> =
            inside.iter().copied().filter(|fact| is_again(fact) && alone(fact)).collect();
        let (stores, loads): (Vec<&MemoryFact>, Vec<&MemoryFact>) =
            moved.iter().partition(|fact| fact.writes);
        let Some(first) = stores.first().or(loads.first()) else { continue };
        // The access that prevents hoisting: one through another pointer.
        let other = inside.iter().find(|other| other.base != first.base && other.writes != first.writes);
        let Some(other) = other else { continue };
        let name = |fact: &MemoryFact| {
            context.access(fact.inst).map_or("memory", |access| access.name(context.kernel)).to_owned()
        };
        let (again, fix) = if stores.is_empty() {
            ("loaded", "Load it into a variable before the loop, or declare the pointers restrict.")
        } else {
            ("stored", "Keep it in a variable, and store that after the loop.")
        };
        found.push(Advice {
            rule: &RULE,
            location: context.kernel.insts[first.inst].location,
            message: format!(
                "`{}` is {again} in every iteration at the same address: `{}` might be the same memory",
                name(first),
                name(other)
            ),
            fix: fix.into(),
            gain: None,
        });
    }
}

/// Whether other work-items may access the memory as well: private memory is promoted anyway.
fn is_shared(context: &Context<'_>, fact: &MemoryFact) -> bool {
    let pointer = context.kernel.insts[fact.inst].operands[0];
    matches!(context.kernel.ty(pointer), Type::Pointer(Space::Global | Space::Constant))
}
