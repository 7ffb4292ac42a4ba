//! What happens next on the cores.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is due next: times in ticks, with numbers of warps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events(BinaryHeap<Reverse<u64>>);

impl Events {
    /// Bits of a warp's number. The rest is time: 2^38 clocks, minutes of a GPU.
    const BITS: u32 = 20;

    pub(crate) fn push(&mut self, at: u64, number: usize) {
        // One number to compare. Warps that are due at the same time go in the order of their numbers, so that a launch is
        // always played alike.
        self.0.push(Reverse(at << Self::BITS | number as u64));
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, usize)> {
        let Reverse(next) = self.0.pop()?;
        Some((next >> Self::BITS, (next & ((1 << Self::BITS) - 1)) as usize))
    }

    /// The next time.
    pub(crate) fn due(&self) -> Option<u64> {
        self.0.peek().map(|Reverse(next)| next >> Self::BITS)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
