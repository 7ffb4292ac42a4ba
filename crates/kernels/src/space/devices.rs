//! The devices that a set of parameters is for.

use serde::Deserialize;
use tripipe_device::{DeviceKind, Probe, Vendor, identify};

/// The devices that a set is for.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Devices {
    Any,
    Cpu,
    /// All that are not CPUs.
    Gpu,
    /// Those of `Gpu` whose local memory is not ordinary memory behind the same cache.
    GpuWithLocalMemory,
}

impl Devices {
    /// Whether a device is one of them.
    pub(crate) fn includes(self, probe: &Probe) -> bool {
        let is_cpu = probe.kind == DeviceKind::Cpu;
        match self {
            Self::Any => true,
            Self::Cpu => is_cpu,
            Self::Gpu => !is_cpu,
            Self::GpuWithLocalMemory => {
                let is_arm = identify(probe).vendor == Some(Vendor::Arm);
                !is_cpu && (probe.local_memory_dedicated || !is_arm)
            }
        }
    }
}
