//! Variables, loads and stores, address arithmetic, copies, atomics.

use rspirv::spirv::{MemoryAccess, MemorySemantics, Op as RawOp, Scope as RawScope};

use super::body::Translator;
use super::code::{Fallible, Fault, Raw, invalid, unsupported};
use super::constants::Constant;
use super::rep::Rep;
use super::types::Kind;
use crate::op::{Access, Address, Atomic, AtomicOp, Order, Query, QueryKind, Scope, Semantics};
use crate::{Initial, Layout, Op, ProgramObject, Relocation, Scalar, Space, Type, Value};

impl Translator<'_> {
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
                        let access = Access { align: access.0.unwrap_or(natural), ..plain(1) };
                        let access = Access { volatile: Self::access_flags(raw, 3)?.1, ..access };
                        self.effect(Op::Store(access), &[pointer, *value])?;
                    }
                    (_, Some(pointee)) => {
                        let layout = self.all.types.layout(pointee)?.clone();
                        let align = access.0.unwrap_or(self.all.types.get(pointee)?.align);
                        let access = Access { align, volatile: access.1, vector_builtin: false };
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
                let access = Access { align, volatile: access.1, vector_builtin: false };
                self.effect(Op::Copy(access), &[to, from, count])?;
            }
            RawOp::CopyMemorySized => {
                let (to, from) = (self.value(raw.word(1)?)?, self.value(raw.word(2)?)?);
                let count = self.value(raw.word(3)?)?;
                let count = self.widened(count)?;
                let access = Self::access_flags(raw, 4)?;
                let access =
                    Access { align: access.0.unwrap_or(1), volatile: access.1, vector_builtin: false };
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
    fn pointee_of(&self, id: u32) -> Option<u32> {
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

    fn access(&self, raw: Raw<'_>, position: usize, ty: u32) -> Fallible<Access> {
        let (align, volatile) = Self::access_flags(raw, position)?;
        let natural = self.all.types.get(ty)?.align;
        Ok(Access { align: align.unwrap_or(natural), volatile, vector_builtin: false })
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

    fn load_rep(&mut self, pointer: Value, ty: u32, access: Access) -> Fallible<Rep> {
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

    fn store_rep(&mut self, pointer: Value, rep: &Rep, layout: &Layout, access: Access) -> Fallible<()> {
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

    fn chain(&mut self, raw: Raw<'_>, element: Option<u32>, first: usize) -> Fallible<()> {
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

    fn atomic(&mut self, raw: Raw<'_>) -> Fallible<bool> {
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
            Order::SeqCst
        } else if bits.contains(MemorySemantics::ACQUIRE_RELEASE)
            || bits.contains(MemorySemantics::ACQUIRE | MemorySemantics::RELEASE)
        {
            Order::AcquireRelease
        } else if bits.contains(MemorySemantics::RELEASE) {
            Order::Release
        } else if bits.contains(MemorySemantics::ACQUIRE) {
            Order::Acquire
        } else {
            Order::Relaxed
        };
        Ok(Semantics {
            order,
            local: bits.contains(MemorySemantics::WORKGROUP_MEMORY),
            global: bits.contains(MemorySemantics::CROSS_WORKGROUP_MEMORY),
            image: bits.contains(MemorySemantics::IMAGE_MEMORY),
        })
    }

    /// The initial contents of a program-scope object.
    pub(super) fn initial(&mut self, object: ProgramObject, initializer: u32) -> Fallible<Initial> {
        match self.all.constants.get(initializer) {
            Some(Constant::Null(_)) => return Ok(Initial::Zero),
            Some(Constant::Undefined(_)) => return Ok(Initial::Unwritten),
            _ => {}
        }
        let layout = self.module.objects[object].layout.clone();
        let limit = self.options.limits.initial_bytes;
        let size = usize::try_from(layout.bytes()).unwrap_or(usize::MAX);
        if size > limit {
            return Err(Fault::TooLarge("bytes in one constant", limit));
        }
        let mut image =
            Image { bytes: vec![0; size], relocations: Vec::new(), visits: size.saturating_mul(4) + 1024 };
        self.write(&mut image, initializer, &layout, 0)?;
        image.relocations.sort_by_key(|relocation| relocation.offset);
        Ok(Initial::Bytes { bytes: image.bytes.into(), relocations: image.relocations.into() })
    }

    fn write(&mut self, image: &mut Image, id: u32, layout: &Layout, at: u64) -> Fallible<()> {
        image.visits = match image.visits.checked_sub(1) {
            Some(visits) => visits,
            None => return unsupported("a constant with that many parts"),
        };
        let Some(constant) = self.all.constants.get(id) else {
            let Some(variable) = self.all.variables.get(&id) else {
                return invalid(format_args!("%{id} is not a constant"));
            };
            let object = self.program_object(id, variable)?;
            image.relocations.push(Relocation { offset: at, object, addend: 0 });
            return Ok(());
        };
        match (constant, layout) {
            (Constant::Null(_) | Constant::Undefined(_), _) => Ok(()),
            (Constant::Lanes(ty, bits), Layout::Value(own)) if ty == own => {
                let bytes = ty.scalar().map_or(0, Scalar::bytes) as usize;
                for (lane, bits) in bits.iter().enumerate() {
                    let start = at as usize + lane * bytes;
                    if let Some(target) = image.bytes.get_mut(start..start + bytes) {
                        target.copy_from_slice(&bits.to_le_bytes()[..bytes]);
                    }
                }
                Ok(())
            }
            (Constant::Address { variable, offset, .. }, Layout::Value(Type::Pointer(_))) => {
                let Some(declared) = self.all.variables.get(variable) else {
                    return invalid(format_args!("%{variable} is not a variable"));
                };
                let object = self.program_object(*variable, declared)?;
                image.relocations.push(Relocation { offset: at, object, addend: *offset });
                Ok(())
            }
            (Constant::Composite(parts), Layout::Array { element, count, stride })
                if parts.len() as u64 == *count =>
            {
                for (part, index) in parts.iter().zip(0..) {
                    self.write(image, *part, element, at + index * stride)?;
                }
                Ok(())
            }
            (Constant::Composite(parts), Layout::Struct { fields, .. }) if parts.len() == fields.len() => {
                for (part, field) in parts.iter().zip(&**fields) {
                    self.write(image, *part, &field.layout, at + field.offset)?;
                }
                Ok(())
            }
            _ => invalid(format_args!("the shape of %{id} differs from the variable that it initialises")),
        }
    }
}

/// An access with only an alignment.
pub(super) const fn plain(align: u32) -> Access {
    Access { align, volatile: false, vector_builtin: false }
}

/// The known alignment of an access after it is moved by an offset.
fn aligned_at(access: Access, offset: u64) -> Access {
    let step = if offset == 0 { 1 << 31 } else { 1 << offset.trailing_zeros().min(31) };
    Access { align: access.align.min(step), ..access }
}

/// A pointer and an offset not yet added to it.
struct Position {
    pointer: Value,
    offset: i64,
    in_bounds: bool,
}

/// Initial contents while they are written.
struct Image {
    bytes: Vec<u8>,
    relocations: Vec<Relocation>,
    visits: usize,
}
