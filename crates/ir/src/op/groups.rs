//! Operations of groups, dot products, and facts about work-items.

use super::names::named;

named! {
    /// Which group.
    pub enum GroupScope {
        /// The work-group.
        WorkGroup = "workgroup",
        /// The sub-group.
        SubGroup = "subgroup",
    }
}

named! {
    /// A sub-group size, as a share of the largest that a GPU has.
    pub enum SubGroupShare {
        /// Half of it.
        Half = "half",
        /// All of it.
        Full = "full",
    }
}

named! {
    /// What a reduction does with two values.
    pub enum Reduction {
        /// Integer sum.
        Add = "add",
        /// Integer product.
        Mul = "mul",
        /// Signed minimum.
        SMin = "smin",
        /// Unsigned minimum.
        UMin = "umin",
        /// Signed maximum.
        SMax = "smax",
        /// Unsigned maximum.
        UMax = "umax",
        /// Bits of both.
        And = "and",
        /// Bits of either.
        Or = "or",
        /// Bits of one.
        Xor = "xor",
        /// Both true.
        LogicalAnd = "land",
        /// Either true.
        LogicalOr = "lor",
        /// One true.
        LogicalXor = "lxor",
        /// Float sum; the order of additions is the implementation's.
        FAdd = "fadd",
        /// Float product.
        FMul = "fmul",
        /// Float minimum.
        FMin = "fmin",
        /// Float maximum.
        FMax = "fmax",
    }
}

/// What a group does. The first operand is the value, but where said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupOp {
    /// Whether a `bool` is true in all.
    All,
    /// Whether a `bool` is true in any.
    Any,
    /// Whether the value is the same in all.
    AllEqual,
    /// Value of the work-item of an id: value, then one id (sub-group) or 1 to 3 local ids (work-group).
    Broadcast,
    /// Value of the first active work-item.
    BroadcastFirst,
    /// True in one active work-item. No operand.
    Elect,
    /// Value of all.
    Reduce(Reduction),
    /// Of this one and those before.
    InclusiveScan(Reduction),
    /// Of those before.
    ExclusiveScan(Reduction),
    /// Value of all in the same cluster: so many neighbours by id, a power of two.
    ClusterReduce(Reduction, u32),
    /// Value of an id: value, id.
    Shuffle,
    /// Value of own id xor operand: value, mask.
    ShuffleXor,
    /// Value of own id minus operand: value, delta.
    ShuffleUp,
    /// Value of own id plus operand: value, delta.
    ShuffleDown,
    /// Bit for each: `bool` to `i32x4`.
    Ballot,
    /// Own bit of a ballot: `i32x4` to `bool`.
    InverseBallot,
    /// Bit of an id: `i32x4`, id to `bool`.
    BallotBit,
    /// Bits set in a ballot.
    BallotCount,
    /// Least bit set in a ballot.
    BallotLeast,
    /// Greatest bit set in a ballot.
    BallotGreatest,
}

/// A group operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// Which group.
    pub scope: GroupScope,
    /// What.
    pub op: GroupOp,
    /// Whether only the work-items that get here take part; else all of the group must.
    pub active_only: bool,
}

/// An integer dot product: the sum of lane products in the result's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dot {
    /// Whether the first operand's lanes are signed.
    pub a_signed: bool,
    /// Whether the second operand's lanes are signed.
    pub b_signed: bool,
    /// Whether a third operand is added and the sum saturates (unsigned if both are).
    pub accumulate: bool,
}

named! {
    /// Facts about a work-item. With a dimension they are `i64`, without one `i32` but for the linear ids.
    pub enum QueryKind {
        /// `get_global_id`
        GlobalId = "global_id",
        /// `get_global_size`
        GlobalSize = "global_size",
        /// `get_global_offset`
        GlobalOffset = "global_offset",
        /// `get_local_id`
        LocalId = "local_id",
        /// `get_local_size`: of this group, smaller in the last one
        LocalSize = "local_size",
        /// `get_enqueued_local_size`
        EnqueuedLocalSize = "enqueued_local_size",
        /// `get_group_id`
        GroupId = "group_id",
        /// `get_num_groups`
        NumGroups = "num_groups",
        /// `get_work_dim`
        WorkDim = "work_dim",
        /// `get_global_linear_id`
        GlobalLinearId = "global_linear_id",
        /// `get_local_linear_id`
        LocalLinearId = "local_linear_id",
        /// `get_sub_group_size`
        SubGroupSize = "sub_group_size",
        /// `get_max_sub_group_size`
        MaxSubGroupSize = "max_sub_group_size",
        /// `get_num_sub_groups`
        NumSubGroups = "num_sub_groups",
        /// `get_enqueued_num_sub_groups`
        EnqueuedNumSubGroups = "enqueued_num_sub_groups",
        /// `get_sub_group_id`
        SubGroupId = "sub_group_id",
        /// `get_sub_group_local_id`
        SubGroupLocalId = "sub_group_local_id",
        /// Ids of the sub-group equal to the own, as ballot: `i32x4`
        SubGroupEqMask = "sub_group_eq_mask",
        /// Greater or equal
        SubGroupGeMask = "sub_group_ge_mask",
        /// Greater
        SubGroupGtMask = "sub_group_gt_mask",
        /// Less or equal
        SubGroupLeMask = "sub_group_le_mask",
        /// Less
        SubGroupLtMask = "sub_group_lt_mask",
    }
}

impl QueryKind {
    /// Whether it is asked for each dimension.
    pub fn has_dimension(self) -> bool {
        self <= Self::NumGroups
    }

    /// The type it has.
    pub fn ty(self) -> crate::Type {
        match self {
            _ if self.has_dimension() => crate::Type::I64,
            Self::GlobalLinearId | Self::LocalLinearId => crate::Type::I64,
            _ if self >= Self::SubGroupEqMask => crate::Type::Vector(crate::Scalar::I32, 4),
            _ => crate::Type::I32,
        }
    }
}

/// A fact about a work-item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Query {
    /// Which.
    pub kind: QueryKind,
    /// Dimension 0 to 2; 0 for those without.
    pub dimension: u8,
}
