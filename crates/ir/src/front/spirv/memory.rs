//! Variables, loads and stores, copies, casts of pointers.

use rspirv::spirv::{MemoryAccess, MemorySemantics, Op as RawOp};

use super::code::{Fallible, Raw, invalid, unsupported};
use super::constants::Constant;
use super::rep::Rep;
use super::translator::BodyTranslator;
use crate::op::{AccessAttributes, Address, Compare, Query, QueryKind};
use crate::{Op, Scalar, Space, Type, TypeLayout, Value};

impl BodyTranslator<'_> {
    /// Translates a memory instruction; `false` for any other instruction.
    pub(super) fn memory(&mut self, raw: Raw<'_>) -> Fallible<bool> {
        match raw.op {
            RawOp::Variable => {
                let id = raw.word(2)?;
                let pointee = self.all.types.pointee(raw.word(1)?)?;
                let align = self.all.decorations(id).align;
                let object = self.private_object(pointee, self.all.name(id), align)?;
                let pointer = self.emit(Op::ObjectAddress(object), &[], Type::Pointer(Space::Private))?;
                if let Some(initializer) = raw.words.get(4) {
                    let rep = self.rep(*initializer)?;
                    let layout = self.all.types.layout(pointee)?.clone();
                    let access = plain(self.kernel.objects[object].align);
                    self.store_rep(pointer, &rep, &layout, access)?;
                }
                self.define(raw, Rep::Value(pointer))?;
            }
            RawOp::Load => {
                let ty = raw.word(1)?;
                let rep = match self.rep(raw.word(3)?)? {
                    Rep::BuiltIn(kind, dimension) => self.query(kind, dimension, ty)?,
                    Rep::Value(pointer) => {
                        let access = self.access(raw, 4, ty)?;
                        self.load_rep(pointer, ty, access)?
                    }
                    _ => return invalid("a load from a value that is not a pointer"),
                };
                self.define(raw, rep)?;
            }
            RawOp::Store => {
                let pointer = self.value(raw.word(1)?)?;
                let rep = self.rep(raw.word(2)?)?;
                let pointee = self.pointee_of(raw.word(1)?);
                let access = Self::access_flags(raw, 3)?;
                match (&rep, pointee) {
                    (Rep::Value(value), _) => {
                        let natural = self.kernel.ty(*value).stored_bytes().max(1);
                        let access = AccessAttributes { align: access.0.unwrap_or(natural), ..plain(1) };
                        let access = AccessAttributes { volatile: Self::access_flags(raw, 3)?.1, ..access };
                        self.effect(Op::Store(access), &[pointer, *value])?;
                    }
                    (_, Some(pointee)) => {
                        let layout = self.all.types.layout(pointee)?.clone();
                        let align = access.0.unwrap_or(self.all.types.get(pointee)?.align);
                        let access = AccessAttributes { align, volatile: access.1, vector_builtin: false };
                        self.store_rep(pointer, &rep, &layout, access)?;
                    }
                    _ => return unsupported("a store of an aggregate through a pointer of unknown type"),
                }
            }
            RawOp::AccessChain | RawOp::InBoundsAccessChain => self.chain(raw, None, 4)?,
            RawOp::PtrAccessChain | RawOp::InBoundsPtrAccessChain => {
                self.chain(raw, Some(raw.word(4)?), 5)?;
            }
            RawOp::CopyMemory => {
                let (to, from) = (self.value(raw.word(1)?)?, self.value(raw.word(2)?)?);
                let Some(pointee) = self.pointee_of(raw.word(1)?) else {
                    return unsupported("a copy through a pointer of unknown type");
                };
                let bytes = self.all.types.layout(pointee)?.bytes();
                let access = Self::access_flags(raw, 3)?;
                let align = access.0.unwrap_or(self.all.types.get(pointee)?.align);
                let count = self.kernel.make_constant(Type::I64, &[bytes]);
                let access = AccessAttributes { align, volatile: access.1, vector_builtin: false };
                self.effect(Op::Copy(access), &[to, from, count])?;
            }
            RawOp::CopyMemorySized => {
                let (to, from) = (self.value(raw.word(1)?)?, self.value(raw.word(2)?)?);
                let count = self.value(raw.word(3)?)?;
                let count = self.widened(count)?;
                let access = Self::access_flags(raw, 4)?;
                let access = AccessAttributes {
                    align: access.0.unwrap_or(1),
                    volatile: access.1,
                    vector_builtin: false,
                };
                self.effect(Op::Copy(access), &[to, from, count])?;
            }
            RawOp::LifetimeStart | RawOp::LifetimeStop => {
                let pointer = self.value(raw.word(1)?)?;
                if let Some(object) = self.object_of(pointer) {
                    let start = raw.op == RawOp::LifetimeStart;
                    self.effect(
                        if start { Op::LifetimeStart(object) } else { Op::LifetimeEnd(object) },
                        &[],
                    )?;
                }
            }
            RawOp::PtrCastToGeneric | RawOp::GenericCastToPtr => {
                let pointer = self.value(raw.word(3)?)?;
                let Type::Pointer(space) = self.result_type(raw)? else { return invalid("no pointer type") };
                let value = self.space_cast(pointer, space)?;
                self.define(raw, Rep::Value(value))?;
            }
            RawOp::GenericCastToPtrExplicit => {
                let pointer = self.value(raw.word(3)?)?;
                let ty = self.result_type(raw)?;
                let value = self.emit(Op::SpaceCast { checked: true }, &[pointer], ty)?;
                self.define(raw, Rep::Value(value))?;
            }
            // The fence that a pointer needs: CrossWorkgroupMemory, unless it points to local memory.
            RawOp::GenericPtrMemSemantics => {
                let pointer = self.value(raw.word(3)?)?;
                let local =
                    self.emit(Op::SpaceCast { checked: true }, &[pointer], Type::Pointer(Space::Local))?;
                let bits = self.emit(Op::PointerToInt, &[local], Type::I64)?;
                let ty = self.result_type(raw)?;
                let [null, work_group, cross_work_group] = [
                    self.kernel.make_constant(Type::I64, &[0]),
                    self.kernel.make_constant(ty, &[u64::from(MemorySemantics::WORKGROUP_MEMORY.bits())]),
                    self.kernel
                        .make_constant(ty, &[u64::from(MemorySemantics::CROSS_WORKGROUP_MEMORY.bits())]),
                ];
                let is_local = self.emit(Op::Compare(Compare::Ne), &[bits, null], Type::BOOL)?;
                let value = self.emit(Op::Select, &[is_local, work_group, cross_work_group], ty)?;
                self.define(raw, Rep::Value(value))?;
            }
            RawOp::ConvertPtrToU => {
                let pointer = self.value(raw.word(3)?)?;
                let bits = self.emit(Op::PointerToInt, &[pointer], Type::I64)?;
                let ty = self.result_type(raw)?;
                let value = self.resized(bits, ty)?;
                self.define(raw, Rep::Value(value))?;
            }
            RawOp::ConvertUToPtr => {
                let bits = self.value(raw.word(3)?)?;
                let bits = self.resized(bits, Type::I64)?;
                let ty = self.result_type(raw)?;
                let value = self.emit(Op::IntToPointer, &[bits], ty)?;
                self.define(raw, Rep::Value(value))?;
            }
            _ => return self.atomic(raw),
        }
        Ok(true)
    }

    /// An integer as `i64`, zero extended.
    fn widened(&mut self, value: Value) -> Fallible<Value> {
        self.resized(value, Type::I64)
    }

    /// An integer truncated or zero extended to another type.
    pub(super) fn resized(&mut self, value: Value, ty: Type) -> Fallible<Value> {
        if self.kernel.ty(value) == ty {
            return Ok(value);
        }
        self.emit(Op::Convert(super::numbers::INTEGER), &[value], ty)
    }

    /// The object that a pointer is the address of, through casts.
    fn object_of(&self, mut pointer: Value) -> Option<crate::Object> {
        loop {
            let inst = &self.kernel.insts[self.kernel.defining(pointer)?];
            match inst.op {
                Op::ObjectAddress(object) => return Some(object),
                Op::Bitcast | Op::SpaceCast { .. } => pointer = *inst.operands.first()?,
                _ => return None,
            }
        }
    }

    /// The pointee type of a pointer id, as declared where it was defined.
    pub(super) fn pointee_of(&self, id: u32) -> Option<u32> {
        let ty = if let Some(variable) = self.all.variables.get(&id) {
            variable.ty
        } else if let Some(Constant::Address { pointee, .. }) = self.all.constants.get(id) {
            return *pointee;
        } else {
            *self.frame.types.get(&id)?
        };
        self.all.types.pointee(ty).ok()
    }

    /// Alignment and volatility of memory operands at a position.
    fn access_flags(raw: Raw<'_>, position: usize) -> Fallible<(Option<u32>, bool)> {
        let Some(mask) = raw.words.get(position) else { return Ok((None, false)) };
        let flags = MemoryAccess::from_bits_truncate(*mask);
        let align = if flags.contains(MemoryAccess::ALIGNED) {
            let align = raw.word(position + 1)?;
            if !align.is_power_of_two() {
                return invalid(format_args!("an alignment of {align}"));
            }
            Some(align)
        } else {
            None
        };
        Ok((align, flags.contains(MemoryAccess::VOLATILE)))
    }

    fn access(&self, raw: Raw<'_>, position: usize, ty: u32) -> Fallible<AccessAttributes> {
        let (align, volatile) = Self::access_flags(raw, position)?;
        let natural = self.all.types.get(ty)?.align;
        Ok(AccessAttributes { align: align.unwrap_or(natural), volatile, vector_builtin: false })
    }

    fn query(&mut self, kind: QueryKind, dimension: Option<u8>, ty: u32) -> Fallible<Rep> {
        let wanted = self.all.types.value(ty)?;
        let one =
            |this: &mut Self, dimension| this.emit(Op::Query(Query { kind, dimension }), &[], kind.ty());
        let value = match (wanted, dimension) {
            (Type::Vector(_, 3), None) if kind.has_dimension() => {
                let parts = [one(self, 0)?, one(self, 1)?, one(self, 2)?];
                self.emit(Op::Construct, &parts, Type::Vector(Scalar::I64, 3))?
            }
            (Type::Scalar(_), Some(dimension)) => one(self, dimension)?,
            _ if !kind.has_dimension() => one(self, 0)?,
            _ => return invalid("a built-in variable whose type differs from its built-in"),
        };
        if self.kernel.ty(value) == wanted {
            return Ok(Rep::Value(value));
        }
        match (self.kernel.ty(value), wanted) {
            (Type::Scalar(a), Type::Scalar(b)) if a.is_int() && b.is_int() => {
                self.resized(value, wanted).map(Rep::Value)
            }
            _ => invalid("a built-in variable whose type differs from its built-in"),
        }
    }

    /// A pointer plus a number of bytes.
    pub(super) fn offset(&mut self, base: Value, offset: i64) -> Fallible<Value> {
        if offset == 0 {
            return Ok(base);
        }
        let address = Address { stride: 0, offset, count: None, in_bounds: true };
        let ty = self.kernel.ty(base);
        self.emit(Op::Address(address), &[base], ty)
    }

    /// A pointer cast to another address space.
    pub(super) fn space_cast(&mut self, pointer: Value, space: Space) -> Fallible<Value> {
        match self.kernel.ty(pointer) {
            Type::Pointer(own) if own == space => Ok(pointer),
            Type::Pointer(_) => self.emit(Op::SpaceCast { checked: false }, &[pointer], Type::Pointer(space)),
            ty => invalid(format_args!("a pointer of type {ty}")),
        }
    }

    fn load_rep(&mut self, pointer: Value, ty: u32, access: AccessAttributes) -> Fallible<Rep> {
        let mut types = Vec::new();
        self.leaves(ty, &mut types)?;
        if let ([one], Ok(_)) = (&types[..], self.all.types.value(ty)) {
            return self.emit(Op::Load(access), &[pointer], *one).map(Rep::Value);
        }
        let mut offsets = Vec::with_capacity(types.len());
        self.all.types.layout(ty)?.leaves(0, &mut |offset, ty| {
            offsets.push((offset, ty));
            true
        });
        let mut values = Vec::with_capacity(offsets.len());
        for (offset, ty) in offsets {
            let at = self.offset(pointer, offset.cast_signed())?;
            values.push(self.emit(Op::Load(aligned_at(access, offset)), &[at], ty)?);
        }
        self.unflatten(ty, &mut values.into_iter())
    }

    fn store_rep(
        &mut self,
        pointer: Value,
        rep: &Rep,
        layout: &TypeLayout,
        access: AccessAttributes,
    ) -> Fallible<()> {
        let mut values = Vec::new();
        rep.flatten(&mut values)?;
        let mut offsets = Vec::with_capacity(values.len());
        layout.leaves(0, &mut |offset, ty| {
            offsets.push((offset, ty));
            offsets.len() <= values.len()
        });
        if offsets.len() != values.len() {
            return invalid("a store of a value whose shape differs from its pointer's type");
        }
        for (value, (offset, _)) in values.into_iter().zip(offsets) {
            let at = self.offset(pointer, offset.cast_signed())?;
            self.effect(Op::Store(aligned_at(access, offset)), &[at, value])?;
        }
        Ok(())
    }
}

/// An access with only an alignment.
pub(super) const fn plain(align: u32) -> AccessAttributes {
    AccessAttributes { align, volatile: false, vector_builtin: false }
}

/// The known alignment of an access after it is moved by an offset.
fn aligned_at(access: AccessAttributes, offset: u64) -> AccessAttributes {
    let step = if offset == 0 { 1 << 31 } else { 1 << offset.trailing_zeros().min(31) };
    AccessAttributes { align: access.align.min(step), ..access }
}
