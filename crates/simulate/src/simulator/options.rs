//! The options of the simulator.

use tripipe_device::Gpu;
use tripipe_device::drivers::Quirk;
use tripipe_ir::front::clang;
use tripipe_launch::Program;

use crate::execute::schedule::Schedule;

/// Looks up the SPIR-V that was built ahead of time for a program.
pub type Prebuilt = fn(&Program) -> Option<&'static [u8]>;

/// Options of the simulator.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads that share the work-groups of a launch; 0 means all cores. Launches with atomics on global memory, or
    /// with loops that wait for it to change, run on one thread, so that results are reproducible.
    pub threads: usize,
    /// Maximum number of instructions of a launch on each thread, counted once for all work-items that run them
    /// together.
    pub steps: u64,
    /// Maximum total size of all memory objects. The same limit applies separately to a program's own variables, and
    /// to the private variables of the work-items that run at once.
    pub memory_bytes: u64,
    /// Work-items per sub-group, a power of two up to 128, for kernels that require no specific size.
    pub sub_group: u32,
    /// Whether a load outside of a buffer loads zeros there, because no GPU stops for it; [`super::Simulator::take_strays`]
    /// names them. Otherwise it ends the launch, as a store outside does.
    pub tolerant: bool,
    /// SPIR-V built ahead of time; it needs no compiler.
    pub prebuilt: Option<Prebuilt>,
    /// The order and width in which work-items run.
    pub schedule: Schedule,
    /// The GPU whose limits apply: work-group size and local memory; its warp width becomes the sub-group size, and
    /// programs are built for what it offers, unless `build` says for what.
    pub gpu: Option<&'static Gpu>,
    /// A defect of a driver, which results have on purpose ([`crate::drivers::inject`]).
    pub inject: Option<&'static Quirk>,
    /// How OpenCL C is compiled; the program's options are added.
    pub build: clang::Build,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 0,
            steps: 1 << 40,
            memory_bytes: 8 << 30,
            sub_group: 16,
            tolerant: false,
            prebuilt: None,
            schedule: Schedule::numbered(0),
            gpu: None,
            inject: None,
            build: clang::Build::default(),
        }
    }
}
