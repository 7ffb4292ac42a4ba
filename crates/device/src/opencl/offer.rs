//! What drivers offer to programs, as data.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::sourced::{Basis, Source};

/// What a driver of a GPU offers to programs.
///
/// Extensions and features are those that virtual GPUs provide, too; what only a real driver offers is kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCl {
    /// Name of the GPU.
    pub device: String,
    /// The first version of the driver that offers this: `r38`, `E031.45`.
    pub driver: String,
    /// The version of OpenCL.
    pub version: (u8, u8),
    /// The versions of OpenCL C that its compiler takes, in ascending order.
    pub c_versions: Vec<(u8, u8)>,
    /// Extensions, such as `cl_khr_fp16`.
    pub extensions: Vec<String>,
    /// Optional features of OpenCL C, such as `__opencl_c_images`.
    pub features: Vec<String>,
    /// Extensions and features of the real driver that a virtual GPU does not provide.
    pub not_virtual: Vec<String>,
    /// Kinds of shared virtual memory.
    pub svm: Svm,
    /// Work-items of a sub-group of a kernel that requires the half or the full size (`qcom_reqd_sub_group_size`).
    pub sub_group_sizes: Option<[u32; 2]>,
    /// Whether `sub_group_broadcast` takes vectors without `cl_khr_subgroup_extended_types`.
    pub vector_broadcast: bool,
    /// Whether a work-group at the edge of the global size may be smaller, in OpenCL C 2.0 and later.
    pub non_uniform_work_groups: bool,
    /// How this is known.
    pub basis: Basis,
    /// The source.
    pub source: Arc<Source>,
}

/// The drivers of a GPU, by version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drivers {
    /// Earlier drivers, oldest first.
    pub earlier: Vec<OpenCl>,
    /// The newest driver, which virtual GPUs have.
    pub current: OpenCl,
    /// The generation of the compiler, such as `2013`; `None` is the usual one of the GPU.
    pub compiler: Option<String>,
}

/// Shared virtual memory a device offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Svm {
    /// Coarse-grained buffers: map before host access.
    pub coarse_buffer: bool,
    /// Fine-grained buffers: no map needed.
    pub fine_buffer: bool,
    /// Any host pointer is a device pointer.
    pub fine_system: bool,
}
