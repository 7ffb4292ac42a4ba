//! What one device offers, for texts that are built as its own driver builds them.

use std::ffi::OsString;
use std::fmt::Write as _;

/// The extensions and features of OpenCL C that a device offers.
///
/// Programs see the macros of these and of no others, and functions and types of others are not declared. The language
/// is OpenCL C 1.2 unless the options say otherwise, as OpenCL demands of drivers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// Names such as `cl_khr_fp64` and `__opencl_c_images`. With `cl_khr_fp64`, constants without `f` are `double`.
    pub names: Vec<String>,
    /// The version of OpenCL, as `__OPENCL_VERSION__` has it: 120 or 300.
    pub version: u32,
}

/// Macros that clang, its header and `extensions.h` define, whatever the device is. A test compares them with clang.
const NAMES: [&str; 89] = [
    "__opencl_c_3d_image_writes",
    "__opencl_c_atomic_order_acq_rel",
    "__opencl_c_atomic_order_seq_cst",
    "__opencl_c_atomic_scope_all_devices",
    "__opencl_c_atomic_scope_device",
    "__opencl_c_device_enqueue",
    "__opencl_c_ext_fp16_global_atomic_add",
    "__opencl_c_ext_fp16_global_atomic_load_store",
    "__opencl_c_ext_fp16_global_atomic_min_max",
    "__opencl_c_ext_fp16_local_atomic_add",
    "__opencl_c_ext_fp16_local_atomic_load_store",
    "__opencl_c_ext_fp16_local_atomic_min_max",
    "__opencl_c_ext_fp32_global_atomic_add",
    "__opencl_c_ext_fp32_global_atomic_min_max",
    "__opencl_c_ext_fp32_local_atomic_add",
    "__opencl_c_ext_fp32_local_atomic_min_max",
    "__opencl_c_ext_fp64_global_atomic_add",
    "__opencl_c_ext_fp64_global_atomic_min_max",
    "__opencl_c_ext_fp64_local_atomic_add",
    "__opencl_c_ext_fp64_local_atomic_min_max",
    "__opencl_c_ext_image_raw10_raw12",
    "__opencl_c_ext_image_unorm_int_2_101010",
    "__opencl_c_ext_image_unsigned_10x6_12x4_14x2",
    "__opencl_c_fp64",
    "__opencl_c_generic_address_space",
    "__opencl_c_images",
    "__opencl_c_int64",
    "__opencl_c_integer_dot_product_input_4x8bit",
    "__opencl_c_integer_dot_product_input_4x8bit_packed",
    "__opencl_c_kernel_clock_scope_device",
    "__opencl_c_kernel_clock_scope_sub_group",
    "__opencl_c_kernel_clock_scope_work_group",
    "__opencl_c_pipes",
    "__opencl_c_program_scope_global_variables",
    "__opencl_c_read_write_images",
    "__opencl_c_subgroups",
    "__opencl_c_work_group_collective_functions",
    "cl_amd_media_ops",
    "cl_amd_media_ops2",
    "cl_arm_integer_dot_product_accumulate_int16",
    "cl_arm_integer_dot_product_accumulate_int8",
    "cl_arm_integer_dot_product_accumulate_saturate_int8",
    "cl_arm_integer_dot_product_int8",
    "cl_arm_non_uniform_work_group_size",
    "cl_arm_printf",
    "cl_clang_storage_class_specifiers",
    "cl_ext_float_atomics",
    "cl_intel_bfloat16_conversions",
    "cl_intel_device_side_avc_motion_estimation",
    "cl_intel_subgroup_buffer_prefetch",
    "cl_intel_subgroup_local_block_io",
    "cl_intel_subgroups",
    "cl_intel_subgroups_short",
    "cl_khr_3d_image_writes",
    "cl_khr_byte_addressable_store",
    "cl_khr_depth_images",
    "cl_khr_extended_bit_ops",
    "cl_khr_fp16",
    "cl_khr_fp64",
    "cl_khr_gl_msaa_sharing",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_il_program",
    "cl_khr_image2d_from_buffer",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_integer_dot_product",
    "cl_khr_kernel_clock",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
    "cl_khr_mipmap_image",
    "cl_khr_mipmap_image_writes",
    "cl_khr_spirv_no_integer_wrap_decoration",
    "cl_khr_srgb_image_writes",
    "cl_khr_subgroup_ballot",
    "cl_khr_subgroup_clustered_reduce",
    "cl_khr_subgroup_extended_types",
    "cl_khr_subgroup_non_uniform_arithmetic",
    "cl_khr_subgroup_non_uniform_vote",
    "cl_khr_subgroup_rotate",
    "cl_khr_subgroup_shuffle",
    "cl_khr_subgroup_shuffle_relative",
    "cl_khr_subgroups",
    "cl_qcom_dot_product8",
    "cl_qcom_extra_vector_types",
    "cl_qcom_reqd_sub_group_size",
    "cl_qcom_subgroup_constant_load",
    "cl_qcom_subgroup_shuffle",
    "cl_qcom_subgroup_uniform_load",
];

impl Offered {
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    /// The options for it.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut extensions = "-cl-ext=-all".to_owned();
        for name in &self.names {
            let _ = write!(extensions, ",+{name}");
        }
        let version = format!("-D__OPENCL_VERSION__={}", self.version);
        vec![version.into(), "-Xclang".into(), extensions.into()]
    }
}

/// What follows `extensions.h`: the macros of what a device does not offer are removed, and those of what it offers and
/// clang does not know are defined.
pub(super) fn text(offered: Option<&Offered>) -> String {
    let Some(offered) = offered else { return String::new() };
    let mut text = String::new();
    for name in NAMES.iter().filter(|name| !offered.has(name)) {
        let _ = writeln!(text, "#undef {name}");
    }
    // Macros of features are clang's: they are defined for the versions of OpenCL C that have features.
    for name in offered.names.iter().filter(|name| name.starts_with("cl_")) {
        let _ = writeln!(text, "#ifndef {name}\n#define {name} 1\n#endif");
    }
    text
}
