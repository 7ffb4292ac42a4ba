//! Translations of addresses that a core remembers.

/// No page follows, or none is before.
const NONE: u16 = u16::MAX;

/// Pages whose translation a core remembers: those that it used last.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    entries: Vec<Page>,
    /// The first page of each chain: those whose numbers have the same hash.
    chains: Vec<u16>,
    /// The page used last, and the one whose use is longest ago.
    newest: u16,
    oldest: u16,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    number: u64,
    /// The pages used before and after it.
    older: u16,
    newer: u16,
    /// The next page of its chain.
    next: u16,
}

impl Pages {
    pub(crate) fn new(count: usize) -> Self {
        let count = count.clamp(1, usize::from(NONE)) as u16;
        let at = |at: u16| if at < count { at } else { NONE };
        let page = |own: u16| Page {
            number: u64::MAX,
            older: at(own + 1),
            newer: own.checked_sub(1).unwrap_or(NONE),
            next: NONE,
        };
        Self {
            entries: (0..count).map(page).collect(),
            // Twice as many as pages, so that most have one.
            chains: vec![NONE; (2 * usize::from(count)).next_power_of_two()],
            newest: 0,
            oldest: count - 1,
        }
    }

    /// Uses a page; returns whether it was remembered.
    pub(crate) fn touch_page(&mut self, page: u64) -> bool {
        // Nearly all accesses are to the page of the last one.
        if self.entries[usize::from(self.newest)].number == page {
            return true;
        }
        let chain = self.chain(page);
        let mut known = self.chains[chain];
        while known != NONE && self.entries[usize::from(known)].number != page {
            known = self.entries[usize::from(known)].next;
        }
        if known != NONE {
            self.renew(known);
            return true;
        }
        let oldest = self.oldest;
        self.forget(oldest);
        let own = &mut self.entries[usize::from(oldest)];
        (own.number, own.next) = (page, self.chains[chain]);
        self.chains[chain] = oldest;
        self.renew(oldest);
        false
    }

    fn chain(&self, page: u64) -> usize {
        // Fibonacci hashing (Knuth): a power of two between pages must not put them into one chain.
        (page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.chains.len() - 1)
    }

    /// Takes a page out of its chain, if it is in one.
    fn forget(&mut self, at: u16) {
        let Page { number, next, .. } = self.entries[usize::from(at)];
        let chain = self.chain(number);
        let mut other = self.chains[chain];
        if other == at {
            self.chains[chain] = next;
            return;
        }
        while other != NONE {
            let follower = &mut self.entries[usize::from(other)].next;
            if *follower == at {
                *follower = next;
                return;
            }
            other = *follower;
        }
    }

    /// Makes a page the one used last.
    fn renew(&mut self, at: u16) {
        if at == self.newest {
            return;
        }
        let Page { older, newer, .. } = self.entries[usize::from(at)];
        // It is not the newest, so there is a newer one.
        self.entries[usize::from(newer)].older = older;
        match older {
            NONE => self.oldest = newer,
            older => self.entries[usize::from(older)].newer = newer,
        }
        let newest = std::mem::replace(&mut self.newest, at);
        self.entries[usize::from(newest)].newer = at;
        let own = &mut self.entries[usize::from(at)];
        (own.older, own.newer) = (newest, NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the definition: the last `count` different pages.
    #[test]
    fn the_pages_used_last_are_remembered() {
        for (count, numbers) in [(1, 3), (2, 3), (7, 12), (64, 100), (64, 1 << 20)] {
            let (mut pages, mut last, mut random) = (Pages::new(count), Vec::new(), 1u64);
            for _ in 0..5_000 {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let page = (random >> 40) % numbers * 64;
                let known = last.iter().position(|other| *other == page);
                assert_eq!(pages.touch_page(page), known.is_some(), "{count} of {numbers}");
                if known.is_some() || last.len() == count {
                    last.remove(known.unwrap_or(0));
                }
                last.push(page);
            }
        }
    }
}
