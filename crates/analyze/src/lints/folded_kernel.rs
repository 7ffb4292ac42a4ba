//! `folded-kernel`: nothing that the kernel computes is stored.

use tripipe_ir::diagnostic::{Rule, Severity};

use super::{Advice, Context};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "folded-kernel",
    severity: Severity::Warning,
    title: "nothing that the kernel computes is stored",
    explanation: r"## What it finds

A kernel of which nothing is left to do.

## Why it costs

It costs nothing because it does nothing: a store was forgotten, an argument by `-D` folded it away, or the wrong
kernel is looked at. Its figures say nothing about the one that was meant.

## Example

```c
__kernel void scale(__global float *data, float factor) {
    float x = data[get_global_id(0)] * factor;
}
```

## Instead

```c
__kernel void scale(__global float *data, float factor) {
    data[get_global_id(0)] *= factor;
}
```

## When it is wrong

An empty kernel, made to measure what a launch costs.

## Source

- The behaviour of every optimising compiler: what nobody uses is left out.
",
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    if context.longest.bound.is_empty() {
        found.push(Advice {
            rule: &RULE,
            place: None,
            message: "nothing of the kernel is left: it stores nothing".into(),
            cure: "Look for the store that is missing, and at the options the kernel is built with.".into(),
            gain: None,
        });
    }
}
