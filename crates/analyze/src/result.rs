//! The result of an analysis.

use cranelift_entity::SecondaryMap;
use tripipe_device::{Gpu, Occupancy};
use tripipe_ir::{Block, Location};
use tripipe_machine::{Pipe, WorkRegisters};

use crate::access::WarpAccess;
use crate::columns::Column;
use crate::launch::LaunchCost;
use crate::lints::Advice;
use crate::paths::Trips;
use crate::polynomial::Polynomial;

/// Cycles of each column for a work-item.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycles {
    /// One for each of the family's columns, in order.
    pub columns: Vec<Polynomial>,
    /// Clocks of each pipe, in the order of [`Pipe::ALL`], before they are divided among a core's engines.
    pub pipes: Vec<Polynomial>,
    /// Loads and stores counted by messages, each as one cycle of a work-item, as in malioc.
    pub messages: Polynomial,
    /// The columns that take longest, by position; empty when nothing has a cost.
    pub bound: Vec<usize>,
}

/// The cost of a source line.
#[derive(Clone, Debug, PartialEq)]
pub struct LineCost {
    /// Any location on that line.
    pub location: Location,
    /// Cycles for each column of everything on the line when the kernel runs once.
    pub columns: Vec<Polynomial>,
}

/// The cost of a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopCost {
    /// Its first block.
    pub header: Block,
    /// Nesting depth, 1 for an outermost loop.
    pub depth: u32,
    /// How many times it goes back to its start, as far as it is known.
    pub trips: Trips,
    /// Cycles of one iteration for each column, along the longest path, inner loops with all of their iterations.
    pub iteration: Vec<Polynomial>,
}

/// An image access.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageAccess {
    /// Its location in the source.
    pub location: Option<Location>,
    /// The image's name.
    pub image: String,
    /// Whether it writes.
    pub writes: bool,
}

/// Registers and their effect on the threads in flight.
#[derive(Clone, Debug, PartialEq)]
pub struct Registers {
    /// The registers that the compiler uses.
    pub work: WorkRegisters,
    /// The source location where the most are live.
    pub peak: Option<Location>,
    /// Uniform registers, of 32 bits (of 128 bits on Midgard).
    pub uniform: u32,
    /// The threads that a core keeps in flight.
    pub occupancy: Occupancy,
    /// How many registers fewer would allow more threads, and how many threads then.
    pub next_step: Option<(u32, u32)>,
}

/// What a kernel costs on a GPU.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The kernel's name.
    pub kernel: String,
    /// The GPU.
    pub gpu: &'static Gpu,
    /// The family's columns.
    pub columns: &'static [Column],
    /// What the pipes issue, all blocks once: words, tuples or instructions of each pipe.
    pub emitted: [u32; Pipe::ALL.len()],
    /// All blocks once, including loop bodies.
    pub total: Cycles,
    /// The cheapest path: loops of unknown trip count are not entered.
    pub shortest: Cycles,
    /// The most expensive path.
    pub longest: Cycles,
    /// The upper ends of the ranges of `longest`, for each column: with the instructions that some compilers need for
    /// addresses, ids and coordinates, with words that are not filled, and with the slow paths of functions.
    pub longest_at_most: Vec<Polynomial>,
    /// Registers.
    pub registers: Registers,
    /// The fraction of arithmetic on 16 bits or fewer, 0 to 1; `None` without arithmetic.
    pub narrow_arithmetic: Option<f64>,
    /// The fraction of lanes in vector operations that compute nothing, 0 to 1; `None` without arithmetic.
    pub idle_lanes: Option<f64>,
    /// Bytes of private memory that are not in registers: arrays that are indexed at run time, and spills.
    pub stack_bytes: u64,
    /// Bytes of local memory that the kernel declares.
    pub local_bytes: u64,
    /// Number of instructions that are computed once for the whole launch.
    pub hoisted: usize,
    /// Loops, outer ones first.
    pub loops: Vec<LoopCost>,
    /// Source lines with a cost, in source order.
    pub lines: Vec<LineCost>,
    /// Clocks of each pipe, in the order of [`Pipe::ALL`], when a block runs once.
    pub blocks: SecondaryMap<Block, [f64; Pipe::ALL.len()]>,
    /// Accesses to memory.
    pub accesses: Vec<WarpAccess>,
    /// Accesses to images, in the kernel's order.
    pub images: Vec<ImageAccess>,
    /// What the launch has to do, if its global size is known.
    pub launch: Option<LaunchCost>,
    /// Possible improvements, the largest gain first.
    pub advice: Vec<Advice>,
    /// What the cost does not include.
    pub left_out: Vec<String>,
}
