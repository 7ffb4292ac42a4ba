//! Properties that a live device reports.

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
