//! A device: a GPU that is not there.

use std::sync::{Arc, Mutex};

use opencl_sys as cl;
use tripipe_device::{Gpu, OpenCl, Probe};
use tripipe_launch::locks::lock;
use tripipe_timing::{VirtualGpu, VirtualOptions, errors};

use super::failure::{Failure, Outcome};
use super::handle::{Handle, api_object};
use super::settings::Settings;
use super::timeline::Timeline;

/// A device.
pub struct Device {
    handle: Handle,
    /// Its number on the platform.
    pub index: usize,
    /// The GPU.
    pub gpu: &'static Gpu,
    /// The limits that it reports.
    pub probe: Probe,
    /// What it offers to programs.
    pub opencl: OpenCl,
    /// When its commands run.
    pub timeline: Timeline,
    /// Bytes of memory objects in all contexts.
    allocated: Mutex<u64>,
}

api_object!(Device, cl::CL_INVALID_DEVICE, "device");

impl Device {
    /// The virtual GPU of a model.
    pub fn new(index: usize, gpu: &'static Gpu) -> Self {
        let mut probe =
            tripipe_launch::Executor::probe(&VirtualGpu::new(gpu, VirtualOptions::default())).clone();
        let opencl = Settings::current().assumed(gpu.opencl());
        probe.extensions.clone_from(&opencl.extensions);
        let (timeline, allocated) = (Timeline::default(), Mutex::default());
        Self { handle: Handle::default(), index, gpu, probe, opencl, timeline, allocated }
    }

    /// Takes memory for an object.
    ///
    /// # Errors
    /// There is not as much left.
    pub fn allocate(&self, bytes: u64) -> Outcome<()> {
        let (mut allocated, all) = (lock(&self.allocated), self.probe.global_memory_bytes);
        let left = all.saturating_sub(*allocated);
        if bytes > left {
            let name = self.gpu.name();
            let what = format!("{bytes} bytes are wanted, {left} of the {all} bytes of {name} are left");
            return Err(Failure::new(cl::CL_MEM_OBJECT_ALLOCATION_FAILURE, what));
        }
        *allocated += bytes;
        Ok(())
    }

    /// Gives back memory of an object.
    pub fn release(&self, bytes: u64) {
        *lock(&self.allocated) -= bytes;
    }

    /// Whether its version of OpenCL is this one or a later one.
    pub fn is_at_least(&self, version: (u8, u8)) -> bool {
        self.opencl.version >= version
    }

    /// What programs for several devices see: what all of them offer.
    pub fn common_offer(devices: &[Arc<Self>]) -> Option<OpenCl> {
        OpenCl::common(devices.iter().map(|device| &device.opencl))
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
        self.probe.max_buffer_bytes
    }

    /// The alignment of sub-buffers in bytes.
    pub fn alignment(&self) -> usize {
        self.probe.base_alignment_bytes
    }

    /// The driver's version: that times are predicted, how wrong predictions for the GPU's family were
    /// (5th Gen: for Valhall), and the compiler of
    /// an Adreno.
    pub fn driver_version(&self) -> String {
        let band = errors::of(self.gpu).map_or_else(
            || "error not known".to_owned(),
            |table| {
                let [low, high] = table.band(1.0).map(|bound| ((bound - 1.0) * 100.0).round());
                format!("{low:+}%..{high:+}%")
            },
        );
        let compiler = self.opencl.compiler_text().map_or_else(String::new, |text| format!(" {text}"));
        format!("{} predicted ({band}){compiler}", env!("CARGO_PKG_VERSION"))
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
