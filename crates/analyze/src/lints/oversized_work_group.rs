//! `oversized-work-group`: the GPU cannot run the work-group.

use tripipe_device::Basis;
use tripipe_ir::diagnostic::{Rule, Severity};

use super::context::{Advice, Context};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "oversized-work-group",
    severity: Severity::Error,
    title: "a work-group is larger than the GPU allows",
    what: "
A local size, given or required by the kernel (`reqd_work_group_size`), with more work-items than the GPU allows in a
work-group.",
    why: "`clEnqueueNDRangeKernel` returns `CL_INVALID_WORK_GROUP_SIZE`, or the kernel does not build. Nothing runs.",
    example: "
__attribute__((reqd_work_group_size(32, 32, 1)))
kernel void tile(global float* out) { out[get_global_id(1) * 1024 + get_global_id(0)] = 0; }",
    advice: "Use smaller groups; where they share data, give each work-item more work.",
    instead: "
__attribute__((reqd_work_group_size(16, 16, 1)))
kernel void tile(global float* out) { out[get_global_id(1) * 1024 + get_global_id(0)] = 0; }",
    exceptions: "
The limit comes from the GPU's model, which says whether it is documented, reported by a device, or guessed. A driver
may allow more, and it allows less for kernels that use many registers: `CL_KERNEL_WORK_GROUP_SIZE` is decisive.",
    source: "- OpenCL 3.0, `clEnqueueNDRangeKernel`: `CL_INVALID_WORK_GROUP_SIZE`.",
    ..Rule::CHECK
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let required = context.kernel.required_local_size.map(|sizes| sizes.map(u64::from));
    let Some(local) = context.setup.local.or(required) else { return };
    let limit = &context.gpu.core.max_work_group_size;
    let items = local.iter().fold(1_u64, |items, size| items.saturating_mul(*size));
    if items > u64::from(limit.value) {
        let guessed = if limit.basis == Basis::Guessed { " (guessed)" } else { "" };
        found.push(Advice {
            rule: &RULE,
            location: None,
            message: format!(
                "work-groups of {items} work-items, but {} allows {}{guessed}",
                context.gpu.name(),
                limit.value
            ),
            fix: format!("Use at most {} work-items in a group.", limit.value),
            gain: None,
        });
    }
}
