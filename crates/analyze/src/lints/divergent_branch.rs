//! `divergent-branch`: work-items of a warp take different branches.

use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::flow::Atom;
use tripipe_ir::op::QueryKind;
use tripipe_ir::{Block, TerminatorKind};

use super::boundary_test;
use super::context::{Advice, Context};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "divergent-branch",
    severity: Severity::Note,
    title: "work-items of a warp diverge",
    explanation: r"## What it finds

A branch whose condition differs between work-items of a warp, with work on both paths; or a loop that they leave
after different numbers of iterations.

## Why it costs

A warp executes both paths one after the other, with some of its lanes idle on each. It runs a loop until its last
lane is done.

## Example

```c
if (get_global_id(0) % 2)
    x = expensive(x);
else
    x = other(x);
```

## Instead

Make the condition uniform in each warp, compute both and select, or sort the work.

## When it is wrong

Where few warps take both paths. Tests of ids against sizes, as at the border of an image, are not reported, nor are
branches that depend on them. Nothing is reported for Midgard, which has no warps.

## Source

- Arm shader core guides for Bifrost and Valhall: warps execute in lock step.
",
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let warp = context.gpu.core.warp_width.value;
    if warp < 2 {
        return;
    }
    let (loops, divergence) = (context.facts.loops(), context.facts.divergence());
    for block in &context.cfg.order {
        let terminator = &context.kernel.blocks[*block].terminator;
        let TerminatorKind::Branch { then, otherwise, .. } = &terminator.kind else { continue };
        if !divergence.is_divergent_branch(*block) || is_at_border(context, *block) {
            continue;
        }
        let leaves = |to: Block| loops.around(*block).is_some_and(|inner| !loops.contains(inner, to));
        let (message, fix) = if leaves(then.block) || leaves(otherwise.block) {
            if loops.around(*block).is_some_and(|inner| has_equal_iterations(context, inner)) {
                continue;
            }
            (
                format!(
                    "work-items of a warp of {warp} may leave the loop after different numbers of iterations"
                ),
                "Give all work-items of a warp the same number of iterations, for example by sorting the \
                work.",
            )
        } else if works(context, *block, then.block) && works(context, *block, otherwise.block) {
            (
                format!("work-items of a warp of {warp} may diverge here"),
                "Make the condition uniform in each warp, or compute both paths and select.",
            )
        } else {
            continue;
        };
        found.push(Advice {
            rule: &RULE,
            location: terminator.location,
            message,
            fix: fix.into(),
            gain: None,
        });
    }
}

/// Whether all work-items run the same number of iterations of a loop: from start to end at the same distance for each,
/// or in steps of a group over a multiple of the group.
fn has_equal_iterations(context: &Context<'_>, index: usize) -> bool {
    let facts = &context.facts;
    facts.counts()[index].as_ref().is_some_and(|count| {
        let distance = &count.distance;
        let differs = distance.terms.keys().any(|atom| match atom {
            Atom::Value(value) => !facts.divergence().variation(*value).is_uniform(),
            Atom::Query(kind, _) => matches!(
                kind,
                QueryKind::GlobalId
                    | QueryKind::LocalId
                    | QueryKind::GlobalLinearId
                    | QueryKind::LocalLinearId
            ),
        });
        let steps_of_a_group = distance.constant % count.step == 0
            && distance.terms.iter().all(|(atom, factor)| {
                *factor < 0 && matches!(atom, Atom::Query(QueryKind::LocalId | QueryKind::LocalLinearId, _))
            });
        !differs || steps_of_a_group
    })
}

/// Whether a branch is a border test, or is only reached at the border or only elsewhere: few warps have both.
fn is_at_border(context: &Context<'_>, block: Block) -> bool {
    let tests_border = |block: Block| {
        let decider = context.kernel.blocks[block].terminator.decider();
        decider.is_some_and(|decider| boundary_test::border_tests(context, decider).is_some())
    };
    let splits = |from: Block| {
        let ways = context.kernel.blocks[from].terminator.calls();
        tests_border(from) && ways.iter().all(|call| works(context, from, call.block))
    };
    let dominators = context.facts.dominators();
    let above = std::iter::successors(dominators.immediate(block), |from| dominators.immediate(*from));
    let mut on_a_way = above.filter(|from| !context.facts.post().dominates(block, *from));
    tests_border(block) || on_a_way.any(splits)
}

/// Whether one edge of a branch leads to work before both join again. An edge that only returns, as at a border, keeps
/// no lane waiting.
fn works(context: &Context<'_>, from: Block, to: Block) -> bool {
    let meet = context.facts.post().immediate(from);
    let mut way = vec![to];
    let mut seen = vec![from];
    while let Some(block) = way.pop() {
        if Some(block) == meet || seen.contains(&block) {
            continue;
        }
        seen.push(block);
        let successors = &context.cfg.successors[block];
        if !successors.is_empty() && !context.kernel.blocks[block].insts.is_empty() {
            return true;
        }
        way.extend(successors);
    }
    false
}
