//! The sizes of a GPU's cores that a launch is played on.

use tripipe_device::{Gpu, LocalPlacement, Vendor};

use crate::cache::LINE_BYTES;

/// Sizes of the GPU that is played.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) cores: usize,
    /// Engines of a core, each with warps of its own. Arithmetic pipes of Midgard are not: any thread uses any.
    pub(crate) engines: usize,
    /// Arithmetic words of a core at a time.
    pub(crate) shared_pipes: f64,
    /// Whether a warp of a work-group without barriers starts as soon as another warp ends. On Adreno, whole work-groups do:
    /// `ArchProbe`'s bandwidth in groups of 1024 on an Adreno 640 comes out only so.
    pub(crate) warps_singly: bool,
    /// Work-items that start and end together: a warp, or half a double wave.
    pub(crate) warp: u32,
    /// Work-items resident on a core.
    pub(crate) threads: u32,
    /// Work-items for which threads are allocated together: a warp, or a double wave.
    pub(crate) allocated: u32,
    /// Bytes of local memory of a core, and of a work-group.
    pub(crate) local_bytes: u64,
    pub(crate) group_local_bytes: u64,
    pub(crate) local_dedicated: bool,
    /// Lines of private memory of a warp.
    pub(crate) private_lines: u64,
    /// Load/store messages or lines per clock.
    pub(crate) lines_per_clock: f64,
    /// Texels per clock.
    pub(crate) texels_per_clock: f64,
    pub(crate) atomics_per_clock: f64,
}

impl Shape {
    pub(crate) fn new(
        gpu: &Gpu,
        wave: u32,
        threads: u32,
        group_local_bytes: u64,
        private_bytes: u64,
    ) -> Self {
        let pipes = gpu.core.arithmetic_pipes.value.max(1);
        let midgard = gpu.core.warp_width.value == 1;
        // Midgard has no warps: a thread issues to any of its core's pipes, so that these count as one engine.
        let texture = &gpu.texture;
        Self {
            cores: gpu.configuration.cores.value.max(1) as usize,
            engines: if midgard { 1 } else { pipes as usize },
            shared_pipes: if midgard { f64::from(pipes) } else { 1.0 },
            warps_singly: gpu.family().vendor() == Vendor::Arm,
            warp: gpu.core.warp_width.value.clamp(1, 64),
            threads,
            allocated: wave,
            local_bytes: gpu.local_memory.bytes.value,
            group_local_bytes,
            private_lines: (private_bytes * u64::from(gpu.core.warp_width.value.clamp(1, 64)))
                .div_ceil(LINE_BYTES),
            local_dedicated: gpu.local_memory.placement.value == LocalPlacement::Dedicated,
            lines_per_clock: gpu.memory.load_store_issue_per_clock.value.max(0.01),
            texels_per_clock: texture
                .image_accesses_per_clock
                .as_ref()
                .unwrap_or(&texture.texels_per_clock)
                .value
                .max(0.01),
            atomics_per_clock: gpu.memory.atomics_per_clock.as_ref().map_or(1.0, |rate| rate.value).max(0.01),
        }
    }
}
