//! The devices of a machine as the result of the command.

use tripipe_device::{DeviceKind, ImageLimits};
use tripipe_results::{DeviceDescription, DeviceImages, DeviceModel, Devices, OpenClDevice};

use super::{Entry, OpenCl, features};

/// The devices, or why there is no OpenCL.
pub fn result(entries: &[Entry], no_opencl: Option<&str>) -> Devices {
    let devices = entries.iter().map(|Entry { choice, name, opencl }| DeviceDescription {
        device: choice.clone(),
        name: name.clone(),
        kind: opencl.as_ref().map_or("built-in CPU path", |opencl| kind(opencl.probe.kind)).to_owned(),
        opencl: opencl.as_ref().map(of_opencl),
    });
    Devices::Machine { devices: devices.collect(), no_opencl: no_opencl.map(str::to_owned) }
}

fn of_opencl(OpenCl { probe, identification }: &OpenCl) -> OpenClDevice {
    OpenClDevice {
        model: identification
            .model
            .map(|model| DeviceModel { name: model.name().to_owned(), id: model.id() }),
        certainty: identification.certainty.to_string(),
        why: identification.why.clone(),
        differences: identification.differences.clone(),
        platform: probe.platform.clone(),
        vendor: probe.vendor.clone(),
        version: probe.version.clone(),
        driver: probe.driver.clone(),
        opencl_c: format!("{}.{}", probe.opencl_c.0, probe.opencl_c.1),
        compute_units: probe.compute_units,
        clock_mhz: probe.clock_mhz,
        address_bits: probe.address_bits,
        max_work_group_size: probe.max_work_group_size,
        max_work_item_sizes: probe.max_work_item_sizes,
        global_memory_bytes: probe.global_memory_bytes,
        max_buffer_bytes: probe.max_buffer_bytes,
        max_constant_bytes: probe.max_constant_bytes,
        local_memory_bytes: probe.local_memory_bytes,
        local_memory_dedicated: probe.local_memory_dedicated,
        cache_bytes: probe.cache_bytes,
        cache_line_bytes: probe.cache_line_bytes,
        base_alignment_bytes: probe.base_alignment_bytes,
        images: probe.images.map(images),
        features: features(probe).into_iter().map(|(name, has)| (name.to_owned(), has)).collect(),
        extensions: probe.extensions.clone(),
    }
}

fn images(images: ImageLimits) -> DeviceImages {
    DeviceImages {
        max_2d: images.max_2d,
        max_1d_buffer: images.max_1d_buffer,
        from_buffer: images.from_buffer,
        pitch_alignment_texels: images.pitch_alignment,
        base_address_alignment_texels: images.base_address_alignment,
    }
}

pub(super) fn kind(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Gpu => "GPU",
        DeviceKind::Cpu => "CPU",
        DeviceKind::Accelerator => "accelerator",
        DeviceKind::Other => "other",
    }
}
