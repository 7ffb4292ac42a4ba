//! Registers, and what moves between them from block to block.

use super::rows::WIDTH;

/// A move from register to register along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Whether `from` is dead afterwards, so that the two may be swapped.
    pub(crate) last: bool,
}

/// An edge to a block.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) target: u32,
    /// In execution order.
    pub(crate) moves: Box<[Move]>,
}

/// Size of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotShape {
    pub(crate) words: u32,
    pub(crate) components: u8,
    /// Whether it has one lane.
    pub(crate) single: bool,
}

impl SlotShape {
    /// How many numbers it has.
    pub(crate) fn numbers(self) -> usize {
        usize::from(self.components).max(1) * if self.single { 1 } else { WIDTH }
    }

    /// The position of a component of a lane among them.
    pub(crate) fn position(self, component: usize, lane: usize) -> usize {
        if self.single { component } else { component * WIDTH + lane }
    }
}
