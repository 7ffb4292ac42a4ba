//! Group operations, dot products, and work-item queries.

use super::names::named;

named! {
    /// The group of an operation.
    pub enum GroupScope {
        /// The work-group.
        WorkGroup = "workgroup",
        /// The sub-group.
        SubGroup = "subgroup",
    }
}

named! {
    /// A sub-group size, as a share of the GPU's largest.
    pub enum SubGroupShare {
        /// Half of the largest size.
        Half = "half",
        /// The largest size.
        Full = "full",
    }
}

named! {
    /// The operator of a reduction.
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
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// Logical and.
        LogicalAnd = "land",
        /// Logical or.
        LogicalOr = "lor",
        /// Logical exclusive or.
        LogicalXor = "lxor",
        /// Float sum; the order of additions is implementation-defined.
        FAdd = "fadd",
        /// Float product.
        FMul = "fmul",
        /// Float minimum.
        FMin = "fmin",
        /// Float maximum.
        FMax = "fmax",
    }
}

/// The kind of a group operation. The first operand is the value unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupOp {
    /// Whether a `bool` is true in all work-items.
    All,
    /// Whether a `bool` is true in any work-item.
    Any,
    /// Whether the value is the same in all work-items.
    AllEqual,
    /// The value of the work-item with an id: value, then one id (sub-group) or 1 to 3 local ids (work-group).
    Broadcast,
    /// The value of the first active work-item.
    BroadcastFirst,
    /// True in exactly one active work-item. No operand.
    Elect,
    /// Reduction over all work-items.
    Reduce(Reduction),
    /// Scan over this work-item and those before it.
    InclusiveScan(Reduction),
    /// Scan over the work-items before this one.
    ExclusiveScan(Reduction),
    /// Reduction over a cluster: this many work-items with consecutive ids, a power of two.
    ClusterReduce(Reduction, u32),
    /// The value of the work-item with an id: value, id.
    Shuffle,
    /// The value of the work-item with the own id xor the operand: value, mask.
    ShuffleXor,
    /// The value of the work-item with the own id minus the operand: value, delta.
    ShuffleUp,
    /// The value of the work-item with the own id plus the operand: value, delta.
    ShuffleDown,
    /// One bit per work-item: `bool` to `i32x4`.
    Ballot,
    /// The own bit of a ballot: `i32x4` to `bool`.
    InverseBallot,
    /// The bit for an id: `i32x4`, id to `bool`.
    BallotBit,
    /// Number of bits set in a ballot.
    BallotCount,
    /// Lowest bit set in a ballot.
    BallotLeast,
    /// Highest bit set in a ballot.
    BallotGreatest,
}

/// A group operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// The group.
    pub scope: GroupScope,
    /// The operation.
    pub op: GroupOp,
    /// Whether only the work-items that get here participate; otherwise all of the group must.
    pub active_only: bool,
}

/// An integer dot product: the sum of lane products in the result's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dot {
    /// Whether the first operand's lanes are signed.
    pub a_signed: bool,
    /// Whether the second operand's lanes are signed.
    pub b_signed: bool,
    /// Whether a third operand is added and the sum saturates (unsigned if both operands are unsigned).
    pub accumulate: bool,
}

named! {
    /// Queries about a work-item. With a dimension they are `i64`, without one `i32` except for the linear ids.
    pub enum QueryKind {
        /// `get_global_id`
        GlobalId = "global_id",
        /// `get_global_size`
        GlobalSize = "global_size",
        /// `get_global_offset`
        GlobalOffset = "global_offset",
        /// `get_local_id`
        LocalId = "local_id",
        /// `get_local_size`: of this group; smaller in the last one
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
        /// Ids of the sub-group equal to the own id, as a ballot: `i32x4`
        SubGroupEqMask = "sub_group_eq_mask",
        /// Ids greater than or equal to the own id
        SubGroupGeMask = "sub_group_ge_mask",
        /// Ids greater than the own id
        SubGroupGtMask = "sub_group_gt_mask",
        /// Ids less than or equal to the own id
        SubGroupLeMask = "sub_group_le_mask",
        /// Ids less than the own id
        SubGroupLtMask = "sub_group_lt_mask",
    }
}

impl QueryKind {
    /// Whether it has a dimension.
    pub fn has_dimension(self) -> bool {
        self <= Self::NumGroups
    }

    /// The type of its result.
    pub fn ty(self) -> crate::Type {
        match self {
            _ if self.has_dimension() => crate::Type::I64,
            Self::GlobalLinearId | Self::LocalLinearId => crate::Type::I64,
            _ if self >= Self::SubGroupEqMask => crate::Type::Vector(crate::Scalar::I32, 4),
            _ => crate::Type::I32,
        }
    }
}

/// A query about a work-item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Query {
    /// The kind of query.
    pub kind: QueryKind,
    /// Dimension 0 to 2; 0 for queries without a dimension.
    pub dimension: u8,
}
