//! `register-step`: a few registers fewer would allow more threads.

use tripipe_ir::diagnostic::{Rule, Severity};

use super::{Advice, Context};

/// The number of registers that a kernel can probably save.
const FEW: u32 = 4;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "register-step",
    severity: Severity::Note,
    title: "a few registers fewer would bring more threads",
    explanation: r"## What it finds

A kernel that uses up to four registers more than the last count at which more threads fit into a core.

## Why it costs

Threads in flight hide the latency of memory. Each GPU has steps of register counts: one register past a step, and half of
the threads have no place.

## Example

```c
float4 sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0, extra = a * b;  // 33 registers
```

## Instead

Shorten a live range: compute a value again where it is used, load later, use half precision or a smaller tile.

## When it is wrong

A kernel that is bound by arithmetic with enough threads in flight gains nothing. The compiler of the phone may count otherwise
by some registers.

## Source

- Arm GPU Datasheet: registers and threads. Mesa freedreno: waves of Adreno.
",
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let registers = context.registers;
    let Some((fewer, threads)) = registers.next_step.filter(|(fewer, _)| *fewer <= FEW) else { return };
    found.push(Advice {
        rule: &RULE,
        place: registers.peak,
        message: format!(
            "{} registers leave {} threads in a core; {fewer} fewer make it {threads}",
            registers.work.used, registers.threads
        ),
        cure: "Shorten the live range of a value that is live here, if the kernel waits for memory.".into(),
        gain: None,
    });
}
