//! Who read and wrote each piece of an object last: what data races are found with.
//!
//! Two accesses of the same bytes race if one writes, they are not both atomic, different work-items make them, and
//! nothing orders them: within a work-group a barrier that fences that memory, between work-groups nothing but a
//! chain of releases and acquires ([`super::order`]). A cell keeps the last writer and the last reader, and whether there were
//! other readers.

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
    pub(crate) inst: u32,
    pub(crate) atomic: bool,
    /// For readers: whether other work-items of the group read it since the last fence.
    pub(crate) several: bool,
    /// For readers: whether work-items of other groups read it.
    pub(crate) groups: bool,
}

/// The last accesses of a piece of memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) writer: Mark,
    pub(crate) reader: Mark,
    /// The last atomic.
    pub(crate) atomic: Mark,
}

const CHUNK: usize = 1024;

/// The cells of an object.
#[derive(Debug)]
pub(crate) struct Cells {
    /// Whether each group has its own: what another did there is forgotten.
    own: bool,
    /// Bytes of a cell.
    pub(crate) grain: usize,
    chunks: Vec<Option<Box<[Cell; CHUNK]>>>,
}

impl Cells {
    pub(crate) fn new(bytes: usize, grain: usize, own: bool) -> Self {
        Self { own, grain, chunks: (0..bytes.div_ceil(grain).div_ceil(CHUNK)).map(|_| None).collect() }
    }

    /// The cell of that index, for a group whose work-items' numbers start there.
    #[inline]
    pub(crate) fn at(&mut self, index: usize, first_item: u32) -> &mut Cell {
        let chunk = self.chunks[index / CHUNK].get_or_insert_with(|| Box::new([Cell::default(); CHUNK]));
        let cell = &mut chunk[index % CHUNK];
        if self.own {
            for mark in [&mut cell.writer, &mut cell.reader, &mut cell.atomic] {
                if mark.item < first_item {
                    *mark = Mark::default();
                }
            }
        }
        cell
    }
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

impl Mark {
    /// Takes the place of an earlier access, and keeps in mind that others were there.
    fn after(self, last: &Self, group_items: u32) -> Self {
        if last.item == 0 {
            return self;
        }
        let group = |mark: &Self| (mark.item - 1) / group_items;
        if group(last) != group(&self) {
            // Which other groups is not kept.
            return Self { groups: true, ..self };
        }
        let several = last.fences == self.fences && (last.several || last.item != self.item);
        Self { groups: last.groups, several, ..self }
    }
}

impl Cell {
    /// Notes a read; `group_items` work-items make a group. Gives what it races with.
    #[inline]
    pub(crate) fn read(&mut self, mark: Mark, group_items: u32, order: &impl Ordered) -> [Option<Race>; 2] {
        let writer = conflict(&self.writer, &mark, group_items, order);
        let atomic = others(&self.atomic, &mark, group_items, order);
        self.reader = mark.after(&self.reader, group_items);
        [writer, atomic]
    }

    /// Notes a write.
    #[inline]
    pub(crate) fn write(&mut self, mark: Mark, group_items: u32, order: &impl Ordered) -> [Option<Race>; 2] {
        let writer = conflict(&self.writer, &mark, group_items, order);
        let reader = others(&self.reader, &mark, group_items, order);
        let atomic = others(&self.atomic, &mark, group_items, order);
        self.writer = mark;
        [writer, reader.or(atomic)]
    }

    /// Notes an atomic, which other atomics do not race with.
    #[inline]
    pub(crate) fn atomic(
        &mut self,
        mark: Mark,
        writes: bool,
        group_items: u32,
        order: &impl Ordered,
    ) -> [Option<Race>; 2] {
        let writer = conflict(&self.writer, &mark, group_items, order);
        let reader = if writes { others(&self.reader, &mark, group_items, order) } else { None };
        self.atomic = mark.after(&self.atomic, group_items);
        [writer, reader]
    }
}

/// Whether an access conflicts with the last of several, or with one of those before it.
#[inline]
fn others(last: &Mark, mark: &Mark, group_items: u32, order: &impl Ordered) -> Option<Race> {
    let race = conflict(last, mark, group_items, order);
    if race.is_some() || last.item == 0 {
        return race;
    }
    let kind = |conflict| if last.atomic == mark.atomic { conflict } else { Conflict::Mixed };
    // The last may be the work-item itself; another was there all the same.
    let ordered = order.behind_item(mark.item, last.item);
    if last.several
        && last.fences == mark.fences
        && !ordered
        && (last.item - 1) / group_items == (mark.item - 1) / group_items
    {
        return Some((kind(Conflict::Group), *last));
    }
    (last.groups && !order.behind_any_group()).then(|| (kind(Conflict::Groups), *last))
}

/// Whether an access conflicts with an earlier one of which at least one writes.
#[inline]
fn conflict(before: &Mark, now: &Mark, group_items: u32, order: &impl Ordered) -> Option<Race> {
    if before.item == 0 || before.item == now.item || (before.atomic && now.atomic) {
        return None;
    }
    let group = (before.item - 1) / group_items;
    if group != (now.item - 1) / group_items {
        let mixed = before.atomic != now.atomic;
        return (!order.behind_group(group))
            .then_some((if mixed { Conflict::Mixed } else { Conflict::Groups }, *before));
    }
    if before.fences != now.fences || order.behind_item(now.item, before.item) {
        return None;
    }
    let kind = if before.barriers != now.barriers {
        Conflict::Fence
    } else if before.atomic != now.atomic {
        Conflict::Mixed
    } else {
        Conflict::Group
    };
    Some((kind, *before))
}

/// The instruction of a mark.
pub(crate) fn inst(mark: &Mark) -> ir::Inst {
    ir::Inst::from_u32(mark.inst)
}
