//! Asynchronous copies that have not been waited for.

use tripipe_ir::Inst as Origin;
use tripipe_ir::diagnostic::AccessedMemory;

use crate::execute::state::State;

/// One side of a copy: elements within an object, `step` bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) object: u32,
    /// Offset of the first element.
    pub(crate) start: u64,
    /// Bytes per element.
    pub(crate) element: u64,
    pub(crate) step: u64,
    pub(crate) count: u64,
}

impl Side {
    /// The offset of each element.
    pub(crate) fn starts(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |index| self.start + index * self.step)
    }

    /// Whether any element overlaps a range of bytes.
    fn meets(&self, offset: u64, bytes: u64) -> bool {
        if self.count == 0 || bytes == 0 {
            return false;
        }
        // The first element that does not end before the range.
        let behind = (offset + 1).saturating_sub(self.start + self.element);
        let first = match (behind, self.step) {
            (0, _) => 0,
            (_, 0) => return false,
            (behind, step) => behind.div_ceil(step),
        };
        first < self.count && self.start + first * self.step < offset.saturating_add(bytes)
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.object == other.object && self.starts().any(|start| other.meets(start, self.element))
    }
}

/// An asynchronous copy that has not been waited for.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(super) event: u64,
    pub(super) origin: Origin,
    /// The sub-group that has started it, unless all of the work-group has.
    pub(super) sub_group: Option<u64>,
    /// The sides written and read; `None` for an empty side.
    pub(super) to: Option<Side>,
    pub(super) from: Option<Side>,
}

impl Side {
    /// The memory range of the side.
    pub(crate) fn memory(&self, s: &State<'_>) -> Option<AccessedMemory> {
        let bytes = self.count.saturating_sub(1) * self.step + self.element;
        s.memory.accessed(self.object, self.start.cast_signed(), bytes)
    }
}

impl Pending {
    pub(super) fn writes(&self, object: u32, offset: u64, bytes: u64) -> bool {
        self.to.is_some_and(|side| side.object == object && side.meets(offset, bytes))
    }

    pub(super) fn reads(&self, object: u32, offset: u64, bytes: u64) -> bool {
        self.from.is_some_and(|side| side.object == object && side.meets(offset, bytes))
    }
}
