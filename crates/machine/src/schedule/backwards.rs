//! The pass that finds an order, from the end of a block backwards.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::{Local, is_load};
use crate::code::Operation;

/// The state of the backward pass over a block.
pub(super) struct Backwards<'o> {
    operations: &'o [Operation],
    local: &'o Local,
    live: Vec<bool>,
    live_bits: i64,
    /// Writes of each register that are still to come: only the first write of the block frees it.
    writes_left: Vec<u32>,
    /// For each operation, the number of dependent operations that are not yet placed.
    waiting: Vec<usize>,
    /// Bits by which each operation increases the live bits.
    growth: Vec<i64>,
    /// Operations that can be placed next, by growth, then last first; loads separately.
    ready: [BTreeSet<(i64, Reverse<usize>)>; 2],
    /// Total bits that the ready loads write.
    ahead: u32,
    ahead_in_memory: bool,
    readers: Vec<SmallVec<[usize; 4]>>,
    writers: Vec<SmallVec<[usize; 2]>>,
}

impl<'o> Backwards<'o> {
    pub(super) fn new(
        operations: &'o [Operation],
        local: &'o Local,
        waiting: Vec<usize>,
        ahead_in_memory: bool,
    ) -> Self {
        let count = local.bits.len();
        let mut all = Self {
            operations,
            local,
            live: local.live_out.clone(),
            live_bits: i64::from(local.live_past),
            writes_left: vec![0; count],
            waiting,
            growth: vec![0; operations.len()],
            ready: [BTreeSet::new(), BTreeSet::new()],
            ahead: 0,
            ahead_in_memory,
            readers: vec![SmallVec::new(); count],
            writers: vec![SmallVec::new(); count],
        };
        for index in 0..operations.len() {
            local.reads[index].iter().for_each(|register| all.readers[*register].push(index));
            local.writes[index].iter().for_each(|register| all.writers[*register].push(index));
        }
        for (register, bits) in local.bits.iter().enumerate() {
            let bits = i64::from(*bits);
            all.writes_left[register] = all.writers[register].len() as u32;
            if all.live[register] {
                all.live_bits += bits;
            } else {
                all.readers[register].iter().for_each(|index| all.growth[*index] += bits);
            }
            if let [only] = all.writers[register][..] {
                all.growth[only] -= bits;
            }
        }
        for index in 0..operations.len() {
            if all.waiting[index] == 0 {
                all.make_ready(index);
            }
        }
        all
    }

    pub(super) fn make_ready(&mut self, index: usize) {
        let load = is_load(&self.operations[index]);
        self.ready[usize::from(load)].insert((self.growth[index], Reverse(index)));
        self.ahead += if load { self.written_bits(index) } else { 0 };
    }

    pub(super) fn written_bits(&self, index: usize) -> u32 {
        if self.ahead_in_memory {
            return self.operations[index].memory_bits;
        }
        self.local.writes[index].iter().map(|register| self.local.bits[*register]).sum()
    }

    /// Changes the growth of an operation.
    pub(super) fn grow(&mut self, index: usize, by: i64) {
        let old = (self.growth[index], Reverse(index));
        self.growth[index] += by;
        let ready = &mut self.ready[usize::from(is_load(&self.operations[index]))];
        if ready.remove(&old) {
            ready.insert((self.growth[index], Reverse(index)));
        }
    }

    /// The next operation. A load waits (moves towards the start of the block) while few loads wait and there are
    /// enough registers.
    pub(super) fn next(&mut self, most_bits: u32, ahead_bits: u32) -> Option<usize> {
        let most_bits = i64::from(most_bits);
        let waits = self.ahead <= ahead_bits && self.live_bits <= most_bits;
        let key = |load: bool| {
            let (growth, index) = *self.ready[usize::from(load)].first()?;
            let too_many = growth > 0 && self.live_bits + growth > most_bits;
            Some((too_many, load && waits, growth, index))
        };
        let best = key(false).into_iter().chain(key(true)).min()?;
        let index = best.3.0;
        let load = is_load(&self.operations[index]);
        self.ready[usize::from(load)].remove(&(best.2, best.3));
        self.ahead -= if load { self.written_bits(index) } else { 0 };
        Some(index)
    }

    /// Places an operation before those that were placed earlier.
    pub(super) fn put(&mut self, index: usize, before: &[usize]) {
        let local = self.local;
        for register in &local.writes[index] {
            let bits = i64::from(local.bits[*register]);
            self.writes_left[*register] -= 1;
            match self.writes_left[*register] {
                0 => self.set_live(*register, false),
                1 => {
                    for other in std::mem::take(&mut self.writers[*register]) {
                        self.grow(other, -bits);
                    }
                }
                _ => {}
            }
        }
        for register in &local.reads[index] {
            self.set_live(*register, true);
        }
        for earlier in before {
            self.waiting[*earlier] -= 1;
            if self.waiting[*earlier] == 0 {
                self.make_ready(*earlier);
            }
        }
    }

    pub(super) fn set_live(&mut self, register: usize, live: bool) {
        if std::mem::replace(&mut self.live[register], live) == live {
            return;
        }
        let bits = i64::from(self.local.bits[register]);
        let by = if live { bits } else { -bits };
        self.live_bits += by;
        let readers = std::mem::take(&mut self.readers[register]);
        readers.iter().for_each(|index| self.grow(*index, -by));
        self.readers[register] = readers;
    }
}
