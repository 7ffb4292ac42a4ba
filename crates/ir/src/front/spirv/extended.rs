//! OpenCL.std: the library functions.

use rspirv::spirv::{FPRoundingMode, OpenclStd100Op as Library};

use super::code::{Fallible, Raw, invalid, unsupported};
use super::constants::Constant;
use super::memory::plain;
use super::rep::Rep;
use super::translator::BodyTranslator;
use crate::op::{AccessAttributes, Address, Builtin, Compare, Convert, Number, Rounding, Unary};
use crate::{Initial, Op, Scalar, Space, Type, Value};

impl BodyTranslator<'_> {
    /// Translates `OpExtInst`.
    pub(super) fn extended(&mut self, raw: Raw<'_>) -> Fallible<()> {
        let set = raw.word(3)?;
        if self.all.debug.contains(&set) {
            return Ok(());
        }
        if !self.all.library.contains(&set) {
            return invalid(format_args!("%{set} is not an instruction set"));
        }
        let number = raw.word(4)?;
        let Some(op) = Library::from_u32(number) else {
            return invalid(format_args!("function {number} is not in OpenCL.std"));
        };
        if let Some(rep) = self.library(raw, op)? {
            if let Rep::Value(value) = rep
                && let Some(inst) = self.kernel.defining(value)
            {
                let flags = self.flags(raw.word(2)?);
                self.kernel.insts[inst].flags = self.kernel.insts[inst].flags.union(flags);
            }
            self.define(raw, rep)?;
        }
        Ok(())
    }

    fn library(&mut self, raw: Raw<'_>, op: Library) -> Fallible<Option<Rep>> {
        if op == Library::printf {
            return self.printf(raw).map(Some);
        }
        let mut operands = Vec::new();
        // Literal operands (widths, rounding modes) come last, and are not ids.
        let literals = match op {
            Library::vloadn
            | Library::vload_halfn
            | Library::vloada_halfn
            | Library::vstore_half_r
            | Library::vstore_halfn_r
            | Library::vstorea_halfn_r => 1,
            _ => 0,
        };
        let ids = raw.rest(5);
        let Some(ids) = ids.get(..ids.len().saturating_sub(literals)) else {
            return invalid("operands are missing");
        };
        for id in ids {
            operands.push(self.value(*id)?);
        }
        let count = |wanted: usize| {
            if operands.len() == wanted {
                Ok(())
            } else {
                invalid(format_args!("{op:?} takes {wanted} operands, not {}", operands.len()))
            }
        };
        let value = match op {
            Library::vloadn | Library::vload_half | Library::vload_halfn | Library::vloada_halfn => {
                count(2)?;
                let ty = self.result_type(raw)?;
                self.vector_load(op, operands[0], operands[1], ty)?
            }
            Library::vstoren
            | Library::vstore_half
            | Library::vstore_half_r
            | Library::vstore_halfn
            | Library::vstore_halfn_r
            | Library::vstorea_halfn
            | Library::vstorea_halfn_r => {
                count(3)?;
                let rounding = if literals == 0 {
                    Rounding::Nearest
                } else {
                    rounding(*raw.words.last().unwrap_or(&0))?
                };
                self.vector_store(op, operands[0], operands[1], operands[2], rounding)?;
                return Ok(None);
            }
            Library::prefetch => return Ok(None),
            Library::popcount => {
                count(1)?;
                let ty = self.result_type(raw)?;
                self.emit(Op::Unary(Unary::PopCount), &operands, ty)?
            }
            Library::select => {
                // select(a, b, c): b where c is true; vectors test the top bit.
                count(3)?;
                let ty = self.result_type(raw)?;
                let condition = self.truth(operands[2], ty.lanes() > 1)?;
                self.emit(Op::Select, &[condition, operands[1], operands[0]], ty)?
            }
            Library::sincos
            | Library::fract
            | Library::modf
            | Library::frexp
            | Library::lgamma_r
            | Library::remquo => {
                count(if op == Library::remquo { 3 } else { 2 })?;
                let ty = self.result_type(raw)?;
                self.two_results(op, &operands, ty)?
            }
            _ => {
                let Some(builtin) = Builtin::numbered(op as u32) else {
                    return unsupported(format_args!("the library function {op:?}"));
                };
                count(builtin.signature().operands())?;
                let ty = self.result_type(raw)?;
                self.emit(Op::Builtin(builtin), &operands, ty)?
            }
        };
        Ok(Some(Rep::Value(value)))
    }

    /// An integer as a truth value: not zero, or for vectors the top bit.
    pub(super) fn truth(&mut self, value: Value, top_bit: bool) -> Fallible<Value> {
        let ty = self.kernel.ty(value);
        if ty.is_bool() {
            return Ok(value);
        }
        let Some(bools) = ty.with_scalar(Scalar::Bool).filter(|_| ty.is_int()) else {
            return invalid(format_args!("a condition of type {ty}"));
        };
        let zero = self.kernel.splat_constant(ty, 0);
        let compare = if top_bit { Compare::SLt } else { Compare::Ne };
        self.emit(Op::Compare(compare), &[value, zero], bools)
    }

    /// Functions that return one result and store another.
    fn two_results(&mut self, op: Library, operands: &[Value], ty: Type) -> Fallible<Value> {
        let Some((pointer, values)) = operands.split_last() else { return invalid("operands are missing") };
        let ints = || ty.with_scalar(Scalar::I32).unwrap_or(Type::I32);
        let (first, second, stored) = match op {
            Library::sincos => (Builtin::Sin, Builtin::Cos, ty),
            Library::fract => (Builtin::Fract, Builtin::Floor, ty),
            Library::modf => (Builtin::Modf, Builtin::Trunc, ty),
            Library::frexp => (Builtin::Frexp, Builtin::FrexpExponent, ints()),
            Library::lgamma_r => (Builtin::Lgamma, Builtin::LgammaSign, ints()),
            _ => (Builtin::Remquo, Builtin::RemquoQuotient, ints()),
        };
        let result = self.emit(Op::Builtin(first), values, ty)?;
        let other = self.emit(Op::Builtin(second), values, stored)?;
        self.effect(Op::Store(plain(stored.stored_bytes().max(1))), &[*pointer, other])?;
        Ok(result)
    }

    /// The address of element `index` of vectors of that type; `padded` counts three lanes as four.
    fn element(&mut self, pointer: Value, index: Value, memory: Type, padded: bool) -> Fallible<Value> {
        let stride = u64::from(if padded { memory.stored_bytes() } else { memory.bytes() });
        if self.kernel.scalar_constant(index) == Some(0) {
            return Ok(pointer);
        }
        let index = match self.kernel.ty(index) {
            Type::I64 | Type::I32 => index,
            _ => self.resized(index, Type::I64)?,
        };
        let address = Address { stride, offset: 0, count: None, in_bounds: true };
        let ty = self.kernel.ty(pointer);
        self.emit(Op::Address(address), &[pointer, index], ty)
    }

    fn vector_load(&mut self, op: Library, index: Value, pointer: Value, ty: Type) -> Fallible<Value> {
        let half = op != Library::vloadn;
        let memory = if half { ty.with_scalar(Scalar::F16) } else { Some(ty) };
        let Some((memory, scalar)) = memory.and_then(|memory| Some((memory, memory.scalar()?))) else {
            return invalid(format_args!("a vector load of {ty}"));
        };
        let aligned = op == Library::vloada_halfn;
        let at = self.element(pointer, index, memory, aligned)?;
        let align = if aligned { memory.stored_bytes() } else { scalar.bytes() };
        let access = AccessAttributes { align, volatile: false, vector_builtin: true };
        let value = self.emit(Op::Load(access), &[at], memory)?;
        if memory == ty {
            return Ok(value);
        }
        self.emit(Op::Convert(float(Rounding::Nearest)), &[value], ty)
    }

    fn vector_store(
        &mut self,
        op: Library,
        value: Value,
        index: Value,
        pointer: Value,
        rounding: Rounding,
    ) -> Fallible<()> {
        let ty = self.kernel.ty(value);
        let half = op != Library::vstoren;
        let memory = if half { ty.with_scalar(Scalar::F16) } else { Some(ty) };
        let Some((memory, scalar)) = memory.and_then(|memory| Some((memory, memory.scalar()?))) else {
            return invalid(format_args!("a vector store of {ty}"));
        };
        let stored =
            if memory == ty { value } else { self.emit(Op::Convert(float(rounding)), &[value], memory)? };
        let aligned = matches!(op, Library::vstorea_halfn | Library::vstorea_halfn_r);
        let at = self.element(pointer, index, memory, aligned)?;
        let align = if aligned { memory.stored_bytes() } else { scalar.bytes() };
        let access = AccessAttributes { align, volatile: false, vector_builtin: true };
        self.effect(Op::Store(access), &[at, stored])
    }

    fn printf(&mut self, raw: Raw<'_>) -> Fallible<Rep> {
        let Some(format) = self.text(raw.word(5)?)? else {
            return unsupported("a printf format that is not a constant string");
        };
        let mut operands = Vec::new();
        for id in raw.rest(6) {
            self.rep(*id)?.flatten(&mut operands)?;
        }
        let known = self.kernel.formats.iter().position(|known| *known == format);
        let index = known.unwrap_or_else(|| {
            self.kernel.formats.push(format);
            self.kernel.formats.len() - 1
        });
        self.effect(Op::Printf(index as u32), &operands)?;
        // printf returns 0 on success, and it always succeeds.
        Ok(Rep::Value(self.kernel.make_constant(Type::I32, &[0])))
    }

    /// The string at a constant address.
    fn text(&mut self, id: u32) -> Fallible<Option<String>> {
        let (object, offset) =
            if let Some(Constant::Address { variable, offset, .. }) = self.all.constants.get(id) {
                let Some(declared) = self.all.variables.get(variable) else { return Ok(None) };
                (self.program_object(*variable, declared)?, *offset)
            } else {
                let mut pointer = self.value(id)?;
                let mut offset = 0_i64;
                loop {
                    let Some(inst) = self.kernel.defining(pointer) else { return Ok(None) };
                    let inst = &self.kernel.insts[inst];
                    match inst.op {
                        Op::ProgramAddress(object) => break (object, offset),
                        Op::SpaceCast { .. } => {}
                        Op::Address(Address { stride: 0, offset: more, .. }) => {
                            offset = offset.wrapping_add(more);
                        }
                        _ => return Ok(None),
                    }
                    let Some(base) = inst.operands.first() else { return Ok(None) };
                    pointer = *base;
                }
            };
        let data = &self.module.objects[object];
        if data.space != Space::Constant {
            return Ok(None);
        }
        Ok(match &data.initial {
            Initial::Bytes { bytes, .. } => {
                let text = usize::try_from(offset).ok().and_then(|start| bytes.get(start..)).unwrap_or(&[]);
                let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
                Some(String::from_utf8_lossy(&text[..end]).into_owned())
            }
            Initial::Zero => Some(String::new()),
            _ => None,
        })
    }
}

/// A float conversion.
const fn float(rounding: Rounding) -> Convert {
    Convert { from: Number::Float, to: Number::Float, rounding, saturate: false }
}

fn rounding(mode: u32) -> Fallible<Rounding> {
    Ok(match FPRoundingMode::from_u32(mode) {
        Some(FPRoundingMode::RTE) => Rounding::Nearest,
        Some(FPRoundingMode::RTZ) => Rounding::Zero,
        Some(FPRoundingMode::RTP) => Rounding::Up,
        Some(FPRoundingMode::RTN) => Rounding::Down,
        None => return invalid(format_args!("rounding mode {mode} is unknown")),
    })
}
