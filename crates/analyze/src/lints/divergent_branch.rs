//! `divergent-branch`: work-items of a warp go different ways.

use tripipe_ir::TerminatorKind;
use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::flow::{Divergence, Dominators, Loops};

use super::{Advice, Context};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "divergent-branch",
    severity: Severity::Note,
    title: "work-items of a warp go different ways",
    explanation: r"## What it finds

A branch whose condition differs between work-items of a warp, with something to do on both ways or in a loop.

## Why it costs

A warp goes both ways one after the other, with some of its lanes idle on each.

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
    let (kernel, cfg) = (context.kernel, context.cfg);
    let loops = Loops::new(cfg, &Dominators::new(cfg));
    let divergence = Divergence::new(kernel, cfg, &Dominators::post(cfg), &loops);
    for block in &cfg.order {
        let terminator = &kernel.blocks[*block].terminator;
        let TerminatorKind::Branch { then, otherwise, .. } = &terminator.kind else { continue };
        // A way that only leaves, as at a border, keeps no lane waiting.
        let works = |to| !kernel.blocks[to].insts.is_empty() && !cfg.successors[to].is_empty();
        if !divergence.is_divergent_branch(*block) || !works(then.block) || !works(otherwise.block) {
            continue;
        }
        found.push(Advice {
            rule: &RULE,
            place: terminator.place,
            message: format!("work-items of a warp of {warp} may go both ways here"),
            cure: "Let the condition be the same for a warp, or compute both ways and select.".into(),
            gain: None,
        });
    }
}
