//! A kernel made ready to run: blocks in the order they are run in, registers assigned, each instruction with the function
//! that runs it.

use tripipe_ir as ir;

use super::spin::Spin;
use super::state::State;

/// Runs an instruction for the lanes of the current mask. `false`: it could not go on, and [`State::stop`] says why.
pub(crate) type Run = fn(&mut State<'_>, &Inst) -> bool;

/// An instruction.
#[derive(Clone)]
pub(crate) struct Inst {
    pub(crate) run: Run,
    /// What `run` was before a watcher was put in front of it.
    pub(crate) plain: Run,
    /// The register written; [`NONE`] if none is.
    pub(crate) out: u32,
    /// Registers read, the first four.
    pub(crate) args: [u32; 4],
    /// All registers read, when they are more than four.
    pub(crate) more: Box<[u32]>,
    /// Lanes of the registers: 64, or 1 where all work-items share the value.
    pub(crate) width: u8,
    /// Components of the vector it is about, 1 for scalars.
    pub(crate) components: u8,
    /// What the operation is told besides.
    pub(crate) detail: Detail,
    /// Whether lanes that wait elsewhere may need what the register held before.
    pub(crate) blend: bool,
    /// What it was made from.
    pub(crate) origin: ir::Inst,
}

impl Inst {
    /// The register of an operand.
    pub(crate) fn arg(&self, index: usize) -> u32 {
        if self.more.is_empty() { self.args[index] } else { self.more[index] }
    }
}

/// No register.
pub(crate) const NONE: u32 = u32::MAX;

/// What an operation is told besides its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Detail {
    None,
    /// A lane, a dimension, an object, the bits of a constant.
    Number(u64),
    Address {
        stride: u64,
        offset: i64,
    },
    /// Bytes of a component, and how many components the first operand has.
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
    /// A function of vectors, and how many components they have.
    Geometric {
        builtin: ir::op::Builtin,
        components: u8,
    },
    /// A read or write of an image.
    Image(super::ops::image::Access),
    /// A scalar type, and for the operand of a store, a load's result: how the source promises it is aligned.
    Memory {
        scalar: ir::Scalar,
        align: u32,
        vector_builtin: bool,
    },
}

/// A move of a register along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Whether `from` is not needed any more, so that the two may be exchanged.
    pub(crate) last: bool,
}

/// Where a block goes on.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) target: u32,
    /// One after the other.
    pub(crate) moves: Box<[Move]>,
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

impl End {
    /// Has every move made on the shadows too.
    pub(crate) fn shadow(&mut self, distance: u32) {
        let edges: Vec<&mut Edge> = match self {
            Self::Jump(edge) => vec![edge],
            Self::Branch { then, otherwise, .. } => vec![then, otherwise],
            Self::Switch { cases, default, .. } => {
                cases.iter_mut().map(|case| &mut case.1).chain([default]).collect()
            }
            Self::Return | Self::Unreachable => Vec::new(),
        };
        for edge in edges {
            let shadows = edge.moves.iter().map(|each| Move {
                from: each.from + distance,
                to: each.to + distance,
                ..*each
            });
            edge.moves = edge.moves.iter().copied().chain(shadows).collect();
        }
    }
}

/// A block. Lower ones run first where lanes are apart, so that they meet again.
#[derive(Clone)]
pub(crate) struct CodeBlock {
    /// The block of the kernel that it is; `None` where ways back to a loop's start meet.
    pub(crate) of: Option<ir::Block>,
    pub(crate) insts: Box<[Inst]>,
    pub(crate) end: End,
}

/// Size of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotShape {
    pub(crate) words: u32,
    pub(crate) components: u8,
    /// Whether it has one lane.
    pub(crate) single: bool,
}

/// Registers that hold the same in every warp: constants, and kernel arguments.
#[derive(Clone, Debug)]
pub(crate) struct Preset {
    pub(crate) slot: u32,
    /// Bytes of a component.
    pub(crate) bytes: u32,
    pub(crate) source: PresetSource,
}

/// What a preset register holds.
#[derive(Clone, Debug)]
pub(crate) enum PresetSource {
    /// Bits of each component.
    Constant(Box<[u64]>),
    /// The argument of that index.
    Argument(u32),
}

/// A kernel made ready to run.
#[derive(Clone)]
pub(crate) struct Code {
    pub(crate) blocks: Vec<CodeBlock>,
    pub(crate) slots: Vec<SlotShape>,
    /// In a checked launch, how far behind a register its shadow is: the bits nobody has written.
    pub(crate) shadow: u32,
    pub(crate) presets: Vec<Preset>,
    /// Whether work-items of a group wait for one another.
    pub(crate) meets: bool,
    /// Loops in which work-items wait for what others do. If there are any each value has a register of its own.
    pub(crate) spins: Box<[Spin]>,
    /// Steps of the longest block.
    pub(crate) longest: u64,
    /// Whether it reads or writes memory that other work-groups may write in the same launch.
    pub(crate) global_atomics: bool,
}
