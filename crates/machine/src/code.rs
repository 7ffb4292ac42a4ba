//! What comes out: operations in words, block by block, and the registers they need.

use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use smallvec::SmallVec;
use tripipe_device::Basis;
use tripipe_ir::{Block, Inst, Place, Value};

use crate::model::{Pipe, Units};

/// A register as the compiler sees it before it gives out real ones. Prints as `r12`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(u32);
entity_impl!(Register, "r");

/// What a register holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterData {
    /// Its width.
    pub bits: u32,
    /// The value that is in it, or a part of it; `None` for what lies between two operations of a recipe.
    pub value: Option<Value>,
}

/// An operation of a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// What it does, as the data files name it: `mad`, `load`, `gather` ...
    pub work: &'static str,
    /// The units that can do it; one, once it has its place.
    pub units: Units,
    /// The instruction it comes from; `None` for a terminator, a spill or a fill.
    pub inst: Option<Inst>,
    /// Where in the source.
    pub place: Option<Place>,
    /// Registers it reads, each once.
    pub reads: SmallVec<[Register; 4]>,
    /// Registers it writes, whole or in part, each once.
    pub writes: SmallVec<[Register; 2]>,
    /// Lanes it computes.
    pub lanes: u32,
    /// Lanes it could compute.
    pub room: u32,
    /// Width of a lane in bits.
    pub bits: u32,
    /// Bits to or from memory; 0 unless it loads or stores.
    pub memory_bits: u32,
    /// How its cost is known.
    pub basis: Basis,
}

/// What a pipe issues at once: a Midgard bundle, a Bifrost tuple, an instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// The pipe.
    pub pipe: Pipe,
    /// Clocks of the pipe that it takes, of a work-item or warp for itself.
    pub cycles: f64,
    /// Operations in it, with the unit of each; at least one.
    pub operations: SmallVec<[(usize, Operation); 2]>,
}

/// A kernel as a GPU's compiler has it.
#[derive(Clone, Debug)]
pub struct Code {
    /// For each block of the kernel what is issued, in order.
    pub blocks: SecondaryMap<Block, Vec<Issue>>,
    /// The registers in it.
    pub registers: PrimaryMap<Register, RegisterData>,
    /// Registers a work-item uses.
    pub work: WorkRegisters,
    /// Bits of values that are the same for the whole launch and lie in uniform registers or constant memory.
    pub uniform_bits: u32,
    /// Instructions whose result is the same for the whole launch: computed once, ahead of it.
    pub hoisted: Vec<Inst>,
    /// Operations without an entry in the data, left out of the cost; each once.
    pub unknown: Vec<String>,
}

/// Registers a work-item uses, in the GPU's own count (of `registers.width_bits`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkRegisters {
    /// As many as there are at the peak, after spilling: at least 1, at most what the GPU has.
    pub used: u32,
    /// As many as there would be without spilling.
    pub needed: u32,
    /// Where the most are live: the block and the position of the issue in it.
    pub peak: Option<(Block, usize)>,
    /// Values live at the peak, widest first.
    pub live: Vec<Value>,
    /// Bytes of a work-item's memory that registers were spilled to.
    pub spill_bytes: u32,
}

impl Code {
    /// Clocks of each pipe that a block takes when it runs once, by [`Pipe::index`].
    pub fn cycles(&self, block: Block) -> [f64; Pipe::ALL.len()] {
        let mut cycles = [0.0; Pipe::ALL.len()];
        for issue in &self.blocks[block] {
            cycles[issue.pipe.index()] += issue.cycles;
        }
        cycles
    }
}
