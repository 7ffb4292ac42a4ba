//! The intervals of numbers in memory.

use std::collections::HashMap;

use super::interval::Interval;
use crate::shadow::pieces;

/// A number in memory that is not certain.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// Its first byte within the word.
    first: u8,
    bytes: u8,
    interval: Interval,
}

/// Numbers that are not certain, by the word of 8 bytes that they lie in. Numbers do not cross words, unless an
/// unaligned access made them do so: then both words are open.
#[derive(Clone, Debug, Default)]
pub(super) struct Uncertain {
    words: HashMap<u64, Vec<Cell>>,
}

impl Uncertain {
    /// The interval of a number; `None` if it is certain. A number of which only a part is certain is open.
    pub(super) fn read(&self, address: u64, bytes: u64, computed: f64) -> Option<Interval> {
        if self.words.is_empty() {
            return None;
        }
        let mut found = None;
        for word in address >> 3..=(address + bytes - 1) >> 3 {
            for cell in self.words.get(&word).into_iter().flatten() {
                let start = word << 3 | u64::from(cell.first);
                if start == address && u64::from(cell.bytes) == bytes {
                    return Some(cell.interval);
                }
                if start < address + bytes && address < start + u64::from(cell.bytes) {
                    found = Some(cell.interval);
                }
            }
        }
        // Parts of numbers: what their bits may be is not known.
        found.map(|part| Interval::open(computed, if part.is_open() { part.open } else { 0 }))
    }

    /// Stores the interval of a number, or that it is certain.
    pub(super) fn write(&mut self, address: u64, bytes: u64, interval: Option<Interval>) {
        if self.words.is_empty() && interval.is_none() {
            return;
        }
        let (first, last) = (address >> 3, (address + bytes - 1) >> 3);
        for word in first..=last {
            let Some(cells) = self.words.get_mut(&word) else { continue };
            cells.retain(|cell| {
                let start = word << 3 | u64::from(cell.first);
                start >= address + bytes || address >= start + u64::from(cell.bytes)
            });
            if cells.is_empty() {
                self.words.remove(&word);
            }
        }
        let Some(interval) = interval else { return };
        if first == last {
            let cell = Cell { first: (address & 7) as u8, bytes: bytes as u8, interval };
            self.words.entry(first).or_default().push(cell);
            return;
        }
        for word in first..=last {
            let interval = Interval::open(interval.exact, if interval.is_open() { interval.open } else { 0 });
            self.words.insert(word, vec![Cell { first: 0, bytes: 8, interval }]);
        }
    }

    /// Everything within some bytes is open.
    pub(super) fn open(&mut self, address: u64, bytes: u64, cause: u32) {
        for (at, bytes) in pieces(address, bytes, 8) {
            self.write(address + at, bytes, Some(Interval::open(0.0, cause)));
        }
    }

    /// Whether a number within some bytes is not certain.
    pub(super) fn any(&self, address: u64, bytes: u64) -> bool {
        bytes > 0
            && !self.words.is_empty()
            && (address >> 3..=(address + bytes - 1) >> 3).any(|word| self.words.contains_key(&word))
    }
}
