//! What the checks know about the registers and the private memory of a warp.
//!
//! Each register has a shadow of the same shape: a bit is set if the corresponding bit of the value comes from memory
//! or a variable that was never written. Shadows are maintained only after a warp has met such a value.

use tripipe_ir::{Initial, Kernel, Space};

use crate::execute::edge::{Edge, SlotShape};
use crate::execute::rows::{Rows, WIDTH};

/// Bytes that a warp's shadow has for each byte of a private object.
pub(crate) const BYTES_PER_PRIVATE_BYTE: u64 = size_of::<u64>() as u64;

/// The shadow of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Shadow {
    /// By register, the bits that were never written.
    pub(super) rows: Rows,
    /// Whether any bit may be set.
    pub(super) tainted: bool,
    /// By register, the number of the instruction that produced an unwritten value; [`u32::MAX`] if there is none.
    pub(super) origins: Vec<u32>,
    /// By private object and byte, the lanes that have written it.
    pub(super) private_written: Vec<Vec<u64>>,
    /// By private object, the lanes in which its lifetime has ended.
    pub(super) private_dead: Vec<u64>,
}

impl Shadow {
    /// The shadow of registers of these shapes, with no bit set.
    pub(super) fn new(slots: &[SlotShape]) -> Self {
        Self {
            rows: Rows::new(slots.iter().map(|slot| vec![0; slot.words as usize].into()).collect()),
            tainted: false,
            origins: vec![u32::MAX; slots.len()],
            private_written: Vec::new(),
            private_dead: Vec::new(),
        }
    }

    /// Starts a warp, which has written nothing but the given private bytes.
    pub(super) fn start(&mut self, private_written: &[Vec<u64>], privates: usize) {
        self.private_dead.clear();
        self.private_dead.resize(privates, 0);
        private_written.clone_into(&mut self.private_written);
        if self.tainted {
            self.tainted = false;
            self.rows.clear();
        }
    }

    /// Whether no bit of a register is set.
    pub(super) fn is_clean(&self, register: u32) -> bool {
        self.rows.words(register).iter().all(|word| *word == 0)
    }

    /// Treats all bits of a register as written.
    pub(super) fn clear(&mut self, register: u32) {
        self.rows.words_mut(register).fill(0);
    }

    /// The lanes with any bit set in a component of a register, whose shape is `slot`.
    pub(super) fn lanes(&self, register: u32, slot: SlotShape, component: usize, bytes: u32) -> u64 {
        let count = if slot.single { 1 } else { WIDTH };
        let mask = (0..count)
            .filter(|lane| self.rows.bits(register, component * count + lane, bytes) != 0)
            .fold(0u64, |mask, lane| mask | 1 << lane);
        if slot.single && mask != 0 { u64::MAX } else { mask }
    }

    /// Moves shadows and origins along an edge, as the executor moves the registers.
    pub(super) fn follow(&mut self, slots: &[SlotShape], edge: &Edge, mask: Option<u64>) {
        if !self.tainted {
            return;
        }
        for each in &edge.moves {
            self.origins[each.to as usize] = self.origins[each.from as usize];
        }
        self.rows.follow(slots, edge, mask);
    }
}

/// The bytes of private objects that are written when a warp starts: for each byte, all lanes or none.
pub(super) fn private_written(kernel: &Kernel) -> Vec<Vec<u64>> {
    kernel
        .objects
        .values()
        .filter(|object| object.space != Space::Local)
        .map(|object| {
            let known = object.initial != Initial::Unwritten;
            vec![if known { u64::MAX } else { 0 }; object.bytes() as usize]
        })
        .collect()
}
