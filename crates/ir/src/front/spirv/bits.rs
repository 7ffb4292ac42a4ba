//! Bit fields: `bitfield_insert` and `bitfield_extract`, expressed as shifts and masks.

use rspirv::spirv::Op as RawOp;

use super::code::{Fallible, Raw, invalid};
use super::rep::Rep;
use super::translator::BodyTranslator;
use crate::op::{Binary, Compare, Unary};
use crate::{Op, Scalar, Type, Value};

impl BodyTranslator<'_> {
    /// Translates a bit field instruction; `false` for any other instruction.
    pub(super) fn bits(&mut self, raw: Raw<'_>) -> Fallible<bool> {
        let insert = raw.op == RawOp::BitFieldInsert;
        if !insert && !matches!(raw.op, RawOp::BitFieldSExtract | RawOp::BitFieldUExtract) {
            return Ok(false);
        }
        let ty = self.result_type(raw)?;
        let Some(scalar) = ty.scalar().filter(|_| ty.is_int()) else {
            return invalid(
                "the bits of a value \
            that is not an integer",
            );
        };
        let base = self.value(raw.word(3)?)?;
        let place = if insert { 5 } else { 4 };
        let offset = self.lanes_of(raw.word(place)?, ty)?;
        let count = self.lanes_of(raw.word(place + 1)?, ty)?;
        // An empty field may start at the width, which is not a valid shift count.
        let most = self.kernel.splat_constant(ty, u64::from(scalar.bits()) - 1);
        let offset = self.emit(Op::Binary(Binary::And), &[offset, most], ty)?;
        let mask = self.low_bits(count, most, ty, scalar)?;
        let value = if insert {
            let field = self.value(raw.word(4)?)?;
            let field = self.emit(Op::Binary(Binary::Shl), &[field, offset], ty)?;
            let mask = self.emit(Op::Binary(Binary::Shl), &[mask, offset], ty)?;
            let field = self.emit(Op::Binary(Binary::And), &[field, mask], ty)?;
            let others = self.emit(Op::Unary(Unary::Not), &[mask], ty)?;
            let kept = self.emit(Op::Binary(Binary::And), &[base, others], ty)?;
            self.emit(Op::Binary(Binary::Or), &[kept, field], ty)?
        } else {
            let moved = self.emit(Op::Binary(Binary::LShr), &[base, offset], ty)?;
            let field = self.emit(Op::Binary(Binary::And), &[moved, mask], ty)?;
            if raw.op == RawOp::BitFieldSExtract {
                // Sign extension from the field's top bit: (field ^ top) - top.
                let one = self.kernel.splat_constant(ty, 1);
                let last = self.emit(Op::Binary(Binary::Sub), &[count, one], ty)?;
                let last = self.emit(Op::Binary(Binary::And), &[last, most], ty)?;
                let top = self.emit(Op::Binary(Binary::Shl), &[one, last], ty)?;
                let top = self.emit(Op::Binary(Binary::And), &[top, mask], ty)?;
                let flipped = self.emit(Op::Binary(Binary::Xor), &[field, top], ty)?;
                self.emit(Op::Binary(Binary::Sub), &[flipped, top], ty)?
            } else {
                field
            }
        };
        self.define(raw, Rep::Value(value))?;
        Ok(true)
    }

    /// A mask of the `count` low bits, 0 to the width.
    fn low_bits(&mut self, count: Value, most: Value, ty: Type, scalar: Scalar) -> Fallible<Value> {
        let Some(bools) = ty.with_scalar(Scalar::Bool) else {
            return invalid(
                "the bits of a value that is \
            not an integer",
            );
        };
        let one = self.kernel.splat_constant(ty, 1);
        let all = self.kernel.splat_constant(ty, scalar.mask());
        let inside = self.emit(Op::Binary(Binary::And), &[count, most], ty)?;
        let power = self.emit(Op::Binary(Binary::Shl), &[one, inside], ty)?;
        let some = self.emit(Op::Binary(Binary::Sub), &[power, one], ty)?;
        let whole = self.emit(Op::Compare(Compare::UGt), &[count, most], bools)?;
        self.emit(Op::Select, &[whole, all, some], ty)
    }

    /// A scalar integer, zero extended or truncated, in every lane of a type.
    fn lanes_of(&mut self, id: u32, ty: Type) -> Fallible<Value> {
        let Some(scalar) = ty.scalar() else { return invalid("the bits of a value that is not an integer") };
        let value = self.value(id)?;
        let value = self.resized(value, Type::Scalar(scalar))?;
        if ty.lanes() == 1 {
            return Ok(value);
        }
        self.emit(Op::Construct, &vec![value; usize::from(ty.lanes())], ty)
    }
}
