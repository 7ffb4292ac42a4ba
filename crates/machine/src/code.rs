//! The result of compilation: operations in words, block by block, and the registers they need.

use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use smallvec::SmallVec;
use tripipe_device::Basis;
use tripipe_ir::{Block, Inst, Location, Value};

use crate::model::{Pipe, Units};
use crate::work::Work;

/// A virtual register, before the compiler assigns hardware registers. Prints as `r12`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(u32);
entity_impl!(Register, "r");

/// What a register holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterData {
    /// Its width.
    pub bits: u32,
    /// The value that it holds, whole or in part; `None` for an intermediate result of a recipe.
    pub value: Option<Value>,
}

/// An operation of a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The operation.
    pub work: Work,
    /// The units that can do it; exactly one after it is scheduled.
    pub units: Units,
    /// The instruction it comes from; `None` for a terminator, a spill or a fill.
    pub inst: Option<Inst>,
    /// Location in the source.
    pub location: Option<Location>,
    /// Registers it reads, each once.
    pub reads: SmallVec<[Register; 4]>,
    /// Registers it writes, whole or in part, each once.
    pub writes: SmallVec<[Register; 2]>,
    /// Number of lanes it computes.
    pub lanes: u32,
    /// Number of lanes it could compute.
    pub room: u32,
    /// Width of a lane in bits.
    pub bits: u32,
    /// Bits to or from memory; 0 unless it loads or stores.
    pub memory_bits: u32,
    /// The basis of its cost.
    pub basis: Basis,
    /// Clocks that it may take in addition, by pipe: for instructions that some compilers need and others do not, or
    /// for arguments that take a slower path. The cost does not include them.
    pub extra: SmallVec<[(Pipe, f32); 2]>,
}

/// The operations that a pipe issues together: a Midgard bundle, a Bifrost tuple, or one instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// The pipe.
    pub pipe: Pipe,
    /// Clocks that it occupies the pipe, for one work-item or warp.
    pub cycles: f64,
    /// Operations in it, with the unit of each; at least one.
    pub operations: SmallVec<[(usize, Operation); 2]>,
}

/// Registers read at the end of a block, and the registers of the next block's parameter that they become.
pub type Passed = (Vec<Register>, Vec<Register>);

/// A kernel as compiled for a GPU.
#[derive(Clone, Debug)]
pub struct Code {
    /// The issues of each block of the kernel, in order.
    pub blocks: SecondaryMap<Block, Vec<Issue>>,
    /// For each block, what it passes to its successors: registers read, and the registers of the parameters that they
    /// become.
    pub passed: SecondaryMap<Block, Vec<Passed>>,
    /// The registers of the code.
    pub registers: PrimaryMap<Register, RegisterData>,
    /// Registers a work-item uses.
    pub work: WorkRegisters,
    /// Bits of values that are the same for the whole launch and are held in uniform registers or constant memory.
    pub uniform_bits: u32,
    /// Instructions whose result is the same for the whole launch: computed once, before the launch.
    pub hoisted: Vec<Inst>,
    /// The most clocks that a word of the arithmetic pipe may take, relative to the cost, where a compiler cannot fill the
    /// words as this model does.
    pub words_most: f64,
    /// Operations without an entry in the data, listed once each. Their cost is not included.
    pub unknown: Vec<String>,
}

/// Registers that a work-item uses, in units of `registers.width_bits`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkRegisters {
    /// Registers at the peak, after spilling: at least 1, at most the number that the GPU has.
    pub used: u32,
    /// Registers that would be needed without spilling.
    pub needed: u32,
    /// Location of the peak: the block, and the position of the issue in it.
    pub peak: Option<(Block, usize)>,
    /// Values live at the peak, widest first.
    pub live: Vec<Value>,
    /// Bytes of a work-item's memory used for spilled registers.
    pub spill_bytes: u32,
}

impl Code {
    /// Clocks that one execution of a block occupies each pipe, by [`Pipe::index`].
    pub fn cycles(&self, block: Block) -> [f64; Pipe::ALL.len()] {
        let mut cycles = [0.0; Pipe::ALL.len()];
        for issue in &self.blocks[block] {
            cycles[issue.pipe.index()] += issue.cycles;
        }
        cycles
    }

    /// The most clocks that one execution of a block may occupy each pipe beyond [`Code::cycles`], by [`Pipe::index`].
    pub fn extra(&self, block: Block) -> [f64; Pipe::ALL.len()] {
        let mut extra = [0.0; Pipe::ALL.len()];
        for issue in &self.blocks[block] {
            if issue.pipe == Pipe::Arithmetic {
                extra[issue.pipe.index()] += issue.cycles * (self.words_most - 1.0);
            }
            for (pipe, clocks) in issue.operations.iter().flat_map(|(_, operation)| &operation.extra) {
                extra[pipe.index()] += f64::from(*clocks);
            }
        }
        extra
    }
}
