//! `SPV_INTEL_subgroups`: shuffles over two values, and block reads and writes of memory, expressed with operations
//! that every sub-group has. Source: the extension's specification in the Khronos registry, and `cl_intel_subgroups`.

use rspirv::spirv::Op as RawOp;

use super::code::{Fallible, Raw, invalid, unsupported};
use super::rep::Rep;
use super::translator::BodyTranslator;
use crate::op::{AccessAttributes, Address, Binary, Compare, Group, GroupOp, GroupScope, QueryKind};
use crate::{Op, Type, Value};

impl BodyTranslator<'_> {
    /// Translates an instruction of Intel's sub-groups; `false` for any other instruction.
    pub(super) fn intel(&mut self, raw: Raw<'_>) -> Fallible<bool> {
        match raw.op {
            RawOp::SubgroupShuffleDownINTEL | RawOp::SubgroupShuffleUpINTEL => {
                let (first, second) = (self.value(raw.word(3)?)?, self.value(raw.word(4)?)?);
                let delta = self.value(raw.word(5)?)?;
                let up = raw.op == RawOp::SubgroupShuffleUpINTEL;
                let value = self.shuffle_pair(first, second, delta, up)?;
                self.define(raw, Rep::Value(value))?;
            }
            RawOp::SubgroupBlockReadINTEL => {
                let pointer = self.value(raw.word(3)?)?;
                let ty = self.result_type(raw)?;
                let value = self.block_read(pointer, ty)?;
                self.define(raw, Rep::Value(value))?;
            }
            RawOp::SubgroupBlockWriteINTEL => {
                let (pointer, data) = (self.value(raw.word(1)?)?, self.value(raw.word(2)?)?);
                self.block_write(pointer, data)?;
            }
            RawOp::SubgroupImageBlockReadINTEL | RawOp::SubgroupImageBlockWriteINTEL => {
                return unsupported("a block read or write of an image");
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Treats two values as one row of twice the sub-group's size, moved by `delta`. Down: the current value is the
    /// first half and the result; up: it is the second.
    fn shuffle_pair(&mut self, first: Value, second: Value, delta: Value, up: bool) -> Fallible<Value> {
        let ty = self.kernel.ty(first);
        let id = self.fact(QueryKind::SubGroupLocalId)?;
        let size = self.fact(QueryKind::MaxSubGroupSize)?;
        let delta = self.resized(delta, Type::I32)?;
        let from = if up {
            let place = self.emit(Op::Binary(Binary::Add), &[id, size], Type::I32)?;
            self.emit(Op::Binary(Binary::Sub), &[place, delta], Type::I32)?
        } else {
            self.emit(Op::Binary(Binary::Add), &[id, delta], Type::I32)?
        };
        let in_first = self.emit(Op::Compare(Compare::ULt), &[from, size], Type::BOOL)?;
        let beyond = self.emit(Op::Binary(Binary::Sub), &[from, size], Type::I32)?;
        // Each half is read at an index that it has.
        let ask_first = self.emit(Op::Select, &[in_first, from, id], Type::I32)?;
        let ask_second = self.emit(Op::Select, &[in_first, id, beyond], Type::I32)?;
        let shuffle = Group { scope: GroupScope::SubGroup, op: GroupOp::Shuffle, active_only: false };
        let a = self.emit(Op::Group(shuffle), &[first, ask_first], ty)?;
        let b = self.emit(Op::Group(shuffle), &[second, ask_second], ty)?;
        self.emit(Op::Select, &[in_first, a, b], ty)
    }

    /// The address of a component of a block: one element for each work-item, then the next component.
    fn block_element(
        &mut self,
        pointer: Value,
        ty: Type,
        component: u8,
    ) -> Fallible<(Value, AccessAttributes)> {
        let Some(scalar) = ty.scalar() else { return invalid(format_args!("a block of {ty}")) };
        let id = self.fact(QueryKind::SubGroupLocalId)?;
        let index = if component == 0 {
            id
        } else {
            let size = self.fact(QueryKind::MaxSubGroupSize)?;
            let component = self.kernel.make_constant(Type::I32, &[u64::from(component)]);
            let before = self.emit(Op::Binary(Binary::Mul), &[size, component], Type::I32)?;
            self.emit(Op::Binary(Binary::Add), &[before, id], Type::I32)?
        };
        let stride = u64::from(scalar.bytes());
        let address = Address { stride, offset: 0, count: None, in_bounds: true };
        let at = self.emit(Op::Address(address), &[pointer, index], self.kernel.ty(pointer))?;
        Ok((at, AccessAttributes { align: scalar.bytes(), volatile: false, vector_builtin: false }))
    }

    fn block_read(&mut self, pointer: Value, ty: Type) -> Fallible<Value> {
        let Some(scalar) = ty.scalar() else { return invalid(format_args!("a block of {ty}")) };
        let mut parts = Vec::with_capacity(usize::from(ty.lanes()));
        for component in 0..ty.lanes() {
            let (at, access) = self.block_element(pointer, ty, component)?;
            parts.push(self.emit(Op::Load(access), &[at], Type::Scalar(scalar))?);
        }
        if let [one] = parts[..] { Ok(one) } else { self.emit(Op::Construct, &parts, ty) }
    }

    fn block_write(&mut self, pointer: Value, data: Value) -> Fallible<()> {
        let ty = self.kernel.ty(data);
        let Some(scalar) = ty.scalar() else { return invalid(format_args!("a block of {ty}")) };
        for component in 0..ty.lanes() {
            let (at, access) = self.block_element(pointer, ty, component)?;
            let part = if ty.lanes() == 1 {
                data
            } else {
                self.emit(Op::Extract(component), &[data], Type::Scalar(scalar))?
            };
            self.effect(Op::Store(access), &[at, part])?;
        }
        Ok(())
    }
}
