//! `uneven-work-group`: work-groups do not fill warps.

use tripipe_ir::diagnostic::{Rule, Severity};

use super::context::{Advice, Context, Gain};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "uneven-work-group",
    severity: Severity::Warning,
    title: "work-groups do not fill warps",
    what: "
A work-group whose size is not a multiple of the warp width, or a global size that the driver can only divide into
inefficient work-groups.",
    why: "
Warps are filled from one work-group. The last warp of each group runs with empty lanes, at the cost of a full one. A
local size that the driver chooses must divide the global size: a prime extent leaves groups of 1.",
    example: "clEnqueueNDRangeKernel(queue, kernel, 1, 0, (size_t[]){409}, 0, 0, 0, 0);  // 409 is prime",
    advice: "Round the global size up to a multiple of the warp, and let surplus work-items return.",
    exceptions: "A kernel whose groups must have that size.",
    source: "
- Arm OpenCL guides: work-group sizes; the published T604 ladder, where 2048 / 5 = 409 cost a factor of three.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let multiple = u64::from(context.gpu.core.preferred_work_group_multiple.value.max(1));
    let warp = u64::from(context.gpu.core.warp_width.value.max(1));
    let mut say = |message: String, fix: String, gain: Option<f64>| {
        found.push(Advice { rule: &RULE, location: None, message, fix, gain: gain.map(Gain::of_launch) });
    };
    if let Some(local) = context.setup.local {
        let items: u64 = local.iter().product();
        let lanes = items.next_multiple_of(warp);
        if lanes != items {
            say(
                format!("work-groups of {items} work-items leave {} of {lanes} lanes empty", lanes - items),
                format!("Use a multiple of {multiple} work-items in a group."),
                Some(1.0 - items as f64 / lanes as f64),
            );
        }
    } else if let Some(global) = context.setup.global {
        // The largest work-group that the driver can choose, up to what fits a core.
        let most = u64::from(context.gpu.core.max_work_group_size.value);
        let best =
            |extent: u64| (1..=most.min(extent)).rev().find(|size| extent.is_multiple_of(*size)).unwrap_or(1);
        let items = best(global[0]).saturating_mul(best(global[1])).saturating_mul(best(global[2]));
        if items < multiple && global.iter().product::<u64>() >= multiple {
            say(
                format!(
                    "a global size of {} x {} x {} divides into groups of at most {items}",
                    global[0], global[1], global[2]
                ),
                "Round it up to a multiple of the warp, and let surplus work-items return.".into(),
                Some(1.0 - items as f64 / items.next_multiple_of(warp) as f64).filter(|gain| *gain > 0.0),
            );
        }
    }
}
