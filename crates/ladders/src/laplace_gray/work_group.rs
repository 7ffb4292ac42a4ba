//! One kernel with many work-group sizes.

use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_launch::{NdRange, Program};

use super::{LEAST_WIDTH, Loads, TEST, check_image, test_kernel};
use crate::ladder::{Variant, Variants};
use crate::laplace::GLOBAL_MULTIPLE;
use tripipe_kernels::plan::Plan;

/// Work-group sizes, along the row and down: multiples of 4 work-items from 4 to 64 and above, flat and square.
const SHAPES: [[usize; 2]; 19] = [
    [4, 1],
    [8, 1],
    [12, 1],
    [16, 1],
    [24, 1],
    [32, 1],
    [48, 1],
    [64, 1],
    [128, 1],
    [256, 1],
    [4, 4],
    [8, 4],
    [8, 8],
    [16, 4],
    [4, 16],
    [1, 64],
    [16, 8],
    [32, 8],
    [16, 16],
];

/// The kernel with two loads per row and the border test, at each size that the device supports, and with the choice
/// left to the driver (`NULL`).
///
/// Normally a work-group size must divide the global size, which is therefore rounded up; the border test rejects the
/// surplus work-items. If the device supports partial work-groups at the edge, each size is also run with the exact
/// global size.
pub(super) fn sweep<'p>(gray: &'p [u8], width: usize, height: usize, probe: &Probe) -> Variants<'p> {
    check_image(gray, [width, height], 1, probe)?;
    let mut ways: Vec<(&str, Arc<Program>, bool)> = vec![("", Arc::clone(&TEST), false)];
    if let Some(option) = non_uniform_option(probe) {
        let program = Program::clone(&TEST).option(option);
        ways.push((" non-uniform", Arc::new(program), true));
    }
    let shapes = SHAPES.iter().filter(|shape| fits(**shape, probe)).map(|shape| Some(*shape));
    let shapes: Vec<Option<[usize; 2]>> = std::iter::once(None).chain(shapes).collect();
    let mut variants = Vec::new();
    for (suffix, program, non_uniform) in &ways {
        for shape in &shapes {
            let size = shape.map_or_else(|| "NULL".to_owned(), |[x, y]| format!("{x}x{y}"));
            let plan = swept(gray, [width, height], program, *shape, *non_uniform);
            variants.push(Variant { label: format!("{size}{suffix}"), plan });
        }
    }
    Ok(variants)
}

fn swept<'p>(
    gray: &'p [u8],
    [width, height]: [usize; 2],
    program: &Arc<Program>,
    shape: Option<[usize; 2]>,
    non_uniform: bool,
) -> Plan<'p> {
    let loads = if width < LEAST_WIDTH { Loads::Scalar } else { Loads::Synthesised };
    let (entry, global) = test_kernel(loads, [width, height]);
    let [x, y] = if non_uniform {
        global
    } else {
        let multiple = shape.unwrap_or(GLOBAL_MULTIPLE);
        [0, 1].map(|axis| global[axis].next_multiple_of(multiple[axis]))
    };
    let mut range = NdRange::d2(x, y);
    if let Some([x, y]) = shape {
        range = range.local(x, y, 1);
    }
    let mut plan = Plan::new();
    let from = plan.input(gray);
    let to = plan.result(gray.len());
    let arguments = [from.into(), to.into(), (width as u32).into(), (height as u32).into()];
    plan.launch(program, entry, arguments, range);
    plan
}

/// The build option that allows partial work-groups at the edge, if there is one: Arm's for OpenCL 1.2, or a language
/// version that allows them.
pub(super) fn non_uniform_option(probe: &Probe) -> Option<&'static str> {
    if probe.has_extension("cl_arm_non_uniform_work_group_size") {
        return Some("-cl-arm-non-uniform-work-group-size");
    }
    // The device's version, not that of its OpenCL C: devices of OpenCL 3.0 may report 1.2 there, and need not
    // support 2.0.
    let option = if probe.version.starts_with("OpenCL 2.") { "-cl-std=CL2.0" } else { "-cl-std=CL3.0" };
    probe.non_uniform_work_groups.then_some(option)
}

/// Whether the device supports a work-group of this size; a limit of 0 is unknown.
fn fits([x, y]: [usize; 2], probe: &Probe) -> bool {
    let within = |size: usize, limit: usize| limit == 0 || size <= limit;
    within(x * y, probe.max_work_group_size)
        && within(x, probe.max_work_item_sizes[0])
        && within(y, probe.max_work_item_sizes[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(probe: &Probe) -> Vec<String> {
        let gray = vec![0; 100 * 3];
        sweep(&gray, 100, 3, probe).unwrap().into_iter().map(|variant| variant.label).collect()
    }

    #[test]
    fn a_small_device_gets_small_groups() {
        let probe = Probe { max_work_group_size: 64, max_work_item_sizes: [64, 8, 1], ..Probe::default() };
        let labels = labels(&probe);
        assert!(labels.contains(&"NULL".to_owned()) && labels.contains(&"8x8".to_owned()));
        for large in ["128x1", "4x16", "16x8"] {
            assert!(!labels.contains(&large.to_owned()), "{large}");
        }
    }

    #[test]
    fn arms_extension_doubles_the_sweep() {
        let plain = labels(&Probe::default());
        let extensions = vec!["cl_arm_non_uniform_work_group_size".to_owned()];
        let both = labels(&Probe { extensions, ..Probe::default() });
        assert_eq!(both.len(), 2 * plain.len());
        assert!(both.contains(&"16x4 non-uniform".to_owned()));
    }

    #[test]
    fn the_language_version_follows_the_device() {
        let option = |version: &str, non_uniform_work_groups| {
            let version = version.to_owned();
            non_uniform_option(&Probe {
                version,
                opencl_c: (1, 2),
                non_uniform_work_groups,
                ..Probe::default()
            })
        };
        assert_eq!(option("OpenCL 3.0 CUDA", true), Some("-cl-std=CL3.0"));
        assert_eq!(option("OpenCL 2.0 Adreno(TM) 540", true), Some("-cl-std=CL2.0"));
        assert_eq!(option("OpenCL 3.0 PoCL", false), None);
    }

    #[test]
    fn uniform_work_groups_divide_the_global_size_and_others_keep_it() {
        let gray = vec![0; 100 * 3];
        let probe = Probe { non_uniform_work_groups: true, ..Probe::default() };
        for Variant { label, plan } in sweep(&gray, 100, 3, &probe).unwrap() {
            let range = plan.launches()[0].range;
            let [x, y, _] = range.global_size();
            // (100 - 2) / 16, rounded up.
            let least = [7, 3];
            if label.ends_with("non-uniform") {
                assert_eq!([x, y], least, "{label}");
            } else {
                assert!(x >= least[0] && y >= least[1], "{label}");
                let [across, down, _] = range.local_size().unwrap_or([1; 3]);
                assert_eq!([x % across, y % down], [0, 0], "{label}");
            }
        }
    }
}
