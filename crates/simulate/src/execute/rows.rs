//! The registers of a warp: flat arrays, one per value.

use std::mem;

use bytemuck::Pod;

use super::edge::{Edge, SlotShape};

/// Number of work-items that a warp runs at a time: one bit each in a lane mask.
pub(crate) const WIDTH: usize = 64;

/// A register: `WIDTH` lanes, or one if all lanes share the value. The lanes of a vector's first component come
/// first, then those of its second.
pub(crate) type Row = Box<[u64]>;

/// The numbers of a row.
pub(crate) fn numbers<T: Pod>(row: &[u64]) -> &[T] {
    // The row's words are as aligned as any number, and a whole number of them, so the cast cannot fail.
    bytemuck::cast_slice(row)
}

/// The numbers of a row, mutable.
pub(crate) fn numbers_mut<T: Pod>(row: &mut [u64]) -> &mut [T] {
    bytemuck::cast_slice_mut(row)
}

/// All registers of a warp.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rows {
    rows: Vec<Row>,
}

impl Rows {
    pub(crate) fn new(rows: Vec<Row>) -> Self {
        Self { rows }
    }

    /// Takes a row out for writing while others are read; [`Self::put`] puts it back.
    pub(crate) fn take(&mut self, slot: u32) -> Row {
        mem::take(&mut self.rows[slot as usize])
    }

    pub(crate) fn put(&mut self, slot: u32, row: Row) {
        self.rows[slot as usize] = row;
    }

    /// Adds a register behind the others. Returns its number.
    pub(crate) fn push(&mut self, row: Row) -> u32 {
        self.rows.push(row);
        self.rows.len() as u32 - 1
    }

    /// Number of registers.
    pub(crate) fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Sets all numbers to zero.
    pub(crate) fn clear(&mut self) {
        self.rows.iter_mut().for_each(|row| row.fill(0));
    }

    /// Removes the last register.
    pub(crate) fn pop(&mut self) -> Option<Row> {
        self.rows.pop()
    }

    pub(crate) fn words(&self, slot: u32) -> &[u64] {
        &self.rows[slot as usize]
    }

    pub(crate) fn words_mut(&mut self, slot: u32) -> &mut [u64] {
        &mut self.rows[slot as usize]
    }

    pub(crate) fn numbers<T: Pod>(&self, slot: u32) -> &[T] {
        numbers(&self.rows[slot as usize])
    }

    pub(crate) fn numbers_mut<T: Pod>(&mut self, slot: u32) -> &mut [T] {
        numbers_mut(&mut self.rows[slot as usize])
    }

    fn swap(&mut self, a: u32, b: u32) {
        self.rows.swap(a as usize, b as usize);
    }

    /// Moves registers along an edge, for the lanes of a mask; `None` for all lanes.
    pub(crate) fn follow(&mut self, slots: &[SlotShape], edge: &Edge, mask: Option<u64>) {
        for each in &edge.moves {
            // Swapping costs nothing, but moves all lanes.
            if each.last && mask.is_none() {
                self.swap(each.from, each.to);
                continue;
            }
            let mut row = self.take(each.to);
            let from = self.words(each.from);
            let shape = slots[each.to as usize];
            match mask.filter(|_| !shape.single) {
                Some(mask) => restore(&mut row, from, usize::from(shape.components), mask),
                None => row.copy_from_slice(from),
            }
            self.put(each.to, row);
        }
    }

    /// Writes one number of `bytes` to all lanes of a component.
    pub(crate) fn splat(&mut self, slot: u32, component: usize, bytes: u32, bits: u64) {
        fn fill<T: Pod>(row: &mut [u64], component: usize, number: T) {
            let lanes = numbers_mut::<T>(row);
            // A register of one lane has fewer than 64 numbers, whatever its components.
            let count = if lanes.len() < WIDTH { 1 } else { WIDTH };
            if let Some(lanes) = lanes.get_mut(component * count..(component + 1) * count) {
                lanes.fill(number);
            }
        }
        let row = &mut self.rows[slot as usize];
        match bytes {
            1 => fill(row, component, bits as u8),
            2 => fill(row, component, bits as u16),
            4 => fill(row, component, bits as u32),
            _ => fill(row, component, bits),
        }
    }

    /// A number as bits, zero extended.
    pub(crate) fn bits(&self, slot: u32, index: usize, bytes: u32) -> u64 {
        let row = &self.rows[slot as usize];
        match bytes {
            1 => numbers::<u8>(row).get(index).map_or(0, |bits| u64::from(*bits)),
            2 => numbers::<u16>(row).get(index).map_or(0, |bits| u64::from(*bits)),
            4 => numbers::<u32>(row).get(index).map_or(0, |bits| u64::from(*bits)),
            _ => row.get(index).copied().unwrap_or(0),
        }
    }

    /// Sets a number from its bits, truncated to its size.
    pub(crate) fn set_bits(&mut self, slot: u32, index: usize, bytes: u32, bits: u64) {
        let row = &mut self.rows[slot as usize];
        match bytes {
            1 => numbers_mut::<u8>(row)[index] = bits as u8,
            2 => numbers_mut::<u16>(row)[index] = bits as u16,
            4 => numbers_mut::<u32>(row)[index] = bits as u32,
            _ => row[index] = bits,
        }
    }
}

/// The lanes of a mask, in order.
pub(crate) fn lanes(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            lane
        })
    })
}

/// The mask of the first `count` lanes.
pub(crate) const fn first_lanes(count: usize) -> u64 {
    if count >= WIDTH { u64::MAX } else { (1 << count) - 1 }
}

/// The lanes of a mask split into sub-groups, or other runs of `size` adjacent lanes; empty runs are skipped.
pub(crate) fn neighbours(mask: u64, size: u32) -> impl Iterator<Item = u64> {
    let size = size as usize;
    (0..WIDTH).step_by(size).map(move |first| mask & first_lanes(size) << first).filter(|lanes| *lanes != 0)
}

/// Copies the lanes of a mask from one row of 64 lanes to another, with `components` numbers per lane.
pub(crate) fn restore(to: &mut [u64], from: &[u64], components: usize, mask: u64) {
    fn copy<T: Pod>(to: &mut [u64], from: &[u64], mask: u64) {
        let to = numbers_mut::<T>(to);
        let from = numbers::<T>(from);
        for (to, from) in to.chunks_exact_mut(64).zip(from.chunks_exact(64)) {
            for (lane, (to, from)) in to.iter_mut().zip(from).enumerate() {
                if mask >> lane & 1 == 1 {
                    *to = *from;
                }
            }
        }
    }
    // Words of a component: 64 lanes of 1, 2, 4 or 8 bytes.
    match to.len() / components.max(1) {
        8 => copy::<u8>(to, from, mask),
        16 => copy::<u16>(to, from, mask),
        32 => copy::<u32>(to, from, mask),
        _ => copy::<u64>(to, from, mask),
    }
}

/// The lanes whose truth value is 1. Inactive lanes may hold any byte, left by another value in the same register.
/// Only the lowest bit of a byte counts, and only for its lane.
pub(crate) fn true_lanes(values: &[u8]) -> u64 {
    // Eight bytes of 0 or 1 at a time: the product collects them in the top byte.
    let (chunks, _) = values.as_chunks::<8>();
    chunks.iter().enumerate().take(8).fold(0, |mask, (index, chunk)| {
        let truths = u64::from_le_bytes(*chunk) & 0x0101_0101_0101_0101;
        let gathered = truths.wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask | gathered << (8 * index)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registers are shared with other types: an inactive lane may hold any byte, and must not affect other lanes.
    #[test]
    fn a_truth_value_is_its_lowest_bit_whatever_its_neighbours_hold() {
        for lane in 0..WIDTH {
            for leftover in 0..=u8::MAX {
                for truth in [0, 1] {
                    let mut values = [leftover; WIDTH];
                    values[lane] = truth;
                    let others = if leftover % 2 == 1 { !(1 << lane) } else { 0 };
                    assert_eq!(
                        true_lanes(&values),
                        others | u64::from(truth) << lane,
                        "{leftover} about {lane}"
                    );
                }
            }
        }
    }
}
