//! The paths and memory accesses of single work-groups, for models of time.
//!
//! A [`Tracer`] runs the work-groups that its owner asks for, in any order, and records each as a [`GroupTrace`]: the
//! blocks that the work-items entered, and the addresses that they accessed. The launch's memory keeps its contents:
//! work-groups write to a copy of the pages that they change, which later work-groups of the same tracer see.

mod recorder;
mod tracer;

use tripipe_ir::{Block, Inst};

pub use tracer::{Region, TracedImage, Tracer};

pub(crate) use recorder::{Recorder, observes};
pub(crate) use tracer::bases;

/// The memory that an access reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Buffers and program-scope variables. Addresses are those of [`Tracer::regions`].
    Global,
    /// Local memory: bytes from the start of the work-group's.
    Local,
    /// Private memory: bytes from the start of the work-item's.
    Private,
    /// An image, by position in [`Tracer::images`]: bytes from its first texel, rows and slices in linear order.
    Image(u32),
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It reads and writes in one step.
    Atomic,
}

/// One execution of an instruction that accesses memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracedAccess {
    /// The instruction.
    pub inst: Inst,
    /// What it does.
    pub action: Action,
    /// The memory.
    pub reach: Reach,
    /// Bytes of each work-item. For an image, of one texel.
    pub bytes: u32,
    /// Whether an image read filters several texels.
    pub filtered: bool,
    /// The lanes that access it.
    pub mask: u64,
    /// The addresses, one per lane of the mask, or a single one for all of them.
    addresses: (u32, u32),
}

/// Work-items of a warp that entered a block together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// The block.
    pub block: Block,
    /// The lanes.
    pub mask: u64,
}

/// Up to 64 work-items with adjacent local linear ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarpTrace {
    /// Local linear id of lane 0.
    pub first_item: u32,
    /// The work-items, one bit each.
    pub lanes: u64,
    /// The blocks that they entered, in order.
    visits: Vec<Visit>,
    /// The accesses of each visit, in order; `accesses[first[i]..first[i + 1]]` are those of visit `i`.
    accesses: Vec<(u32, TracedAccess)>,
    addresses: Vec<u64>,
}

impl WarpTrace {
    /// The blocks that the work-items entered, in order.
    pub fn visits(&self) -> &[Visit] {
        &self.visits
    }

    /// The accesses, in order, each with the position of its visit. Positions do not decrease.
    pub fn accesses(&self) -> &[(u32, TracedAccess)] {
        &self.accesses
    }

    /// The addresses of an access: one per lane of its mask, or a single one for all of them.
    pub fn addresses(&self, access: &TracedAccess) -> &[u64] {
        self.addresses.get(access.addresses.0 as usize..access.addresses.1 as usize).unwrap_or_default()
    }
}

/// The execution of a work-group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupTrace {
    /// Work-items.
    pub items: u32,
    /// Its work-items, 64 at a time.
    pub warps: Vec<WarpTrace>,
}
