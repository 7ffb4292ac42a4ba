//! What one device offers, for texts that are built as its own driver builds them: programs see the macros of its
//! extensions and features and of no others, and functions and types of others are not declared.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;

use tripipe_device::OpenCl;
use tripipe_device::opencl::Version;

use super::BuildError;

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

/// The parts of what precedes every kernel: macros, and functions that depend on them.
pub(super) const MACROS: &str = include_str!("extensions.h");
pub(super) const FUNCTIONS: &str = include_str!("functions.h");

/// The options for a device.
pub(super) fn arguments(offered: &OpenCl) -> Vec<OsString> {
    let mut extensions = "-cl-ext=-all".to_owned();
    for name in offered.names() {
        let _ = write!(extensions, ",+{name}");
    }
    let (major, minor) = offered.version;
    let version = format!("-D__OPENCL_VERSION__={}", 100 * u32::from(major) + 10 * u32::from(minor));
    let mut arguments: Vec<OsString> =
        vec![version.into(), "-DTRIPIPE_DEVICE".into(), "-Xclang".into(), extensions.into()];
    // Here and not in the prelude, because the cache tells builds apart by their arguments.
    if offered.vector_broadcast && !offered.has("cl_khr_subgroup_extended_types") {
        arguments.push("-DTRIPIPE_VECTOR_BROADCAST".into());
    }
    arguments
}

/// What precedes every text. For a device, the macros of what it does not offer are removed, and those of what it offers
/// and clang does not know are defined; with clang's `header`, whose functions depend on these macros, the header follows.
pub(super) fn prelude(offered: Option<&OpenCl>, header: bool) -> String {
    let Some(offered) = offered else { return format!("{MACROS}{FUNCTIONS}") };
    let mut text = if header { "#include <opencl-c-base.h>\n".to_owned() } else { String::new() };
    text.push_str(MACROS);
    for name in NAMES.iter().filter(|name| !offered.has(name)) {
        let _ = writeln!(text, "#undef {name}");
    }
    // Macros of features are clang's: they are defined for the versions of OpenCL C that have features.
    for name in offered.names().filter(|name| name.starts_with("cl_")) {
        let _ = writeln!(text, "#ifndef {name}\n#define {name} 1\n#endif");
    }
    // clang's own macro for the functions of sub-groups.
    text.push_str("#undef __opencl_subgroup_builtins\n");
    if offered.has("cl_khr_subgroups") {
        text.push_str("#define __opencl_subgroup_builtins 1\n");
    }
    if header {
        text.push_str("#include <opencl-c.h>\n");
    }
    text.push_str(FUNCTIONS);
    text
}

/// Checks that a device's compiler takes the version of the language that the options ask for.
///
/// # Errors
/// It is newer than the device's newest, or C++ for OpenCL where the device has none.
pub(super) fn check_standard(offered: &OpenCl, options: &[String], name: &str) -> Result<(), BuildError> {
    let refused = |option: &str, what: &str, assumed: &str| BuildError::Compile {
        name: name.to_owned(),
        messages: format!("error: {option}: {}; {}", what, way_out(assumed)),
    };
    let said = options.iter().rev().find_map(|option| Some((option, option.strip_prefix("-cl-std=")?)));
    let Some((option, standard)) = said else { return Ok(()) };
    let standard = standard.to_ascii_uppercase();
    let device = &offered.device;
    if standard.starts_with("CLC++") {
        let cpp = "cl_ext_cxx_for_opencl";
        let lacks = format!("C++ for OpenCL needs {cpp}, which {device} does not offer");
        return if offered.has(cpp) { Ok(()) } else { Err(refused(option, &lacks, cpp)) };
    }
    let wanted = standard.strip_prefix("CL").and_then(|number| {
        let (major, minor) = number.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    match wanted {
        Some(wanted) if wanted > (1, 2) && !offered.c_versions.contains(&wanted) => {
            let lacks = format!("{device} offers OpenCL C {}", Version(offered.newest_c()));
            Err(refused(option, &lacks, &standard))
        }
        // Whatever else it is, clang says.
        _ => Ok(()),
    }
}

fn way_out(assumed: &str) -> String {
    format!("--assume {assumed} (the driver: TRIPIPE_ASSUME={assumed}) builds as if it did")
}

/// A compiler's messages, preceded by what the device lacks for what the compiler does not know.
pub(super) fn explained(offered: &OpenCl, messages: &str) -> String {
    const UNKNOWN: [(&str, char); 4] = [
        ("use of undeclared identifier '", '\''),
        ("implicit declaration of function '", '\''),
        ("unknown type name '", '\''),
        ("use of type '", '\''),
    ];
    let errors = messages.lines().filter(|line| line.contains("error: "));
    let unknown: BTreeSet<&str> = errors
        .filter_map(|line| {
            UNKNOWN
                .iter()
                .find_map(|(words, end)| line.split_once(words)?.1.split_once(*end))
                .map(|found| found.0)
        })
        .collect();
    let mut text = String::new();
    for name in unknown {
        if let Some((what, sentence)) = offered.missing(name) {
            let way_out = if what.is_empty() { String::new() } else { format!("; {}", way_out(&what)) };
            let _ = writeln!(text, "error: {sentence}{way_out}");
        }
    }
    text + messages
}
