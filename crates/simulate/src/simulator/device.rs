//! The device that the simulator presents.

use tripipe_device::{DeviceKind, ImageLimits, Probe, opencl};

use super::options::Options;

/// What the device reports about itself: that of a GPU, or a device that offers what no vendor alone does.
pub(super) fn probe(options: &Options) -> Probe {
    if let Some(gpu) = options.gpu {
        return Probe {
            platform: "Tripipe".into(),
            name: format!("Tripipe simulator as {}", gpu.name()),
            driver: env!("CARGO_PKG_VERSION").into(),
            global_memory_bytes: options.memory_bytes,
            max_buffer_bytes: options.memory_bytes,
            ..gpu.expected_probe()
        };
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let largest_group = 4096;
    Probe {
        platform: "Tripipe".into(),
        name: "Tripipe simulator".into(),
        vendor: "Tripipe".into(),
        version: "OpenCL 3.0 Tripipe".into(),
        driver: env!("CARGO_PKG_VERSION").into(),
        opencl_c: (3, 0),
        kind: DeviceKind::Other,
        unified_memory: true,
        extensions: opencl::common_extensions().map(str::to_owned).collect(),
        compute_units: cores as u32,
        address_bits: 64,
        max_work_group_size: largest_group,
        max_work_item_sizes: [largest_group; 3],
        local_memory_bytes: 1 << 20,
        global_memory_bytes: options.memory_bytes,
        max_buffer_bytes: options.memory_bytes,
        max_constant_bytes: options.memory_bytes,
        base_alignment_bytes: 128,
        images: Some(ImageLimits {
            max_2d: [32768; 2],
            max_3d: [16384; 3],
            max_layers: 16384,
            max_1d_buffer: 1 << 30,
            from_buffer: true,
            pitch_alignment: 1,
            base_address_alignment: 1,
        }),
        non_uniform_work_groups: true,
        preferred_vector_width: [1; 7],
        ..Probe::default()
    }
}
