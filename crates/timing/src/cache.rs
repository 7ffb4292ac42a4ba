//! A set-associative cache of lines, without contents.

/// Bytes of a line in all caches here. Line numbers are addresses divided by it.
pub(crate) const LINE_BYTES: u64 = 64;

/// How a victim is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replacement {
    /// The line whose last use is longest ago.
    LeastRecent,
    /// Any line of the set. The choice is reproducible.
    Random,
}

#[derive(Clone, Copy, Debug, Default)]
struct CacheLine {
    /// Line number plus 1; 0 for an empty entry.
    tag: u64,
    used: u64,
    /// When the line's contents arrive, in ticks.
    ready: u64,
    dirty: bool,
}

/// The result of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The line is present, or on its way: the time at which its contents are there.
    Hit(u64),
    /// The line was absent and has been entered: the modified line that it replaced. The caller sets its time with
    /// [`Cache::arrives`].
    Miss(Option<u64>),
}

/// A cache. `sets * ways` lines; a capacity of 0 misses always.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    entries: Vec<CacheLine>,
    sets: u64,
    ways: usize,
    replacement: Replacement,
    clock: u64,
    random: u64,
}

impl Cache {
    pub(crate) fn new(bytes: u64, ways: u32, replacement: Replacement) -> Self {
        let lines = bytes / LINE_BYTES;
        // A cache that is smaller than a set becomes one set of all its lines.
        let ways = u64::from(ways.max(1)).min(lines.max(1));
        let sets = lines / ways;
        Self {
            entries: vec![CacheLine::default(); (sets * ways) as usize],
            sets,
            ways: ways as usize,
            replacement,
            clock: 0,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Lines that it holds.
    pub(crate) fn lines(&self) -> usize {
        self.entries.len()
    }

    /// The entries of the set of `line`; empty for a cache without capacity.
    fn set(&self, line: u64) -> std::ops::Range<usize> {
        if self.sets == 0 {
            return 0..0;
        }
        // Higher bits are folded in, so that lines with a large power of two between them do not meet in one set.
        let folded = line ^ (line / self.sets) ^ (line / self.sets / self.sets);
        let start = (folded % self.sets) as usize * self.ways;
        start..start + self.ways
    }

    /// Accesses a line at a time in ticks, and enters it if it is absent. `write` marks it as modified.
    pub(crate) fn access(&mut self, line: u64, write: bool) -> Lookup {
        self.clock += 1;
        let set = self.set(line);
        let (clock, tag) = (self.clock, line + 1);
        let entries = &mut self.entries[set];
        if let Some(entry) = entries.iter_mut().find(|entry| entry.tag == tag) {
            entry.used = clock;
            entry.dirty |= write;
            return Lookup::Hit(entry.ready);
        }
        let victim = match self.replacement {
            _ if entries.is_empty() => return Lookup::Miss(None),
            // Empty entries were never used, so they are taken first.
            Replacement::LeastRecent => (0..entries.len()).min_by_key(|at| entries[*at].used).unwrap_or(0),
            Replacement::Random => entries.iter().position(|entry| entry.tag == 0).unwrap_or_else(|| {
                // Xorshift (Marsaglia 2003), always from the same seed, so that a prediction can be repeated.
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                (self.random % entries.len() as u64) as usize
            }),
        };
        let old = entries[victim];
        entries[victim] = CacheLine { tag, used: clock, ready: 0, dirty: write };
        Lookup::Miss((old.tag != 0 && old.dirty).then(|| old.tag - 1))
    }

    /// Whether a line is present.
    pub(crate) fn contains(&self, line: u64) -> bool {
        self.entries[self.set(line)].iter().any(|entry| entry.tag == line + 1)
    }

    /// Sets the time at which the contents of a line arrive.
    pub(crate) fn arrives(&mut self, line: u64, at: u64) {
        let set = self.set(line);
        if let Some(entry) = self.entries[set].iter_mut().find(|entry| entry.tag == line + 1) {
            entry.ready = at;
        }
    }

    /// Removes a line; returns whether it was modified.
    pub(crate) fn remove(&mut self, line: u64) -> bool {
        let set = self.set(line);
        let entry = self.entries[set].iter_mut().find(|entry| entry.tag == line + 1);
        entry.map(std::mem::take).is_some_and(|entry| entry.dirty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ways, one set: by hand.
    #[test]
    fn the_least_recently_used_line_is_replaced() {
        let mut cache = Cache::new(128, 2, Replacement::LeastRecent);
        assert_eq!(cache.access(1, true), Lookup::Miss(None));
        assert_eq!(cache.access(2, false), Lookup::Miss(None));
        assert_eq!(cache.access(1, false), Lookup::Hit(0));
        assert_eq!(cache.access(3, false), Lookup::Miss(None), "2 was not modified");
        assert_eq!(cache.access(4, false), Lookup::Miss(Some(1)), "1 was");
    }

    #[test]
    fn a_cache_without_capacity_misses() {
        let mut cache = Cache::new(0, 4, Replacement::Random);
        assert_eq!(cache.access(1, true), Lookup::Miss(None));
        assert_eq!(cache.access(1, true), Lookup::Miss(None));
    }

    /// Rows of a picture 6144 bytes apart: 96 lines, of which 64 sets without folding would use two.
    #[test]
    fn rows_of_a_picture_spread_over_the_sets() {
        let mut cache = Cache::new(16 << 10, 4, Replacement::LeastRecent);
        for row in 0..64 {
            cache.access(row * 96, false);
        }
        let hits = (0..64).filter(|row| matches!(cache.access(row * 96, false), Lookup::Hit(_))).count();
        assert!(hits >= 56, "{hits} of 64 lines in a cache of 256");
    }
}
