//! The programs of the ladders, without a device and without large operands.

use std::collections::BTreeMap;
use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_ladders::catalog::ladders;
use tripipe_ladders::ladder::Variant;
use tripipe_ladders::{Inputs, Size, SizeKind};
use tripipe_launch::Program;

use crate::phone::mali_g610;

/// Extents that represent all others: plans only depend on the factors of a size, and 8 is the widest vector. The first
/// is odd.
const EXTENTS: [usize; 4] = [17, 18, 20, 24];

/// Every program that any step of a ladder plans, once, by name and options: for devices that differ in everything
/// plans depend on, at sizes that differ in everything they depend on.
///
/// # Errors
/// As for [`programs`].
pub fn ladder_programs() -> Result<Vec<Arc<Program>>, String> {
    programs(&probes(), sizes)
}

/// Every program that the steps plan for these devices at these sizes, once, by name and options.
///
/// # Errors
/// A step is not offered to any of the devices at one of the sizes.
pub fn programs(
    probes: &[Probe],
    sizes: impl Fn(SizeKind) -> Vec<Size>,
) -> Result<Vec<Arc<Program>>, String> {
    let mut found = BTreeMap::new();
    for ladder in ladders() {
        for size in sizes(ladder.size_kind) {
            let problem = ladder
                .make_problem(size, &Inputs { photo: None, seed: 1 })
                .map_err(|error| error.to_string())?;
            for step in ladder.steps {
                let planned = probes.iter().filter_map(|probe| (step.plan)(&problem, probe).ok());
                let variants: Vec<Variant<'_>> = planned.flatten().collect();
                if variants.is_empty() {
                    return Err(format!("{} {}, {size}: no device supports it", ladder.name, step.name));
                }
                let plans = variants.iter().map(|variant| &variant.plan);
                for launch in plans.flat_map(|plan| plan.preparation().iter().chain(plan.launches())) {
                    let key = (launch.program.name.clone(), launch.program.build_options());
                    found.entry(key).or_insert_with(|| Arc::clone(&launch.program));
                }
            }
        }
    }
    Ok(found.into_values().collect())
}

/// Devices without limits: one for each way to request work-groups that are cut off at the edge, and the minimal
/// device.
fn probes() -> Vec<Probe> {
    let arm = Probe {
        local_memory_dedicated: true,
        max_work_group_size: 0,
        max_work_item_sizes: [0; 3],
        ..mali_g610()
    };
    let without_extension = |version: &str, non_uniform_work_groups| {
        let extensions = vec!["cl_khr_fp16".to_owned()];
        Probe { version: version.to_owned(), extensions, non_uniform_work_groups, ..arm.clone() }
    };
    vec![
        without_extension("OpenCL 2.0", true),
        without_extension("OpenCL 3.0", true),
        Probe { images: None, ..without_extension("OpenCL 1.2", false) },
        arm,
    ]
}

fn sizes(kind: SizeKind) -> Vec<Size> {
    let pairs = || EXTENTS.iter().flat_map(|a| EXTENTS.iter().map(move |b| (*a, *b)));
    match kind {
        SizeKind::Vector => EXTENTS.map(Size::Vector).to_vec(),
        SizeKind::Image => pairs().map(|(width, height)| Size::Image { width, height }).collect(),
        SizeKind::Matrix => pairs().flat_map(|(m, n)| EXTENTS.map(|k| Size::Matrix { m, n, k })).collect(),
    }
}
