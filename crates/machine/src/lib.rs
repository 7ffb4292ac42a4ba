//! A model of a GPU's own compiler: operations in words for every pipe, registers, spills.
//!
//! ```text
//! Kernel --lower--> operations --schedule--> words --allocate--> Code
//! ```
//!
//! - [`Model`] describes how a family executes; it is data (`data/`), each entry with basis and source.
//! - `sums` reorders integer sums to follow the order of the code.
//! - `lower` turns instructions into operations of units, split by the register width of the family: vectors of 128
//!   bits on Midgard, 32 bits on Bifrost and later Mali, single lanes on Adreno.
//! - `schedule` puts them into words: bundles on Midgard, tuples on Bifrost, one each elsewhere.
//! - `allocate` counts the live registers, and `spill` moves the excess to memory.
//!
//! Not modelled: clauses and their latencies, the instruction cache, constants that do not fit a word, moves at the
//! ends of blocks. The only time in this crate is the clocks that a pipe is busy.

mod allocate;
mod chain;
mod code;
mod lanes;
mod lower;
pub mod model;
mod schedule;
mod spill;
mod sums;
mod uniform;
mod work;

pub use code::{Code, Issue, Operation, Register, RegisterData, WorkRegisters};
pub use model::{Model, Pipe, Recipe, Unit, Units};
pub use work::Work;

use cranelift_entity::{EntitySet, SecondaryMap};
use tripipe_device::Gpu;
use tripipe_ir::Kernel;
use tripipe_ir::flow::{Cfg, Dominators, Loops};

/// Whether the compilers of two GPUs produce the same code for every kernel.
pub fn same_code(a: &Gpu, b: &Gpu) -> bool {
    let (model, other) = (Model::of(a), Model::of(b));
    std::sync::Arc::ptr_eq(&model, &other)
        && allocate::most_live(a, &model) == allocate::most_live(b, &other)
        && a.registers.width_bits.value == b.registers.width_bits.value
}

/// Compiles a kernel for a GPU.
pub fn compile(kernel: &Kernel, gpu: &Gpu) -> Code {
    compile_as(kernel, gpu, &Model::of(gpu))
}

/// Compiles a kernel for a GPU with a given model, to see the effect of the model's figures.
pub fn compile_as(kernel: &Kernel, gpu: &Gpu, model: &Model) -> Code {
    let cfg = Cfg::new(kernel);
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    let kernel = &sums::in_order(kernel, &cfg);
    let mut lowered = lower::lower(kernel, model, &cfg);
    let live = allocate::Live::new(&cfg, &lowered.edges, &EntitySet::new(), |block| {
        lowered.blocks[block].iter().collect()
    });
    let most = allocate::most_live(gpu, model);
    let most_bits = most * gpu.registers.width_bits.value;
    let mut blocks = SecondaryMap::new();
    for block in &cfg.order {
        let operations = std::mem::take(&mut lowered.blocks[*block]);
        let live_out: Vec<Register> = live.at_end[*block].iter().collect();
        blocks[*block] = schedule::schedule(model, &lowered.registers, &live_out, most_bits, operations);
    }
    let mut registers = lowered.registers;
    let work = allocate::allocate(gpu, model, &cfg, &loops, &mut blocks, &mut registers, &lowered.edges);
    let uniform_bits = lowered.uniform.bits(kernel, &cfg);
    Code { blocks, registers, work, uniform_bits, hoisted: lowered.uniform.hoisted, unknown: lowered.unknown }
}
