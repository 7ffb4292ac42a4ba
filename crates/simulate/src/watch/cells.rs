//! Who read and wrote each piece of an object last: what data races are found with.
//!
//! Two accesses of the same bytes race if one writes, they are not both atomic, different work-items make them, and
//! nothing orders them: within a work-group a barrier that fences that memory, between work-groups nothing but a
//! chain of releases and acquires ([`super::order`]). A cell keeps the last writer, the last reader and the last atomic, and
//! whether there were others before them.

use tripipe_ir as ir;

/// One access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Number of the work-item in the launch, from 1; 0: nobody.
    pub(crate) item: u32,
    /// Fences of that memory the group had behind it.
    pub(crate) fences: u16,
    /// Barriers the group had behind it.
    pub(crate) barriers: u16,
    /// The instruction's number, and above it the flags.
    bits: u32,
}

/// Whether it was an atomic.
const ATOMIC: u32 = 1 << 31;
/// Whether other work-items of the group did the same since the last fence.
const SEVERAL: u32 = 1 << 30;
/// Whether work-items of other groups did the same.
const GROUPS: u32 = 1 << 29;
const INST: u32 = GROUPS - 1;

impl Mark {
    pub(crate) fn new(item: u32, fences: u16, barriers: u16, inst: ir::Inst, atomic: bool) -> Self {
        let flag = if atomic { ATOMIC } else { 0 };
        Self { item, fences, barriers, bits: inst.as_u32() & INST | flag }
    }

    /// The instruction.
    pub(crate) fn inst(&self) -> ir::Inst {
        ir::Inst::from_u32(self.bits & INST)
    }

    /// The same access by another lane of a warp, this being that of lane 0.
    pub(crate) fn lane(self, lane: usize) -> Self {
        Self { item: self.item + lane as u32, ..self }
    }

    fn has(&self, flag: u32) -> bool {
        self.bits & flag != 0
    }

    /// Takes the place of an earlier access, and keeps in mind that others were there.
    #[inline]
    fn after(self, last: &Self, group: Group) -> Self {
        let flags = if last.item == 0 {
            0
        } else if !group.has(last.item) {
            // Which other groups is not kept.
            GROUPS
        } else {
            let several = last.fences == self.fences && (last.has(SEVERAL) || last.item != self.item);
            last.bits & GROUPS | if several { SEVERAL } else { 0 }
        };
        Self { bits: self.bits | flags, ..self }
    }
}

/// The work-items of the current group, by their numbers in the launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) first: u32,
    pub(crate) items: u32,
}

impl Group {
    fn has(self, item: u32) -> bool {
        item.wrapping_sub(self.first) < self.items
    }
}

/// The last plain accesses of a piece of memory.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    writer: Mark,
    reader: Mark,
}

const CHUNK: usize = 512;

/// The cells of an object.
#[derive(Debug)]
pub(crate) struct Cells {
    /// Whether each group has its own: what another did there is forgotten.
    own: bool,
    /// Bytes of a cell.
    pub(crate) grain: usize,
    chunks: Vec<Option<Box<[Cell; CHUNK]>>>,
    /// The last atomics; empty until there is one.
    atomics: Vec<Option<Box<[Mark; CHUNK]>>>,
}

/// How two accesses conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// Within a group, nothing between them.
    Group,
    /// Within a group, a barrier between them that does not fence this memory.
    Fence,
    /// Between groups.
    Groups,
    /// One of them is atomic.
    Mixed,
}

/// A conflict and the access it is with.
pub(crate) type Race = (Conflict, Mark);

/// What decides whether accesses are ordered though no barrier does it.
pub(crate) trait Ordered {
    /// Whether the current group comes behind what another has done.
    fn behind_group(&self, group: u32) -> bool;
    /// Whether it comes behind any other.
    fn behind_any_group(&self) -> bool;
    /// Whether a work-item comes behind what another of its group has done.
    fn behind_item(&self, item: u32, other: u32) -> bool;
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    /// An atomic, which other atomics do not race with.
    Atomic {
        writes: bool,
    },
}

impl Cells {
    pub(crate) fn new(bytes: usize, grain: usize, own: bool) -> Self {
        let chunks = bytes.div_ceil(grain).div_ceil(CHUNK);
        Self { own, grain, chunks: (0..chunks).map(|_| None).collect(), atomics: Vec::new() }
    }

    /// Notes an access of the cell of that index, which is inside. Gives what it races with.
    #[inline]
    pub(crate) fn note(
        &mut self,
        index: usize,
        kind: Kind,
        mark: Mark,
        group: Group,
        order: &impl Ordered,
    ) -> [Option<Race>; 2] {
        let (chunk, at) = (index / CHUNK, index % CHUNK);
        let cells = self.chunks[chunk].get_or_insert_with(|| Box::new([Cell::default(); CHUNK]));
        let cell = &mut cells[at];
        if self.own {
            for mark in [&mut cell.writer, &mut cell.reader] {
                if mark.item < group.first {
                    *mark = Mark::default();
                }
            }
        }
        let atomic = match (self.atomics.is_empty(), kind) {
            (true, Kind::Read | Kind::Write) => None,
            (true, Kind::Atomic { .. }) => {
                self.atomics = self.chunks.iter().map(|_| None).collect();
                None
            }
            (false, _) => self.atomics[chunk].as_ref().map(|atomics| atomics[at]),
        };
        let atomic = atomic.filter(|mark| !self.own || mark.item >= group.first).unwrap_or_default();
        let cell = match &mut self.chunks[chunk] {
            Some(cells) => &mut cells[at],
            None => return [None; 2],
        };
        let writer = conflict(&cell.writer, &mark, group, order);
        match kind {
            Kind::Read => {
                cell.reader = mark.after(&cell.reader, group);
                [writer, others(&atomic, &mark, group, order)]
            }
            Kind::Write => {
                let reader = others(&cell.reader, &mark, group, order);
                cell.writer = mark;
                [writer, reader.or_else(|| others(&atomic, &mark, group, order))]
            }
            Kind::Atomic { writes } => {
                let reader = if writes { others(&cell.reader, &mark, group, order) } else { None };
                let marks = self.atomics[chunk].get_or_insert_with(|| Box::new([Mark::default(); CHUNK]));
                marks[at] = mark.after(&atomic, group);
                [writer, reader]
            }
        }
    }
}

/// Whether an access conflicts with an earlier one, if one of them writes.
#[inline]
fn conflict(before: &Mark, now: &Mark, group: Group, order: &impl Ordered) -> Option<Race> {
    if before.item == 0 || before.item == now.item || (before.has(ATOMIC) && now.has(ATOMIC)) {
        return None;
    }
    let mixed = before.has(ATOMIC) != now.has(ATOMIC);
    if !group.has(before.item) {
        let other = (before.item - 1) / group.items;
        return (!order.behind_group(other))
            .then_some((if mixed { Conflict::Mixed } else { Conflict::Groups }, *before));
    }
    if before.fences != now.fences || order.behind_item(now.item, before.item) {
        return None;
    }
    let kind = if before.barriers != now.barriers {
        Conflict::Fence
    } else if mixed {
        Conflict::Mixed
    } else {
        Conflict::Group
    };
    Some((kind, *before))
}

/// Whether an access conflicts with the last of several, or with one of those before it.
#[inline]
fn others(last: &Mark, mark: &Mark, group: Group, order: &impl Ordered) -> Option<Race> {
    let race = conflict(last, mark, group, order);
    if race.is_some() || last.bits & (SEVERAL | GROUPS) == 0 || (last.has(ATOMIC) && mark.has(ATOMIC)) {
        return race;
    }
    let kind = |conflict| if last.has(ATOMIC) == mark.has(ATOMIC) { conflict } else { Conflict::Mixed };
    // The last may be the work-item itself; another was there all the same.
    if last.has(SEVERAL)
        && last.fences == mark.fences
        && group.has(last.item)
        && !order.behind_item(mark.item, last.item)
    {
        return Some((kind(Conflict::Group), *last));
    }
    (last.has(GROUPS) && !order.behind_any_group()).then(|| (kind(Conflict::Groups), *last))
}
