//! A kernel ready to run: blocks in execution order, registers assigned, each instruction with the function that runs
//! it.

use tripipe_ir as ir;

use super::edge::{Edge, SlotShape};
use super::range::Group;
use super::state::State;

/// Runs an instruction for the lanes of the current mask. Returns `false` if execution cannot continue;
/// [`State::stop`] has the reason.
pub(crate) type Run = fn(&mut State<'_>, &Inst) -> bool;

/// An instruction.
#[derive(Clone)]
pub(crate) struct Inst {
    pub(crate) run: Run,
    /// The operation itself; differs from `run` when an observer is called first.
    pub(crate) plain: Run,
    /// The register written; [`NONE`] if there is none.
    pub(crate) out: u32,
    /// The first four registers read.
    pub(crate) args: [u32; 4],
    /// All registers read, if there are more than four.
    pub(crate) more: Box<[u32]>,
    /// Lanes of the registers: 64, or 1 when all work-items share the value.
    pub(crate) width: u8,
    /// Components of the vector operand, 1 for scalars.
    pub(crate) components: u8,
    /// Further parameters of the operation.
    pub(crate) detail: Detail,
    /// Whether inactive lanes may still need the previous contents of the register.
    pub(crate) blend: bool,
    /// The IR instruction that it was made from.
    pub(crate) origin: ir::Inst,
}

impl Inst {
    /// The register of an operand.
    pub(crate) fn arg(&self, index: usize) -> u32 {
        // Nearly all instructions have at most four operands, which then lie beside the rest of the instruction.
        if self.more.is_empty() { self.args[index] } else { self.more[index] }
    }
}

/// No register.
pub(crate) const NONE: u32 = u32::MAX;

/// Parameters of an operation besides its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Detail {
    None,
    /// A lane, a dimension, an object, or the bits of a constant.
    Number(u64),
    Address {
        stride: u64,
        offset: i64,
    },
    /// Bytes per component, and the number of components of the first operand.
    Shuffle {
        mask: ir::op::ShuffleMask,
        bytes: u8,
        first: u8,
    },
    /// Components of the operands, and the result's type.
    Dot {
        dot: ir::op::Dot,
        components: u8,
        result: ir::Scalar,
    },
    Convert {
        convert: ir::op::Convert,
        from: ir::Scalar,
        to: ir::Scalar,
    },
    Builtin(ir::op::Builtin),
    /// A function of vectors, and their number of components.
    Geometric {
        builtin: ir::op::Builtin,
        components: u8,
    },
    /// A read or write of an image.
    Image(ImageOperands),
}

/// The operand format of a read or write of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageOperands {
    /// Whether the coordinates are floats.
    pub(crate) float: bool,
    /// Number of coordinates.
    pub(crate) coordinates: u8,
    /// The type of the texel's components.
    pub(crate) texel: ir::Scalar,
    /// Whether the texel is a single number, a depth.
    pub(crate) depth: bool,
}

/// How a block ends.
#[derive(Clone, Debug)]
pub(crate) enum End {
    Jump(Edge),
    Branch { condition: u32, then: Edge, otherwise: Edge },
    Switch { selector: u32, bytes: u32, cases: Box<[(u64, Edge)]>, default: Edge },
    Return,
    Unreachable,
}

/// A block. When lanes diverge, blocks with lower numbers run first, so that the lanes reconverge.
#[derive(Clone)]
pub(crate) struct CodeBlock {
    /// The block of the kernel; `None` for a block where several back edges of a loop join.
    pub(crate) of: Option<ir::Block>,
    pub(crate) insts: Box<[Inst]>,
    pub(crate) end: End,
}

/// Registers with the same contents in every warp: constants and kernel arguments.
#[derive(Clone, Debug)]
pub(crate) struct Preset {
    pub(crate) slot: u32,
    /// Bytes of a component.
    pub(crate) bytes: u32,
    pub(crate) source: PresetSource,
}

/// The contents of a preset register.
#[derive(Clone, Debug)]
pub(crate) enum PresetSource {
    /// Bits of each component.
    Constant(Box<[u64]>),
    /// The argument with this index.
    Argument(u32),
}

/// A loop that ends when memory changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spin {
    /// The positions of its first and last block in execution order.
    pub(crate) span: (u32, u32),
    /// The instruction that reads the memory.
    pub(crate) inst: ir::Inst,
}

/// A kernel ready to run.
#[derive(Clone)]
pub(crate) struct Code {
    pub(crate) blocks: Vec<CodeBlock>,
    pub(crate) slots: Vec<SlotShape>,
    pub(crate) presets: Vec<Preset>,
    /// Whether work-items of a group wait for each other.
    pub(crate) meets: bool,
    /// Loops in which work-items wait for other work-items. If there are any, each value has a separate register.
    pub(crate) spins: Box<[Spin]>,
    /// Number of steps of the longest block.
    pub(crate) longest: u64,
    /// Whether it accesses memory that other work-groups may write in the same launch.
    pub(crate) global_atomics: bool,
}

impl Code {
    /// Whether the warps of a work-group run in turns, because its work-items wait for each other. Otherwise they run
    /// one after another.
    pub(crate) fn interleaves(&self, group: &Group) -> bool {
        self.meets || !self.spins.is_empty() || group.has_wide_sub_groups()
    }
}

/// Bytes of a value in memory, without padding.
pub(crate) fn value_bytes(ty: ir::Type) -> u32 {
    component_bytes(ty) * u32::from(ty.lanes())
}

/// Bytes of a component of a value; pointers, samplers, events and images are represented by 64 bits.
pub(crate) fn component_bytes(ty: ir::Type) -> u32 {
    ty.scalar().map_or(8, ir::Scalar::bytes)
}
