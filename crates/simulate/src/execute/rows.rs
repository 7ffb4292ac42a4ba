//! The registers of a warp: flat arrays, one a value.

use std::mem;

use bytemuck::Pod;

/// Work-items a warp runs at a time: one bit each in a lane mask.
pub(crate) const WIDTH: usize = 64;

/// A register: `WIDTH` lanes, or one for what all lanes share. The lanes of a vector's first component come first, then
/// those of its second.
pub(crate) type Row = Box<[u64]>;

/// The numbers of a row.
pub(crate) fn numbers<T: Pod>(row: &[u64]) -> &[T] {
    bytemuck::cast_slice(row)
}

/// The numbers of a row, to be written.
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

    /// Takes a row out to be written while others are read; [`Self::put`] brings it back.
    pub(crate) fn take(&mut self, slot: u32) -> Row {
        mem::take(&mut self.rows[slot as usize])
    }

    pub(crate) fn put(&mut self, slot: u32, row: Row) {
        self.rows[slot as usize] = row;
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

    pub(crate) fn swap(&mut self, a: u32, b: u32) {
        self.rows.swap(a as usize, b as usize);
    }

    /// Writes one number of `bytes` to all lanes of a component.
    pub(crate) fn splat(&mut self, slot: u32, component: usize, bytes: u32, bits: u64) {
        fn fill<T: Pod>(row: &mut [u64], component: usize, number: T) {
            let lanes = numbers_mut::<T>(row);
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

    /// Sets a number by its bits, cut to size.
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

/// The mask of the first so many lanes.
pub(crate) const fn first_lanes(count: usize) -> u64 {
    if count >= WIDTH { u64::MAX } else { (1 << count) - 1 }
}

/// The lanes whose truth value is 1. Lanes that are elsewhere may hold any byte, as registers are shared; what is said of them means
/// nothing, but it is theirs alone.
pub(crate) fn true_lanes(values: &[u8]) -> u64 {
    // Eight bits at a time: the product gathers them in the top byte, as long as there is nothing beside them to carry.
    let (chunks, _) = values.as_chunks::<8>();
    chunks.iter().enumerate().take(8).fold(0, |mask, (index, chunk)| {
        let bits = u64::from_le_bytes(*chunk) & 0x0101_0101_0101_0101;
        let gathered = bits.wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask | gathered << (8 * index)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes 0, 3, 9 and 63 are true; what bytes of other lanes are left from another value does not reach them.
    #[test]
    fn bytes_left_over_reach_no_other_lane() {
        let mut values = [0; WIDTH];
        for lane in [0, 3, 9, 63] {
            values[lane] = 1;
        }
        let truth = 1 | 1 << 3 | 1 << 9 | 1 << 63;
        assert_eq!(true_lanes(&values), truth);
        for lane in [1, 2, 10, 62] {
            values[lane] = 0xfe;
        }
        assert_eq!(true_lanes(&values), truth);
    }
}
