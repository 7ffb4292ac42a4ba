//! Maps an instruction of the IR to a chain of operations that have entries in the data files.

use tripipe_ir::op::{Binary, Builtin, Compare, Convert, Number, Unary};
use tripipe_ir::{Kernel, Op, Scalar, Type, Value};

use crate::functions::{self, StepType};
use crate::work::Work;

/// A chain of operations on lanes of a type; each depends on the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The operations, with the type of each.
    pub(crate) works: Vec<(Work, Scalar)>,
    /// Number of lanes.
    pub(crate) lanes: u32,
}

impl Chain {
    fn of(scalar: Scalar, lanes: u32, works: &[Work]) -> Self {
        Self { works: works.iter().map(|work| (*work, scalar)).collect(), lanes }
    }
}

/// The chain of an instruction, lane by lane; `None` if it is not arithmetic on lanes.
pub(crate) fn chain(kernel: &Kernel, op: Op, operands: &[Value], result: Type) -> Option<Chain> {
    let lanes = u32::from(result.lanes());
    let scalar = result.scalar();
    let source = operands.first().map(|value| kernel.ty(*value));
    let source_scalar = source.and_then(Type::scalar);
    Some(match op {
        Op::Unary(unary) => {
            let scalar = source_scalar?;
            match unary {
                Unary::Neg => Chain::of(scalar, lanes, &[Work::Add]),
                Unary::Not => Chain::of(scalar, lanes, &[Work::Logic]),
                Unary::FNeg => Chain::of(scalar, lanes, &[Work::Negate]),
                Unary::BitReverse => Chain::of(scalar, lanes, &[Work::Bitreverse]),
                Unary::PopCount => Chain::of(scalar, lanes, &[Work::Popcount]),
                // Reads all lanes, two at a time.
                Unary::Any | Unary::All => Chain::of(scalar, u32::from(source?.lanes()), &[Work::Logic]),
                Unary::IsNan | Unary::IsInf | Unary::IsFinite | Unary::SignBit => {
                    Chain::of(scalar, lanes, &[Work::Compare])
                }
                Unary::IsNormal => Chain::of(scalar, lanes, &[Work::Compare, Work::Compare]),
            }
        }
        Op::Binary(binary) => Chain::of(scalar?, lanes, self::binary(binary)),
        Op::Compare(compare) => {
            // A pointer compares as 64 bits.
            let scalar = source_scalar.unwrap_or(Scalar::I64);
            let works: &[_] = match compare {
                Compare::FOrd | Compare::FUno => &[Work::Compare, Work::Compare],
                _ => &[Work::Compare],
            };
            Chain::of(scalar, lanes, works)
        }
        Op::Select => Chain::of(scalar.unwrap_or(Scalar::I64), lanes, &[Work::Select]),
        Op::Convert(convert) => Chain { works: conversion(convert, source_scalar?, scalar?), lanes },
        Op::PointerToInt | Op::IntToPointer | Op::SpaceCast { .. } => Chain { works: Vec::new(), lanes },
        Op::Dot(dot) => {
            let count = u32::from(source?.lanes());
            let work = if source_scalar == Some(Scalar::I8) { Work::Dot8 } else { Work::Mul };
            let mut chain = Chain::of(Scalar::I32, 1, &[work]);
            if work == Work::Mul {
                (1..count)
                    .for_each(|_| chain.works.extend([(Work::Mul, Scalar::I32), (Work::Add, Scalar::I32)]));
            }
            if dot.accumulate {
                chain.works.push((Work::AddSat, Scalar::I32));
            }
            chain
        }
        Op::Builtin(builtin) => self::builtin(builtin, source?, result)?,
        _ => return None,
    })
}

#[allow(clippy::match_same_arms, reason = "integers and floats apart")]
fn binary(binary: Binary) -> &'static [Work] {
    match binary {
        Binary::Add | Binary::Sub | Binary::FAdd | Binary::FSub => &[Work::Add],
        Binary::Mul | Binary::FMul => &[Work::Mul],
        Binary::UDiv | Binary::SDiv => &[Work::Divide],
        Binary::URem | Binary::SRem | Binary::SMod => &[Work::Divide, Work::Mul, Work::Add],
        Binary::Shl | Binary::LShr | Binary::AShr => &[Work::Shift],
        Binary::And | Binary::Or | Binary::Xor => &[Work::Logic],
        Binary::FDiv => &[Work::Divide],
        Binary::FRem | Binary::FMod => &[Work::Divide, Work::Round, Work::Mad],
    }
}

/// A conversion between widths uses the wider type; between integers and floats, the float type.
fn conversion(convert: Convert, from: Scalar, to: Scalar) -> Vec<(Work, Scalar)> {
    let is_float = |number: Number| number == Number::Float;
    let mut works = Vec::new();
    match (is_float(convert.from), is_float(convert.to)) {
        (false, false) => {
            if convert.saturate {
                works.extend([(Work::Minmax, from), (Work::Minmax, from)]);
            }
            works.extend(resize(from, to));
        }
        (true, true) => match from.bits().cmp(&to.bits()) {
            std::cmp::Ordering::Less => works.push((Work::FloatWiden, to)),
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => works.push((Work::FloatNarrow, from)),
        },
        (false, true) => works.push(match from.bits() {
            1..=8 => (Work::Int8ToFloat, to),
            16 => (Work::Int16ToFloat, to),
            32 => (Work::Int32ToFloat, if to == Scalar::F16 { Scalar::F32 } else { to }),
            _ => (Work::Int32ToFloat, Scalar::F64),
        }),
        (true, false) => {
            if convert.saturate {
                works.extend([(Work::Minmax, from), (Work::Minmax, from)]);
            }
            works.push((Work::FloatToInt, from));
            if to.bits() < from.bits() {
                let same = Scalar::int(from.bits()).unwrap_or(Scalar::I32);
                works.extend(resize(same, to));
            }
        }
    }
    works
}

/// Narrowing halves the width step by step; widening is one step.
fn resize(from: Scalar, to: Scalar) -> Vec<(Work, Scalar)> {
    if from.bits() < to.bits() {
        return vec![(Work::Widen, to)];
    }
    let mut works = Vec::new();
    let mut at = from;
    while at.bits() > to.bits().max(8) {
        works.push((Work::Narrow, at));
        at = Scalar::int(at.bits() / 2).unwrap_or(to);
    }
    works
}

/// The chain of a library function. Functions that the data files name are looked up before.
fn builtin(builtin: Builtin, source: Type, result: Type) -> Option<Chain> {
    use Builtin as B;
    let scalar = result.scalar()?;
    let lanes = u32::from(result.lanes());
    match builtin {
        B::Dot | B::Length | B::Distance | B::FastLength | B::FastDistance => {
            Some(reduction(builtin, source))
        }
        B::Normalize | B::FastNormalize => {
            let mut chain = dot(source);
            chain.works.push((Work::Rsqrt, scalar));
            (0..lanes).for_each(|_| chain.works.push((Work::Mul, scalar)));
            Some(chain)
        }
        _ => {
            let works = functions::short(builtin.name())?.iter().map(|(work, ty)| {
                let scalar = match ty {
                    StepType::Result => scalar,
                    StepType::Source => source.scalar()?,
                    StepType::Integer => Scalar::int(scalar.bits()).unwrap_or(Scalar::I32),
                    StepType::Of(scalar) => *scalar,
                };
                Some((*work, scalar))
            });
            Some(Chain { works: works.collect::<Option<_>>()?, lanes })
        }
    }
}

/// Sum of products: a product, then a `mad` per further lane. The caller uses `dot` instead if the family has it.
fn dot(source: Type) -> Chain {
    let scalar = source.scalar().unwrap_or(Scalar::F32);
    let mut chain = Chain::of(scalar, 1, &[Work::Mul]);
    (1..source.lanes()).for_each(|_| chain.works.push((Work::Mad, scalar)));
    chain
}

fn reduction(builtin: Builtin, source: Type) -> Chain {
    let mut chain = dot(source);
    let scalar = source.scalar().unwrap_or(Scalar::F32);
    if matches!(builtin, Builtin::Distance | Builtin::FastDistance) {
        (0..source.lanes()).for_each(|_| chain.works.insert(0, (Work::Add, scalar)));
    }
    if builtin != Builtin::Dot {
        chain.works.push((Work::Sqrt, scalar));
    }
    chain
}
