//! The devices of a machine, as text and JSON.

pub mod drivers;
pub mod models;
mod result;
mod text;

use tripipe_device::{Identification, Probe};

pub use result::result;
pub use text::text;

/// One device.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name on the command line: `cpu`, `opencl:0`.
    pub choice: String,
    /// Its name.
    pub name: String,
    /// What an OpenCL device reports about itself; `None` for the built-in CPU path.
    pub opencl: Option<OpenCl>,
}

/// An OpenCL device.
#[derive(Clone, Debug)]
pub struct OpenCl {
    /// What it reports about itself.
    pub probe: Probe,
    /// The GPU model that it matches.
    pub identification: Identification,
}

/// The possible features of a device, each with its name and whether this device has it.
fn features(probe: &Probe) -> Vec<(&'static str, bool)> {
    let any = |names: &[&str]| names.iter().any(|name| probe.has_extension(name));
    vec![
        ("fp16", probe.fp16()),
        ("fp64", probe.fp64()),
        ("images", probe.images.is_some()),
        ("images from buffers", probe.images.is_some_and(|images| images.from_buffer)),
        ("coarse SVM", probe.svm.coarse_buffer),
        ("fine SVM", probe.svm.fine_buffer),
        ("system SVM", probe.svm.fine_system),
        ("unified memory", probe.unified_memory),
        (
            "integer dot product",
            any(&[
                "cl_khr_integer_dot_product",
                "cl_arm_integer_dot_product_int8",
                "cl_arm_integer_dot_product_accumulate_int8",
                "cl_qcom_dot_product8",
            ]),
        ),
        ("subgroups", any(&["cl_khr_subgroups", "cl_intel_subgroups"])),
        (
            "non-uniform work-groups",
            probe.non_uniform_work_groups || any(&["cl_arm_non_uniform_work_group_size"]),
        ),
        (
            "memory import",
            any(&["cl_arm_import_memory", "cl_qcom_ion_host_ptr", "cl_qcom_android_native_buffer_host_ptr"]),
        ),
    ]
}
