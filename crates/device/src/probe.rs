//! Properties that a live device reports.

use crate::family::Vendor;
use crate::gpu::{Gpu, LocalPlacement};

/// The properties that a live OpenCL device (or a simulated GPU) reports.
///
/// An executor fills it. The matching ([`crate::catalog`]) and all code that must respect a limit read it. Sizes are
/// bytes unless a name says otherwise; a limit of 0 means that the device did not report it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probe {
    /// `CL_PLATFORM_NAME`, e.g. `ARM Platform`.
    pub platform: String,
    /// `CL_DEVICE_NAME`, e.g. `Mali-G610 MC6 r0p0`.
    pub name: String,
    /// `CL_DEVICE_VENDOR`.
    pub vendor: String,
    /// `CL_DEVICE_VERSION`, e.g. `OpenCL 3.0 Adreno(TM) 642L`.
    pub version: String,
    /// `CL_DRIVER_VERSION`.
    pub driver: String,
    /// `CL_DEVICE_OPENCL_C_VERSION` as (major, minor); (0, 0) if it cannot be parsed.
    pub opencl_c: (u8, u8),
    /// What kind of processor runs the kernels.
    pub kind: DeviceKind,
    /// Whether memory is shared with the host (`CL_DEVICE_HOST_UNIFIED_MEMORY`).
    pub unified_memory: bool,
    /// Names of `CL_DEVICE_EXTENSIONS`.
    pub extensions: Vec<String>,
    /// Compute units: shader cores on Mali, SPs on Adreno.
    pub compute_units: u32,
    /// Highest clock in MHz.
    pub clock_mhz: u32,
    /// Address width in bits, 32 or 64.
    pub address_bits: u32,
    /// Largest work-group, in work-items.
    pub max_work_group_size: usize,
    /// Largest work-group per dimension, in work-items.
    pub max_work_item_sizes: [usize; 3],
    /// Local memory of one work-group.
    pub local_memory_bytes: u64,
    /// Whether local memory is dedicated (`CL_LOCAL`) and not emulated in global memory.
    pub local_memory_dedicated: bool,
    /// Total size of global memory.
    pub global_memory_bytes: u64,
    /// Largest single buffer.
    pub max_buffer_bytes: u64,
    /// Largest constant buffer.
    pub max_constant_bytes: u64,
    /// Size of the global memory cache.
    pub cache_bytes: u64,
    /// Line size of the global memory cache.
    pub cache_line_bytes: u32,
    /// Alignment of a sub-buffer's offset.
    pub base_alignment_bytes: usize,
    /// Image limits; `None` if the device does not support images.
    pub images: Option<ImageLimits>,
    /// Supported kinds of shared virtual memory.
    pub svm: Svm,
    /// Whether a work-group at the edge of the global size may be smaller, without a build option (OpenCL C 2.0, or
    /// 3.0 with the feature).
    pub non_uniform_work_groups: bool,
    /// Preferred vector width in elements: char, short, int, long, float, double, half.
    pub preferred_vector_width: [u32; 7],
}

impl Probe {
    /// Whether the device lists the extension `name`.
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions.iter().any(|extension| extension == name)
    }

    /// Half-precision arithmetic (`cl_khr_fp16`).
    pub fn fp16(&self) -> bool {
        self.has_extension("cl_khr_fp16")
    }

    /// Double-precision arithmetic (`cl_khr_fp64`).
    pub fn fp64(&self) -> bool {
        self.has_extension("cl_khr_fp64")
    }
}

impl Gpu {
    /// What a current driver of this GPU is expected to report, for plans without a device: name, limits and features of
    /// the model; images as every device of OpenCL 2.0 with the full profile has them (specification, table 4.3), with
    /// rows aligned to 64 texels. Limits that the model does not have are 0, as for a device that reports none.
    pub fn expected_probe(&self) -> Probe {
        let mut extensions = vec!["cl_khr_image2d_from_buffer".to_owned()];
        let offered = [(self.supports.fp16.value, "cl_khr_fp16"), (self.supports.fp64.value, "cl_khr_fp64")];
        extensions.extend(offered.iter().filter(|offer| offer.0).map(|offer| offer.1.to_owned()));
        let dot = self.operations_per_clock_per_core.int8_dot_mac.value > 0;
        if dot && self.vendor() == Vendor::Arm {
            let names = ["cl_arm_integer_dot_product_int8", "cl_arm_integer_dot_product_accumulate_int8"];
            extensions.extend(names.map(str::to_owned));
        }
        let group = self.core.max_work_group_size.value as usize;
        Probe {
            name: self.name().to_owned(),
            vendor: self.vendor().to_string(),
            kind: DeviceKind::Gpu,
            unified_memory: true,
            extensions,
            compute_units: self.configuration.cores.value,
            clock_mhz: self.configuration.clock_mhz.value,
            max_work_group_size: group,
            max_work_item_sizes: [group; 3],
            local_memory_bytes: self.local_memory.bytes.value,
            local_memory_dedicated: self.local_memory.placement.value == LocalPlacement::Dedicated,
            cache_bytes: self.memory.l2_bytes.value,
            cache_line_bytes: self.memory.cache_line_bytes.value,
            images: Some(ImageLimits {
                max_2d: [16384; 2],
                max_3d: [2048; 3],
                max_layers: 2048,
                max_1d_buffer: 65536,
                from_buffer: true,
                pitch_alignment: 64,
                base_address_alignment: 64,
            }),
            ..Probe::default()
        }
    }
}

/// The kind of processor of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceKind {
    /// A graphics processor.
    Gpu,
    /// The host's own processor.
    Cpu,
    /// Some other accelerator.
    Accelerator,
    /// The device did not report its kind.
    #[default]
    Other,
}

/// Image limits of a device, in texels unless a name says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageLimits {
    /// Width and height of a 2D image.
    pub max_2d: [usize; 2],
    /// Width, height and depth of a 3D image.
    pub max_3d: [usize; 3],
    /// Layers of a 1D or 2D array.
    pub max_layers: usize,
    /// Width of an `image1d_buffer_t`.
    pub max_1d_buffer: usize,
    /// Whether a 2D image can be made from a buffer.
    pub from_buffer: bool,
    /// Pitch of such an image must be a multiple of this many texels; 0 when not offered.
    pub pitch_alignment: u32,
    /// Address of such an image must be a multiple of this many texels; 0 when not offered.
    pub base_address_alignment: u32,
}

/// Shared virtual memory a device offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Svm {
    /// Coarse-grained buffers: map before host access.
    pub coarse_buffer: bool,
    /// Fine-grained buffers: no map needed.
    pub fine_buffer: bool,
    /// Any host pointer is a device pointer.
    pub fine_system: bool,
}
