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
            for mark in [&mut cell.writer, &mut cell.reader] {
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

impl Cell {
    /// Notes a read; `group_items` work-items make a group.
    #[inline]
    pub(crate) fn read(&mut self, mark: Mark, group_items: u32, order: &impl Ordered) -> Option<Race> {
        let race = conflict(&self.writer, &mark, group_items, order);
        let last = self.reader;
        let group = |mark: &Mark| (mark.item - 1) / group_items;
        self.reader = mark;
        if last.item != 0 {
            if group(&last) != group(&mark) {
                // Which other groups read is not kept.
                self.reader.groups = true;
            } else {
                self.reader.groups = last.groups;
                self.reader.several = last.fences == mark.fences && (last.several || last.item != mark.item);
            }
        }
        race
    }

    /// Notes a write.
    #[inline]
    pub(crate) fn write(&mut self, mark: Mark, group_items: u32, order: &impl Ordered) -> Option<Race> {
        let mut race = conflict(&self.writer, &mark, group_items, order);
        if race.is_none() && self.reader.item != 0 {
            let reader = self.reader;
            race = conflict(&reader, &mark, group_items, order);
            // The last reader may be the writer itself; another was there all the same.
            if race.is_none()
                && reader.several
                && reader.fences == mark.fences
                && !(reader.atomic && mark.atomic)
            {
                race = Some((Conflict::Group, reader));
            }
            if race.is_none() && reader.groups && !(reader.atomic && mark.atomic) && !order.behind_any_group()
            {
                race = Some((Conflict::Groups, reader));
            }
        }
        self.writer = mark;
        if !mark.atomic {
            self.reader = Mark::default();
        }
        race
    }
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
