//! The model of one GPU: known figures, each with its provenance.
//!
//! "Core" is a shader core on Mali and a shader processor (SP) on Adreno. A rate is per core
//! and clock unless its name says otherwise. `None` means that the family has no such feature, or that no source gives
//! the figure.

use std::collections::BTreeMap;

use crate::family::{Family, Vendor};
use crate::occupancy::RegisterFile;
use crate::opencl::Drivers;
use crate::sourced::{Basis, Source, Sourced, word};
use std::sync::Arc;

/// One GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// Name, vendor, family and generation.
    pub identity: Identity,
    /// The product that the figures describe.
    pub configuration: Configuration,
    /// The shader core.
    pub core: Core,
    /// Throughput of a core per clock.
    pub operations_per_clock_per_core: OperationsPerClock,
    /// The kinds of arithmetic that the hardware supports.
    pub supports: Supports,
    /// Vector widths in elements.
    pub vector_width: VectorWidths,
    /// Registers of a work-item, and how they limit the threads in flight.
    pub registers: Registers,
    /// Caches and the load/store path.
    pub memory: Memory,
    /// Size and placement of `__local` memory.
    pub local_memory: LocalMemory,
    /// The texture path.
    pub texture: Texture,
    /// Limits of images.
    pub images: Images,
    /// What its drivers offer to programs.
    pub drivers: Drivers,
    /// Published measurements of this GPU, by figure; the unit is the end of the name. For comparison with a
    /// prediction, never its input.
    pub measured: BTreeMap<String, Sourced<f64>>,
}

impl Gpu {
    /// The product name, e.g. `Mali-G610` or `Adreno 640`.
    pub fn name(&self) -> &str {
        &self.identity.name
    }

    /// The family of its shader cores.
    pub fn family(&self) -> Family {
        self.identity.family
    }

    /// The designer of the GPU.
    pub fn vendor(&self) -> Vendor {
        self.identity.vendor
    }

    /// Peak arithmetic operations per second of the product, at a rate of `per_clock_per_core` multiply-adds per clock
    /// and core. A multiply-add counts as two. All cores run at full clock: an upper bound for every kernel.
    pub fn operations_per_second(&self, per_clock_per_core: u32) -> f64 {
        let Configuration { cores, clock_mhz, .. } = &self.configuration;
        2.0 * f64::from(per_clock_per_core) * f64::from(cores.value) * f64::from(clock_mhz.value) * 1e6
    }

    /// The name as part of a file name or a command line: `mali-g610`, `adreno-640`.
    pub fn id(&self) -> String {
        self.identity.name.to_lowercase().replace(' ', "-")
    }
}

/// Name, vendor, family and generation of a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Product name.
    pub name: String,
    /// The designer of the GPU.
    pub vendor: Vendor,
    /// Family of its cores.
    pub family: Family,
    /// Generation inside the family, e.g. `Valhall gen3`.
    pub generation: String,
    /// Basis of family and generation.
    pub basis: Basis,
    /// Source of family and generation.
    pub source: Arc<Source>,
    /// What a user of the model should know.
    pub notes: Vec<String>,
}

/// The product that the model describes. The same GPU is sold with other core counts and clocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The system on chip; `unknown` where there is no public one.
    pub soc: Sourced<String>,
    /// Shader cores, at least 1.
    pub cores: Sourced<u32>,
    /// Sizes of the core groups, if each group is a separate OpenCL device.
    pub core_groups: Option<Sourced<Vec<u32>>>,
    /// GPU clock in MHz.
    pub clock_mhz: Sourced<u32>,
    /// Nominal memory bandwidth of the system in 10^9 bytes per second, shared with the CPU;
    /// kernels reach 60 to 80 % of it.
    pub dram_gb_s_peak: Sourced<f64>,
    /// Cache between the GPU and memory that the whole chip shares; 0 if there is none.
    pub system_cache_bytes: Option<Sourced<u64>>,
    /// Other chips with this GPU, as free text.
    pub other_socs: Sourced<Vec<String>>,
}

/// The shader core.
#[derive(Clone, Debug, PartialEq)]
pub struct Core {
    /// Work-items that execute in lock step; 1 on Midgard.
    pub warp_width: Sourced<u32>,
    /// Warp width when the compiler chooses double waves (Adreno).
    pub warp_width_double: Option<Sourced<u32>>,
    /// Arithmetic pipes (Midgard), execution engines (Bifrost), processing engines (Valhall and
    /// later), wave schedulers (Adreno).
    pub arithmetic_pipes: Sourced<u32>,
    /// Work-items that one pipe processes per clock (Bifrost and later Mali).
    pub lanes_per_pipe: Option<Sourced<u32>>,
    /// How FMA, CVT and SFU instructions share issue slots (Valhall and later Mali).
    pub issue_rule: Option<Sourced<IssueRule>>,
    /// Work-items in flight at minimum register use.
    pub max_threads: Sourced<u32>,
    /// Largest work-group in work-items.
    pub max_work_group_size: Sourced<u32>,
    /// Work-group sizes should be a multiple of this many work-items.
    pub preferred_work_group_multiple: Sourced<u32>,
}

/// How the instructions of a processing engine share its issue slots (Arm GPU Best Practices).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueRule {
    /// `max(FMA, CVT, 4 SFU)`: the three pipes run in parallel (Valhall 1 and 2).
    Parallel,
    /// `max(FMA + CVT + SFU, 4 SFU)`: all share one issue slot (Valhall 3).
    Shared,
    /// `max(CVT + SFU + (FMA - min(FMA, CVT + SFU)) / 2, 4 SFU)`: two FMA may issue together, or one together with
    /// another instruction (Valhall 4 and Arm 5th Gen up to G720).
    WideFma,
    /// `max((FMA + CVT + SFU) / 2, 4 SFU)`: two slots, each of which issues any instruction (Arm 5th Gen from G625).
    /// Arm's formula is the busier slot; this is its lower bound, an even split.
    TwoSlots,
}

impl IssueRule {
    pub(crate) const WORDS: &'static [(&'static str, Self)] = &[
        ("parallel", Self::Parallel),
        ("shared", Self::Shared),
        ("wide-fma", Self::WideFma),
        ("two-slots", Self::TwoSlots),
    ];

    /// Clocks that one processing engine takes to issue the given numbers of warp instructions.
    pub fn cycles(self, fma: f64, convert: f64, special: f64) -> f64 {
        let other = convert + special;
        let issue = match self {
            Self::Parallel => fma.max(convert),
            Self::Shared => fma + other,
            Self::WideFma => other + (fma - fma.min(other)) / 2.0,
            Self::TwoSlots => f64::midpoint(fma, other),
        };
        issue.max(4.0 * special)
    }
}

/// Work-item operations of a core per clock. A multiply-add counts as one, a vector as its components.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationsPerClock {
    /// f32 multiply-add. On Midgard, a multiplication and an addition in one word.
    pub fp32_fma: Sourced<u32>,
    /// f16 multiply-add.
    pub fp16_fma: Sourced<u32>,
    /// f32 addition, if it differs from multiply-add (Bifrost).
    pub fp32_add: Option<Sourced<u32>>,
    /// The part of `fp32_fma` that runs on the vector units (Midgard).
    pub fp32_mad_vector_lanes: Option<Sourced<u32>>,
    /// OpenCL's fused `fma()`, if it is slower than `mad()` (Midgard).
    pub fma_builtin: Option<Sourced<u32>>,
    /// 32-bit integer addition.
    pub int32_add: Sourced<u32>,
    /// 16-bit integer addition.
    pub int16_add: Sourced<u32>,
    /// 8-bit integer addition.
    pub int8_add: Sourced<u32>,
    /// 32-bit integer multiplication, low half.
    pub int32_mul: Sourced<u32>,
    /// `mad24` (Adreno).
    pub int24_mad: Option<Sourced<u32>>,
    /// 16-bit integer multiplication.
    pub int16_mul: Sourced<u32>,
    /// 8-bit integer multiplication.
    pub int8_mul: Option<Sourced<u32>>,
    /// 32-bit integer multiply-add.
    pub int32_mad: Option<Sourced<u32>>,
    /// 8-bit integer multiply-add.
    pub int8_mad: Option<Sourced<u32>>,
    /// Multiply-adds inside 8-bit dot products; 0 without a dot instruction.
    pub int8_dot_mac: Sourced<u32>,
    /// 32-bit shifts and bitwise logic, if they differ from addition (Valhall and later).
    pub int32_logic_shift: Option<Sourced<u32>>,
    /// Conversions, comparisons and integer additions: the CVT pipe (Valhall and later).
    pub convert: Option<Sourced<u32>>,
    /// Reciprocal, square root, exponential, logarithm, sine.
    pub special: Sourced<u32>,
    /// f32 floating-point operations as the datasheet counts them (Mali).
    pub fp32_flops_datasheet: Option<Sourced<u32>>,
    /// f16 floating-point operations as the datasheet counts them (Mali).
    pub fp16_flops_datasheet: Option<Sourced<u32>>,
}

/// Kinds of arithmetic that the hardware supports.
#[derive(Clone, Debug, PartialEq)]
pub struct Supports {
    /// Half precision.
    pub fp16: Sourced<bool>,
    /// Double precision.
    pub fp64: Sourced<bool>,
    /// A fused multiply-add at the rate of `mad()`. Without it `fma()` is slow.
    pub fused_multiply_add: Sourced<bool>,
}

/// Vector widths in elements.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorWidths {
    /// Elements that one lane of one instruction holds.
    pub native: Sourced<VectorWidth>,
    /// The expected values of `CL_DEVICE_NATIVE_VECTOR_WIDTH_*`.
    pub reported: Option<Sourced<VectorWidth>>,
}

/// Elements of each type in a vector; 0 if the type is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are OpenCL C's type names")]
pub struct VectorWidth {
    pub char: u32,
    pub short: u32,
    pub int: u32,
    pub long: u32,
    pub half: u32,
    pub float: u32,
    pub double: u32,
}

/// Registers of a work-item.
#[derive(Clone, Debug, PartialEq)]
pub struct Registers {
    /// Width of one register in bits: the unit in which this GPU counts registers.
    pub width_bits: Sourced<u32>,
    /// Registers that a work-item may use before it spills.
    pub max: Sourced<u32>,
    /// Registers for constants and kernel arguments (Mali).
    pub uniform_max: Option<Sourced<u32>>,
    /// How register use limits the threads in flight.
    pub file: RegisterFile,
}

/// Caches and the load/store path.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Maximum bytes that a core loads or stores per clock.
    pub load_store_bytes_per_clock: Sourced<u32>,
    /// Load/store instructions that a core issues per clock.
    pub load_store_issue_per_clock: Sourced<f64>,
    /// The issue rate that kernels reach (Midgard).
    pub load_store_issue_sustained_per_clock: Option<Sourced<f64>>,
    /// Atomics to different addresses per clock.
    pub atomics_per_clock: Option<Sourced<f64>>,
    /// Cache line size.
    pub cache_line_bytes: Sourced<u32>,
    /// Load/store L1 of a core; 0 if loads and stores bypass it and go to the L2.
    pub l1_bytes: Sourced<u64>,
    /// L2 of the whole GPU in this configuration.
    pub l2_bytes: Sourced<u64>,
    /// Slices of the L2.
    pub l2_slices: Sourced<u32>,
    /// Bytes that a core receives from the L2 per clock (Mali).
    pub l2_to_core_bytes_per_clock: Option<Sourced<u32>>,
    /// Bytes that a slice of the L2 receives from memory per clock (Mali).
    pub external_bus_bytes_per_clock_per_slice: Option<Sourced<u32>>,
    /// Tile memory (Adreno).
    pub gmem_bytes: Option<Sourced<u64>>,
    /// On-chip constant memory of a core (Adreno).
    pub constant_ram_bytes_per_core: Option<Sourced<u64>>,
}

/// Size and placement of `__local` memory.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalMemory {
    /// Where it is implemented.
    pub placement: Sourced<LocalPlacement>,
    /// Local memory of a work-group in bytes.
    pub bytes: Sourced<u64>,
}

/// Where local memory is implemented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalPlacement {
    /// In global memory, cached by the L1: copying data to it gains nothing.
    Emulated,
    /// In dedicated on-chip memory.
    Dedicated,
}

impl LocalPlacement {
    pub(crate) const WORDS: &'static [(&'static str, Self)] =
        &[("emulated", Self::Emulated), ("dedicated", Self::Dedicated)];
}

impl std::fmt::Display for LocalPlacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(word(Self::WORDS, *self))
    }
}

/// The texture path.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// Texels of up to 32 bits that a core reads per clock, with bilinear filtering.
    pub texels_per_clock: Sourced<f64>,
    /// Image accesses from kernels per clock, if known separately (Midgard).
    pub image_accesses_per_clock: Option<Sourced<f64>>,
    /// Texture L1 of a core.
    pub l1_bytes: Sourced<u64>,
}

/// Limits of images, in texels, as drivers report them: those of the family, unless the model has its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    /// Width and height of a 2D image.
    pub max_2d: Sourced<[u32; 2]>,
    /// Width, height and depth of a 3D image.
    pub max_3d: Sourced<[u32; 3]>,
    /// Layers of a 1D or 2D array.
    pub max_layers: Sourced<u32>,
    /// Width of an `image1d_buffer_t`.
    pub max_1d_buffer: Sourced<u32>,
    /// Pitch of a 2D image made from a buffer must be a multiple of this; 0 if there are no such images.
    pub pitch_alignment: Sourced<u32>,
    /// Address of such an image must be a multiple of this.
    pub base_address_alignment: Sourced<u32>,
}

#[cfg(test)]
mod tests {
    use super::IssueRule;

    /// Arm GPU Best Practices, issue formulas, by hand for 8 FMA, 4 CVT and 1 SFU. Two slots: Arm's counter reference
    /// of the G725, where the busier slot issues at least half of the 13 instructions.
    #[test]
    fn issue_rules_follow_the_guide() {
        let cycles = |rule: IssueRule| rule.cycles(8.0, 4.0, 1.0);
        assert!((cycles(IssueRule::Parallel) - 8.0).abs() < 1e-9);
        assert!((cycles(IssueRule::Shared) - 13.0).abs() < 1e-9);
        assert!((cycles(IssueRule::WideFma) - 6.5).abs() < 1e-9);
        assert!((cycles(IssueRule::TwoSlots) - 6.5).abs() < 1e-9);
        // 2 FMA and 8 CVT: the G720 issues one CVT a clock, the G725 two.
        assert!((IssueRule::WideFma.cycles(2.0, 8.0, 0.0) - 8.0).abs() < 1e-9);
        assert!((IssueRule::TwoSlots.cycles(2.0, 8.0, 0.0) - 5.0).abs() < 1e-9);
        for (_, rule) in IssueRule::WORDS {
            assert!((rule.cycles(0.0, 0.0, 3.0) - 12.0).abs() < 1e-9, "SFU takes four clocks");
        }
    }
}
