//! `clGetDeviceInfo`.

use opencl_sys as cl;
use opencl_sys::cl_device_info;
use tripipe_device::{Vendor, opencl};

use super::device::Device;
use super::failure::{Failure, Outcome};
use super::handle::ApiObject;
use super::info::{self, Answer};
use super::platform::Platform;

const CL_DEVICE_SINGLE_FP: u64 = cl::CL_FP_DENORM
    | cl::CL_FP_INF_NAN
    | cl::CL_FP_ROUND_TO_NEAREST
    | cl::CL_FP_ROUND_TO_ZERO
    | cl::CL_FP_ROUND_TO_INF;

/// The SPIR-V versions that programs may have.
const ILS: [(&str, u32); 3] = [
    ("SPIR-V", cl::make_version(1, 0, 0)),
    ("SPIR-V", cl::make_version(1, 1, 0)),
    ("SPIR-V", cl::make_version(1, 2, 0)),
];

impl Device {
    /// Answers `clGetDeviceInfo`.
    ///
    /// # Errors
    /// There is no such query.
    pub fn info(&self, query: cl_device_info) -> Outcome<Answer> {
        self.identity(query)
            .or_else(|| self.sizes(query))
            .or_else(|| self.memory(query))
            .or_else(|| self.images(query))
            .or_else(|| self.arithmetic(query))
            .or_else(|| self.features(query))
            .ok_or_else(|| {
                Failure::new(cl::CL_INVALID_VALUE, format!("{query:#x} is not a query of devices"))
            })
    }

    /// Names, versions, kinds.
    fn identity(&self, query: cl_device_info) -> Option<Answer> {
        let (opencl, vendor) = (&self.opencl, opencl::vendor_names(self.gpu.vendor()));
        let number = |(major, minor): (u8, u8)| cl::make_version(major.into(), minor.into(), 0);
        Some(match query {
            cl::CL_DEVICE_TYPE => info::number(cl::CL_DEVICE_TYPE_GPU),
            cl::CL_DEVICE_VENDOR_ID => info::number(vendor.id),
            cl::CL_DEVICE_NAME => info::text(&match self.gpu.vendor() {
                Vendor::Arm => self.gpu.name().to_owned(),
                Vendor::Qualcomm => format!("QUALCOMM {}", self.gpu.name().replace("Adreno", "Adreno(TM)")),
            }),
            cl::CL_DEVICE_VENDOR => info::text(&vendor.name),
            cl::CL_DRIVER_VERSION => info::text(&self.driver_version()),
            cl::CL_DEVICE_PROFILE => info::text("FULL_PROFILE"),
            cl::CL_DEVICE_VERSION => info::text(&self.probe.version),
            cl::CL_DEVICE_NUMERIC_VERSION => info::number(number(opencl.version)),
            cl::CL_DEVICE_OPENCL_C_VERSION => {
                info::text(&format!("OpenCL C {}", opencl.version_text(opencl.newest_c())))
            }
            cl::CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR if opencl.has("cl_khr_extended_versioning") => {
                info::number(number(opencl.newest_c()))
            }
            cl::CL_DEVICE_OPENCL_C_ALL_VERSIONS => {
                info::names_with_versions(opencl.c_versions.iter().map(|own| ("OpenCL C", number(*own))))
            }
            cl::CL_DEVICE_EXTENSIONS => info::text(&opencl.extensions.join(" ")),
            cl::CL_DEVICE_EXTENSIONS_WITH_VERSION => {
                let version = |name: &str| cl::make_version(opencl::extension_version(name), 0, 0);
                let names = opencl.extensions.iter().map(String::as_str);
                info::names_with_versions(names.map(|name| (name, version(name))))
            }
            cl::CL_DEVICE_PLATFORM => info::pointer(Platform::get().handle().pointer()),
            cl::CL_DEVICE_REFERENCE_COUNT => info::number(1u32),
            cl::CL_DEVICE_IL_VERSION => {
                info::text(if self.takes_modules() { "SPIR-V_1.0 SPIR-V_1.1 SPIR-V_1.2" } else { "" })
            }
            cl::CL_DEVICE_ILS_WITH_VERSION => {
                info::names_with_versions(ILS.into_iter().filter(|_| self.takes_modules()))
            }
            cl::CL_DEVICE_CXX_FOR_OPENCL_NUMERIC_VERSION_EXT if opencl.has("cl_ext_cxx_for_opencl") => {
                info::number(cl::make_version(1, 0, 0))
            }
            cl::CL_DEVICE_BUILT_IN_KERNELS => info::text(""),
            // None was passed; the form is a date nevertheless.
            cl::CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED => info::text("v0000-01-01-00"),
            cl::CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION => Vec::new(),
            _ => return None,
        })
    }

    /// Compute units, work-groups, sub-groups.
    fn sizes(&self, query: cl_device_info) -> Option<Answer> {
        let (probe, limits) = (&self.probe, opencl::limits());
        let warp = self.gpu.core.warp_width.value.max(1);
        Some(match query {
            cl::CL_DEVICE_MAX_COMPUTE_UNITS => info::number(probe.compute_units),
            cl::CL_DEVICE_MAX_CLOCK_FREQUENCY => info::number(probe.clock_mhz),
            cl::CL_DEVICE_ADDRESS_BITS => info::number(probe.address_bits),
            cl::CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS => info::number(3u32),
            cl::CL_DEVICE_MAX_WORK_ITEM_SIZES => info::list(&probe.max_work_item_sizes),
            cl::CL_DEVICE_MAX_WORK_GROUP_SIZE => info::number(probe.max_work_group_size),
            cl::CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => {
                info::number(self.gpu.core.preferred_work_group_multiple.value as usize)
            }
            cl::CL_DEVICE_MAX_NUM_SUB_GROUPS => {
                let most =
                    if self.has_sub_groups() { probe.max_work_group_size.div_ceil(warp as usize) } else { 0 };
                info::number(most as u32)
            }
            cl::CL_DEVICE_MAX_PARAMETER_SIZE => info::number(limits.parameter_bytes),
            cl::CL_DEVICE_PRINTF_BUFFER_SIZE => info::number(limits.printf_bytes),
            cl::CL_DEVICE_PARENT_DEVICE => info::number(0usize),
            cl::CL_DEVICE_PARTITION_MAX_SUB_DEVICES => info::number(0u32),
            cl::CL_DEVICE_PARTITION_PROPERTIES | cl::CL_DEVICE_PARTITION_TYPE => info::number(0isize),
            cl::CL_DEVICE_PARTITION_AFFINITY_DOMAIN => info::number(0u64),
            cl::CL_DEVICE_PROFILING_TIMER_RESOLUTION => info::number(1usize),
            _ => return None,
        })
    }

    /// Sizes and kinds of memory.
    fn memory(&self, query: cl_device_info) -> Option<Answer> {
        let (probe, limits) = (&self.probe, opencl::limits());
        Some(match query {
            cl::CL_DEVICE_MAX_MEM_ALLOC_SIZE => info::number(self.largest_buffer()),
            cl::CL_DEVICE_GLOBAL_MEM_SIZE => info::number(probe.global_memory_bytes),
            cl::CL_DEVICE_GLOBAL_MEM_CACHE_TYPE => info::number(cl::CL_READ_WRITE_CACHE),
            cl::CL_DEVICE_GLOBAL_MEM_CACHE_SIZE => info::number(probe.cache_bytes),
            cl::CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE => info::number(probe.cache_line_bytes),
            cl::CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE => info::number(probe.max_constant_bytes),
            cl::CL_DEVICE_MAX_CONSTANT_ARGS => info::number(limits.constant_arguments),
            cl::CL_DEVICE_LOCAL_MEM_TYPE => {
                info::number(if probe.local_memory_dedicated { cl::CL_LOCAL } else { cl::CL_GLOBAL })
            }
            cl::CL_DEVICE_LOCAL_MEM_SIZE => info::number(probe.local_memory_bytes),
            cl::CL_DEVICE_MEM_BASE_ADDR_ALIGN => info::number(8 * probe.base_alignment_bytes as u32),
            cl::CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE => info::number(probe.base_alignment_bytes as u32),
            cl::CL_DEVICE_ERROR_CORRECTION_SUPPORT => info::boolean(false),
            cl::CL_DEVICE_HOST_UNIFIED_MEMORY => info::boolean(true),
            cl::CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE | cl::CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE => {
                info::number(if self.opencl.has(VARIABLES) { limits.global_variable_bytes } else { 0 })
            }
            cl::CL_DEVICE_SVM_CAPABILITIES => {
                let kinds = [
                    (probe.svm.coarse_buffer, cl::CL_DEVICE_SVM_COARSE_GRAIN_BUFFER),
                    (probe.svm.fine_buffer, cl::CL_DEVICE_SVM_FINE_GRAIN_BUFFER),
                ];
                info::number(kinds.iter().filter(|kind| kind.0).fold(0, |all, kind| all | kind.1))
            }
            cl::CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT
            | cl::CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT
            | cl::CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT => info::number(0u32),
            _ => return None,
        })
    }

    /// Limits of images and samplers.
    fn images(&self, query: cl_device_info) -> Option<Answer> {
        let data = opencl::limits();
        let images = self.probe.images.unwrap_or_default();
        let [wide, high] = images.max_2d;
        let [width, height, depth] = images.max_3d;
        Some(match query {
            cl::CL_DEVICE_IMAGE_SUPPORT => info::boolean(self.probe.images.is_some()),
            cl::CL_DEVICE_MAX_READ_IMAGE_ARGS => info::number(data.read_image_arguments),
            cl::CL_DEVICE_MAX_WRITE_IMAGE_ARGS => info::number(data.write_image_arguments),
            cl::CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS => {
                info::number(if self.opencl.has("__opencl_c_read_write_images") {
                    data.read_write_image_arguments
                } else {
                    0
                })
            }
            cl::CL_DEVICE_IMAGE2D_MAX_WIDTH => info::number(wide),
            cl::CL_DEVICE_IMAGE2D_MAX_HEIGHT => info::number(high),
            cl::CL_DEVICE_IMAGE3D_MAX_WIDTH => info::number(width),
            cl::CL_DEVICE_IMAGE3D_MAX_HEIGHT => info::number(height),
            cl::CL_DEVICE_IMAGE3D_MAX_DEPTH => info::number(depth),
            cl::CL_DEVICE_IMAGE_MAX_BUFFER_SIZE => info::number(images.max_1d_buffer),
            cl::CL_DEVICE_IMAGE_MAX_ARRAY_SIZE => info::number(images.max_layers),
            cl::CL_DEVICE_IMAGE_PITCH_ALIGNMENT => info::number(images.pitch_alignment),
            cl::CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT => info::number(images.base_address_alignment),
            cl::CL_DEVICE_MAX_SAMPLERS => info::number(data.samplers),
            _ => return None,
        })
    }

    /// Vector widths and properties of floating-point numbers.
    fn arithmetic(&self, query: cl_device_info) -> Option<Answer> {
        let [char, short, int, long, float, double_width, half_width] = self.probe.preferred_vector_width;
        let (half, double) = (self.has_half(), self.has_double());
        let fused = if self.gpu.supports.fused_multiply_add.value { cl::CL_FP_FMA } else { 0 };
        Some(match query {
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR | cl::CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR => {
                info::number(char)
            }
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT | cl::CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT => {
                info::number(short)
            }
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT | cl::CL_DEVICE_NATIVE_VECTOR_WIDTH_INT => {
                info::number(int)
            }
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG | cl::CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG => {
                info::number(long)
            }
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT | cl::CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT => {
                info::number(float)
            }
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE | cl::CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE => {
                info::number(if double { double_width.max(1) } else { 0 })
            }
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF | cl::CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF => {
                info::number(if half { half_width.max(1) } else { 0 })
            }
            cl::CL_DEVICE_SINGLE_FP_CONFIG => info::number(CL_DEVICE_SINGLE_FP | fused),
            cl::CL_DEVICE_HALF_FP_CONFIG => info::number(if half { CL_DEVICE_SINGLE_FP | fused } else { 0 }),
            cl::CL_DEVICE_DOUBLE_FP_CONFIG => {
                info::number(if double { CL_DEVICE_SINGLE_FP | cl::CL_FP_FMA } else { 0 })
            }
            cl::CL_DEVICE_ENDIAN_LITTLE => info::boolean(cfg!(target_endian = "little")),
            _ => return None,
        })
    }

    /// Whether it has sub-groups.
    pub(super) fn has_sub_groups(&self) -> bool {
        self.opencl.has("cl_khr_subgroups")
    }

    /// Whether it takes programs as modules.
    fn takes_modules(&self) -> bool {
        self.opencl.has("cl_khr_il_program")
    }

    /// What is offered.
    fn features(&self, query: cl_device_info) -> Option<Answer> {
        let atomics = cl::CL_DEVICE_ATOMIC_ORDER_RELAXED
            | cl::CL_DEVICE_ATOMIC_ORDER_ACQ_REL
            | cl::CL_DEVICE_ATOMIC_ORDER_SEQ_CST
            | cl::CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP
            | cl::CL_DEVICE_ATOMIC_SCOPE_DEVICE;
        Some(match query {
            cl::CL_DEVICE_AVAILABLE | cl::CL_DEVICE_COMPILER_AVAILABLE | cl::CL_DEVICE_LINKER_AVAILABLE => {
                info::boolean(true)
            }
            cl::CL_DEVICE_EXECUTION_CAPABILITIES => info::number(cl::CL_EXEC_KERNEL),
            cl::CL_DEVICE_QUEUE_ON_HOST_PROPERTIES => {
                info::number(cl::CL_QUEUE_PROFILING_ENABLE | cl::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
            }
            cl::CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES | cl::CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES => {
                info::number(0u64)
            }
            cl::CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE
            | cl::CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE
            | cl::CL_DEVICE_MAX_ON_DEVICE_QUEUES
            | cl::CL_DEVICE_MAX_ON_DEVICE_EVENTS
            | cl::CL_DEVICE_MAX_PIPE_ARGS
            | cl::CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS
            | cl::CL_DEVICE_PIPE_MAX_PACKET_SIZE => info::number(0u32),
            cl::CL_DEVICE_PREFERRED_INTEROP_USER_SYNC => info::boolean(true),
            // The extension demands it.
            cl::CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS => info::boolean(self.has_sub_groups()),
            cl::CL_DEVICE_PIPE_SUPPORT => info::boolean(false),
            cl::CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES => info::number(atomics),
            cl::CL_DEVICE_ATOMIC_FENCE_CAPABILITIES => {
                info::number(atomics | cl::CL_DEVICE_ATOMIC_SCOPE_WORK_ITEM)
            }
            cl::CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT => info::boolean(self.probe.non_uniform_work_groups),
            cl::CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT => {
                info::boolean(self.opencl.has("__opencl_c_work_group_collective_functions"))
            }
            cl::CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT => {
                info::boolean(self.opencl.has("__opencl_c_generic_address_space"))
            }
            cl::CL_DEVICE_OPENCL_C_FEATURES => {
                let version = cl::make_version(3, 0, 0);
                info::names_with_versions(self.opencl.features.iter().map(|name| (name.as_str(), version)))
            }
            _ if self.opencl.has("cl_khr_integer_dot_product") => return self.dot_products(query),
            _ => return None,
        })
    }
}

impl Device {
    /// `cl_khr_integer_dot_product`: the forms, and what has instructions.
    fn dot_products(&self, query: cl_device_info) -> Option<Answer> {
        let has = |name: &str| self.opencl.has(name);
        let dot = self.gpu.operations_per_clock_per_core.int8_dot_mac.value > 0;
        let saturating = dot && has("cl_arm_integer_dot_product_accumulate_saturate_int8");
        // Qualcomm's instruction has signed and unsigned factors.
        let mixed = dot && has("cl_qcom_dot_product8");
        Some(match query {
            cl::CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES => {
                let packed = cl::CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED;
                let vectors = has("__opencl_c_integer_dot_product_input_4x8bit");
                info::number(
                    packed | if vectors { cl::CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT } else { 0 },
                )
            }
            cl::CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT
            | cl::CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED => {
                // Signed, unsigned and mixed; with an accumulator that saturates, the same.
                info::list(&[dot, dot, mixed, saturating, saturating, false].map(u32::from))
            }
            _ => return None,
        })
    }
}

/// The feature of variables of a program.
const VARIABLES: &str = "__opencl_c_program_scope_global_variables";
