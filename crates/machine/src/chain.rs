//! Maps an instruction of the IR to a chain of operations that have entries in the data files.

use tripipe_ir::op::{Binary, Builtin, Compare, Convert, Number, Unary};
use tripipe_ir::{Kernel, Op, Scalar, Type, Value};

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
#[allow(clippy::match_same_arms, reason = "a table: one row a kind of function")]
fn builtin(builtin: Builtin, source: Type, result: Type) -> Option<Chain> {
    use Builtin as B;
    let scalar = result.scalar()?;
    let lanes = u32::from(result.lanes());
    let works: &[Work] = match builtin {
        B::Fma => &[Work::Fma],
        B::Mad => &[Work::Mad],
        B::Fmax | B::Fmin | B::FmaxCommon | B::FminCommon => &[Work::Minmax],
        B::Fclamp | B::SClamp | B::UClamp => &[Work::Minmax, Work::Minmax],
        B::SMax | B::UMax | B::SMin | B::UMin => &[Work::Minmax],
        B::Fabs => &[Work::Abs],
        B::Ceil | B::Floor | B::Rint | B::Round | B::Trunc => &[Work::Round],
        B::Copysign | B::Nan => return Some(Chain::of(int_of(scalar), lanes, &[Work::Logic, Work::Logic])),
        B::Nextafter => {
            return Some(Chain::of(
                int_of(scalar),
                lanes,
                &[Work::Compare, Work::Add, Work::Select, Work::Select],
            ));
        }
        B::Rsqrt | B::HalfRsqrt | B::NativeRsqrt => &[Work::Rsqrt],
        B::Sqrt | B::HalfSqrt | B::NativeSqrt => &[Work::Sqrt],
        B::HalfRecip | B::NativeRecip => &[Work::Rcp],
        B::HalfDivide | B::NativeDivide => &[Work::Rcp, Work::Mul],
        B::NativeExp2 | B::HalfExp2 | B::Exp2 => &[Work::Exp2],
        B::NativeExp | B::NativeExp10 | B::HalfExp | B::HalfExp10 => &[Work::Mul, Work::Exp2],
        // Splitting the product into two parts keeps the error within bounds.
        B::Exp | B::Exp10 => &[Work::Mul, Work::Mad, Work::Exp2],
        B::Expm1 => &[Work::Mul, Work::Mad, Work::Exp2, Work::Add, Work::Mad, Work::Select],
        B::NativeLog2 | B::HalfLog2 | B::Log2 => &[Work::Log2],
        B::NativeLog | B::NativeLog10 | B::HalfLog | B::HalfLog10 | B::Log | B::Log10 => {
            &[Work::Log2, Work::Mul]
        }
        B::Log1p => &[Work::Add, Work::Log2, Work::Mul, Work::Mad, Work::Select],
        B::NativePowr | B::HalfPowr => &[Work::Log2, Work::Mul, Work::Exp2],
        B::Pow | B::Powr | B::Pown | B::Rootn => &[
            Work::Log2,
            Work::Mad,
            Work::Mad,
            Work::Mul,
            Work::Mad,
            Work::Exp2,
            Work::CompareSelect,
            Work::CompareSelect,
        ],
        B::Cbrt => &[Work::Log2, Work::Mul, Work::Exp2, Work::Mad, Work::Mad],
        B::NativeSin | B::NativeCos | B::HalfSin | B::HalfCos | B::Sinpi | B::Cospi => &[Work::SinNative],
        B::NativeTan | B::HalfTan | B::Tanpi => &[Work::SinNative, Work::SinNative, Work::Rcp, Work::Mul],
        B::Sin | B::Cos => &[Work::Sin],
        B::Tan => &[Work::Sin, Work::SinNative, Work::Rcp, Work::Mul],
        B::Asin | B::Acos | B::Asinpi | B::Acospi => &[Work::Asin],
        B::Atan | B::Atanpi => &[Work::Atan],
        B::Atan2 | B::Atan2pi => &[Work::Divide, Work::Atan, Work::CompareSelect, Work::CompareSelect],
        B::Sinh | B::Cosh => &[Work::Mul, Work::Exp2, Work::Rcp, Work::Add, Work::Mul],
        B::Tanh => &[Work::Mul, Work::Exp2, Work::Add, Work::Rcp, Work::Mad],
        B::Asinh | B::Acosh => &[Work::Mad, Work::Sqrt, Work::Add, Work::Log2, Work::Mul],
        B::Atanh => &[Work::Add, Work::Rcp, Work::Mul, Work::Log2, Work::Mul],
        B::Erf | B::Erfc => &[
            Work::Mul,
            Work::Mad,
            Work::Mad,
            Work::Mad,
            Work::Mad,
            Work::Mad,
            Work::Mad,
            Work::Exp2,
            Work::Rcp,
            Work::Mul,
            Work::CompareSelect,
        ],
        B::Lgamma | B::Tgamma => &[
            Work::Rcp,
            Work::Mad,
            Work::Mad,
            Work::Mad,
            Work::Mad,
            Work::Mad,
            Work::Mad,
            Work::Mad,
            Work::Mad,
            Work::Log2,
            Work::Mul,
            Work::Exp2,
            Work::Mul,
            Work::CompareSelect,
            Work::CompareSelect,
        ],
        B::LgammaSign => return Some(Chain::of(Scalar::I32, lanes, &[Work::Logic, Work::CompareSelect])),
        B::Hypot => &[Work::Mul, Work::Mad, Work::Sqrt, Work::Mul],
        B::Fmod | B::Remainder | B::Remquo => &[Work::Divide, Work::Round, Work::Mad],
        B::RemquoQuotient => {
            return Some(Chain::of(source.scalar()?, lanes, &[Work::Divide, Work::Round, Work::FloatToInt]));
        }
        B::Fdim => &[Work::Add, Work::Minmax],
        B::Fract => &[Work::Round, Work::Add, Work::Minmax],
        B::Modf => &[Work::Round, Work::Add],
        B::Maxmag | B::Minmag => &[Work::CompareSelect, Work::CompareSelect],
        B::Frexp => &[Work::Frexp],
        B::Logb => &[Work::Frexp, Work::Int32ToFloat],
        B::FrexpExponent | B::Ilogb => return Some(Chain::of(source.scalar()?, lanes, &[Work::Frexp])),
        B::Ldexp => &[Work::Ldexp],
        B::Degrees | B::Radians => &[Work::Mul],
        B::Mix => &[Work::Add, Work::Mad],
        B::Step => &[Work::CompareSelect],
        B::Smoothstep => {
            &[Work::Add, Work::Rcp, Work::Mul, Work::Minmax, Work::Minmax, Work::Mad, Work::Mul, Work::Mul]
        }
        B::Sign => &[Work::CompareSelect, Work::CompareSelect],
        B::Cross => &[Work::Mul, Work::Mad],
        B::Dot | B::Length | B::Distance | B::FastLength | B::FastDistance => {
            return Some(reduction(builtin, source));
        }
        B::Normalize | B::FastNormalize => {
            let mut chain = dot(source);
            chain.works.push((Work::Rsqrt, scalar));
            (0..lanes).for_each(|_| chain.works.push((Work::Mul, scalar)));
            return Some(chain);
        }
        B::SAbs => &[Work::Abs],
        B::UAbs => &[],
        B::SAbsDiff | B::UAbsDiff => &[Work::AbsDiff],
        B::SAddSat | B::UAddSat | B::SSubSat | B::USubSat => &[Work::AddSat],
        B::SHadd | B::UHadd | B::SRhadd | B::URhadd => &[Work::Hadd],
        B::Clz => &[Work::Clz],
        B::Ctz => &[Work::Bitreverse, Work::Clz],
        B::SMulHi | B::UMulHi => &[Work::MulHi],
        B::SMadHi | B::UMadHi => &[Work::MulHi, Work::Add],
        B::SMadSat | B::UMadSat => &[Work::Mul, Work::MulHi, Work::AddSat, Work::CompareSelect],
        B::Rotate => &[Work::Shift, Work::Shift, Work::Logic],
        B::UUpsample | B::SUpsample => &[Work::Widen, Work::Shift, Work::Logic],
        B::SMad24 | B::UMad24 => &[Work::Mad24],
        B::SMul24 | B::UMul24 => &[Work::Mul24],
        B::Bitselect => return Some(Chain::of(int_of(scalar), lanes, &[Work::Bitselect])),
        // Each lane is picked by comparisons, two at a time.
        B::Shuffle | B::Shuffle2 => {
            &[Work::CompareSelect, Work::CompareSelect, Work::CompareSelect, Work::CompareSelect]
        }
    };
    Some(Chain::of(scalar, lanes, works))
}

fn int_of(scalar: Scalar) -> Scalar {
    Scalar::int(scalar.bits()).unwrap_or(Scalar::I32)
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
