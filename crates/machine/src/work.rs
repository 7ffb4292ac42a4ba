//! Maps an instruction of the IR to a chain of operations that have entries in the data files.

use tripipe_ir::op::{Binary, Builtin, Compare, Convert, Number, Unary};
use tripipe_ir::{Kernel, Op, Scalar, Type, Value};

/// A chain of operations on lanes of a type; each depends on the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// Names of operations, as in the data files, and the type of each.
    pub(crate) works: Vec<(&'static str, Scalar)>,
    /// Number of lanes.
    pub(crate) lanes: u32,
}

impl Chain {
    fn of(scalar: Scalar, lanes: u32, works: &[&'static str]) -> Self {
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
                Unary::Neg => Chain::of(scalar, lanes, &["add"]),
                Unary::Not => Chain::of(scalar, lanes, &["logic"]),
                Unary::FNeg => Chain::of(scalar, lanes, &["negate"]),
                Unary::BitReverse => Chain::of(scalar, lanes, &["bitreverse"]),
                Unary::PopCount => Chain::of(scalar, lanes, &["popcount"]),
                // Reads all lanes, two at a time.
                Unary::Any | Unary::All => Chain::of(scalar, u32::from(source?.lanes()), &["logic"]),
                Unary::IsNan | Unary::IsInf | Unary::IsFinite | Unary::SignBit => {
                    Chain::of(scalar, lanes, &["compare"])
                }
                Unary::IsNormal => Chain::of(scalar, lanes, &["compare", "compare"]),
            }
        }
        Op::Binary(binary) => Chain::of(scalar?, lanes, self::binary(binary)),
        Op::Compare(compare) => {
            // A pointer compares as 64 bits.
            let scalar = source_scalar.unwrap_or(Scalar::I64);
            let works: &[_] = match compare {
                Compare::FOrd | Compare::FUno => &["compare", "compare"],
                _ => &["compare"],
            };
            Chain::of(scalar, lanes, works)
        }
        Op::Select => Chain::of(scalar.unwrap_or(Scalar::I64), lanes, &["select"]),
        Op::Convert(convert) => Chain { works: conversion(convert, source_scalar?, scalar?), lanes },
        Op::PointerToInt | Op::IntToPointer | Op::SpaceCast { .. } => Chain { works: Vec::new(), lanes },
        Op::Dot(dot) => {
            let count = u32::from(source?.lanes());
            let work = if source_scalar == Some(Scalar::I8) { "dot8" } else { "mul" };
            let mut chain = Chain::of(Scalar::I32, 1, &[work]);
            if work == "mul" {
                (1..count).for_each(|_| chain.works.extend([("mul", Scalar::I32), ("add", Scalar::I32)]));
            }
            if dot.accumulate {
                chain.works.push(("add_sat", Scalar::I32));
            }
            chain
        }
        Op::Builtin(builtin) => self::builtin(builtin, source?, result)?,
        _ => return None,
    })
}

#[allow(clippy::match_same_arms, reason = "integers and floats apart")]
fn binary(binary: Binary) -> &'static [&'static str] {
    match binary {
        Binary::Add | Binary::Sub | Binary::FAdd | Binary::FSub => &["add"],
        Binary::Mul | Binary::FMul => &["mul"],
        Binary::UDiv | Binary::SDiv => &["divide"],
        Binary::URem | Binary::SRem | Binary::SMod => &["divide", "mul", "add"],
        Binary::Shl | Binary::LShr | Binary::AShr => &["shift"],
        Binary::And | Binary::Or | Binary::Xor => &["logic"],
        Binary::FDiv => &["divide"],
        Binary::FRem | Binary::FMod => &["divide", "round", "mad"],
    }
}

/// A conversion between widths uses the wider type; between integers and floats, the float type.
fn conversion(convert: Convert, from: Scalar, to: Scalar) -> Vec<(&'static str, Scalar)> {
    let is_float = |number: Number| number == Number::Float;
    let mut works = Vec::new();
    match (is_float(convert.from), is_float(convert.to)) {
        (false, false) => {
            if convert.saturate {
                works.extend([("minmax", from), ("minmax", from)]);
            }
            works.extend(resize(from, to));
        }
        (true, true) => match from.bits().cmp(&to.bits()) {
            std::cmp::Ordering::Less => works.push(("float_widen", to)),
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => works.push(("float_narrow", from)),
        },
        (false, true) => works.push(match from.bits() {
            1..=8 => ("int8_to_float", to),
            16 => ("int16_to_float", to),
            32 => ("int32_to_float", if to == Scalar::F16 { Scalar::F32 } else { to }),
            _ => ("int32_to_float", Scalar::F64),
        }),
        (true, false) => {
            if convert.saturate {
                works.extend([("minmax", from), ("minmax", from)]);
            }
            works.push(("float_to_int", from));
            if to.bits() < from.bits() {
                let same = Scalar::int(from.bits()).unwrap_or(Scalar::I32);
                works.extend(resize(same, to));
            }
        }
    }
    works
}

/// Narrowing halves the width step by step; widening is one step.
fn resize(from: Scalar, to: Scalar) -> Vec<(&'static str, Scalar)> {
    if from.bits() < to.bits() {
        return vec![("widen", to)];
    }
    let mut works = Vec::new();
    let mut at = from;
    while at.bits() > to.bits().max(8) {
        works.push(("narrow", at));
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
    let works: &[&'static str] = match builtin {
        B::Fma => &["fma"],
        B::Mad => &["mad"],
        B::Fmax | B::Fmin | B::FmaxCommon | B::FminCommon => &["minmax"],
        B::Fclamp | B::SClamp | B::UClamp => &["minmax", "minmax"],
        B::SMax | B::UMax | B::SMin | B::UMin => &["minmax"],
        B::Fabs => &["abs"],
        B::Ceil | B::Floor | B::Rint | B::Round | B::Trunc => &["round"],
        B::Copysign | B::Nan => return Some(Chain::of(int_of(scalar), lanes, &["logic", "logic"])),
        B::Nextafter => {
            return Some(Chain::of(int_of(scalar), lanes, &["compare", "add", "select", "select"]));
        }
        B::Rsqrt | B::HalfRsqrt | B::NativeRsqrt => &["rsqrt"],
        B::Sqrt | B::HalfSqrt | B::NativeSqrt => &["sqrt"],
        B::HalfRecip | B::NativeRecip => &["rcp"],
        B::HalfDivide | B::NativeDivide => &["rcp", "mul"],
        B::NativeExp2 | B::HalfExp2 | B::Exp2 => &["exp2"],
        B::NativeExp | B::NativeExp10 | B::HalfExp | B::HalfExp10 => &["mul", "exp2"],
        // Splitting the product into two parts keeps the error within bounds.
        B::Exp | B::Exp10 => &["mul", "mad", "exp2"],
        B::Expm1 => &["mul", "mad", "exp2", "add", "mad", "select"],
        B::NativeLog2 | B::HalfLog2 | B::Log2 => &["log2"],
        B::NativeLog | B::NativeLog10 | B::HalfLog | B::HalfLog10 | B::Log | B::Log10 => &["log2", "mul"],
        B::Log1p => &["add", "log2", "mul", "mad", "select"],
        B::NativePowr | B::HalfPowr => &["log2", "mul", "exp2"],
        B::Pow | B::Powr | B::Pown | B::Rootn => {
            &["log2", "mad", "mad", "mul", "mad", "exp2", "compare_select", "compare_select"]
        }
        B::Cbrt => &["log2", "mul", "exp2", "mad", "mad"],
        B::NativeSin | B::NativeCos | B::HalfSin | B::HalfCos | B::Sinpi | B::Cospi => &["sin_native"],
        B::NativeTan | B::HalfTan | B::Tanpi => &["sin_native", "sin_native", "rcp", "mul"],
        B::Sin | B::Cos => &["sin"],
        B::Tan => &["sin", "sin_native", "rcp", "mul"],
        B::Asin | B::Acos | B::Asinpi | B::Acospi => &["asin"],
        B::Atan | B::Atanpi => &["atan"],
        B::Atan2 | B::Atan2pi => &["divide", "atan", "compare_select", "compare_select"],
        B::Sinh | B::Cosh => &["mul", "exp2", "rcp", "add", "mul"],
        B::Tanh => &["mul", "exp2", "add", "rcp", "mad"],
        B::Asinh | B::Acosh => &["mad", "sqrt", "add", "log2", "mul"],
        B::Atanh => &["add", "rcp", "mul", "log2", "mul"],
        B::Erf | B::Erfc => {
            &["mul", "mad", "mad", "mad", "mad", "mad", "mad", "exp2", "rcp", "mul", "compare_select"]
        }
        B::Lgamma | B::Tgamma => &[
            "rcp",
            "mad",
            "mad",
            "mad",
            "mad",
            "mad",
            "mad",
            "mad",
            "mad",
            "log2",
            "mul",
            "exp2",
            "mul",
            "compare_select",
            "compare_select",
        ],
        B::LgammaSign => return Some(Chain::of(Scalar::I32, lanes, &["logic", "compare_select"])),
        B::Hypot => &["mul", "mad", "sqrt", "mul"],
        B::Fmod | B::Remainder | B::Remquo => &["divide", "round", "mad"],
        B::RemquoQuotient => {
            return Some(Chain::of(source.scalar()?, lanes, &["divide", "round", "float_to_int"]));
        }
        B::Fdim => &["add", "minmax"],
        B::Fract => &["round", "add", "minmax"],
        B::Modf => &["round", "add"],
        B::Maxmag | B::Minmag => &["compare_select", "compare_select"],
        B::Frexp => &["frexp"],
        B::Logb => &["frexp", "int32_to_float"],
        B::FrexpExponent | B::Ilogb => return Some(Chain::of(source.scalar()?, lanes, &["frexp"])),
        B::Ldexp => &["ldexp"],
        B::Degrees | B::Radians => &["mul"],
        B::Mix => &["add", "mad"],
        B::Step => &["compare_select"],
        B::Smoothstep => &["add", "rcp", "mul", "minmax", "minmax", "mad", "mul", "mul"],
        B::Sign => &["compare_select", "compare_select"],
        B::Cross => &["mul", "mad"],
        B::Dot | B::Length | B::Distance | B::FastLength | B::FastDistance => {
            return Some(reduction(builtin, source));
        }
        B::Normalize | B::FastNormalize => {
            let mut chain = dot(source);
            chain.works.push(("rsqrt", scalar));
            (0..lanes).for_each(|_| chain.works.push(("mul", scalar)));
            return Some(chain);
        }
        B::SAbs => &["abs"],
        B::UAbs => &[],
        B::SAbsDiff | B::UAbsDiff => &["abs_diff"],
        B::SAddSat | B::UAddSat | B::SSubSat | B::USubSat => &["add_sat"],
        B::SHadd | B::UHadd | B::SRhadd | B::URhadd => &["hadd"],
        B::Clz => &["clz"],
        B::Ctz => &["bitreverse", "clz"],
        B::SMulHi | B::UMulHi => &["mul_hi"],
        B::SMadHi | B::UMadHi => &["mul_hi", "add"],
        B::SMadSat | B::UMadSat => &["mul", "mul_hi", "add_sat", "compare_select"],
        B::Rotate => &["shift", "shift", "logic"],
        B::UUpsample | B::SUpsample => &["widen", "shift", "logic"],
        B::SMad24 | B::UMad24 => &["mad24"],
        B::SMul24 | B::UMul24 => &["mul24"],
        B::Bitselect => return Some(Chain::of(int_of(scalar), lanes, &["bitselect"])),
        // Each lane is picked by comparisons, two at a time.
        B::Shuffle | B::Shuffle2 => &["compare_select", "compare_select", "compare_select", "compare_select"],
    };
    Some(Chain::of(scalar, lanes, works))
}

fn int_of(scalar: Scalar) -> Scalar {
    Scalar::int(scalar.bits()).unwrap_or(Scalar::I32)
}

/// Sum of products: a product, then a `mad` per further lane. The caller uses `dot` instead if the family has it.
fn dot(source: Type) -> Chain {
    let scalar = source.scalar().unwrap_or(Scalar::F32);
    let mut chain = Chain::of(scalar, 1, &["mul"]);
    (1..source.lanes()).for_each(|_| chain.works.push(("mad", scalar)));
    chain
}

fn reduction(builtin: Builtin, source: Type) -> Chain {
    let mut chain = dot(source);
    let scalar = source.scalar().unwrap_or(Scalar::F32);
    if matches!(builtin, Builtin::Distance | Builtin::FastDistance) {
        (0..source.lanes()).for_each(|_| chain.works.insert(0, ("add", scalar)));
    }
    if builtin != Builtin::Dot {
        chain.works.push(("sqrt", scalar));
    }
    chain
}
