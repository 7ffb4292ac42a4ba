//! `emulated-local-memory`: local memory is global memory here.

use tripipe_device::LocalPlacement;
use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::{Op, Space};

use super::{Advice, Context};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "emulated-local-memory",
    severity: Severity::Note,
    title: "local memory is global memory here",
    explanation: r"## What it finds

A kernel that uses local memory on a GPU that has none on the chip.

## Why it costs

On Mali `__local` lies in global memory behind the same cache. Copying there what is read once more from the cache costs the
copy, and the barriers that go with it.

## Example

```c
__local float tile[16][16];
tile[y][x] = in[row * width + column];
barrier(CLK_LOCAL_MEM_FENCE);
```

## Instead

Read global memory directly; neighbours in a warp share cache lines.

## When it is wrong

Where work-items really exchange results, as in a reduction.

## Source

- Arm OpenCL guides for Midgard, and for Bifrost and Valhall: local memory is not separate.
",
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    if context.gpu.local_memory.placement.value != LocalPlacement::Emulated {
        return;
    }
    let local: Vec<_> = context.accesses.iter().filter(|access| access.space == Space::Local).collect();
    let Some(first) = local.iter().find(|access| access.writes) else { return };
    let barriers = context
        .instructions()
        .filter(|(_, inst)| matches!(context.kernel.insts[*inst].op, Op::Barrier { .. }))
        .count();
    found.push(Advice {
        rule: &RULE,
        place: first.place,
        message: format!(
            "{} accesses to local memory and {} to wait for it; on {} it lies behind the same cache as everything else",
            local.len(),
            if barriers == 1 { "a barrier".to_owned() } else { format!("{barriers} barriers") },
            context.gpu.name()
        ),
        cure: "If this only keeps what is read again, read it from global memory and drop the barriers.".into(),
        // Without the copy what it keeps would be loaded from global memory: the stores and barriers go.
        gain: context.gain(|share| {
            let store = local.iter().any(|access| access.writes && access.inst == share.inst);
            let barrier = matches!(context.kernel.insts[share.inst].op, Op::Barrier { .. });
            if store || barrier { 0.0 } else { 1.0 }
        }),
    });
}
