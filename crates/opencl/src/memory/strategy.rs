//! How contents are transferred between host and device.

use tripipe_device::Probe;

/// How contents are transferred between host and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Host-visible allocation, mapped and unmapped: for memory shared with the host.
    Map,
    /// Device allocation, explicit reads and writes: for discrete GPUs.
    Copy,
}

impl Strategy {
    /// The strategy that suits the device: [`Self::Map`] if it has [`Probe::unified_memory`].
    pub fn for_device(probe: &Probe) -> Self {
        if probe.unified_memory { Self::Map } else { Self::Copy }
    }
}
