//! Bytes whose contents are undefined, because the launch that may have written them was computed in part.

use std::ops::Range;

/// What the application reads in each undefined byte: a NaN in every floating-point type, -1 in every signed integer.
pub const PATTERN: u8 = 0xff;

/// Ranges of bytes, in order and apart from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undefined {
    ranges: Vec<Range<usize>>,
}

impl Undefined {
    /// Adds bytes.
    pub fn add(&mut self, mut added: Range<usize>) {
        if added.is_empty() {
            return;
        }
        self.ranges.retain(|range| {
            let apart = range.end < added.start || added.end < range.start;
            if !apart {
                added = added.start.min(range.start)..added.end.max(range.end);
            }
            apart
        });
        let at = self.ranges.partition_point(|range| range.start < added.start);
        self.ranges.insert(at, added);
    }

    /// Removes bytes: they were written.
    pub fn remove(&mut self, removed: Range<usize>) {
        if removed.is_empty() || !self.overlaps(removed.clone()) {
            return;
        }
        let left = self.ranges.drain(..).flat_map(|range| {
            let before = range.start..range.end.min(removed.start);
            let after = range.start.max(removed.end)..range.end;
            [before, after].into_iter().filter(|range| !range.is_empty())
        });
        self.ranges = left.collect();
    }

    /// Whether one of these bytes is undefined.
    pub fn overlaps(&self, other: Range<usize>) -> bool {
        !other.is_empty()
            && self.ranges.iter().any(|range| range.start < other.end && other.start < range.end)
    }

    /// Replaces the undefined ones among `bytes`, which begin at `offset`, by [`PATTERN`]; returns how many.
    pub fn cover(&self, offset: usize, bytes: &mut [u8]) -> usize {
        let end = offset + bytes.len();
        let mut covered = 0;
        for range in &self.ranges {
            let (from, to) = (range.start.max(offset), range.end.min(end));
            if from < to {
                bytes[from - offset..to - offset].fill(PATTERN);
                covered += to - from;
            }
        }
        covered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against one flag for each byte.
    #[test]
    fn ranges_are_those_of_single_bytes() {
        let mut rng = fastrand::Rng::with_seed(7);
        let (mut ranges, mut flags) = (Undefined::default(), [false; 64]);
        for _ in 0..5000 {
            let start = rng.usize(..64);
            let range = start..rng.usize(start..=64);
            if rng.bool() {
                ranges.add(range.clone());
                flags[range.clone()].fill(true);
            } else {
                ranges.remove(range.clone());
                flags[range.clone()].fill(false);
            }
            let mut bytes = [0; 64];
            let covered = ranges.cover(0, &mut bytes);
            let expected: Vec<u8> = flags.iter().map(|flag| if *flag { PATTERN } else { 0 }).collect();
            assert_eq!(bytes[..], expected);
            assert_eq!(covered, flags.iter().filter(|flag| **flag).count());
            assert_eq!(ranges.overlaps(range.clone()), flags[range].contains(&true));
        }
    }
}
