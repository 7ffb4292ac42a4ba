//! A model of a GPU's own compiler: operations in words for every pipe, registers, spills.
//!
//! ```text
//! Kernel --lower--> operations --schedule--> words --allocate--> Code
//! ```
//!
//! - [`Model`] describes how a family executes; it is data (`data/`), each entry with basis and source.
//! - `relaxed` takes native functions and fuses products where the build's options allow it; `sums` reorders integer sums to follow the order of the code; `addresses` shares addresses that differ by a
//!   constant, and joins neighbouring loads; `narrow` drops the upper half of integers where nothing uses it.
//! - `lower` turns instructions into operations of units, split by the register width of the family: vectors of 128
//!   bits on Midgard, 32 bits on Bifrost and later Mali, single lanes on Adreno.
//! - `schedule` puts them into words: bundles on Midgard, tuples on Bifrost, one each elsewhere.
//! - `allocate` counts the live registers, and `spill` moves the excess to memory.
//!
//! Not modelled: clauses and their latencies, the instruction cache, constants that do not fit a word, moves at the
//! ends of blocks. The only time in this crate is the clocks that a pipe is busy.

mod addresses;
mod allocate;
mod chain;
mod code;
mod functions;
mod lanes;
mod lower;
pub mod model;
mod narrow;
mod relaxed;
mod schedule;
mod spill;
mod sums;
mod together;
mod uniform;
mod work;

pub use code::{Code, Issue, Operation, Passed, Register, RegisterData, WorkRegisters};
pub use model::{Model, Pipe, Recipe, Unit, Units};
pub use relaxed::native;
pub use work::Work;

use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use tripipe_device::Gpu;
use tripipe_ir::flow::{Cfg, Dominators, LinearForms, Loops};
use tripipe_ir::{Block, Kernel};

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
    let dominators = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &dominators);
    let mut kernel = sums::in_order(kernel, &cfg);
    relaxed::relax(&mut kernel, &cfg);
    let forms = LinearForms::new(&kernel, &cfg);
    let joins = addresses::joins(&kernel, &cfg, &forms, &model.layout);
    let stores = addresses::joined_stores(&kernel, &cfg, &forms, &model.layout);
    addresses::share(&mut kernel, &cfg, &dominators, &forms);
    narrow::narrow(&mut kernel, &cfg);
    let kernel = &kernel;
    let lowered = lower::lower(kernel, model, &cfg, joins, stores);
    let live = allocate::Live::new(&cfg, &lowered.edges, &EntitySet::new(), |block| {
        lowered.blocks[block].iter().collect()
    });
    let parts = Parts { gpu, model, cfg: &cfg, loops: &loops, lowered: &lowered, live: &live };
    let kept = allocate::preferred_live(gpu, model).map(|most| parts.assemble(most));
    let keeps = |assembled: &Assembled| {
        allocate::spill_share(&cfg, &loops, &assembled.blocks) <= model.layout.spill_share
    };
    let Assembled { mut blocks, registers, work } =
        kept.filter(keeps).unwrap_or_else(|| parts.assemble(allocate::most_live(gpu, model)));
    together::share(model, &cfg, &mut blocks);
    let uniform_bits = lowered.uniform.bits(kernel, &cfg);
    let mut passed = SecondaryMap::new();
    for block in &cfg.order {
        let edges = lowered.edges[*block].iter();
        passed[*block] = edges.map(|(from, to)| (from.to_vec(), to.to_vec())).collect();
    }
    Code {
        blocks,
        passed,
        registers,
        work,
        uniform_bits,
        hoisted: lowered.uniform.hoisted,
        words_most: model.layout.words_most,
        unknown: lowered.unknown,
    }
}

/// A lowered kernel and the facts about it that scheduling and allocation need.
struct Parts<'a> {
    gpu: &'a Gpu,
    model: &'a Model,
    cfg: &'a Cfg,
    loops: &'a Loops,
    lowered: &'a lower::Lowered,
    live: &'a allocate::Live,
}

/// Scheduled code with its registers.
struct Assembled {
    blocks: SecondaryMap<Block, Vec<Issue>>,
    registers: PrimaryMap<Register, RegisterData>,
    work: WorkRegisters,
}

impl Parts<'_> {
    /// Schedules and allocates with at most `most` live registers.
    fn assemble(&self, most: u32) -> Assembled {
        let mut registers = self.lowered.registers.clone();
        let most_bits = most * self.gpu.registers.width_bits.value;
        let mut blocks = SecondaryMap::new();
        for block in &self.cfg.order {
            let live_out: Vec<Register> = self.live.at_end[*block].iter().collect();
            let operations = &self.lowered.blocks[*block];
            blocks[*block] = schedule::schedule(self.model, &registers, &live_out, most_bits, operations);
        }
        let edges = &self.lowered.edges;
        let work = allocate::allocate(
            self.gpu,
            self.model,
            self.cfg,
            self.loops,
            &mut blocks,
            &mut registers,
            edges,
            most,
        );
        Assembled { blocks, registers, work }
    }
}
