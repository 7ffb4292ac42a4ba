//! The device that the simulator presents.

use tripipe_device::{DeviceKind, ImageLimits, Probe};

use super::options::Options;

/// Extensions that phones offer and that the front end supports.
const EXTENSIONS: [&str; 8] = [
    "cl_khr_fp16",
    "cl_khr_fp64",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_3d_image_writes",
    "cl_khr_byte_addressable_store",
    "cl_khr_subgroups",
    "cl_khr_integer_dot_product",
];

/// What the device reports about itself.
pub(super) fn probe(options: &Options) -> Probe {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let largest_group = options.gpu.map_or(4096, |gpu| gpu.core.max_work_group_size.value as usize);
    Probe {
        platform: "Tripipe".into(),
        name: options
            .gpu
            .map_or_else(|| "Tripipe simulator".into(), |gpu| format!("Tripipe simulator as {}", gpu.name())),
        vendor: "Tripipe".into(),
        version: "OpenCL 3.0 Tripipe".into(),
        driver: env!("CARGO_PKG_VERSION").into(),
        opencl_c: (3, 0),
        kind: DeviceKind::Other,
        unified_memory: true,
        extensions: EXTENSIONS.iter().map(|name| (*name).to_owned()).collect(),
        compute_units: cores as u32,
        address_bits: 64,
        max_work_group_size: largest_group,
        max_work_item_sizes: [largest_group; 3],
        local_memory_bytes: options.gpu.map_or(1 << 20, |gpu| gpu.local_memory.bytes.value),
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
