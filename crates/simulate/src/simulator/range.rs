//! The range of a launch, and the choice of a work-group size.

use tripipe_device::Probe;
use tripipe_ir::Kernel;
use tripipe_launch::{ExecuteError, NdRange};

use super::options::Options;
use crate::execute::range::Group;

/// Most work-items of a sub-group: the bits of a ballot.
const LARGEST_SUB_GROUP: u32 = 128;

/// The range in the form that groups use.
pub(super) fn range(
    kernel: &Kernel,
    entry: &str,
    range: &NdRange,
    options: &Options,
    probe: &Probe,
) -> Result<Group, ExecuteError> {
    let refused =
        |reason: String| ExecuteError::Range { entry: entry.to_owned(), range: format!("{range:?}"), reason };
    let global = range.global_size();
    if global.contains(&0) || range.work_items().is_none_or(|items| items as u64 > 1 << 40) {
        return Err(refused("a global size has to be at least 1 and at most 2^40 work-items".into()));
    }
    // Ids of lanes behind the last work-item are computed, too.
    let ends = range.global_offset().into_iter().zip(global).map(|(offset, size)| offset.checked_add(size));
    if ends.into_iter().any(|end| end.is_none_or(|end| end as u64 > 1 << 62)) {
        return Err(refused("a global offset and size have to be at most 2^62 together".into()));
    }
    let required = kernel.required_local_size.map(|size| size.map(|extent| extent as usize));
    let local = match (range.local_size(), required) {
        (Some(local), Some(required)) if local != required => {
            return Err(refused(format!(
                "the kernel requires groups of {}x{}x{}",
                required[0], required[1], required[2]
            )));
        }
        (Some(local), _) | (None, Some(local)) => local,
        (None, None) => choose_local(kernel, global),
    };
    let items = local.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
    if local.contains(&0) || items.is_none_or(|items| items > probe.max_work_group_size) {
        return Err(refused(format!("a work-group has 1 to {} work-items", probe.max_work_group_size)));
    }
    let sub_group = kernel.sub_group_size(options.build.offered.as_ref()).unwrap_or(options.sub_group);
    if !sub_group.is_power_of_two() || sub_group > LARGEST_SUB_GROUP {
        return Err(refused(format!(
            "sub-groups of {sub_group}: powers of two up to {LARGEST_SUB_GROUP} are supported"
        )));
    }
    let wide = |sizes: [usize; 3]| sizes.map(|size| size as u64);
    Ok(Group {
        id: [0; 3],
        local: wide(local),
        enqueued_local: wide(local),
        groups: std::array::from_fn(|d| global[d].div_ceil(local[d]) as u64),
        global: wide(global),
        offset: wide(range.global_offset()),
        dimensions: range.dimensions() as u32,
        sub_group,
    })
}

/// The work-group size when the launch does not specify one: up to 256 work-items in a row, and a divisor of the
/// global size if the kernel can observe the difference.
fn choose_local(kernel: &Kernel, global: [usize; 3]) -> [usize; 3] {
    const LARGEST: usize = 256;
    let x = if kernel.depends_on_groups() {
        (1..=LARGEST.min(global[0])).rev().find(|size| global[0].is_multiple_of(*size)).unwrap_or(1)
    } else {
        LARGEST.min(global[0])
    };
    [x, 1, 1]
}
