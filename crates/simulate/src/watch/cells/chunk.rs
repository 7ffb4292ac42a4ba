//! The last accesses of adjacent cells, and how an access conflicts with them.

use super::mark::{ATOMIC, COPY, Era, GROUPS, Mark, SEVERAL};

/// Cells of a chunk.
pub(super) const CHUNK: usize = 512;

/// An access for each cell of a chunk, as separate arrays for vectorised comparisons.
#[derive(Debug)]
pub(super) struct Marks {
    /// Times of the first and the last access; 0: there is none.
    first: u32,
    last: u32,
    items: [u32; CHUNK],
    times: [u32; CHUNK],
    bits: [u32; CHUNK],
}

impl Marks {
    pub(super) const NONE: Self =
        Self { first: 0, last: 0, items: [0; CHUNK], times: [0; CHUNK], bits: [0; CHUNK] };

    /// Whether all accesses are before a fence, so that none causes a race.
    pub(super) fn are_settled(&self, era: Era) -> bool {
        self.last < era.fenced && (self.last == 0 || self.first >= era.group)
    }

    #[allow(clippy::inline_always, reason = "has to become part of the loops it is used in")]
    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> Mark {
        Mark { item: self.items[at], time: self.times[at], bits: self.bits[at] }
    }

    /// Records that there is an access at this time.
    pub(super) fn date(&mut self, time: u32) {
        self.first = if self.first == 0 { time } else { self.first };
        self.last = time;
    }

    pub(super) fn set(&mut self, at: usize, mark: Mark) {
        self.date(mark.time);
        self.items[at] = mark.item;
        self.times[at] = mark.time;
        self.bits[at] = mark.bits;
    }

    /// Sets a cell to an access that others may have made before.
    pub(super) fn add(&mut self, at: usize, mark: Mark, era: Era) {
        self.set(at, mark.after(self.get(at), era));
    }

    /// The accesses of a range of cells.
    pub(super) fn range(&self, cells: std::ops::Range<usize>) -> (&[u32], &[u32], &[u32]) {
        (&self.items[cells.clone()], &self.times[cells.clone()], &self.bits[cells])
    }

    pub(super) fn range_mut(
        &mut self,
        cells: std::ops::Range<usize>,
    ) -> (&mut [u32], &mut [u32], &mut [u32]) {
        (&mut self.items[cells.clone()], &mut self.times[cells.clone()], &mut self.bits[cells])
    }
}

/// The last accesses of the cells of a chunk.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) writers: Marks,
    pub(super) readers: Marks,
    /// Atomics that write; `None` until the first one.
    pub(super) atomics: Option<Box<Marks>>,
    /// Atomics that only read: loads, and exchanges that found an unexpected value.
    pub(super) atomic_readers: Option<Box<Marks>>,
}

impl Chunk {
    pub(super) const NONE: Self =
        Self { writers: Marks::NONE, readers: Marks::NONE, atomics: None, atomic_readers: None };

    /// Whether all accesses that an access of this kind may race with pass a test.
    #[allow(clippy::inline_always, reason = "once for each lane")]
    #[inline(always)]
    pub(super) fn passes(&self, kind: Kind, test: impl Fn(&Marks) -> bool) -> bool {
        let none_or = |marks: &Option<Box<Marks>>| marks.as_deref().is_none_or(&test);
        let (reads, atomic) = match kind {
            Kind::Read => (true, false),
            Kind::Write => (false, false),
            Kind::Atomic { writes } => (!writes, true),
        };
        test(&self.writers)
            && (reads || test(&self.readers))
            && (atomic || none_or(&self.atomics))
            && (atomic || reads || none_or(&self.atomic_readers))
    }

    /// The races of an access to a cell.
    pub(super) fn races(
        &self,
        at: usize,
        kind: Kind,
        mark: Mark,
        era: Era,
        order: &impl Ordered,
    ) -> [Option<Race>; 2] {
        // No work-item has the number 0: a copy belongs to no work-item.
        let item = if mark.has(COPY) { 0 } else { mark.item };
        if self.passes(kind, |last| last.get(at).is_settled(item, era)) {
            return [None; 2];
        }
        let others = |last: &Marks| others(last.get(at), mark, era, order);
        let atomics = || self.atomics.as_deref().and_then(others);
        let atomic_readers = || self.atomic_readers.as_deref().and_then(others);
        let second = match kind {
            Kind::Read => atomics(),
            Kind::Write => others(&self.readers).or_else(atomics).or_else(atomic_readers),
            Kind::Atomic { writes: true } => others(&self.readers),
            Kind::Atomic { writes: false } => None,
        };
        [conflict(self.writers.get(at), mark, era, order), second]
    }
}

/// How two accesses conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// Within a group, with nothing between them.
    Group,
    /// Within a group, separated by a barrier that does not fence this memory.
    Fence,
    /// Between groups.
    Groups,
    /// Only one of them is atomic.
    Mixed,
}

/// A conflict, and the other access.
pub(crate) type Race = (Conflict, Mark);

/// Decides whether accesses are ordered without a barrier.
pub(crate) trait Ordered {
    /// Whether the current group is ordered after the accesses of another group.
    fn behind_group(&self, group: u32) -> bool;
    /// Whether it is ordered after any other group.
    fn behind_any_group(&self) -> bool;
    /// Whether a work-item is ordered after the accesses of another one of its group.
    fn behind_item(&self, item: u32, other: u32) -> bool;
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    /// An atomic, which does not race with other atomics.
    Atomic {
        writes: bool,
    },
}

/// The conflict of an access with an earlier one, given that one of them writes.
#[inline]
fn conflict(before: Mark, now: Mark, era: Era, order: &impl Ordered) -> Option<Race> {
    // Any work-item of the group may have started a copy, if there is more than one.
    let own = before.item == now.item && (era.items == 1 || !now.has(COPY));
    if before.time == 0 || own {
        return None;
    }
    let mixed = before.has(ATOMIC) != now.has(ATOMIC);
    if before.time < era.group {
        let other = (before.item - 1) / era.items;
        return (!order.behind_group(other))
            .then_some((if mixed { Conflict::Mixed } else { Conflict::Groups }, before));
    }
    if before.time < era.fenced || before.has(COPY) || order.behind_item(now.item, before.item) {
        return None;
    }
    let kind = if before.time != era.now {
        Conflict::Fence
    } else if mixed {
        Conflict::Mixed
    } else {
        Conflict::Group
    };
    Some((kind, before))
}

/// The conflict of an access with the last of several accesses, or with one of those before it.
#[inline]
fn others(last: Mark, mark: Mark, era: Era, order: &impl Ordered) -> Option<Race> {
    let race = conflict(last, mark, era, order);
    if race.is_some() || last.bits & (SEVERAL | GROUPS) == 0 {
        return race;
    }
    let kind = |conflict| if last.has(ATOMIC) == mark.has(ATOMIC) { conflict } else { Conflict::Mixed };
    // The last access may be the work-item's own; there was another one as well.
    if last.has(SEVERAL) && last.time >= era.fenced && !order.behind_item(mark.item, last.item) {
        return Some((kind(Conflict::Group), last));
    }
    (last.has(GROUPS) && !order.behind_any_group()).then(|| (kind(Conflict::Groups), last))
}
