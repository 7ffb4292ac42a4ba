//! How long a kernel takes on a GPU that is not there.
//!
//! ```text
//! kernel --tripipe_machine--> code --program--> runs of arithmetic, messages, barriers
//! launch --tripipe_simulate::trace--> blocks and addresses of a work-group --play--> cache lines of its warps
//!                                         both --engine, memory--> clocks --predict--> seconds
//! ```
//!
//! - [`figures`] are what the GPUs' own data does not have: latencies, ways of caches, hand-out of work-groups. They
//!   are data (`data/`), each with basis and source.
//! - `program` splits a compiled kernel at its accesses to memory. `play` turns a recorded work-group into what each
//!   warp of the GPU does: blocks, and the cache lines of each message.
//! - `engine` plays resident work-groups of all cores, event by event: arithmetic of an engine, load/store and texture
//!   pipes of a core, waits for results, barriers; `resident` is what is on the cores, `events` what is next. `memory`
//!   has the caches, the L2 and DRAM, with the launch's own addresses.
//! - [`predict`] plays all work-groups, or samples of them: `census` estimates the work of each work-group, `sample`
//!   plays parts of the launch, `handout` hands work-groups out at the pace of these parts.
//! - [`activity`] is what happened in a launch, and when, for those who ask for it.
//! - [`counters`] has that under the names of the GPU's vendor, and lays captures of real GPUs beside it.
//! - [`energy`] is what a launch costs where the vendor's driver says what a counter does.
//! - [`host`] is what the host's calls cost beside kernels; [`schedule`] lays them and the kernels of an application on
//!   one timeline.
//! - [`VirtualGpu`] is an executor: results computed, times predicted.
//! - [`errors`] are the errors of predictions against published figures, and the error band of a prediction.
//! - [`measured`] lays other people's measurements beside predictions.
//! - [`cpu`] has the time of the same kernel as a loop on a core of a CPU.
//! - [`local`] is the work-group size that a driver chooses.
//!
//! Not modelled: the instruction cache, power and heat, other users of the memory, launches that overlap.

pub mod activity;
mod arrivals;
mod cache;
mod census;
mod compiled;
pub mod counters;
pub mod cpu;
mod distinct;
pub mod energy;
mod engine;
pub mod errors;
mod events;
mod executor;
pub mod figures;
mod handout;
pub mod host;
pub mod local;
pub mod measured;
mod memory;
mod pages;
mod play;
mod predict;
mod program;
mod resident;
mod resource;
mod sample;
pub mod schedule;
mod shape;
mod tape;
mod traffic;

pub use compiled::{Compiled, depends_on_argument, depends_on_memory};
pub use distinct::DistinctBytes;
pub use executor::{VirtualGpu, VirtualOptions};
pub use predict::{BUSY, Limiter, Options, Prediction, predict};
pub use resource::Resource;
pub use traffic::Traffic;

/// The generations of compilers that a GPU has had, if its code differs between them: names for
/// [`compiler`](tripipe_device::opencl::Drivers::compiler).
pub fn compilers(gpu: &tripipe_device::Gpu) -> &'static [String] {
    tripipe_machine::Model::compilers(gpu)
}
