//! Atomic operations, memory scopes and semantics.

use rspirv::spirv::{MemorySemantics, Op as RawOp, Scope as RawScope};

use super::code::{Fallible, Raw, invalid};
use super::rep::Rep;
use super::translator::BodyTranslator;
use crate::Op;
use crate::op::{Atomic, AtomicOp, MemoryOrder, Scope, Semantics};

impl BodyTranslator<'_> {
    pub(super) fn atomic(&mut self, raw: Raw<'_>) -> Fallible<bool> {
        use AtomicOp as A;
        // Position of the pointer operand: after type and id if there is a result.
        let (op, first) = match raw.op {
            RawOp::AtomicLoad => (A::Load, 3),
            RawOp::AtomicStore => (A::Store, 1),
            RawOp::AtomicExchange => (A::Exchange, 3),
            RawOp::AtomicCompareExchange | RawOp::AtomicCompareExchangeWeak => (A::CompareExchange, 3),
            RawOp::AtomicIIncrement => (A::Increment, 3),
            RawOp::AtomicIDecrement => (A::Decrement, 3),
            RawOp::AtomicIAdd => (A::Add, 3),
            RawOp::AtomicISub => (A::Sub, 3),
            RawOp::AtomicSMin => (A::SMin, 3),
            RawOp::AtomicUMin => (A::UMin, 3),
            RawOp::AtomicSMax => (A::SMax, 3),
            RawOp::AtomicUMax => (A::UMax, 3),
            RawOp::AtomicAnd => (A::And, 3),
            RawOp::AtomicOr => (A::Or, 3),
            RawOp::AtomicXor => (A::Xor, 3),
            RawOp::AtomicFAddEXT => (A::FAdd, 3),
            RawOp::AtomicFMinEXT => (A::FMin, 3),
            RawOp::AtomicFMaxEXT => (A::FMax, 3),
            RawOp::AtomicFlagTestAndSet => (A::FlagTestAndSet, 3),
            RawOp::AtomicFlagClear => (A::FlagClear, 1),
            _ => return Ok(false),
        };
        let mut operands = vec![self.value(raw.word(first)?)?];
        let scope = self.scope(raw.word(first + 1)?)?;
        let semantics = self.semantics(raw.word(first + 2)?)?;
        // Compare-exchange has a second semantics operand, for failure.
        let values = if op == A::CompareExchange { first + 4 } else { first + 3 };
        for position in 0..op.operands() {
            operands.push(self.value(raw.word(values + position)?)?);
        }
        let op = Op::Atomic(Atomic { op, scope, semantics });
        if first == 3 {
            let ty = self.result_type(raw)?;
            let value = self.emit(op, &operands, ty)?;
            self.define(raw, Rep::Value(value))?;
        } else {
            self.effect(op, &operands)?;
        }
        Ok(true)
    }

    pub(super) fn scope(&self, id: u32) -> Fallible<Scope> {
        let number = self.integer(id)?;
        Ok(match u32::try_from(number).ok().and_then(RawScope::from_u32) {
            Some(RawScope::CrossDevice) => Scope::System,
            Some(RawScope::Device) => Scope::Device,
            Some(RawScope::Workgroup) => Scope::WorkGroup,
            Some(RawScope::Subgroup) => Scope::SubGroup,
            Some(RawScope::Invocation) => Scope::WorkItem,
            _ => return invalid(format_args!("scope {number}")),
        })
    }

    pub(super) fn semantics(&self, id: u32) -> Fallible<Semantics> {
        let bits = MemorySemantics::from_bits_truncate(self.integer(id)? as u32);
        let order = if bits.contains(MemorySemantics::SEQUENTIALLY_CONSISTENT) {
            MemoryOrder::SeqCst
        } else if bits.contains(MemorySemantics::ACQUIRE_RELEASE)
            || bits.contains(MemorySemantics::ACQUIRE | MemorySemantics::RELEASE)
        {
            MemoryOrder::AcquireRelease
        } else if bits.contains(MemorySemantics::RELEASE) {
            MemoryOrder::Release
        } else if bits.contains(MemorySemantics::ACQUIRE) {
            MemoryOrder::Acquire
        } else {
            MemoryOrder::Relaxed
        };
        Ok(Semantics {
            order,
            local: bits.contains(MemorySemantics::WORKGROUP_MEMORY),
            global: bits.contains(MemorySemantics::CROSS_WORKGROUP_MEMORY),
            image: bits.contains(MemorySemantics::IMAGE_MEMORY),
        })
    }
}
