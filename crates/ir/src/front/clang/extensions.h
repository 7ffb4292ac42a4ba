// What comes before every kernel, first part: the macros of what the drivers of phones offer beyond what clang declares. For a
// device, those of what it does not offer are removed afterwards (`offered.rs`), and `functions.h` declares the rest.

#ifndef __OPENCL_VERSION__
#define __OPENCL_VERSION__ 300
#endif

// Extensions of other kinds of devices: their functions are declared where they mean something here, but code that asks for them
// is to take the way that phones take.
#undef cl_amd_media_ops
#undef cl_amd_media_ops2
#undef cl_intel_device_side_avc_motion_estimation
#undef cl_intel_subgroups
#undef cl_intel_subgroups_short
#undef cl_khr_gl_msaa_sharing

// clang has the sub-group functions of OpenCL C 2.0 and later for any version, and the macros for those.
#if __OPENCL_C_VERSION__ < 200
#define cl_khr_subgroups 1
#define cl_khr_subgroup_extended_types 1
#define cl_khr_subgroup_non_uniform_vote 1
#define cl_khr_subgroup_ballot 1
#define cl_khr_subgroup_non_uniform_arithmetic 1
#define cl_khr_subgroup_shuffle 1
#define cl_khr_subgroup_shuffle_relative 1
#define cl_khr_subgroup_clustered_reduce 1
#define cl_khr_subgroup_rotate 1
#define cl_khr_extended_bit_ops 1
#define cl_khr_integer_dot_product 1
#define __opencl_c_integer_dot_product_input_4x8bit 1
#define __opencl_c_integer_dot_product_input_4x8bit_packed 1
#endif
#define cl_khr_image2d_from_buffer 1
#define cl_khr_il_program 1
#define cl_khr_spirv_no_integer_wrap_decoration 1

// Arm.
#define cl_arm_non_uniform_work_group_size 1
#define cl_arm_printf 1

// Qualcomm.
#define cl_qcom_dot_product8 1
#define cl_qcom_reqd_sub_group_size 1
#define cl_qcom_subgroup_shuffle 1
#define cl_qcom_subgroup_constant_load 1
#define cl_qcom_subgroup_uniform_load 1
#ifdef TRIPIPE_EXTRA_VECTOR_TYPES
#define cl_qcom_extra_vector_types 1
#endif
