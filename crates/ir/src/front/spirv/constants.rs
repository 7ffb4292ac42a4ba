//! Constants of a module, and initial contents of program-scope objects.

use std::collections::HashMap;

use rspirv::spirv::{Op, SamplerAddressingMode, SamplerFilterMode};

use super::code::{Fallible, Fault, Raw, invalid, unsupported};
use super::declare::Variable;
use super::types::{Kind, Types};
use crate::op::{Addressing, Binary, Compare, SamplerBits};
use crate::transform::fold;
use crate::{Space, Type};

/// A constant of a module.
#[derive(Clone, Debug)]
pub(super) enum Constant {
    /// The bits of each lane of a scalar or vector.
    Lanes(Type, Vec<u64>),
    /// All zero; contains the type.
    Null(u32),
    /// Members of an array or struct, by id.
    Composite(Vec<u32>),
    /// Undefined; contains the type.
    Undefined(u32),
    /// The address of a variable plus bytes.
    Address { space: Space, pointee: Option<u32>, variable: u32, offset: i64 },
}

#[derive(Default)]
pub(super) struct Constants(HashMap<u32, Constant>);

impl Constants {
    pub(super) fn is_declaration(op: Op) -> bool {
        matches!(
            op,
            Op::ConstantTrue
                | Op::ConstantFalse
                | Op::Constant
                | Op::ConstantComposite
                | Op::ConstantSampler
                | Op::ConstantNull
                | Op::SpecConstantTrue
                | Op::SpecConstantFalse
                | Op::SpecConstant
                | Op::SpecConstantComposite
                | Op::SpecConstantOp
                | Op::Undef
        )
    }

    pub(super) fn get(&self, id: u32) -> Option<&Constant> {
        self.0.get(&id)
    }

    /// A scalar integer constant, zero extended.
    pub(super) fn integer(&self, id: u32) -> Option<u64> {
        match self.0.get(&id)? {
            Constant::Lanes(Type::Scalar(scalar), bits) if scalar.is_int() => bits.first().copied(),
            Constant::Null(_) => Some(0),
            _ => None,
        }
    }

    /// A scalar integer constant, sign extended from its own width.
    pub(super) fn signed(&self, id: u32) -> Option<i64> {
        match self.0.get(&id)? {
            Constant::Lanes(Type::Scalar(scalar), bits) if scalar.is_int() => {
                bits.first().map(|bits| scalar.to_i64(*bits))
            }
            Constant::Null(_) => Some(0),
            _ => None,
        }
    }

    /// Reads a declaration; `chosen` are the bits that the user selects for a specialization constant.
    pub(super) fn declare(
        &mut self,
        raw: Raw<'_>,
        types: &Types,
        variables: &HashMap<u32, Variable>,
        chosen: Option<u64>,
    ) -> Fallible<()> {
        let ty = raw.word(1)?;
        let id = raw.word(2)?;
        let truth = |value: bool| {
            let value = chosen.map_or(value, |bits| bits != 0);
            Constant::Lanes(Type::BOOL, vec![u64::from(value)])
        };
        let constant = match raw.op {
            Op::ConstantTrue | Op::SpecConstantTrue => truth(true),
            Op::ConstantFalse | Op::SpecConstantFalse => truth(false),
            Op::Constant | Op::SpecConstant => {
                let Type::Scalar(scalar) = types.value(ty)? else {
                    return invalid("a constant that is not a scalar");
                };
                let mut bits = u64::from(raw.word(3)?);
                if scalar.bytes() == 8 {
                    bits |= u64::from(raw.word(4)?) << 32;
                }
                Constant::Lanes(Type::Scalar(scalar), vec![chosen.unwrap_or(bits) & scalar.mask()])
            }
            Op::ConstantNull => Constant::Null(ty),
            Op::Undef => Constant::Undefined(ty),
            Op::ConstantSampler => Constant::Lanes(Type::Sampler, vec![sampler(raw)?.bits()]),
            Op::ConstantComposite | Op::SpecConstantComposite => self.composite(ty, raw.rest(3), types)?,
            _ => self.operation(raw, types, variables)?,
        };
        if self.0.insert(id, constant).is_some() {
            return invalid(format_args!("%{id} is declared twice"));
        }
        Ok(())
    }

    fn composite(&self, ty: u32, parts: &[u32], types: &Types) -> Fallible<Constant> {
        match &types.get(ty)?.kind {
            Kind::Value(vector @ Type::Vector(scalar, lanes)) => {
                let mut bits = Vec::with_capacity(usize::from(*lanes));
                for part in parts {
                    match self.lanes(*part, Type::Scalar(*scalar)) {
                        Some(lane) => bits.extend(lane),
                        None => return unsupported(format_args!("%{part} in a constant vector")),
                    }
                }
                if bits.len() != usize::from(*lanes) {
                    return invalid("a constant vector whose length differs from its type");
                }
                Ok(Constant::Lanes(*vector, bits))
            }
            Kind::Array { count, .. } if *count == parts.len() as u64 => {
                Ok(Constant::Composite(parts.to_vec()))
            }
            Kind::Struct { members, .. } if members.len() == parts.len() => {
                Ok(Constant::Composite(parts.to_vec()))
            }
            _ => invalid("a constant whose shape differs from its type"),
        }
    }

    /// Bits of a scalar or vector; undefined lanes are zero.
    fn lanes(&self, id: u32, ty: Type) -> Option<Vec<u64>> {
        match self.0.get(&id)? {
            Constant::Lanes(_, bits) => Some(bits.clone()),
            Constant::Null(_) | Constant::Undefined(_) => Some(vec![0; usize::from(ty.lanes())]),
            _ => None,
        }
    }

    /// `OpSpecConstantOp`: an operation on constants, address arithmetic included.
    fn operation(
        &self,
        raw: Raw<'_>,
        types: &Types,
        variables: &HashMap<u32, Variable>,
    ) -> Fallible<Constant> {
        let number = raw.word(3)?;
        let Some(op) = Op::from_u32(number) else {
            return invalid(format_args!("opcode {number} is unknown"));
        };
        let result = raw.word(1)?;
        match op {
            Op::AccessChain | Op::InBoundsAccessChain => {
                self.chain(result, raw.word(4)?, None, raw.rest(5), types, variables)
            }
            Op::PtrAccessChain | Op::InBoundsPtrAccessChain => {
                self.chain(result, raw.word(4)?, Some(raw.word(5)?), raw.rest(6), types, variables)
            }
            Op::Bitcast | Op::PtrCastToGeneric | Op::GenericCastToPtr
                if types.value(result)?.is_pointer() =>
            {
                let (variable, offset, _) = self.address(raw.word(4)?, types, variables)?;
                Self::pointer(result, variable, offset, types)
            }
            _ => self.arithmetic(op, types.value(result)?, raw),
        }
    }

    fn pointer(ty: u32, variable: u32, offset: i64, types: &Types) -> Fallible<Constant> {
        match types.get(ty)?.kind {
            Kind::Pointer(space, pointee) => {
                Ok(Constant::Address { space, pointee: Some(pointee), variable, offset })
            }
            _ => invalid("an address that is not a pointer"),
        }
    }

    /// Variable, offset and pointee type of an address.
    fn address(
        &self,
        id: u32,
        types: &Types,
        variables: &HashMap<u32, Variable>,
    ) -> Fallible<(u32, i64, u32)> {
        if let Some(variable) = variables.get(&id) {
            return Ok((id, 0, types.pointee(variable.ty)?));
        }
        match self.0.get(&id) {
            Some(Constant::Address { pointee: Some(pointee), variable, offset, .. }) => {
                Ok((*variable, *offset, *pointee))
            }
            _ => unsupported(format_args!("the address of %{id} in a constant")),
        }
    }

    fn chain(
        &self,
        result: u32,
        base: u32,
        element: Option<u32>,
        indices: &[u32],
        types: &Types,
        variables: &HashMap<u32, Variable>,
    ) -> Fallible<Constant> {
        let (variable, mut offset, mut ty) = self.address(base, types, variables)?;
        let index = |id: u32| match self.signed(id) {
            Some(index) => Ok(index),
            None => unsupported("an index of a constant address that is not an integer"),
        };
        let mut step = |index: i64, stride: u64| {
            offset = offset.wrapping_add(index.wrapping_mul(stride.cast_signed()));
        };
        if let Some(element) = element {
            step(index(element)?, types.layout(ty)?.bytes());
        }
        for id in indices {
            let position = index(*id)?;
            match &types.get(ty)?.kind {
                Kind::Array { element, .. } => {
                    step(position, types.layout(*element)?.bytes());
                    ty = *element;
                }
                Kind::Struct { members, offsets } => {
                    let member = usize::try_from(position).unwrap_or(usize::MAX);
                    let (Some(inner), Some(at)) = (members.get(member), offsets.get(member)) else {
                        return invalid("a member that the struct does not have");
                    };
                    step(1, *at);
                    ty = *inner;
                }
                Kind::Value(Type::Vector(scalar, _)) if indices.last() == Some(id) => {
                    step(position, u64::from(scalar.bytes()));
                }
                _ => return invalid("an index into a value without members"),
            }
        }
        Self::pointer(result, variable, offset, types)
    }

    fn arithmetic(&self, op: Op, ty: Type, raw: Raw<'_>) -> Fallible<Constant> {
        let refused = || Fault::Unsupported(format!("Op{op:?} on constants"));
        let Type::Scalar(scalar) = ty else { return Err(refused()) };
        let operand = |position: usize| {
            let id = raw.word(position)?;
            match self.0.get(&id) {
                Some(Constant::Lanes(Type::Scalar(scalar), bits)) => Ok((*scalar, bits[0])),
                Some(Constant::Null(_)) => Ok((scalar, 0)),
                _ => Err(refused()),
            }
        };
        let (from, a) = operand(4)?;
        let bits = match op {
            Op::SConvert => from.to_i64(a).cast_unsigned() & scalar.mask(),
            Op::UConvert => a & scalar.mask(),
            Op::SNegate => a.wrapping_neg() & scalar.mask(),
            Op::Not => !a & scalar.mask(),
            Op::LogicalNot => u64::from(a == 0),
            Op::Select => (if a != 0 { operand(5)? } else { operand(6)? }).1,
            _ => {
                let (_, b) = operand(5)?;
                if let Some(binary) = binary(op) {
                    fold::binary(binary, scalar, a, b).ok_or_else(refused)?
                } else if let Some(compare) = compare(op) {
                    u64::from(fold::compare(compare, from, a, b).ok_or_else(refused)?)
                } else {
                    return Err(refused());
                }
            }
        };
        Ok(Constant::Lanes(ty, vec![bits]))
    }
}

/// The binary operation of an opcode, for integers and floats.
pub(super) fn binary(op: Op) -> Option<Binary> {
    Some(match op {
        Op::IAdd => Binary::Add,
        Op::ISub => Binary::Sub,
        Op::IMul => Binary::Mul,
        Op::UDiv => Binary::UDiv,
        Op::SDiv => Binary::SDiv,
        Op::UMod => Binary::URem,
        Op::SRem => Binary::SRem,
        Op::SMod => Binary::SMod,
        Op::ShiftLeftLogical => Binary::Shl,
        Op::ShiftRightLogical => Binary::LShr,
        Op::ShiftRightArithmetic => Binary::AShr,
        Op::BitwiseAnd | Op::LogicalAnd => Binary::And,
        Op::BitwiseOr | Op::LogicalOr => Binary::Or,
        Op::BitwiseXor => Binary::Xor,
        Op::FAdd => Binary::FAdd,
        Op::FSub => Binary::FSub,
        Op::FMul => Binary::FMul,
        Op::FDiv => Binary::FDiv,
        Op::FRem => Binary::FRem,
        Op::FMod => Binary::FMod,
        _ => return None,
    })
}

/// The comparison of an opcode.
pub(super) fn compare(op: Op) -> Option<Compare> {
    Some(match op {
        Op::IEqual | Op::PtrEqual | Op::LogicalEqual => Compare::Eq,
        Op::INotEqual | Op::PtrNotEqual | Op::LogicalNotEqual => Compare::Ne,
        Op::ULessThan => Compare::ULt,
        Op::ULessThanEqual => Compare::ULe,
        Op::UGreaterThan => Compare::UGt,
        Op::UGreaterThanEqual => Compare::UGe,
        Op::SLessThan => Compare::SLt,
        Op::SLessThanEqual => Compare::SLe,
        Op::SGreaterThan => Compare::SGt,
        Op::SGreaterThanEqual => Compare::SGe,
        Op::FOrdEqual => Compare::FEq,
        Op::FOrdNotEqual | Op::LessOrGreater => Compare::FNe,
        Op::FOrdLessThan => Compare::FLt,
        Op::FOrdLessThanEqual => Compare::FLe,
        Op::FOrdGreaterThan => Compare::FGt,
        Op::FOrdGreaterThanEqual => Compare::FGe,
        Op::FUnordEqual => Compare::FUEq,
        Op::FUnordNotEqual => Compare::FUNe,
        Op::FUnordLessThan => Compare::FULt,
        Op::FUnordLessThanEqual => Compare::FULe,
        Op::FUnordGreaterThan => Compare::FUGt,
        Op::FUnordGreaterThanEqual => Compare::FUGe,
        Op::Ordered => Compare::FOrd,
        Op::Unordered => Compare::FUno,
        _ => return None,
    })
}

fn sampler(raw: Raw<'_>) -> Fallible<SamplerBits> {
    let addressing = match SamplerAddressingMode::from_u32(raw.word(3)?) {
        Some(SamplerAddressingMode::None) => Addressing::None,
        Some(SamplerAddressingMode::ClampToEdge) => Addressing::ClampToEdge,
        Some(SamplerAddressingMode::Clamp) => Addressing::Clamp,
        Some(SamplerAddressingMode::Repeat) => Addressing::Repeat,
        Some(SamplerAddressingMode::RepeatMirrored) => Addressing::Mirror,
        None => return invalid("the sampler's addressing mode is unknown"),
    };
    let linear = SamplerFilterMode::from_u32(raw.word(5)?) == Some(SamplerFilterMode::Linear);
    Ok(SamplerBits { addressing, normalized: raw.word(4)? == 1, linear })
}
