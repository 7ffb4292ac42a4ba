//! Barriers, asynchronous copies, work-group and sub-group functions.

use rspirv::spirv::{GroupOperation, Op as RawOp};

use super::code::{Fallible, Raw, invalid, unsupported};
use super::rep::Rep;
use super::translator::BodyTranslator;
use crate::op::{Binary, Group, GroupOp, GroupScope, Query, QueryKind, Reduction, Scope, Unary};
use crate::{Op, Scalar, Type, TypeLayout, Value};

impl BodyTranslator<'_> {
    /// Translates a group instruction; `false` for any other instruction.
    pub(super) fn groups(&mut self, raw: Raw<'_>) -> Fallible<bool> {
        match raw.op {
            RawOp::ControlBarrier => {
                let execution = self.scope(raw.word(1)?)?;
                let memory = self.scope(raw.word(2)?)?;
                let semantics = self.semantics(raw.word(3)?)?;
                if !matches!(execution, Scope::WorkGroup | Scope::SubGroup) {
                    return unsupported(format_args!("a barrier of the scope `{}`", execution.name()));
                }
                self.effect(Op::Barrier { execution, memory, semantics }, &[])?;
            }
            RawOp::MemoryBarrier => {
                let scope = self.scope(raw.word(1)?)?;
                let semantics = self.semantics(raw.word(2)?)?;
                self.effect(Op::Fence { scope, semantics }, &[])?;
            }
            RawOp::GroupAsyncCopy => {
                let scope = self.scope(raw.word(3)?)?;
                let (to, from) = (self.value(raw.word(4)?)?, self.value(raw.word(5)?)?);
                let Some(pointer) = self.frame.types.get(&raw.word(4)?) else {
                    return unsupported("an asynchronous copy through a pointer of unknown type");
                };
                let pointee = self.all.types.pointee(*pointer)?;
                let layout = self.all.types.layout(pointee)?;
                let Ok(bytes) = u32::try_from(layout.bytes()) else {
                    return invalid("an element of that size");
                };
                let used = if let TypeLayout::Value(ty) = layout { ty.bytes() } else { bytes };
                let (count, stride) = (self.value(raw.word(6)?)?, self.value(raw.word(7)?)?);
                let (count, stride) = (self.resized(count, Type::I64)?, self.resized(stride, Type::I64)?);
                let event = self.event(raw.word(8)?)?;
                let operands = [to, from, count, stride, event];
                let value = self.emit(Op::AsyncCopy { scope, bytes, used }, &operands, Type::Event)?;
                self.define(raw, Rep::Value(value))?;
            }
            RawOp::GroupWaitEvents => {
                let scope = self.scope(raw.word(1)?)?;
                let count = self.value(raw.word(2)?)?;
                let count = self.resized(count, Type::I32)?;
                let events = self.value(raw.word(3)?)?;
                self.effect(Op::WaitEvents { scope }, &[count, events])?;
            }
            RawOp::GroupNonUniformRotateKHR => {
                let (value, delta) = (self.value(raw.word(4)?)?, self.value(raw.word(5)?)?);
                let cluster = raw.words.get(6).map(|id| self.integer(*id)).transpose()?;
                let rotated = self.rotated(value, delta, cluster)?;
                self.define(raw, Rep::Value(rotated))?;
            }
            _ => return self.group(raw),
        }
        Ok(true)
    }

    /// The value of the work-item `delta` further on in the sub-group or in its cluster, with wrap-around.
    fn rotated(&mut self, value: Value, delta: Value, cluster: Option<u64>) -> Fallible<Value> {
        let ty = self.kernel.ty(value);
        let id = self.fact(QueryKind::SubGroupLocalId)?;
        let delta = self.resized(delta, Type::I32)?;
        let size = match cluster {
            Some(size) => self.kernel.make_constant(Type::I32, &[size]),
            None => self.fact(QueryKind::MaxSubGroupSize)?,
        };
        let one = self.kernel.make_constant(Type::I32, &[1]);
        let inside = self.emit(Op::Binary(Binary::Sub), &[size, one], Type::I32)?;
        let outside = self.emit(Op::Unary(Unary::Not), &[inside], Type::I32)?;
        let moved = self.emit(Op::Binary(Binary::Add), &[id, delta], Type::I32)?;
        let moved = self.emit(Op::Binary(Binary::And), &[moved, inside], Type::I32)?;
        let first = self.emit(Op::Binary(Binary::And), &[id, outside], Type::I32)?;
        let from = self.emit(Op::Binary(Binary::Add), &[first, moved], Type::I32)?;
        let group = Group { scope: GroupScope::SubGroup, op: GroupOp::Shuffle, active_only: true };
        self.emit(Op::Group(group), &[value, from], ty)
    }

    /// An event operand; the null event is a constant.
    fn event(&mut self, id: u32) -> Fallible<Value> {
        let value = self.value(id)?;
        match self.kernel.ty(value) {
            Type::Event => Ok(value),
            ty => invalid(format_args!("an event of type {ty}")),
        }
    }

    fn group(&mut self, raw: Raw<'_>) -> Fallible<bool> {
        use Reduction as R;
        let reduction = match raw.op {
            RawOp::GroupIAdd | RawOp::GroupNonUniformIAdd => Some(R::Add),
            RawOp::GroupFAdd | RawOp::GroupNonUniformFAdd => Some(R::FAdd),
            RawOp::GroupFMin | RawOp::GroupNonUniformFMin => Some(R::FMin),
            RawOp::GroupUMin | RawOp::GroupNonUniformUMin => Some(R::UMin),
            RawOp::GroupSMin | RawOp::GroupNonUniformSMin => Some(R::SMin),
            RawOp::GroupFMax | RawOp::GroupNonUniformFMax => Some(R::FMax),
            RawOp::GroupUMax | RawOp::GroupNonUniformUMax => Some(R::UMax),
            RawOp::GroupSMax | RawOp::GroupNonUniformSMax => Some(R::SMax),
            RawOp::GroupNonUniformIMul | RawOp::GroupIMulKHR => Some(R::Mul),
            RawOp::GroupNonUniformFMul | RawOp::GroupFMulKHR => Some(R::FMul),
            RawOp::GroupNonUniformBitwiseAnd | RawOp::GroupBitwiseAndKHR => Some(R::And),
            RawOp::GroupNonUniformBitwiseOr | RawOp::GroupBitwiseOrKHR => Some(R::Or),
            RawOp::GroupNonUniformBitwiseXor | RawOp::GroupBitwiseXorKHR => Some(R::Xor),
            RawOp::GroupNonUniformLogicalAnd | RawOp::GroupLogicalAndKHR => Some(R::LogicalAnd),
            RawOp::GroupNonUniformLogicalOr | RawOp::GroupLogicalOrKHR => Some(R::LogicalOr),
            RawOp::GroupNonUniformLogicalXor | RawOp::GroupLogicalXorKHR => Some(R::LogicalXor),
            _ => None,
        };
        // The operands after type, id and scope are the operation of a reduction, then values. The Intel sub-group
        // shuffles have no scope.
        let (op, first) = if let Some(reduction) = reduction {
            let op = match GroupOperation::from_u32(raw.word(4)?) {
                Some(GroupOperation::Reduce) => GroupOp::Reduce(reduction),
                Some(GroupOperation::InclusiveScan) => GroupOp::InclusiveScan(reduction),
                Some(GroupOperation::ExclusiveScan) => GroupOp::ExclusiveScan(reduction),
                Some(GroupOperation::ClusteredReduce) => {
                    let size = self.integer(raw.word(6)?)?;
                    match u32::try_from(size) {
                        Ok(size) if size.is_power_of_two() => GroupOp::ClusterReduce(reduction, size),
                        _ => return invalid(format_args!("clusters of {size}")),
                    }
                }
                Some(other) => return unsupported(format_args!("the group operation {other:?}")),
                None => return invalid("a group operation that SPIR-V does not have"),
            };
            (op, 5)
        } else {
            match raw.op {
                RawOp::GroupAll | RawOp::GroupNonUniformAll => (GroupOp::All, 4),
                RawOp::GroupAny | RawOp::GroupNonUniformAny => (GroupOp::Any, 4),
                RawOp::GroupNonUniformAllEqual => (GroupOp::AllEqual, 4),
                RawOp::GroupBroadcast | RawOp::GroupNonUniformBroadcast => (GroupOp::Broadcast, 4),
                RawOp::GroupNonUniformBroadcastFirst => (GroupOp::BroadcastFirst, 4),
                RawOp::GroupNonUniformElect => (GroupOp::Elect, 4),
                RawOp::GroupNonUniformBallot => (GroupOp::Ballot, 4),
                RawOp::GroupNonUniformInverseBallot => (GroupOp::InverseBallot, 4),
                RawOp::GroupNonUniformBallotBitExtract => (GroupOp::BallotBit, 4),
                RawOp::GroupNonUniformBallotBitCount => (GroupOp::BallotCount, 5),
                RawOp::GroupNonUniformBallotFindLSB => (GroupOp::BallotLeast, 4),
                RawOp::GroupNonUniformBallotFindMSB => (GroupOp::BallotGreatest, 4),
                RawOp::GroupNonUniformShuffle => (GroupOp::Shuffle, 4),
                RawOp::GroupNonUniformShuffleXor => (GroupOp::ShuffleXor, 4),
                RawOp::GroupNonUniformShuffleUp => (GroupOp::ShuffleUp, 4),
                RawOp::GroupNonUniformShuffleDown => (GroupOp::ShuffleDown, 4),
                RawOp::SubgroupShuffleINTEL => (GroupOp::Shuffle, 3),
                RawOp::SubgroupShuffleXorINTEL => (GroupOp::ShuffleXor, 3),
                _ => return self.intel(raw),
            }
        };
        let scope = match if first == 3 { Scope::SubGroup } else { self.scope(raw.word(3)?)? } {
            Scope::WorkGroup => GroupScope::WorkGroup,
            Scope::SubGroup => GroupScope::SubGroup,
            other => return unsupported(format_args!("a group function of the scope `{}`", other.name())),
        };
        let mut operands = Vec::new();
        let last = if matches!(op, GroupOp::ClusterReduce(..)) { first + 1 } else { raw.words.len() };
        for id in raw.words.get(first..last).unwrap_or(&[]) {
            operands.push(self.value(*id)?);
        }
        if op == GroupOp::BallotCount {
            operands = vec![self.ballot_up_to(raw.word(4)?, operands.first().copied())?];
        }
        if op == GroupOp::Broadcast && scope == GroupScope::WorkGroup {
            operands = self.broadcast_ids(&operands)?;
        }
        let active_only = format!("{:?}", raw.op).starts_with("GroupNonUniform");
        let ty = self.result_type(raw)?;
        let value = self.emit(Op::Group(Group { scope, op, active_only }), &operands, ty)?;
        self.define(raw, Rep::Value(value))?;
        Ok(true)
    }

    /// The bits of a ballot that are counted: all, those up to and including the work-item's own, or those before it.
    fn ballot_up_to(&mut self, operation: u32, ballot: Option<Value>) -> Fallible<Value> {
        let Some(ballot) = ballot else { return invalid("the bit count of a value that is not a ballot") };
        let kind = match GroupOperation::from_u32(operation) {
            Some(GroupOperation::Reduce) => return Ok(ballot),
            Some(GroupOperation::InclusiveScan) => QueryKind::SubGroupLeMask,
            Some(GroupOperation::ExclusiveScan) => QueryKind::SubGroupLtMask,
            Some(other) => return unsupported(format_args!("the group operation {other:?} on a ballot")),
            None => return invalid("a group operation that SPIR-V does not have"),
        };
        let mask = self.fact(kind)?;
        self.emit(Op::Binary(Binary::And), &[ballot, mask], kind.ty())
    }

    /// A query about the work-item without a dimension.
    pub(super) fn fact(&mut self, kind: QueryKind) -> Fallible<Value> {
        self.emit(Op::Query(Query { kind, dimension: 0 }), &[], kind.ty())
    }

    /// Value and one to three ids as `i64`, from a vector of ids.
    fn broadcast_ids(&mut self, operands: &[Value]) -> Fallible<Vec<Value>> {
        let [value, ids] = operands else { return invalid("a broadcast takes a value and ids") };
        let mut result = vec![*value];
        match self.kernel.ty(*ids) {
            Type::Vector(scalar, lanes @ 2..=3) => {
                for lane in 0..lanes {
                    let id = self.emit(Op::Extract(lane), &[*ids], Type::Scalar(scalar))?;
                    result.push(self.resized(id, Type::I64)?);
                }
            }
            Type::Scalar(Scalar::I32 | Scalar::I64) => result.push(self.resized(*ids, Type::I64)?),
            ty => return invalid(format_args!("an id of type {ty}")),
        }
        Ok(result)
    }
}
