//! A phone's GPU, for planning launches.

use tripipe_device::{DeviceKind, ImageLimits, Probe};

/// The probe of a Mali-G610 as its driver reports it, for plans that need checks but cannot run on any available device
/// (half precision, Arm's extensions).
pub fn mali_g610() -> Probe {
    Probe {
        platform: "ARM Platform".to_owned(),
        name: "Mali-G610 r0p0".to_owned(),
        vendor: "ARM".to_owned(),
        version: "OpenCL 3.0 v1.g6p0-01eac0".to_owned(),
        driver: "3.0".to_owned(),
        opencl_c: (3, 0),
        kind: DeviceKind::Gpu,
        unified_memory: true,
        extensions: [
            "cl_khr_fp16",
            "cl_khr_image2d_from_buffer",
            "cl_khr_3d_image_writes",
            "cl_arm_non_uniform_work_group_size",
            "cl_arm_integer_dot_product_int8",
        ]
        .map(str::to_owned)
        .to_vec(),
        compute_units: 4,
        clock_mhz: 1000,
        address_bits: 64,
        max_work_group_size: 1024,
        max_work_item_sizes: [1024; 3],
        local_memory_bytes: 32 << 10,
        global_memory_bytes: 8 << 30,
        max_buffer_bytes: 8 << 30,
        max_constant_bytes: 8 << 30,
        cache_bytes: 1 << 20,
        cache_line_bytes: 64,
        base_alignment_bytes: 128,
        images: Some(ImageLimits {
            max_2d: [65536; 2],
            max_3d: [65536; 3],
            max_layers: 2048,
            max_1d_buffer: 1 << 27,
            from_buffer: true,
            pitch_alignment: 64,
            base_address_alignment: 64,
        }),
        ..Probe::default()
    }
}
