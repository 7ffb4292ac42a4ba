//! Arithmetic, comparisons, conversions, vectors and aggregates.

use std::sync::Arc;

use rspirv::spirv::{FPFastMathMode, FPRoundingMode, Op as RawOp};

use super::code::{Fallible, Raw, invalid, unsupported};
use super::constants;
use super::rep::Rep;
use super::translator::BodyTranslator;
use super::types::Kind;
use crate::op::{Binary, Builtin, Compare, Convert, Dot, Flags, Number, Rounding, ShuffleMask, Unary};
use crate::{Op, Scalar, Type, Value};

/// Integer to integer, zero extending.
pub(super) const INTEGER: Convert =
    Convert { from: Number::Unsigned, to: Number::Unsigned, rounding: Rounding::Nearest, saturate: false };
/// Integer to integer, sign extending.
pub(super) const SIGNED_INTEGER: Convert =
    Convert { from: Number::Signed, to: Number::Signed, rounding: Rounding::Nearest, saturate: false };

impl BodyTranslator<'_> {
    /// Translates an arithmetic instruction; `false` for any other instruction.
    pub(super) fn numbers(&mut self, raw: Raw<'_>) -> Fallible<bool> {
        let rep = if let Some(op) = constants::binary(raw.op) {
            self.binary(raw, op)?
        } else if let Some(op) = constants::compare(raw.op) {
            let (mut a, mut b) = (self.value(raw.word(3)?)?, self.value(raw.word(4)?)?);
            if self.kernel.ty(a) != self.kernel.ty(b) && self.kernel.ty(a).is_pointer() {
                a = self.emit(Op::PointerToInt, &[a], Type::I64)?;
                b = self.emit(Op::PointerToInt, &[b], Type::I64)?;
            }
            let ty = self.result_type(raw)?;
            Rep::Value(self.emit(Op::Compare(op), &[a, b], ty)?)
        } else if let Some(op) = unary(raw.op) {
            let mut operand = self.value(raw.word(3)?)?;
            let ty = self.result_type(raw)?;
            if matches!(op, Unary::Any | Unary::All) {
                // clang's own back end passes integers, whose top bit counts, and scalars.
                operand = self.truth(operand, true)?;
            }
            if self.kernel.ty(operand) == Type::BOOL && op != Unary::Not {
                Rep::Value(operand)
            } else {
                Rep::Value(self.emit(Op::Unary(op), &[operand], ty)?)
            }
        } else if let Some(convert) = self.convert(raw)? {
            Rep::Value(convert)
        } else {
            match self.other(raw)? {
                Some(rep) => rep,
                None => return Ok(false),
            }
        };
        if let Rep::Value(value) = rep
            && let Some(inst) = self.kernel.defining(value)
        {
            let flags = self.flags(raw.word(2)?);
            self.kernel.insts[inst].flags = self.kernel.insts[inst].flags.union(flags);
        }
        self.define(raw, rep)?;
        Ok(true)
    }

    /// The guarantees in the decorations of an id.
    pub(super) fn flags(&self, id: u32) -> Flags {
        let decorations = self.all.decorations(id);
        let mode = FPFastMathMode::from_bits_truncate(decorations.fast_math);
        [
            (decorations.no_signed_wrap, Flags::NO_SIGNED_WRAP),
            (decorations.no_unsigned_wrap, Flags::NO_UNSIGNED_WRAP),
            (mode.contains(FPFastMathMode::NOT_NAN), Flags::NOT_NAN),
            (mode.contains(FPFastMathMode::NOT_INF), Flags::NOT_INF),
            (mode.contains(FPFastMathMode::NSZ), Flags::NO_SIGNED_ZERO),
            (mode.contains(FPFastMathMode::ALLOW_RECIP), Flags::RECIPROCAL),
            (mode.contains(FPFastMathMode::FAST), Flags::FAST),
        ]
        .into_iter()
        .filter(|entry| entry.0)
        .fold(Flags::default(), |flags, entry| flags.union(entry.1))
    }

    fn binary(&mut self, raw: Raw<'_>, op: Binary) -> Fallible<Rep> {
        let ty = self.result_type(raw)?;
        let a = self.value(raw.word(3)?)?;
        let mut b = self.value(raw.word(4)?)?;
        // The count of a shift may have another width than the shifted value.
        if matches!(op, Binary::Shl | Binary::LShr | Binary::AShr) {
            b = self.resized(b, ty)?;
        }
        self.emit(Op::Binary(op), &[a, b], ty).map(Rep::Value)
    }

    fn convert(&mut self, raw: Raw<'_>) -> Fallible<Option<Value>> {
        use Number::{Float, Signed, Unsigned};
        let (from, to, saturate) = match raw.op {
            RawOp::ConvertFToU => (Float, Unsigned, false),
            RawOp::ConvertFToS => (Float, Signed, false),
            RawOp::ConvertSToF => (Signed, Float, false),
            RawOp::ConvertUToF => (Unsigned, Float, false),
            RawOp::UConvert => (Unsigned, Unsigned, false),
            RawOp::SConvert => (Signed, Signed, false),
            RawOp::FConvert => (Float, Float, false),
            RawOp::SatConvertSToU => (Signed, Unsigned, true),
            RawOp::SatConvertUToS => (Unsigned, Signed, true),
            _ => return Ok(None),
        };
        let decorations = self.all.decorations(raw.word(2)?);
        let rounding = match decorations.rounding.map(FPRoundingMode::from_u32) {
            Some(Some(FPRoundingMode::RTZ)) => Rounding::Zero,
            Some(Some(FPRoundingMode::RTP)) => Rounding::Up,
            Some(Some(FPRoundingMode::RTN)) => Rounding::Down,
            Some(None) => return invalid("the rounding mode is unknown"),
            None if from == Float && to != Float => Rounding::Zero,
            None | Some(Some(FPRoundingMode::RTE)) => Rounding::Nearest,
        };
        let saturate = saturate || decorations.saturate;
        let operand = self.value(raw.word(3)?)?;
        let ty = self.result_type(raw)?;
        if self.kernel.ty(operand) == ty && from == to {
            return Ok(Some(operand));
        }
        let convert = Convert { from, to, rounding, saturate };
        self.emit(Op::Convert(convert), &[operand], ty).map(Some)
    }

    fn other(&mut self, raw: Raw<'_>) -> Fallible<Option<Rep>> {
        let value = match raw.op {
            RawOp::Undef => {
                return self.undefined(raw.word(1)?).map(Some);
            }
            RawOp::CopyObject | RawOp::ExpectKHR | RawOp::CopyLogical => {
                return self.rep(raw.word(3)?).map(Some);
            }
            RawOp::Bitcast => {
                let operand = self.value(raw.word(3)?)?;
                let ty = self.result_type(raw)?;
                self.bitcast(operand, ty)?
            }
            RawOp::Select => return self.select(raw).map(Some),
            RawOp::PtrDiff => {
                let (a, b) = (self.value(raw.word(3)?)?, self.value(raw.word(4)?)?);
                let a = self.emit(Op::PointerToInt, &[a], Type::I64)?;
                let b = self.emit(Op::PointerToInt, &[b], Type::I64)?;
                let bytes = self.emit(Op::Binary(Binary::Sub), &[a, b], Type::I64)?;
                let Some(pointee) = self.frame.types.get(&raw.word(3)?) else {
                    return unsupported("a difference of pointers of unknown type");
                };
                let size = self.all.types.layout(self.all.types.pointee(*pointee)?)?.bytes().max(1);
                let size = self.kernel.make_constant(Type::I64, &[size]);
                let count = self.emit(Op::Binary(Binary::SDiv), &[bytes, size], Type::I64)?;
                let ty = self.result_type(raw)?;
                self.resized(count, ty)?
            }
            RawOp::VectorTimesScalar => {
                let (vector, scalar) = (self.value(raw.word(3)?)?, self.value(raw.word(4)?)?);
                let ty = self.result_type(raw)?;
                let splat = self.emit(Op::Construct, &vec![scalar; usize::from(ty.lanes())], ty)?;
                self.emit(Op::Binary(Binary::FMul), &[vector, splat], ty)?
            }
            RawOp::Dot => {
                let (a, b) = (self.value(raw.word(3)?)?, self.value(raw.word(4)?)?);
                let ty = self.result_type(raw)?;
                self.emit(Op::Builtin(Builtin::Dot), &[a, b], ty)?
            }
            RawOp::IAddCarry | RawOp::ISubBorrow | RawOp::UMulExtended | RawOp::SMulExtended => {
                return self.extended_arithmetic(raw).map(Some);
            }
            RawOp::SDot | RawOp::UDot | RawOp::SUDot => self.dot(raw, false)?,
            RawOp::SDotAccSat | RawOp::UDotAccSat | RawOp::SUDotAccSat => self.dot(raw, true)?,
            RawOp::VectorExtractDynamic => {
                let (vector, index) = (self.value(raw.word(3)?)?, self.value(raw.word(4)?)?);
                let ty = self.result_type(raw)?;
                let index = self.resized(index, Type::I32)?;
                let value = self.emit(Op::ExtractDynamic, &[vector, index], ty)?;
                match self.outside(vector) {
                    // A dimension past the third has a value: `get_global_id(7)` is 0.
                    Some(outside) => {
                        let three = self.kernel.make_constant(Type::I32, &[3]);
                        let inside = self.emit(Op::Compare(Compare::ULt), &[index, three], Type::BOOL)?;
                        self.emit(Op::Select, &[inside, value, outside], ty)?
                    }
                    None => value,
                }
            }
            RawOp::VectorInsertDynamic => {
                let (vector, scalar) = (self.value(raw.word(3)?)?, self.value(raw.word(4)?)?);
                let index = self.value(raw.word(5)?)?;
                let ty = self.result_type(raw)?;
                let index = self.resized(index, Type::I32)?;
                self.emit(Op::InsertDynamic, &[vector, scalar, index], ty)?
            }
            RawOp::VectorShuffle => {
                let (a, b) = (self.value(raw.word(3)?)?, self.value(raw.word(4)?)?);
                let lanes: Vec<Option<u8>> = raw
                    .rest(5)
                    .iter()
                    .map(|lane| u8::try_from(*lane).ok().filter(|lane| *lane < 64))
                    .collect();
                let Some(mask) = ShuffleMask::new(&lanes) else {
                    return invalid("a shuffle with this number of lanes");
                };
                if self.kernel.ty(a).lanes() == 1 || self.kernel.ty(b).lanes() == 1 {
                    return invalid("a shuffle of a value that is not a vector");
                }
                let ty = self.result_type(raw)?;
                self.emit(Op::Shuffle(mask), &[a, b], ty)?
            }
            RawOp::CompositeConstruct => return self.construct(raw).map(Some),
            RawOp::CompositeExtract => {
                let rep = self.rep(raw.word(3)?)?;
                return self.extract(&rep, raw.rest(4)).map(Some);
            }
            RawOp::CompositeInsert => {
                let (part, whole) = (self.rep(raw.word(3)?)?, self.rep(raw.word(4)?)?);
                return self.insert(&whole, part, raw.rest(5)).map(Some);
            }
            _ => return Ok(None),
        };
        Ok(Some(Rep::Value(value)))
    }

    fn undefined(&mut self, ty: u32) -> Fallible<Rep> {
        let mut types = Vec::new();
        self.leaves(ty, &mut types)?;
        let mut values = Vec::with_capacity(types.len());
        for ty in types {
            values.push(self.emit(Op::Undefined, &[], ty)?);
        }
        self.unflatten(ty, &mut values.into_iter())
    }

    /// The same bits as another type.
    pub(super) fn bitcast(&mut self, operand: Value, ty: Type) -> Fallible<Value> {
        let from = self.kernel.ty(operand);
        match (from, ty) {
            _ if from == ty => Ok(operand),
            (Type::Pointer(_), Type::Pointer(space)) => self.space_cast(operand, space),
            (Type::Pointer(_), _) => {
                let bits = self.emit(Op::PointerToInt, &[operand], Type::I64)?;
                self.bitcast(bits, ty)
            }
            (_, Type::Pointer(_)) => {
                let bits = self.bitcast(operand, Type::I64)?;
                self.emit(Op::IntToPointer, &[bits], ty)
            }
            _ => self.emit(Op::Bitcast, &[operand], ty),
        }
    }

    fn select(&mut self, raw: Raw<'_>) -> Fallible<Rep> {
        let condition = self.value(raw.word(3)?)?;
        let (mut a, mut b) = (Vec::new(), Vec::new());
        self.rep(raw.word(4)?)?.flatten(&mut a)?;
        self.rep(raw.word(5)?)?.flatten(&mut b)?;
        if a.len() != b.len() {
            return invalid("a choice between values of different shapes");
        }
        let mut values = Vec::with_capacity(a.len());
        for (a, b) in a.into_iter().zip(b) {
            let ty = self.kernel.ty(a);
            values.push(self.emit(Op::Select, &[condition, a, b], ty)?);
        }
        self.unflatten(raw.word(1)?, &mut values.into_iter())
    }

    fn extended_arithmetic(&mut self, raw: Raw<'_>) -> Fallible<Rep> {
        let (a, b) = (self.value(raw.word(3)?)?, self.value(raw.word(4)?)?);
        let ty = self.kernel.ty(a);
        let (low, high) = match raw.op {
            RawOp::IAddCarry => (Binary::Add, None),
            RawOp::ISubBorrow => (Binary::Sub, None),
            RawOp::UMulExtended => (Binary::Mul, Some(Builtin::UMulHi)),
            _ => (Binary::Mul, Some(Builtin::SMulHi)),
        };
        let first = self.emit(Op::Binary(low), &[a, b], ty)?;
        let second = if let Some(high) = high {
            self.emit(Op::Builtin(high), &[a, b], ty)?
        } else {
            let Some(bools) = ty.with_scalar(Scalar::Bool) else {
                return invalid(
                    "a carry of a value that \
                is not an integer",
                );
            };
            let operands = if low == Binary::Add { [first, a] } else { [a, b] };
            let carry = self.emit(Op::Compare(Compare::ULt), &operands, bools)?;
            let one = self.kernel.splat_constant(ty, 1);
            let zero = self.kernel.splat_constant(ty, 0);
            self.emit(Op::Select, &[carry, one, zero], ty)?
        };
        Ok(Rep::Parts(Arc::from([Rep::Value(first), Rep::Value(second)])))
    }

    fn dot(&mut self, raw: Raw<'_>, accumulate: bool) -> Fallible<Value> {
        let (mut a, mut b) = (self.value(raw.word(3)?)?, self.value(raw.word(4)?)?);
        let ty = self.result_type(raw)?;
        if self.kernel.ty(a) == Type::I32 {
            let packed = Type::Vector(Scalar::I8, 4);
            a = self.bitcast(a, packed)?;
            b = self.bitcast(b, packed)?;
        }
        let (a_signed, b_signed) = match raw.op {
            RawOp::SDot | RawOp::SDotAccSat => (true, true),
            RawOp::UDot | RawOp::UDotAccSat => (false, false),
            _ => (true, false),
        };
        let mut operands = vec![a, b];
        if accumulate {
            operands.push(self.value(raw.word(5)?)?);
        }
        self.emit(Op::Dot(Dot { a_signed, b_signed, accumulate }), &operands, ty)
    }

    fn construct(&mut self, raw: Raw<'_>) -> Fallible<Rep> {
        let parts: Vec<Rep> = raw.rest(3).iter().map(|id| self.rep(*id)).collect::<Fallible<_>>()?;
        let Kind::Value(ty @ Type::Vector(scalar, lanes)) = self.all.types.get(raw.word(1)?)?.kind else {
            // The tree takes its shape from the type, not from the operands.
            let mut values = Vec::new();
            parts.iter().try_for_each(|part| part.flatten(&mut values))?;
            let mut types = Vec::new();
            self.leaves(raw.word(1)?, &mut types)?;
            if !types.iter().eq(values.iter().map(|value| &self.kernel.values[*value].ty)) {
                return invalid("an aggregate whose members differ from its type");
            }
            return self.unflatten(raw.word(1)?, &mut values.into_iter());
        };
        let mut values = Vec::with_capacity(usize::from(lanes));
        for part in parts {
            let Rep::Value(part) = part else { return invalid("a vector of aggregates") };
            match self.kernel.ty(part) {
                Type::Vector(_, count) => {
                    for lane in 0..count {
                        values.push(self.emit(Op::Extract(lane), &[part], Type::Scalar(scalar))?);
                    }
                }
                _ => values.push(part),
            }
        }
        if values.len() != usize::from(lanes) {
            return invalid("a vector whose length differs from its type");
        }
        self.emit(Op::Construct, &values, ty).map(Rep::Value)
    }

    fn extract(&mut self, rep: &Rep, path: &[u32]) -> Fallible<Rep> {
        let mut rep = rep.clone();
        for step in path {
            rep = match &rep {
                Rep::Parts(parts) => match parts.get(*step as usize) {
                    Some(part) => part.clone(),
                    None => return invalid("a member that the aggregate does not have"),
                },
                Rep::Value(value) => {
                    if *step >= 3
                        && let Some(outside) = self.outside(*value)
                    {
                        rep = Rep::Value(outside);
                        continue;
                    }
                    let lane = self.lane(*value, *step)?;
                    let Type::Vector(scalar, _) = self.kernel.ty(*value) else { return invalid("no vector") };
                    Rep::Value(self.emit(Op::Extract(lane), &[*value], Type::Scalar(scalar))?)
                }
                _ => return invalid("a member of a value without members"),
            };
        }
        Ok(rep)
    }

    fn insert(&mut self, whole: &Rep, part: Rep, path: &[u32]) -> Fallible<Rep> {
        let Some((step, rest)) = path.split_first() else {
            return if whole.same_shape(&part) { Ok(part) } else { invalid("a member with another shape") };
        };
        match (whole, part) {
            (Rep::Parts(parts), part) => {
                let Some(inner) = parts.get(*step as usize) else {
                    return invalid("a member that the aggregate does not have");
                };
                let inner = self.insert(inner, part, rest)?;
                self.burn(parts.len())?;
                let mut parts = parts.to_vec();
                parts[*step as usize] = inner;
                Ok(Rep::Parts(parts.into()))
            }
            (Rep::Value(vector), Rep::Value(scalar)) if rest.is_empty() => {
                let lane = self.lane(*vector, *step)?;
                let ty = self.kernel.ty(*vector);
                self.emit(Op::Insert(lane), &[*vector, scalar], ty).map(Rep::Value)
            }
            _ => invalid("a member inserted into a value without members"),
        }
    }

    /// The value of a work-item query in a dimension past the third, if the vector is such a query: 1 for sizes and
    /// numbers of groups, 0 for ids and offsets.
    fn outside(&mut self, vector: Value) -> Option<Value> {
        use crate::op::QueryKind as Q;
        let inst = &self.kernel.insts[self.kernel.defining(vector)?];
        let first = self.kernel.defining(*inst.operands.first().filter(|_| inst.op == Op::Construct)?)?;
        let Op::Query(query) = self.kernel.insts[first].op else { return None };
        let sizes = [Q::GlobalSize, Q::LocalSize, Q::EnqueuedLocalSize, Q::NumGroups];
        let bits = u64::from(sizes.contains(&query.kind));
        Some(self.kernel.make_constant(Type::I64, &[bits]))
    }

    fn lane(&self, vector: Value, lane: u32) -> Fallible<u8> {
        let ty = self.kernel.ty(vector);
        match (ty, u8::try_from(lane)) {
            (Type::Vector(_, lanes), Ok(lane)) if lane < lanes => Ok(lane),
            _ => invalid(format_args!("lane {lane} of {ty}")),
        }
    }
}

fn unary(op: RawOp) -> Option<Unary> {
    Some(match op {
        RawOp::SNegate => Unary::Neg,
        RawOp::FNegate => Unary::FNeg,
        RawOp::Not | RawOp::LogicalNot => Unary::Not,
        RawOp::BitReverse => Unary::BitReverse,
        RawOp::BitCount => Unary::PopCount,
        RawOp::Any => Unary::Any,
        RawOp::All => Unary::All,
        RawOp::IsNan => Unary::IsNan,
        RawOp::IsInf => Unary::IsInf,
        RawOp::IsFinite => Unary::IsFinite,
        RawOp::IsNormal => Unary::IsNormal,
        RawOp::SignBitSet => Unary::SignBit,
        _ => return None,
    })
}
