//! Access chains: addresses of elements and members.

use rspirv::spirv::Op as RawOp;

use super::code::{Fallible, Raw, invalid};
use super::rep::Rep;
use super::translator::BodyTranslator;
use super::types::Kind;
use crate::op::Address;
use crate::{Op, Type, Value};

/// A pointer and an offset not yet added to it.
struct Position {
    pointer: Value,
    offset: i64,
    in_bounds: bool,
}

impl BodyTranslator<'_> {
    pub(super) fn chain(&mut self, raw: Raw<'_>, element: Option<u32>, first: usize) -> Fallible<()> {
        let base_id = raw.word(3)?;
        let in_bounds = matches!(raw.op, RawOp::InBoundsAccessChain | RawOp::InBoundsPtrAccessChain);
        let base = match self.rep(base_id)? {
            Rep::Value(base) => base,
            Rep::BuiltIn(kind, None) if element.is_none() && kind.has_dimension() => {
                let dimension = u8::try_from(self.integer(raw.word(first)?)?).unwrap_or(u8::MAX);
                if dimension > 2 {
                    return invalid("a dimension past 2");
                }
                return self.define(raw, Rep::BuiltIn(kind, Some(dimension)));
            }
            _ => return invalid(format_args!("%{base_id} is not a pointer")),
        };
        let Some(mut ty) = self.pointee_of(base_id) else {
            return invalid(format_args!("%{base_id} points to an unknown type"));
        };
        let mut at = Position { pointer: base, offset: 0, in_bounds };
        if let Some(element) = element {
            self.step(&mut at, element, self.all.types.layout(ty)?.bytes(), None)?;
        }
        let indices = raw.rest(first);
        for (position, id) in indices.iter().enumerate() {
            match &self.all.types.get(ty)?.kind {
                Kind::Array { element, count } => {
                    let stride = self.all.types.layout(*element)?.bytes();
                    let (element, count) = (*element, *count);
                    self.step(&mut at, *id, stride, Some(count))?;
                    ty = element;
                }
                Kind::Struct { members, offsets } => {
                    let member = usize::try_from(self.integer(*id)?).unwrap_or(usize::MAX);
                    let (Some(inner), Some(offset)) = (members.get(member), offsets.get(member)) else {
                        return invalid("a member that the struct does not have");
                    };
                    at.offset = at.offset.wrapping_add(offset.cast_signed());
                    ty = *inner;
                }
                Kind::Value(Type::Vector(scalar, lanes)) if position + 1 == indices.len() => {
                    let (stride, lanes) = (u64::from(scalar.bytes()), u64::from(*lanes));
                    self.step(&mut at, *id, stride, Some(lanes))?;
                }
                _ => return invalid("an index into a value without members"),
            }
        }
        let pointer = self.settle(&at)?;
        self.define(raw, Rep::Value(pointer))
    }

    /// Moves a position by `index * stride`; a constant index inside the array adds to the offset.
    fn step(&mut self, at: &mut Position, index: u32, stride: u64, count: Option<u64>) -> Fallible<()> {
        if let Some(constant) = self.all.constants.signed(index) {
            let inside = count.is_none_or(|count| u64::try_from(constant).is_ok_and(|index| index < count));
            if inside {
                at.offset = at.offset.wrapping_add(constant.wrapping_mul(stride.cast_signed()));
                return Ok(());
            }
        }
        let mut index = self.value(index)?;
        match self.kernel.ty(index) {
            Type::I32 | Type::I64 => {}
            Type::Scalar(scalar) if scalar.is_int() => {
                index = self.emit(Op::Convert(super::numbers::SIGNED_INTEGER), &[index], Type::I32)?;
            }
            ty => return invalid(format_args!("an index of type {ty}")),
        }
        if stride == 0 {
            return Ok(());
        }
        let address = Address { stride, offset: at.offset, count, in_bounds: at.in_bounds };
        let ty = self.kernel.ty(at.pointer);
        at.pointer = self.emit(Op::Address(address), &[at.pointer, index], ty)?;
        at.offset = 0;
        Ok(())
    }

    fn settle(&mut self, at: &Position) -> Fallible<Value> {
        if at.offset == 0 {
            return Ok(at.pointer);
        }
        let address = Address { stride: 0, offset: at.offset, count: None, in_bounds: at.in_bounds };
        let ty = self.kernel.ty(at.pointer);
        self.emit(Op::Address(address), &[at.pointer], ty)
    }
}
