//! Records the last reads and writes of each piece of an object, for the detection of data races.
//!
//! Two accesses of the same bytes race if at least one writes, they are not both atomic, different work-items make
//! them, and nothing orders them. Within a work-group, a barrier that fences that memory orders them; between
//! work-groups, only a chain of releases and acquires ([`super::order`]). A cell stores the last writer, the last
//! reader and the last atomic, and whether there were others before them.
//!
//! Nearly all accesses race with nothing. Adjacent work-items that access adjacent cells, or all the same cell, are
//! therefore checked together ([`Cells::note_run`], [`Cells::note_same`]), and one by one only in case of doubt.

mod chunk;
mod mark;

use pulp::{Simd, WithSimd};

use crate::arch::Arch;
use chunk::{CHUNK, Chunk, Marks};
use mark::COPY;

pub(crate) use chunk::{Conflict, Kind, Ordered, Race};
pub(crate) use mark::{Era, Mark, Times};

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
            // The last one stays: the first to write is most often the first work-item.
            readers.add(index % CHUNK, last, era);
            readers.add(index % CHUNK, first, era);
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
