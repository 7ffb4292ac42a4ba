//! Records the last reads and writes of each piece of an object, for the detection of data races.
//!
//! Two accesses of the same bytes race if at least one writes, they are not both atomic, different work-items make
//! them, and nothing orders them. Within a work-group, a barrier that fences that memory orders them; between
//! work-groups, only a chain of releases and acquires ([`super::order`]). A cell stores the last writer, the last
//! reader and the last atomic, and whether there were others before them.
//!
//! Nearly all accesses race with nothing. Adjacent work-items that access adjacent cells, or all the same cell, are
//! therefore checked together ([`Cells::note_run`], [`Cells::note_same`]), and one by one only in case of doubt.

use pulp::{Simd, WithSimd};
use tripipe_ir as ir;

use crate::arch::Arch;

/// Time in a launch: it advances at the start of each work-group and at each barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    /// The current time, from 1.
    pub(crate) now: u32,
    /// Start time of the group.
    pub(crate) group: u32,
    /// Time of its last fence of local memory, or its start.
    pub(crate) local: u32,
    /// Time of its last fence of global memory, or its start.
    pub(crate) global: u32,
}

impl Times {
    /// Starts a group.
    pub(crate) fn start_group(&mut self) {
        let now = self.now.saturating_add(1);
        *self = Self { now, group: now, local: now, global: now };
    }

    /// The group has passed a barrier that fences these memories.
    pub(crate) fn barrier(&mut self, local: bool, global: bool) {
        self.now = self.now.saturating_add(1);
        if local {
            self.local = self.now;
        }
        if global {
            self.global = self.now;
        }
    }
}

/// The time of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Era {
    /// The current time.
    pub(crate) now: u32,
    /// Time of the group's last fence of this memory, or its start.
    pub(crate) fenced: u32,
    /// Start time of the group.
    pub(crate) group: u32,
    /// Work-items per group.
    pub(crate) items: u32,
}

/// One access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Number of the work-item in the launch, counted from 1.
    pub(crate) item: u32,
    /// Time of the access; 0: never.
    time: u32,
    /// The instruction's number, and the flags in the upper bits.
    bits: u32,
}

/// Whether it was atomic.
const ATOMIC: u32 = 1 << 31;
/// Whether other work-items of the group made the same access since the last fence.
const SEVERAL: u32 = 1 << 30;
/// Whether work-items of other groups made the same access.
const GROUPS: u32 = 1 << 29;
/// Whether an asynchronous copy of the group made it.
const COPY: u32 = 1 << 28;
/// Whether that copy wrote.
const COPIED_TO: u32 = 1 << 27;
const INST: u32 = COPIED_TO - 1;

impl Mark {
    pub(crate) fn new(item: u32, era: Era, inst: ir::Inst, atomic: bool) -> Self {
        let flag = if atomic { ATOMIC } else { 0 };
        Self { item, time: era.now, bits: inst.as_u32() & INST | flag }
    }

    /// The mark of a group's asynchronous copy, which no single work-item makes: it has the number of the group's
    /// first.
    pub(crate) fn copy(first: u32, era: Era, inst: ir::Inst, writes: bool) -> Self {
        let mark = Self::new(first, era, inst, false);
        Self { bits: mark.bits | COPY | if writes { COPIED_TO } else { 0 }, ..mark }
    }

    /// Whether the mark is from an asynchronous copy; if so, whether the copy wrote.
    pub(crate) fn copied(&self) -> Option<bool> {
        self.has(COPY).then(|| self.has(COPIED_TO))
    }

    /// The instruction.
    pub(crate) fn inst(&self) -> ir::Inst {
        ir::Inst::from_u32(self.bits & INST)
    }

    /// The same access by another lane of a warp; `self` is that of lane 0.
    pub(crate) fn lane(self, lane: usize) -> Self {
        Self { item: self.item + lane as u32, ..self }
    }

    fn has(&self, flag: u32) -> bool {
        self.bits & flag != 0
    }

    /// Replaces an earlier access, and records that there were others.
    #[allow(
        clippy::inline_always,
        clippy::needless_bitwise_bool,
        reason = "becomes part of loops, without branches: which way they go is anybody's guess"
    )]
    #[inline(always)]
    fn after(self, last: Self, era: Era) -> Self {
        let other = (last.item != self.item) & (last.bits & COPY == 0);
        let several = (last.time >= era.fenced) & ((last.bits & SEVERAL != 0) | other);
        // Only whether there were other groups is recorded, not which.
        let groups = (last.time != 0) & (last.time < era.group);
        let flags = (last.bits & GROUPS) | (u32::from(several) * SEVERAL) | (u32::from(groups) * GROUPS);
        Self { bits: self.bits | flags, ..self }
    }

    /// Whether the access certainly causes no race: it is the work-item's own, is before a fence, or is a copy of the
    /// same group (whose completion has been awaited).
    #[allow(
        clippy::inline_always,
        clippy::needless_bitwise_bool,
        reason = "becomes part of loops, without branches: which way they go is anybody's guess"
    )]
    #[inline(always)]
    fn is_settled(self, item: u32, era: Era) -> bool {
        let fenced = (self.time < era.fenced) & (self.time >= era.group) & (self.bits & GROUPS == 0);
        let own = (self.item == item) & (self.bits & (SEVERAL | GROUPS) == 0);
        let copied = (self.time >= era.group) & (self.bits & (COPY | SEVERAL | GROUPS) == COPY);
        (self.time == 0) | fenced | own | copied
    }
}

const CHUNK: usize = 512;

/// An access for each cell of a chunk, as separate arrays for vectorised comparisons.
#[derive(Debug)]
struct Marks {
    /// Times of the first and the last access; 0: there is none.
    first: u32,
    last: u32,
    items: [u32; CHUNK],
    times: [u32; CHUNK],
    bits: [u32; CHUNK],
}

impl Marks {
    const NONE: Self = Self { first: 0, last: 0, items: [0; CHUNK], times: [0; CHUNK], bits: [0; CHUNK] };

    /// Whether all accesses are before a fence, so that none causes a race.
    fn are_settled(&self, era: Era) -> bool {
        self.last < era.fenced && (self.last == 0 || self.first >= era.group)
    }

    #[allow(clippy::inline_always, reason = "has to become part of the loops it is used in")]
    #[inline(always)]
    fn get(&self, at: usize) -> Mark {
        Mark { item: self.items[at], time: self.times[at], bits: self.bits[at] }
    }

    /// Records that there is an access at this time.
    fn date(&mut self, time: u32) {
        self.first = if self.first == 0 { time } else { self.first };
        self.last = time;
    }

    fn set(&mut self, at: usize, mark: Mark) {
        self.date(mark.time);
        self.items[at] = mark.item;
        self.times[at] = mark.time;
        self.bits[at] = mark.bits;
    }

    /// Sets a cell to an access that others may have made before.
    fn add(&mut self, at: usize, mark: Mark, era: Era) {
        self.set(at, mark.after(self.get(at), era));
    }

    /// The accesses of a range of cells.
    fn range(&self, cells: std::ops::Range<usize>) -> (&[u32], &[u32], &[u32]) {
        (&self.items[cells.clone()], &self.times[cells.clone()], &self.bits[cells])
    }

    fn range_mut(&mut self, cells: std::ops::Range<usize>) -> (&mut [u32], &mut [u32], &mut [u32]) {
        (&mut self.items[cells.clone()], &mut self.times[cells.clone()], &mut self.bits[cells])
    }
}

/// The last accesses of the cells of a chunk.
#[derive(Debug)]
struct Chunk {
    writers: Marks,
    readers: Marks,
    /// Atomics that write; `None` until the first one.
    atomics: Option<Box<Marks>>,
    /// Atomics that only read: loads, and exchanges that found an unexpected value.
    atomic_readers: Option<Box<Marks>>,
}

impl Chunk {
    const NONE: Self =
        Self { writers: Marks::NONE, readers: Marks::NONE, atomics: None, atomic_readers: None };

    /// Whether all accesses that an access of this kind may race with pass a test.
    #[allow(clippy::inline_always, reason = "once for each lane")]
    #[inline(always)]
    fn passes(&self, kind: Kind, test: impl Fn(&Marks) -> bool) -> bool {
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
    fn races(&self, at: usize, kind: Kind, mark: Mark, era: Era, order: &impl Ordered) -> [Option<Race>; 2] {
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

/// The cells of an object.
#[derive(Debug)]
pub(crate) struct Cells {
    /// Whether each group has separate contents: accesses by other groups are ignored.
    own: bool,
    /// Log2 of the bytes per cell.
    pub(crate) grain_log2: u32,
    /// `None` until the first access.
    chunks: Vec<Option<Box<Chunk>>>,
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

impl Cells {
    /// Cells for an object of `bytes` bytes; `grain`, a power of two, is the size of a cell.
    pub(crate) fn new(bytes: usize, grain: usize, own: bool) -> Self {
        let chunks = bytes.div_ceil(grain).div_ceil(CHUNK);
        Self { own, grain_log2: grain.trailing_zeros(), chunks: (0..chunks).map(|_| None).collect() }
    }

    /// The number of adjacent work-items, out of `items`, that [`Self::note_run`] can record together, when each
    /// accesses `each` cells and the first starts at cell `index`.
    pub(crate) fn together(index: usize, each: usize, items: usize) -> usize {
        items.min((CHUNK - index % CHUNK) / each)
    }

    /// The era for cells that are separate for each group: earlier accesses count as before a fence.
    fn era(&self, era: Era) -> Era {
        Era { group: if self.own { 1 } else { era.group }, ..era }
    }

    /// The chunk that contains a cell.
    fn chunk(&mut self, index: usize) -> &mut Chunk {
        self.chunks[index / CHUNK].get_or_insert_with(|| Box::new(Chunk::NONE))
    }

    /// Records a read or write of `cells` by adjacent work-items, `1 << shift` cells each, all within a chunk
    /// ([`Self::together`]). `mark` is that of the first. Returns `false` without recording if there may be a race.
    pub(crate) fn note_run(
        &mut self,
        arch: Arch,
        cells: std::ops::Range<usize>,
        shift: u32,
        write: bool,
        mark: Mark,
        era: Era,
    ) -> bool {
        let era = self.era(era);
        let chunk = self.chunk(cells.start);
        let first = cells.start % CHUNK;
        let cells = first..first + cells.len();
        let settled = |last: &Marks| {
            last.are_settled(era)
                || arch.dispatch(Settled { last: last.range(cells.clone()), shift, mark, era })
        };
        if !chunk.passes(if write { Kind::Write } else { Kind::Read }, settled) {
            return false;
        }
        if write {
            chunk.writers.date(mark.time);
            arch.dispatch(Put { to: chunk.writers.range_mut(cells), shift, mark });
        } else {
            chunk.readers.date(mark.time);
            arch.dispatch(PutAfter { to: chunk.readers.range_mut(cells), shift, mark, era });
        }
        true
    }

    /// Records a read of some cells by several work-items, given the first and the last. Returns `false` without
    /// recording if there may be a race.
    pub(crate) fn note_same(
        &mut self,
        cells: std::ops::RangeInclusive<usize>,
        first: Mark,
        last: Mark,
        era: Era,
    ) -> bool {
        let era = self.era(era);
        for index in cells.clone() {
            // No work-item has the number 0.
            let settled = |last: &Marks| last.are_settled(era) || last.get(index % CHUNK).is_settled(0, era);
            if !self.chunk(index).passes(Kind::Read, settled) {
                return false;
            }
        }
        for index in cells {
            let readers = &mut self.chunk(index).readers;
            readers.add(index % CHUNK, first, era);
            readers.add(index % CHUNK, last, era);
        }
        true
    }

    /// Records an access of the cell `index`, which must be inside. Returns its races.
    #[inline]
    pub(crate) fn note(
        &mut self,
        index: usize,
        kind: Kind,
        mark: Mark,
        era: Era,
        order: &impl Ordered,
    ) -> [Option<Race>; 2] {
        let era = self.era(era);
        let chunk = self.chunk(index);
        let at = index % CHUNK;
        let settled = chunk.passes(kind, |last| last.are_settled(era));
        let races = if settled { [None; 2] } else { chunk.races(at, kind, mark, era, order) };
        match kind {
            // If a work-item of the group has already read it, that mark covers the copy.
            Kind::Read if mark.has(COPY) && chunk.readers.get(at).time >= era.fenced => {}
            Kind::Read => chunk.readers.add(at, mark, era),
            Kind::Write => chunk.writers.set(at, mark),
            Kind::Atomic { writes } => {
                let marks = if writes { &mut chunk.atomics } else { &mut chunk.atomic_readers };
                marks.get_or_insert_with(|| Box::new(Marks::NONE)).add(at, mark, era);
            }
        }
        races
    }
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

/// Whether the last accesses of cells race with none of a run of work-items.
struct Settled<'a> {
    last: (&'a [u32], &'a [u32], &'a [u32]),
    shift: u32,
    mark: Mark,
    era: Era,
}

impl WithSimd for Settled<'_> {
    type Output = bool;

    #[allow(clippy::inline_always, reason = "else it is compiled for the baseline")]
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let (items, times, bits) = self.last;
        let mut settled = true;
        for (cell, ((item, time), bits)) in (0u32..).zip(items.iter().zip(times).zip(bits)) {
            let last = Mark { item: *item, time: *time, bits: *bits };
            settled &= last.is_settled(self.mark.item + (cell >> self.shift), self.era);
        }
        settled
    }
}

/// Writes the marks of a run of work-items.
struct Put<'a> {
    to: (&'a mut [u32], &'a mut [u32], &'a mut [u32]),
    shift: u32,
    mark: Mark,
}

impl WithSimd for Put<'_> {
    type Output = ();

    #[allow(clippy::inline_always, reason = "else it is compiled for the baseline")]
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (items, times, bits) = self.to;
        for (cell, item) in (0u32..).zip(items) {
            *item = self.mark.item + (cell >> self.shift);
        }
        times.fill(self.mark.time);
        bits.fill(self.mark.bits);
    }
}

/// Writes the marks of a run of work-items, including the flags for earlier accesses.
struct PutAfter<'a> {
    to: (&'a mut [u32], &'a mut [u32], &'a mut [u32]),
    shift: u32,
    mark: Mark,
    era: Era,
}

impl WithSimd for PutAfter<'_> {
    type Output = ();

    #[allow(clippy::inline_always, reason = "else it is compiled for the baseline")]
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (items, times, bits) = self.to;
        for (cell, ((item, time), bits)) in (0u32..).zip(items.iter_mut().zip(times).zip(bits)) {
            let last = Mark { item: *item, time: *time, bits: *bits };
            let mark = Mark { item: self.mark.item + (cell >> self.shift), ..self.mark };
            let mark = mark.after(last, self.era);
            (*item, *time, *bits) = (mark.item, mark.time, mark.bits);
        }
    }
}

#[cfg(test)]
mod tests;
