//! Integer and float arithmetic, comparisons.
//!
//! Where the specification leaves a result undefined (division by zero, a shift by more than the width), the result
//! is some number; the watchers report it.

#![allow(
    clippy::redundant_closure_for_method_calls,
    clippy::cast_lossless,
    clippy::unnecessary_cast,
    reason = "one closure for all widths, each of which is a separate type"
)]
#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    clippy::nonminimal_bool,
    clippy::eq_op,
    clippy::double_comparisons,
    reason = "comparisons with NaNs, written as the operations are defined"
)]

use half::f16;
use tripipe_ir::Scalar;
use tripipe_ir::op::{Binary, Compare, Unary};

use super::map::{binary, by2, floats, ints, of1, of2, signed, unary, unsigned};
use crate::execute::code::{Detail, Inst, Run};
use crate::execute::rows::{numbers, numbers_mut};
use crate::execute::state::State;
use crate::math::Float as _;

pub(crate) fn unary_op(op: Unary, scalar: Scalar) -> Option<Run> {
    match op {
        Unary::Neg => unsigned!(unary, scalar, |a| a.wrapping_neg()),
        // The complement of the byte 1 would not be 0.
        Unary::Not if scalar == Scalar::Bool => Some(|s, i| unary::<u8, u8>(s, i, |a| a ^ 1)),
        Unary::Not => unsigned!(unary, scalar, |a| !a),
        // On the bits: the sign of a NaN changes too, and no value is rounded or flushed.
        Unary::FNeg => match scalar {
            Scalar::F16 => Some(|s, i| unary::<u16, u16>(s, i, |a| a ^ 0x8000)),
            Scalar::F32 => Some(|s, i| unary::<u32, u32>(s, i, |a| a ^ 1 << 31)),
            Scalar::F64 => Some(|s, i| unary::<u64, u64>(s, i, |a| a ^ 1 << 63)),
            _ => None,
        },
        Unary::BitReverse => unsigned!(unary, scalar, |a| a.reverse_bits()),
        Unary::PopCount => match scalar {
            Scalar::I8 => Some(|s, i| unary::<u8, u8>(s, i, |a| a.count_ones() as u8)),
            Scalar::I16 => Some(|s, i| unary::<u16, u16>(s, i, |a| a.count_ones() as u16)),
            Scalar::I32 => Some(|s, i| unary::<u32, u32>(s, i, u32::count_ones)),
            Scalar::I64 => Some(|s, i| unary::<u64, u64>(s, i, |a| u64::from(a.count_ones()))),
            _ => None,
        },
        Unary::Any => Some(|s, i| gather(s, i, |a, b| a | b)),
        Unary::All => Some(|s, i| gather(s, i, |a, b| a & b)),
        Unary::IsNan => floats!(test, scalar, is_nan),
        Unary::IsInf => floats!(test, scalar, |a| a.is_infinite()),
        Unary::IsFinite => floats!(test, scalar, |a| a.is_finite()),
        // A subnormal half is normal as a single.
        Unary::IsNormal if scalar == Scalar::F16 => {
            Some(|s, i| unary::<u16, u8>(s, i, |a| u8::from((0x0400..0x7c00).contains(&(a & 0x7fff)))))
        }
        Unary::IsNormal => floats!(test, scalar, |a| a.is_normal()),
        Unary::SignBit => floats!(test, scalar, |a| a.is_sign_negative()),
    }
}

/// `is_nan` for a type that is inferred late.
fn is_nan<T: PartialOrd + Copy>(a: T) -> bool {
    a.partial_cmp(&a).is_none()
}

/// Combines the components of a vector of truth values.
fn gather(s: &mut State<'_>, i: &Inst, join: impl Fn(u8, u8) -> u8) -> bool {
    let mut out = s.warp.rows.take(i.out);
    let width = usize::from(i.width);
    let from = numbers::<u8>(s.warp.rows.words(i.args[0]));
    let to = numbers_mut::<u8>(&mut out);
    let components = match i.detail {
        Detail::Number(components) => components as usize,
        _ => from.len() / width,
    };
    to[..width].copy_from_slice(&from[..width]);
    for component in 1..components {
        for (to, from) in to[..width].iter_mut().zip(&from[component * width..]) {
            *to = join(*to, *from);
        }
    }
    s.warp.rows.put(i.out, out);
    true
}

pub(crate) fn binary_op(op: Binary, scalar: Scalar) -> Option<Run> {
    match op {
        Binary::Add => unsigned!(binary, scalar, |a, b| a.wrapping_add(b)),
        Binary::Sub => unsigned!(binary, scalar, |a, b| a.wrapping_sub(b)),
        Binary::Mul => unsigned!(binary, scalar, |a, b| a.wrapping_mul(b)),
        Binary::UDiv => unsigned!(binary, scalar, |a, b| a.checked_div(b).unwrap_or(0)),
        Binary::SDiv => signed!(binary, scalar, |a, b| if b == 0 { 0 } else { a.wrapping_div(b) }),
        Binary::URem => unsigned!(binary, scalar, |a, b| a.checked_rem(b).unwrap_or(0)),
        Binary::SRem => signed!(binary, scalar, |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) }),
        // `OpSMod` of SPIR-V has the sign of the divisor, Rust's remainder that of the dividend.
        Binary::SMod => signed!(binary, scalar, |a, b| {
            if b == 0 {
                0
            } else {
                let rest = a.wrapping_rem(b);
                if rest != 0 && (rest < 0) != (b < 0) { rest.wrapping_add(b) } else { rest }
            }
        }),
        // The shift counts modulo the width, as OpenCL C specifies.
        Binary::Shl => unsigned!(binary, scalar, |a, b| a.wrapping_shl(b as u32)),
        Binary::LShr => unsigned!(binary, scalar, |a, b| a.wrapping_shr(b as u32)),
        Binary::AShr => signed!(binary, scalar, |a, b| a.wrapping_shr(b as u32)),
        Binary::And => unsigned!(binary, scalar, |a, b| a & b),
        Binary::Or => unsigned!(binary, scalar, |a, b| a | b),
        Binary::Xor => unsigned!(binary, scalar, |a, b| a ^ b),
        Binary::FAdd => floats!(binary, scalar, |a, b| a + b),
        Binary::FSub => floats!(binary, scalar, |a, b| a - b),
        Binary::FMul => floats!(binary, scalar, |a, b| a * b),
        Binary::FDiv => floats!(binary, scalar, |a, b| a / b),
        Binary::FRem => floats!(binary, scalar, |a, b| a % b),
        Binary::FMod => floats!(binary, scalar, |a, b| {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        }),
    }
}

pub(crate) fn compare_op(op: Compare, scalar: Scalar) -> Option<Run> {
    match op {
        Compare::Eq => unsigned!(compare, scalar, PartialEq::eq),
        Compare::Ne => unsigned!(compare, scalar, PartialEq::ne),
        Compare::ULt => unsigned!(compare, scalar, PartialOrd::lt),
        Compare::ULe => unsigned!(compare, scalar, PartialOrd::le),
        Compare::UGt => unsigned!(compare, scalar, PartialOrd::gt),
        Compare::UGe => unsigned!(compare, scalar, PartialOrd::ge),
        Compare::SLt => signed!(compare, scalar, PartialOrd::lt),
        Compare::SLe => signed!(compare, scalar, PartialOrd::le),
        Compare::SGt => signed!(compare, scalar, PartialOrd::gt),
        Compare::SGe => signed!(compare, scalar, PartialOrd::ge),
        Compare::FEq => floats!(compare, scalar, PartialEq::eq),
        // Ordered, so false for NaNs, of which `!=` is true.
        Compare::FNe => floats!(compare, scalar, |a, b| a < b || a > b),
        Compare::FLt => floats!(compare, scalar, PartialOrd::lt),
        Compare::FLe => floats!(compare, scalar, PartialOrd::le),
        Compare::FGt => floats!(compare, scalar, PartialOrd::gt),
        Compare::FGe => floats!(compare, scalar, PartialOrd::ge),
        Compare::FUEq => floats!(compare, scalar, |a, b| !(a < b || a > b)),
        Compare::FUNe => floats!(compare, scalar, PartialEq::ne),
        Compare::FULt => floats!(compare, scalar, |a, b| !(a >= b)),
        Compare::FULe => floats!(compare, scalar, |a, b| !(a > b)),
        Compare::FUGt => floats!(compare, scalar, |a, b| !(a <= b)),
        Compare::FUGe => floats!(compare, scalar, |a, b| !(a < b)),
        Compare::FOrd => floats!(compare, scalar, |a, b| a == a && b == b),
        Compare::FUno => floats!(compare, scalar, |a, b| a != a || b != b),
    }
}
