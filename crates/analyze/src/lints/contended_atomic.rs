//! `contended-atomic`: all work-items wait for one address.

use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::op::{AtomicOp, Compare};
use tripipe_ir::{Block, Op, Space};

use super::boundary_test;
use super::context::{Advice, Context};
use crate::Stride;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "contended-atomic",
    severity: Severity::Warning,
    title: "all work-items wait for one address",
    what: "An atomic operation on global memory that every work-item of a group performs at the same address.",
    why: "
Atomics at one address are serialised, across the lanes of a warp and across all cores: the launch performs one for
each work-item, one after the other.",
    example: "atomic_add(total, value);",
    advice: "Reduce within the work-group, and have one work-item add the sum.",
    instead: "
sums[get_local_id(0)] = value;
for (int step = get_local_size(0) / 2; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) < step)
        sums[get_local_id(0)] += sums[get_local_id(0) + step];
}
if (get_local_id(0) == 0)
    atomic_add(total, sums[0]);",
    exceptions: "Where few work-items run, or the driver combines the values of a warp itself.",
    source: "- OpenCL 3.0, 3.3: all changes of an atomic object have one order, so that they cannot run in parallel.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    for access in context.accesses {
        let Op::Atomic(atomic) = context.kernel.insts[access.inst].op else { continue };
        let changes = !matches!(atomic.op, AtomicOp::Load | AtomicOp::Store | AtomicOp::FlagClear);
        let address = context.kernel.insts[access.inst].operands[0];
        let one =
            access.stride == Stride::Bytes(0) && context.facts.divergence().variation(address).is_uniform();
        if !changes || access.space != Space::Global || !one || !is_done_by_all(context, access.block) {
            continue;
        }
        found.push(Advice {
            rule: &RULE,
            location: access.location,
            message: format!(
                "every work-item of a group does this at one address of `{}`: the operations are serialised",
                access.name(context.kernel)
            ),
            fix: "Reduce the values of a work-group first, and have one work-item do it.".into(),
            gain: None,
        });
    }
}

/// Whether all work-items reach a block, apart from surplus ones.
fn is_done_by_all(context: &Context<'_>, block: Block) -> bool {
    let dominators = context.facts.dominators();
    let mut above = dominators.immediate(block);
    while let Some(from) = above {
        above = dominators.immediate(from);
        let divergent = context.facts.divergence().is_divergent_branch(from);
        let post_dominates = context.facts.post().dominates(block, from);
        if !divergent || post_dominates {
            continue;
        }
        let decider = context.kernel.blocks[from].terminator.decider();
        let tests = decider.and_then(|decider| boundary_test::border_tests(context, decider));
        let one_of_many = |compare| matches!(compare, Op::Compare(Compare::Eq | Compare::Ne));
        if tests.is_none_or(|tests| tests.iter().any(|test| one_of_many(context.kernel.insts[*test].op))) {
            return false;
        }
    }
    true
}
