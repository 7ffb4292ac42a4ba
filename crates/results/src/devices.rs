//! `tripipe devices`: the devices of a machine, or the GPUs that are known.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum Devices {
    /// The devices of this machine.
    Machine {
        /// The CPU path and the devices of OpenCL.
        devices: Vec<DeviceDescription>,
        /// Why there is no OpenCL.
        no_opencl: Option<String>,
    },
    /// `--models`.
    Virtual {
        /// The GPUs that are known.
        models: Vec<GpuModel>,
    },
    /// `--drivers`.
    Drivers {
        /// What drivers are known to do.
        drivers: Vec<DriverQuirk>,
    },
}

/// A defect or habit of a driver of OpenCL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct DriverQuirk {
    /// Its name.
    pub id: String,
    /// Whose driver: `adreno`, `mali`, `powervr`, `clspv`, `pocl`, `mesa`.
    pub driver: String,
    /// `defect` or `habit`.
    pub kind: String,
    /// The versions, in words.
    pub versions: String,
    /// The GPUs, families or generations; empty for all.
    pub gpus: Vec<String>,
    /// What makes it happen.
    pub trigger: String,
    /// Whether `tripipe check --driver` recognises it in a kernel.
    pub recognised: bool,
    /// What happens.
    pub effect: String,
    /// What to do instead.
    pub workaround: String,
    /// A link to where somebody describes it.
    pub thread: String,
    /// How it is known.
    pub basis: String,
    /// Whether a virtual driver can do it, too (`TRIPIPE_INJECT`).
    pub injectable: bool,
}

/// A device. All but the first three fields are those of OpenCL; a limit of 0 was not reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct DeviceDescription {
    /// What `--device` calls it.
    pub device: String,
    /// Its name.
    pub name: String,
    /// `GPU`, `CPU`, `accelerator`, `other`, or `built-in CPU path`.
    pub kind: String,
    /// What the driver reports.
    #[serde(flatten)]
    pub opencl: Option<OpenClDevice>,
}

/// What a driver of OpenCL reports; sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct OpenClDevice {
    /// The GPU that it is, if it is a known one.
    pub model: Option<DeviceModel>,
    /// How certain that is.
    pub certainty: String,
    /// What it follows from.
    pub why: String,
    /// What differs from that model.
    pub differences: Vec<String>,
    /// The platform.
    pub platform: String,
    /// The vendor.
    pub vendor: String,
    /// The version of OpenCL.
    pub version: String,
    /// The version of the driver.
    pub driver: String,
    /// The version of OpenCL C.
    pub opencl_c: String,
    /// Compute units.
    pub compute_units: u32,
    /// The highest clock in MHz.
    pub clock_mhz: u32,
    /// Bits of an address.
    pub address_bits: u32,
    /// The most work-items of a work-group.
    pub max_work_group_size: usize,
    /// The most work-items of a work-group in each dimension.
    pub max_work_item_sizes: [usize; 3],
    /// Bytes of global memory.
    pub global_memory_bytes: u64,
    /// The most bytes of a buffer.
    pub max_buffer_bytes: u64,
    /// The most bytes of a constant buffer.
    pub max_constant_bytes: u64,
    /// Bytes of local memory of a work-group.
    pub local_memory_bytes: u64,
    /// Whether local memory is a memory of its own.
    pub local_memory_dedicated: bool,
    /// Bytes of the cache of global memory.
    pub cache_bytes: u64,
    /// Bytes of its lines.
    pub cache_line_bytes: u32,
    /// The alignment of a buffer in bytes.
    pub base_alignment_bytes: usize,
    /// Limits of images, if there are images.
    pub images: Option<DeviceImages>,
    /// Whether it has each of the features that kernels use.
    pub features: BTreeMap<String, bool>,
    /// The extensions.
    pub extensions: Vec<String>,
}

/// Limits of images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct DeviceImages {
    /// The largest width and height.
    pub max_2d: [usize; 2],
    /// The most pixels of an image of a buffer.
    pub max_1d_buffer: usize,
    /// Whether an image can be made of a buffer.
    pub from_buffer: bool,
    /// The alignment of its rows in pixels.
    pub pitch_alignment_texels: u32,
    /// The alignment of its start in pixels.
    pub base_address_alignment_texels: u32,
}

/// A known GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct DeviceModel {
    /// Its name.
    pub name: String,
    /// Its ID: `mali-g77`.
    pub id: String,
}

/// A figure of a GPU with its source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Figure<T> {
    /// The value.
    pub value: T,
    /// `documented`, `measured`, `fitted` or `guessed`.
    pub basis: String,
    /// Where it is from.
    pub source: String,
}

/// A known GPU; rates are those of the whole product, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct GpuModel {
    /// Its ID: `mali-g77`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The vendor.
    pub vendor: String,
    /// The family.
    pub family: String,
    /// The generation.
    pub generation: String,
    /// The chip.
    pub soc: Figure<String>,
    /// Cores.
    pub cores: Figure<u32>,
    /// The clock in MHz.
    pub clock_mhz: Figure<u32>,
    /// Operations of float32 per second; a multiply-add counts as two.
    pub f32_operations_per_second: Figure<f64>,
    /// Operations of float16 per second.
    pub f16_operations_per_second: Figure<f64>,
    /// Operations of dot products of int8 per second.
    pub int8_dot_operations_per_second: Figure<f64>,
    /// Bytes of DRAM per second.
    pub bytes_per_second: Figure<f64>,
    /// Watts under load, and which load; `null` where nobody published any.
    #[serde(default)]
    pub watts: Option<Figure<f64>>,
    /// 10^9 operations of float32 at that rate per second and watt.
    #[serde(default)]
    pub gflops_per_watt: Option<f64>,
    /// Bytes of the L2.
    pub l2_bytes: Figure<u64>,
    /// Bytes of local memory of a core.
    pub local_memory_bytes: Figure<u64>,
    /// Where local memory is.
    pub local_memory: Figure<String>,
    /// Threads of a core.
    pub max_threads_per_core: Figure<u32>,
    /// Threads of a warp.
    pub warp_width: Figure<u32>,
    /// The most work-items of a work-group.
    pub max_work_group_size: Figure<u32>,
    /// Registers of a work-item.
    pub registers: Figure<u32>,
    /// Whether it has float16.
    pub fp16: Figure<bool>,
    /// Whether it has float64.
    pub fp64: Figure<bool>,
}
