//! A device: a GPU that is not there.

use std::sync::{Arc, LazyLock};

use opencl_sys as cl;
use opencl_sys::cl_int;
use serde::Deserialize;
use tripipe_device::{Gpu, Probe, Vendor};
use tripipe_ir::front::clang::Offered;
use tripipe_timing::{VirtualGpu, VirtualOptions, errors};

use super::handle::{ApiObject, Handle};

/// `data/report.toml`.
#[derive(Debug, Deserialize)]
pub(super) struct Data {
    pub(super) limits: Limits,
    pub(super) allocation: Allocation,
    pub(super) alignment: Alignment,
    map: Maps,
    arm: VendorData,
    qualcomm: VendorData,
    every: Every,
}

/// Limits of the API.
#[derive(Debug, Deserialize)]
pub(super) struct Limits {
    pub(super) parameter_bytes: usize,
    pub(super) read_image_arguments: u32,
    pub(super) write_image_arguments: u32,
    pub(super) read_write_image_arguments: u32,
    pub(super) samplers: u32,
    pub(super) constant_arguments: u32,
    pub(super) constant_bytes: u64,
    pub(super) printf_bytes: usize,
    pub(super) global_variable_bytes: usize,
}

/// The largest buffer.
#[derive(Debug, Deserialize)]
pub(super) struct Allocation {
    pub(super) divisor: u64,
}

/// The alignment of sub-buffers.
#[derive(Debug, Deserialize)]
pub(super) struct Alignment {
    pub(super) bits: u32,
}

/// The cost of maps, by vendor.
#[derive(Debug, Deserialize)]
struct Maps {
    arm: MapData,
    qualcomm: MapData,
}

/// The cost of a map or unmap.
#[derive(Debug, Deserialize)]
pub(super) struct MapData {
    /// Bandwidth of the maintenance of caches as a share of the memory's; without it there is none.
    pub(super) maintenance_share: Option<f64>,
}

/// What a vendor's drivers report.
#[derive(Debug, Deserialize)]
pub(super) struct VendorData {
    pub(super) vendor: String,
    pub(super) vendor_id: u32,
    extensions: Vec<String>,
    pub(super) version_suffix: String,
}

#[derive(Debug, Deserialize)]
struct Every {
    extensions: Vec<String>,
}

#[allow(clippy::panic, reason = "embedded data: a test reads it and fails if it is malformed")]
static DATA: LazyLock<Data> = LazyLock::new(|| {
    toml::from_str(include_str!("../../data/report.toml"))
        .unwrap_or_else(|error| panic!("report.toml: {error}"))
});

/// A device.
pub struct Device {
    handle: Handle,
    /// Its number on the platform.
    pub index: usize,
    /// The GPU.
    pub gpu: &'static Gpu,
    /// The limits that it reports.
    pub probe: Probe,
    /// Its extensions.
    pub extensions: Vec<String>,
}

impl ApiObject for Device {
    const INVALID: cl_int = cl::CL_INVALID_DEVICE;
    const NAME: &'static str = "device";

    fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Device {
    /// The virtual GPU of a model.
    pub fn new(index: usize, gpu: &'static Gpu) -> Self {
        let probe = tripipe_launch::Executor::probe(&VirtualGpu::new(gpu, VirtualOptions::default())).clone();
        let mut device = Self { handle: Handle::default(), index, gpu, probe, extensions: Vec::new() };
        let mut extensions = DATA.every.extensions.clone();
        extensions.extend(device.vendor().extensions.iter().cloned());
        extensions.extend(device.probe.extensions.iter().cloned());
        if device.is_opencl_3() {
            extensions.push("cl_khr_subgroups".into());
        }
        device.extensions = extensions;
        device
    }

    /// The constants of `data/report.toml`.
    pub(super) fn data() -> &'static Data {
        &DATA
    }

    pub(super) fn map_data(&self) -> &'static MapData {
        match self.gpu.vendor() {
            Vendor::Arm => &DATA.map.arm,
            Vendor::Qualcomm => &DATA.map.qualcomm,
        }
    }

    pub(super) fn vendor(&self) -> &'static VendorData {
        match self.gpu.vendor() {
            Vendor::Arm => &DATA.arm,
            Vendor::Qualcomm => &DATA.qualcomm,
        }
    }

    /// Whether it reports OpenCL 3.0; otherwise OpenCL 1.2, as Midgard's drivers do.
    pub fn is_opencl_3(&self) -> bool {
        self.probe.non_uniform_work_groups
    }

    /// What programs for several devices see: what all of them offer.
    pub fn common_offer(devices: &[Arc<Self>]) -> Offered {
        let names = |device: &Self| -> Vec<String> {
            let features = device.features_of_c().map(str::to_owned);
            device.extensions.iter().cloned().chain(features).collect()
        };
        let version = if devices.iter().all(|device| device.is_opencl_3()) { 300 } else { 120 };
        let mut all = devices.iter().map(|device| names(device));
        let first = all.next().unwrap_or_default();
        let names =
            all.fold(first, |common, own| common.into_iter().filter(|name| own.contains(name)).collect());
        Offered { names, version }
    }

    /// Whether it has `double`.
    pub fn has_double(&self) -> bool {
        self.probe.fp64()
    }

    /// Whether it has `half`.
    pub fn has_half(&self) -> bool {
        self.probe.fp16()
    }

    /// The largest buffer in bytes.
    pub fn largest_buffer(&self) -> u64 {
        self.probe.global_memory_bytes / DATA.allocation.divisor
    }

    /// The alignment of sub-buffers in bytes.
    pub fn alignment(&self) -> usize {
        DATA.alignment.bits as usize / 8
    }

    /// The driver's version: that times are predicted, and how wrong predictions for the GPU's family were.
    pub fn driver_version(&self) -> String {
        let table = errors::of(self.gpu);
        let [low, high] = table.band(1.0).map(|bound| ((bound - 1.0) * 100.0).round());
        format!("{} predicted ({low:+}%..{high:+}%)", env!("CARGO_PKG_VERSION"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_is_a_device() {
        for gpu in tripipe_device::catalog() {
            let device = Device::new(0, gpu);
            assert!(device.driver_version().contains("predicted"), "{}", gpu.name());
            assert!(
                device.probe.max_work_group_size > 0 && device.largest_buffer() >= 128 << 20,
                "{}",
                gpu.name()
            );
        }
    }
}
