//! `scattered-access`: neighbours touch lines of their own.

use tripipe_ir::Space;
use tripipe_ir::diagnostic::{Rule, Severity};

use super::{Advice, Context};
use crate::Stride;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "scattered-access",
    severity: Severity::Warning,
    title: "neighbours touch lines of their own",
    explanation: r"## What it finds

A load or store whose work-items, next to one another in a warp, touch more cache lines than their bytes fill.

## Why it costs

A warp's access takes a cycle for each line it touches, and each line is fetched whole. Work-items 64 bytes apart take one
line each: 16 cycles for a warp of 16, of which a few bytes are used.

## Example

```c
int row = get_global_id(0), column = get_global_id(1);
out[row * width + column] = in[row * width + column];
```

## Instead

Let dimension 0 run along the memory.

```c
int column = get_global_id(0), row = get_global_id(1);
out[row * width + column] = in[row * width + column];
```

## When it is wrong

Where all of a line is used by the same work-item soon after, and the lines stay in the cache meanwhile.

## Source

- Arm performance counter references: a load/store instruction takes a cycle for each line. Mesa and measurements for Adreno.
",
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let warp = context.gpu.core.warp_width.value;
    if warp < 2 {
        return;
    }
    for access in context.accesses {
        let global = matches!(access.space, Space::Global | Space::Constant);
        if !global || access.is_coalesced(context.gpu) || access.stride == Stride::Unknown {
            continue;
        }
        let line = context.gpu.memory.cache_line_bytes.value.max(1);
        let best = (access.bytes * warp).div_ceil(line).max(1);
        let far = match access.stride {
            Stride::Bytes(bytes) => format!("{bytes} bytes"),
            Stride::Runtime | Stride::Unknown => "a row or the like".to_owned(),
        };
        found.push(Advice {
            rule: &RULE,
            place: access.place,
            message: format!(
                "neighbours {} {} bytes of `{}` {far} apart: a warp of {warp} touches {} lines where {best} would do",
                if access.writes { "write" } else { "read" },
                access.bytes,
                access.pointer,
                access.lines
            ),
            cure: "Let get_global_id(0) run along the memory, so that neighbours share lines.".into(),
            gain: context.gain(|share| {
                if share.inst == access.inst { f64::from(best) / f64::from(access.lines.max(1)) } else { 1.0 }
            }),
        });
    }
}
