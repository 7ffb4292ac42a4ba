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
    // A vector for each, because an access to a cache of megabytes mostly waits for the host's memory.
    /// Line numbers plus 1; 0 for an empty entry.
    tags: Vec<u64>,
    /// When the contents of each line arrive, in ticks, twice; plus 1 if it is modified.
    states: Vec<u64>,
    /// When each was used last; empty where that does not matter.
    used: Vec<u64>,
    /// The entry accessed last.
    last: usize,
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
        let lines = (sets * ways) as usize;
        Self {
            tags: vec![0; lines],
            states: vec![0; lines],
            used: vec![0; if replacement == Replacement::LeastRecent { lines } else { 0 }],
            last: 0,
            sets,
            ways: ways as usize,
            replacement,
            clock: 0,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Lines that it holds.
    pub(crate) fn lines(&self) -> usize {
        self.tags.len()
    }

    /// The entries of the set of `line`; empty for a cache without capacity.
    fn set(&self, line: u64) -> std::ops::Range<usize> {
        if self.sets == 0 {
            return 0..0;
        }
        // Higher bits are folded in, so that lines with a large power of two between them do not meet in one set.
        let number = if self.sets.is_power_of_two() {
            // Divisions take most of the time of an access.
            let bits = self.sets.trailing_zeros();
            (line ^ (line >> bits) ^ (line >> bits >> bits)) & (self.sets - 1)
        } else {
            (line ^ (line / self.sets) ^ (line / self.sets / self.sets)) % self.sets
        };
        let start = number as usize * self.ways;
        start..start + self.ways
    }

    /// The entry of a line, if it is present.
    fn find(&self, line: u64) -> Option<usize> {
        let tag = line + 1;
        if self.tags.get(self.last) == Some(&tag) {
            return Some(self.last);
        }
        let set = self.set(line);
        self.tags[set.clone()].iter().position(|own| *own == tag).map(|way| set.start + way)
    }

    /// Accesses a line at a time in ticks, and enters it if it is absent. `write` marks it as modified.
    pub(crate) fn access(&mut self, line: u64, write: bool) -> Lookup {
        self.clock += 1;
        if let Some(at) = self.find(line) {
            self.renew(at);
            self.states[at] |= u64::from(write);
            return Lookup::Hit(self.states[at] >> 1);
        }
        let set = self.set(line);
        let ways = set.len() as u64;
        let victim = match self.replacement {
            _ if ways == 0 => return Lookup::Miss(None),
            // Empty entries were never used, so they are taken first.
            Replacement::LeastRecent => set.min_by_key(|at| self.used[*at]).unwrap_or(0),
            Replacement::Random => set.clone().find(|at| self.tags[*at] == 0).unwrap_or_else(|| {
                // Xorshift (Marsaglia 2003), always from the same seed, so that a prediction can be repeated.
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                set.start + (self.random % ways) as usize
            }),
        };
        self.renew(victim);
        let old = std::mem::replace(&mut self.tags[victim], line + 1);
        let was_modified = std::mem::replace(&mut self.states[victim], u64::from(write)) & 1 == 1;
        Lookup::Miss(was_modified.then(|| old - 1))
    }

    /// Notes that an entry is used.
    fn renew(&mut self, at: usize) {
        self.last = at;
        if let Some(used) = self.used.get_mut(at) {
            *used = self.clock;
        }
    }

    /// Whether a line is present.
    pub(crate) fn contains(&self, line: u64) -> bool {
        self.find(line).is_some()
    }

    /// Sets the time at which the contents of a line arrive.
    pub(crate) fn arrives(&mut self, line: u64, at: u64) {
        if let Some(entry) = self.find(line) {
            self.states[entry] = at << 1 | self.states[entry] & 1;
        }
    }

    /// Removes a line; returns whether it was modified.
    pub(crate) fn remove(&mut self, line: u64) -> bool {
        let Some(at) = self.find(line) else { return false };
        self.tags[at] = 0;
        if let Some(used) = self.used.get_mut(at) {
            *used = 0;
        }
        std::mem::take(&mut self.states[at]) & 1 == 1
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
