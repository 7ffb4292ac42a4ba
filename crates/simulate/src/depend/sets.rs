//! Sets of numbers, each stored once, so that a set is a number itself.

use std::collections::HashMap;

/// The number of a set.
pub(super) type Set = u32;

/// The empty set.
pub(super) const EMPTY: Set = 0;

/// All sets so far.
#[derive(Debug)]
pub(super) struct Sets {
    /// Bits, by set.
    all: Vec<Box<[u64]>>,
    numbers: HashMap<Box<[u64]>, Set>,
    /// Unions that were asked for, the smaller number first.
    unions: HashMap<(Set, Set), Set>,
    words: usize,
}

impl Sets {
    /// Only the empty set; later ones have numbers below `count`.
    pub(super) fn new(count: usize) -> Self {
        let words = count.div_ceil(64);
        let empty: Box<[u64]> = vec![0; words].into();
        Self {
            all: vec![empty.clone()],
            numbers: HashMap::from([(empty, EMPTY)]),
            unions: HashMap::new(),
            words,
        }
    }

    fn stored(&mut self, bits: Box<[u64]>) -> Set {
        if let Some(known) = self.numbers.get(&bits) {
            return *known;
        }
        let set = self.all.len() as Set;
        self.all.push(bits.clone());
        self.numbers.insert(bits, set);
        set
    }

    /// The set of one number.
    pub(super) fn one(&mut self, number: usize) -> Set {
        let mut bits = vec![0; self.words];
        bits[number / 64] |= 1 << (number % 64);
        self.stored(bits.into())
    }

    /// The union of two sets.
    pub(super) fn union(&mut self, a: Set, b: Set) -> Set {
        if a == b || b == EMPTY {
            return a;
        }
        if a == EMPTY {
            return b;
        }
        let key = (a.min(b), a.max(b));
        if let Some(known) = self.unions.get(&key) {
            return *known;
        }
        let bits = self.all[a as usize].iter().zip(&self.all[b as usize]).map(|(a, b)| a | b).collect();
        let union = self.stored(bits);
        self.unions.insert(key, union);
        union
    }

    /// The numbers of a set.
    pub(super) fn numbers(&self, set: Set) -> impl Iterator<Item = usize> + '_ {
        let bits = &self.all[set as usize];
        (0..bits.len() * 64).filter(|number| bits[number / 64] >> (number % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_have_the_numbers_of_both_and_are_stored_once() {
        let mut sets = Sets::new(130);
        let [a, b, c] = [3, 64, 129].map(|number| sets.one(number));
        let ab = sets.union(a, b);
        let all = sets.union(ab, c);
        assert_eq!(sets.numbers(all).collect::<Vec<_>>(), [3, 64, 129]);
        let bc = sets.union(c, b);
        assert_eq!(sets.union(bc, a), all);
        assert_eq!((sets.union(all, EMPTY), sets.union(all, b)), (all, all));
        assert_eq!(sets.numbers(EMPTY).count(), 0);
    }
}
