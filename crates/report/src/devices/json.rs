//! The devices of a machine as JSON.

use serde_json::{Value, json};
use tripipe_device::{DeviceKind, Probe};

use super::{Entry, OpenCl, features};

/// One JSON array with an object for each device. Sizes are in bytes; a limit of 0 was not reported.
pub fn json(entries: &[Entry], no_opencl: Option<&str>) -> String {
    let devices: Vec<Value> = entries.iter().map(device).collect();
    json!({ "command": "devices", "devices": devices, "no_opencl": no_opencl }).to_string()
}

fn device(entry: &Entry) -> Value {
    let Entry { choice, name, opencl } = entry;
    let Some(OpenCl { probe, identification }) = opencl else {
        return json!({ "device": choice, "name": name, "kind": "built-in CPU path" });
    };
    json!({
        "device": choice,
        "name": name,
        "kind": kind(probe.kind),
        "model": identification.model.map(|model| json!({
            "name": model.name(),
            "id": model.id(),
        })),
        "certainty": identification.certainty.to_string(),
        "why": identification.why,
        "differences": identification.differences,
        "platform": probe.platform,
        "vendor": probe.vendor,
        "version": probe.version,
        "driver": probe.driver,
        "opencl_c": format!("{}.{}", probe.opencl_c.0, probe.opencl_c.1),
        "compute_units": probe.compute_units,
        "clock_mhz": probe.clock_mhz,
        "address_bits": probe.address_bits,
        "max_work_group_size": probe.max_work_group_size,
        "max_work_item_sizes": probe.max_work_item_sizes,
        "global_memory_bytes": probe.global_memory_bytes,
        "max_buffer_bytes": probe.max_buffer_bytes,
        "max_constant_bytes": probe.max_constant_bytes,
        "local_memory_bytes": probe.local_memory_bytes,
        "local_memory_dedicated": probe.local_memory_dedicated,
        "cache_bytes": probe.cache_bytes,
        "cache_line_bytes": probe.cache_line_bytes,
        "base_alignment_bytes": probe.base_alignment_bytes,
        "images": images(probe),
        "features": features(probe).into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "extensions": probe.extensions,
    })
}

fn images(probe: &Probe) -> Value {
    probe.images.map_or(Value::Null, |images| {
        json!({
            "max_2d": images.max_2d,
            "max_1d_buffer": images.max_1d_buffer,
            "from_buffer": images.from_buffer,
            "pitch_alignment_texels": images.pitch_alignment,
            "base_address_alignment_texels": images.base_address_alignment,
        })
    })
}

pub(super) fn kind(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Gpu => "GPU",
        DeviceKind::Cpu => "CPU",
        DeviceKind::Accelerator => "accelerator",
        DeviceKind::Other => "other",
    }
}
