//! `resize-work-group`: another work-group size.

use tripipe_device::Gpu;
use tripipe_ir::diagnostic::Rule;

use crate::{HostChange, Proposal, View};

/// Sizes that tuned kernels use, by the number of dimensions.
const SIZES: [&[[usize; 3]]; 3] = [
    &[[16, 1, 1], [32, 1, 1], [64, 1, 1], [128, 1, 1], [256, 1, 1]],
    &[
        [4, 4, 1],
        [8, 4, 1],
        [8, 8, 1],
        [16, 4, 1],
        [16, 8, 1],
        [16, 16, 1],
        [32, 4, 1],
        [64, 1, 1],
        [128, 1, 1],
        [4, 16, 1],
    ],
    &[[4, 4, 4], [8, 8, 1], [16, 4, 1], [64, 1, 1]],
];

/// What makes a kernel depend on the size of its work-groups.
const DEPENDS: [&str; 7] = [
    "work_group_size",
    "get_local_",
    "get_group_",
    "get_num_groups",
    "get_enqueued_",
    "barrier",
    "sub_group",
];

pub(super) const RULE: Rule = Rule {
    code: "resize-work-group",
    title: "launch another work-group size",
    what: "
Launches the kernel in work-groups of another size, of those that tuned kernels use. The source stays as it is.",
    why: "
The size decides which work-items run at the same time on a core: whether they share cache lines and pages, whether they
fill warps, and how many fit. A driver that is given none chooses among the divisors of the global size, without looking
at what the kernel reads.",
    example: "clEnqueueNDRangeKernel(queue, kernel, 2, 0, (size_t[]){1920, 1080}, 0, 0, 0, 0);",
    instead: "clEnqueueNDRangeKernel(queue, kernel, 2, 0, (size_t[]){1920, 1080}, (size_t[]){16, 8}, 0, 0, 0);",
    exceptions: "
Kernels that ask for their work-group, have barriers or local memory, or require a size. Sizes that do not divide the
global size are tried only where the driver has work-groups that are not uniform, and the program is not compiled for OpenCL C
1.x.",
    source: "
- Arm OpenCL guides and Qualcomm's guide: choose the work-group size by measuring, per kernel and device.
- The published T604 ladder, where 2048 / 5 = 409 work-items in a row cost a factor of three.",
    ..Rule::REWRITE
};

/// Whether a program may be launched with work-groups that do not divide the global size (OpenCL API 3.0,
/// `clEnqueueNDRangeKernel`): one that is compiled as OpenCL C 2.0 or newer. That is not the default: `None` where no option
/// says which it is.
fn allows_parts(flags: &[String]) -> Option<bool> {
    let standard = flags.iter().find_map(|flag| flag.strip_prefix("-cl-std="));
    let is_uniform = flags.iter().any(|flag| flag == "-cl-uniform-work-group-size");
    if is_uniform { Some(false) } else { standard.map(|standard| !standard.starts_with("CL1")) }
}

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let subject = view.subject;
    if DEPENDS.iter().any(|word| subject.source.contains(word)) {
        return Vec::new();
    }
    let range = subject.launch.range;
    let most = view.gpus.iter().map(|gpu| gpu.core.max_work_group_size.value as usize).min().unwrap_or(1);
    let parts = allows_parts(&subject.launch.options.flags);
    let may_end_in_a_part =
        parts != Some(false) && view.gpus.iter().all(|gpu| gpu.opencl().non_uniform_work_groups);
    let fits =
        |local: &&[usize; 3]| {
            local.iter().product::<usize>() <= most
                && range.local_size() != Some(**local)
                && range.global_size().iter().zip(*local).all(|(extent, side)| {
                    extent.is_multiple_of(*side) || (may_end_in_a_part && side <= extent)
                })
        };
    let divides = |local: &[usize; 3]| {
        range.global_size().iter().zip(local).all(|(extent, side)| extent.is_multiple_of(*side))
    };
    let sizes = SIZES[range.dimensions().clamp(1, 3) - 1].iter().filter(fits);
    // A driver compiles as OpenCL C 1.2 unless it is told otherwise.
    let versions = [((2, 0), "CL2.0"), ((3, 0), "CL3.0")];
    let is_taken = |version: &(u8, u8)| view.gpus.iter().all(|gpu| gpu.opencl().c_versions.contains(version));
    let standard = versions.iter().find(|(version, _)| is_taken(version)).map(|(_, name)| *name);
    let propose = |local: &[usize; 3]| {
        let shown: Vec<String> = local[..range.dimensions()].iter().map(usize::to_string).collect();
        let needs = (parts.is_none() && !divides(local)).then_some(standard);
        let standard = match needs {
            // No version that allows it is common to all drivers.
            Some(None) => return None,
            Some(Some(standard)) => Some(HostChange::Standard(standard)),
            None => None,
        };
        Some(Proposal {
            title: format!("work-groups of {}", shown.join(" x ")),
            why: why(local.iter().product(), view.gpus),
            source: subject.source.clone(),
            host: standard.into_iter().chain([HostChange::Local(*local)]).collect(),
            ..Proposal::of(RULE.code)
        })
    };
    sizes.filter_map(propose).collect()
}

/// What a group of `size` work-items gains.
fn why(size: usize, gpus: &[&'static Gpu]) -> String {
    let has_warps = |gpu: &&&'static Gpu| gpu.core.warp_width.value > 1;
    let narrowest = gpus.iter().filter(has_warps).map(|gpu| gpu.core.warp_width.value as usize).min();
    let near = "work-items of a group run at the same time on a core, and these share cache lines";
    match narrowest {
        None => format!("{near}; a thread runs each alone"),
        Some(width) if size.is_multiple_of(width) => format!("{near}; they fill warps of {width}"),
        Some(width) => {
            format!(
                "{near}; they leave warps of {width} partly empty, which costs less than what the shape gains"
            )
        }
    }
}
