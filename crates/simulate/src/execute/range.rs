//! The range of a launch: sizes, and the position of the current work-group.

use super::rows::WIDTH;

/// The current work-group.
#[allow(clippy::struct_field_names, reason = "a sub-group is called so")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Group {
    pub(crate) id: [u64; 3],
    /// Size of this group: smaller at the far edges if the range is not a multiple of the group size.
    pub(crate) local: [u64; 3],
    /// Size of a full group.
    pub(crate) enqueued_local: [u64; 3],
    pub(crate) groups: [u64; 3],
    pub(crate) global: [u64; 3],
    pub(crate) offset: [u64; 3],
    pub(crate) dimensions: u32,
    /// Work-items per sub-group.
    pub(crate) sub_group: u32,
}

impl Group {
    /// Whether several warps run a sub-group.
    pub(crate) fn has_wide_sub_groups(&self) -> bool {
        self.sub_group as usize > WIDTH
    }

    /// Work-items of this group.
    pub(crate) fn items(&self) -> u64 {
        self.local.iter().product()
    }

    /// Number of this group, dimension 0 fastest.
    pub(crate) fn linear(&self) -> u64 {
        (self.id[2] * self.groups[1] + self.id[1]) * self.groups[0] + self.id[0]
    }

    /// Local id of a local linear id.
    pub(crate) fn local_id(&self, item: u64) -> [u64; 3] {
        let [x, y, _] = self.local;
        [item % x, item / x % y, item / (x * y)]
    }

    /// Global id of a local linear id.
    pub(crate) fn global_id(&self, item: u64) -> [u64; 3] {
        let local = self.local_id(item);
        std::array::from_fn(|d| self.offset[d] + self.id[d] * self.enqueued_local[d] + local[d])
    }
}
