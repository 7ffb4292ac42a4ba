//! Translations of addresses that a core remembers.

/// Pages whose translation a core remembers: those that it used last.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    numbers: Vec<u64>,
    /// When each was used last.
    used: Vec<u64>,
    clock: u64,
    /// Position of the page used last.
    last: usize,
}

impl Pages {
    pub(crate) fn new(count: usize) -> Self {
        Self { numbers: vec![u64::MAX; count], used: vec![0; count], clock: 0, last: 0 }
    }

    /// Uses a page; returns whether it was remembered.
    pub(crate) fn touch_page(&mut self, page: u64) -> bool {
        // Nearly all accesses are to the page of the last one.
        if self.numbers[self.last] == page {
            return true;
        }
        // Time passes only with a change of page, so the shortcut above does not alter the order of last uses.
        self.clock += 1;
        let known = self.numbers.iter().position(|number| *number == page);
        self.last = known.unwrap_or_else(|| {
            let oldest = (0..self.used.len()).min_by_key(|at| self.used[*at]);
            oldest.unwrap_or(0)
        });
        self.numbers[self.last] = page;
        self.used[self.last] = self.clock;
        known.is_some()
    }
}
