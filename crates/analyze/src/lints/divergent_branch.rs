//! `divergent-branch`: work-items of a warp go different ways.

use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::{Block, TerminatorKind};

use super::{Advice, Context};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "divergent-branch",
    severity: Severity::Note,
    title: "work-items of a warp go different ways",
    explanation: r"## What it finds

A branch whose condition differs between work-items of a warp, with something to do on both ways; or a loop that they leave after
different numbers of rounds.

## Why it costs

A warp goes both ways one after the other, with some of its lanes idle on each; and it runs a loop until the last of its lanes is
done.

## Example

```c
if (get_global_id(0) % 2)
    x = expensive(x);
else
    x = other(x);
```

## Instead

Let whole warps decide alike, compute both and select, or sort the work.

## When it is wrong

At the border of an image, where few warps have both; on Midgard, which has no warps (it is not reported there).

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
        if !divergence.is_divergent_branch(*block) {
            continue;
        }
        let leaves = |to: Block| loops.around(*block).is_some_and(|inner| !loops.contains(inner, to));
        let (message, cure) = if leaves(then.block) || leaves(otherwise.block) {
            (
                format!(
                    "work-items of a warp of {warp} may leave the loop after different numbers of rounds"
                ),
                "Let work-items of a warp have as many rounds, as by sorting the work.",
            )
        } else if works(context, *block, then.block) && works(context, *block, otherwise.block) {
            (
                format!("work-items of a warp of {warp} may go both ways here"),
                "Let the condition be the same for a warp, or compute both ways and select.",
            )
        } else {
            continue;
        };
        found.push(Advice { rule: &RULE, place: terminator.place, message, cure: cure.into(), gain: None });
    }
}

/// Whether a way of a branch has something to do before both meet again. A way that only leaves, as at a border, keeps no lane
/// waiting.
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
