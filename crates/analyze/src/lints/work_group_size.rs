//! `work-group-size`: another work-group size is faster.

use tripipe_ir::diagnostic::{Rule, Severity};

use super::context::{Advice, Context};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "work-group-size",
    severity: Severity::Note,
    title: "another work-group size is faster",
    what: "
A launch whose predicted time falls with another work-group size that divides it, of those that tuned kernels use. Each is
tried in the model of time; the fastest is named. Only kernels that compute the same in groups of any size: without
barriers, local memory, and questions for the group or the id in it.",
    why: "
The size decides which work-items run at the same time on a core: whether they share cache lines and pages, whether they
fill warps, and how many fit. A driver that is given none chooses among the divisors of the global size, without looking
at what the kernel reads.",
    example: "
clEnqueueNDRangeKernel(queue, kernel, 2, 0, (size_t[]){479, 1080}, 0, 0, 0, 0);  // groups of 1 x 60 on a Mali-G71",
    instead: "clEnqueueNDRangeKernel(queue, kernel, 2, 0, (size_t[]){480, 1080}, (size_t[]){8, 8}, 0, 0, 0);",
    remark: "
Where the global size is not a multiple of the work-group size and the device has no non-uniform work-groups, round it up,
and let surplus work-items return.",
    exceptions: "
The figures are predictions; sizes that differ by less than the model's error may change places on a device. `tripipe tune`
and a measurement decide.",
    source: "
- The published T604 ladder, where 2048 / 5 = 409 work-items in a row cost a factor of three.
- Arm OpenCL guides and Qualcomm's guide: choose the work-group size by measuring, per kernel and device.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let Some(global) = context.setup.global else { return };
    let is_one = global.iter().product::<u64>() <= 1;
    if is_one || context.kernel.required_local_size.is_some() || context.kernel.depends_on_groups() {
        return;
    }
    let dimensions = dimensions(global);
    let now = match context.setup.local {
        Some(local) => format!("work-groups of {}", shown(local, dimensions)),
        None => "the driver's choice".to_owned(),
    };
    found.push(Advice {
        rule: &RULE,
        location: None,
        message: format!("another work-group size is faster than {now}"),
        // The rewrite knows the size.
        fix: String::new(),
        gain: None,
    });
}

/// The sides of a work-group.
fn shown(local: [u64; 3], dimensions: usize) -> String {
    local[..dimensions].iter().map(u64::to_string).collect::<Vec<_>>().join(" x ")
}

/// Up to the last that is larger than 1.
fn dimensions(sizes: [u64; 3]) -> usize {
    sizes.iter().rposition(|size| *size > 1).map_or(1, |last| last + 1)
}
