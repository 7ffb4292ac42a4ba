//! The mark of an access: who made it, when, and how.

use tripipe_ir as ir;

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
    pub(super) time: u32,
    /// The instruction's number, and the flags in the upper bits.
    pub(super) bits: u32,
}

/// Whether it was atomic.
pub(super) const ATOMIC: u32 = 1 << 31;
/// Whether other work-items of the group made the same access since the last fence.
pub(super) const SEVERAL: u32 = 1 << 30;
/// Whether work-items of other groups made the same access.
pub(super) const GROUPS: u32 = 1 << 29;
/// Whether an asynchronous copy of the group made it.
pub(super) const COPY: u32 = 1 << 28;
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

    pub(super) fn has(&self, flag: u32) -> bool {
        self.bits & flag != 0
    }

    /// Replaces an earlier access, and records that there were others. An access of another work-item since the last
    /// barrier stays: the next access is most often the work-item's own, as in `a[i] = a[i] + 1`, and a report of a
    /// race names the other side.
    #[allow(
        clippy::inline_always,
        clippy::needless_bitwise_bool,
        reason = "becomes part of loops, without branches, which would be unpredictable"
    )]
    #[inline(always)]
    pub(super) fn after(self, last: Self, era: Era) -> Self {
        let other = (last.item != self.item) & (last.bits & COPY == 0);
        let several = (last.time >= era.fenced) & ((last.bits & SEVERAL != 0) | other);
        // Only whether there were other groups is recorded, not which.
        let groups = (last.time != 0) & (last.time < era.group);
        let flags = (last.bits & GROUPS) | (u32::from(several) * SEVERAL) | (u32::from(groups) * GROUPS);
        let stays = other & (last.time == era.now);
        let kept = u32::from(stays).wrapping_neg();
        let choose = |old: u32, new: u32| (old & kept) | (new & !kept);
        Self {
            item: choose(last.item, self.item),
            time: self.time,
            bits: choose(last.bits, self.bits) | flags,
        }
    }

    /// Whether the access certainly causes no race: it is the work-item's own, is before a fence, or is a copy of the
    /// same group (whose completion has been awaited).
    #[allow(
        clippy::inline_always,
        clippy::needless_bitwise_bool,
        reason = "becomes part of loops, without branches, which would be unpredictable"
    )]
    #[inline(always)]
    pub(super) fn is_settled(self, item: u32, era: Era) -> bool {
        let fenced = (self.time < era.fenced) & (self.time >= era.group) & (self.bits & GROUPS == 0);
        let own = (self.item == item) & (self.bits & (SEVERAL | GROUPS) == 0);
        let copied = (self.time >= era.group) & (self.bits & (COPY | SEVERAL | GROUPS) == COPY);
        (self.time == 0) | fenced | own | copied
    }
}
