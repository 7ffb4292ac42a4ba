//! `work-group-size`: another work-group size is faster.

use tripipe_ir::diagnostic::{Rule, Severity};

use super::context::{Advice, Context, Effect, Gain};

/// Sizes that tuned kernels use, by the number of dimensions.
const SIZES: [&[[u64; 3]]; 3] = [
    &[[32, 1, 1], [64, 1, 1], [128, 1, 1], [256, 1, 1]],
    &[[8, 8, 1], [16, 8, 1], [16, 16, 1], [32, 4, 1], [64, 1, 1], [4, 16, 1]],
    &[[8, 8, 1], [4, 4, 4], [16, 4, 1], [64, 1, 1]],
];

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "work-group-size",
    severity: Severity::Note,
    title: "another work-group size is faster",
    explanation: r"## What it finds

A launch whose predicted time falls by 5 % or more with another work-group size, of those that tuned kernels use. Each is
tried in the model of time; the fastest is named. Only kernels that compute the same in groups of any size: without
barriers, local memory, and questions for the group or the id in it.

## Why it costs

The size decides which work-items run at the same time on a core: whether they share cache lines and pages, whether they
fill warps, and how many fit. A driver that is given none chooses among the divisors of the global size, without looking
at what the kernel reads.

## Example

```c
clEnqueueNDRangeKernel(queue, kernel, 2, 0, (size_t[]){479, 1080}, 0, 0, 0, 0);  // groups of 1 x 60 on a Mali-G71
```

## Instead

```c
clEnqueueNDRangeKernel(queue, kernel, 2, 0, (size_t[]){480, 1080}, (size_t[]){8, 8}, 0, 0, 0);
```

Where the global size is not a multiple of the work-group size and the device has no non-uniform work-groups, round it up,
and let surplus work-items return.

## When it is wrong

The figures are predictions; sizes that differ by less than the model's error may change places on a device. `tripipe tune`
and a measurement decide.

## Source

- The published T604 ladder, where 2048 / 5 = 409 work-items in a row cost a factor of three.
- Arm OpenCL guides and Qualcomm's guide: choose the work-group size by measuring, per kernel and device.
",
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let Some(global) = context.setup.global else { return };
    if context.kernel.required_local_size.is_some() || context.kernel.depends_on_groups() {
        return;
    }
    let most = u64::from(context.gpu.core.max_work_group_size.value);
    let dimensions = dimensions(global);
    let fits = |local: &[u64; 3]| {
        local.iter().product::<u64>() <= most
            && Some(*local) != context.setup.local
            && local.iter().zip(global).all(|(side, extent)| *side <= extent)
    };
    let sizes: Vec<[u64; 3]> = SIZES[dimensions - 1].iter().copied().filter(fits).collect();
    if sizes.is_empty() {
        return;
    }
    let now = match context.setup.local {
        Some(local) => format!("work-groups of {}", shown(local, dimensions)),
        None => "the driver's choice of a work-group size".to_owned(),
    };
    found.push(Advice {
        rule: &RULE,
        location: None,
        message: format!("another work-group size is faster than {now}"),
        // A caller with a model of time knows the size.
        fix: "Try others.".to_owned(),
        gain: Some(Gain::of_effect(Effect::WorkGroup(sizes))),
    });
}

/// The sides of a work-group.
fn shown(local: [u64; 3], dimensions: usize) -> String {
    local[..dimensions].iter().map(u64::to_string).collect::<Vec<_>>().join(" x ")
}

impl Advice {
    /// Names the fastest size of an [`Effect::WorkGroup`] for a launch of so many dimensions, 1 to 3.
    pub fn set_work_group(&mut self, local: [u64; 3], dimensions: usize) {
        let flag = shown(local, dimensions).replace(" x ", ",");
        self.fix = format!("Launch it in work-groups of {} (`--local {flag}`).", shown(local, dimensions));
    }
}

/// Up to the last that is larger than 1.
fn dimensions(sizes: [u64; 3]) -> usize {
    sizes.iter().rposition(|size| *size > 1).map_or(1, |last| last + 1)
}
