//! Arithmetic, logic and comparisons.

use super::{Outcome, defining, rewrite};
use crate::op::{Binary, Compare, Unary};
use crate::transform::fold;
use crate::{Kernel, Op, Scalar, Type, Value};

pub(super) fn unary(kernel: &mut Kernel, op: Unary, a: Value, ty: Type) -> Option<Outcome> {
    let scalar = ty.scalar()?;
    if let Some(lanes) = kernel.constant(a) {
        let folded: Vec<u64> = lanes
            .iter()
            .map(|bits| match op {
                Unary::Neg => Some(bits.wrapping_neg()),
                Unary::Not if scalar == Scalar::Bool => Some(bits ^ 1),
                Unary::Not => Some(!bits),
                Unary::FNeg => Some(bits ^ (1 << (scalar.bits() - 1))),
                Unary::PopCount => Some(u64::from(bits.count_ones())),
                Unary::BitReverse => Some(bits.reverse_bits() >> (64 - scalar.bits())),
                _ => None,
            })
            .collect::<Option<_>>()?;
        return Some(Outcome::Value(kernel.make_constant(ty, &folded)));
    }
    match (op, defining(kernel, a)?) {
        (Unary::Not, (Op::Unary(Unary::Not), [origin])) => Some(Outcome::Value(*origin)),
        (Unary::Not, (Op::Compare(compare), [a, b])) if !compare.is_float() => {
            rewrite(Op::Compare(opposite(compare)?), &[*a, *b])
        }
        _ => None,
    }
}

fn opposite(compare: Compare) -> Option<Compare> {
    use Compare as C;
    Some(match compare {
        C::Eq => C::Ne,
        C::Ne => C::Eq,
        C::ULt => C::UGe,
        C::UGe => C::ULt,
        C::UGt => C::ULe,
        C::ULe => C::UGt,
        C::SLt => C::SGe,
        C::SGe => C::SLt,
        C::SGt => C::SLe,
        C::SLe => C::SGt,
        _ => return None,
    })
}

pub(super) fn binary(kernel: &mut Kernel, op: Binary, a: Value, b: Value, ty: Type) -> Option<Outcome> {
    let scalar = ty.scalar()?;
    if let (Some(left), Some(right)) = (kernel.constant(a), kernel.constant(b)) {
        let folded: Option<Vec<u64>> =
            left.iter().zip(right).map(|(a, b)| fold::binary(op, scalar, *a, *b)).collect();
        return Some(Outcome::Value(kernel.make_constant(ty, &folded?)));
    }
    let every = |value: Value, bits: u64| {
        kernel.constant(value).is_some_and(|lanes| lanes.iter().all(|lane| *lane == bits))
    };
    let (zero, ones) = (0, scalar.mask());
    let neutral_right = match op {
        Binary::Add | Binary::Sub | Binary::Or | Binary::Xor | Binary::Shl | Binary::LShr | Binary::AShr => {
            every(b, zero)
        }
        Binary::Mul | Binary::UDiv | Binary::SDiv => every(b, 1),
        Binary::And => every(b, ones),
        _ => false,
    };
    if neutral_right {
        return Some(Outcome::Value(a));
    }
    let neutral_left = match op {
        Binary::Add | Binary::Or | Binary::Xor => every(a, zero),
        Binary::Mul => every(a, 1),
        Binary::And => every(a, ones),
        _ => false,
    };
    if neutral_left {
        return Some(Outcome::Value(b));
    }
    if op == Binary::Or
        && let Some(chosen) = blended(kernel, a, b).or_else(|| blended(kernel, b, a))
    {
        return rewrite(Op::Select, &chosen);
    }
    match op {
        Binary::And | Binary::Or if a == b => Some(Outcome::Value(a)),
        // A boolean as a number, masked to its bit: `select(c, 1, 0) & 1`.
        Binary::And if every(b, 1) => match defining(kernel, a) {
            Some((Op::Select, [_, yes, no])) if every(*yes, 1) && every(*no, 0) => Some(Outcome::Value(a)),
            _ => None,
        },
        // x ^ true on booleans.
        Binary::Xor if scalar == Scalar::Bool && every(b, 1) => rewrite(Op::Unary(Unary::Not), &[a]),
        _ => None,
    }
}

/// Clang's form of a vector select, `(no & ~mask) | (yes & mask)` with a mask that is all ones or all zeros in each
/// lane: condition, yes, no.
fn blended(kernel: &Kernel, no: Value, yes: Value) -> Option<[Value; 3]> {
    let and = |value: Value| match defining(kernel, value) {
        Some((Op::Binary(Binary::And), [a, b])) => Some([(*a, *b), (*b, *a)]),
        _ => None,
    };
    let every = |value: Value, bits: u64| {
        kernel.constant(value).is_some_and(|lanes| lanes.iter().all(|lane| *lane == bits))
    };
    let ones = kernel.ty(no).scalar()?.mask();
    for (yes, mask) in and(yes)? {
        let Some((Op::Select, [condition, set, clear])) = defining(kernel, mask) else { continue };
        if !every(*set, ones) || !every(*clear, 0) {
            continue;
        }
        for (no, inverse) in and(no)? {
            let inverted = match defining(kernel, inverse) {
                Some((Op::Binary(Binary::Xor), [a, b])) => {
                    (*a == mask && every(*b, ones)) || (*b == mask && every(*a, ones))
                }
                Some((Op::Unary(Unary::Not), [a])) => *a == mask,
                _ => false,
            };
            if inverted {
                return Some([*condition, yes, no]);
            }
        }
    }
    None
}

pub(super) fn compare(kernel: &mut Kernel, op: Compare, a: Value, b: Value, ty: Type) -> Option<Outcome> {
    let scalar = kernel.ty(a).scalar();
    if let (Some(left), Some(right)) = (kernel.constant(a), kernel.constant(b)) {
        let scalar = scalar.unwrap_or(Scalar::I64);
        let folded: Option<Vec<u64>> =
            left.iter().zip(right).map(|(a, b)| fold::compare(op, scalar, *a, *b).map(u64::from)).collect();
        return Some(Outcome::Value(kernel.make_constant(ty, &folded?)));
    }
    // Booleans converted to a number and back: `select(c, 1, 0) != 0`, extended or not.
    let right = kernel.scalar_constant(b)?;
    let scalar = scalar?;
    let (condition, yes, no) = selected(kernel, a)?;
    let yes = fold::compare(op, scalar, yes, right)?;
    let no = fold::compare(op, scalar, no, right)?;
    match (yes, no) {
        (true, false) => Some(Outcome::Value(condition)),
        (false, true) => rewrite(Op::Unary(Unary::Not), &[condition]),
        _ => Some(Outcome::Value(kernel.make_constant(Type::BOOL, &[u64::from(yes)]))),
    }
}

/// Condition and both constants of a select between constants, through conversions.
fn selected(kernel: &Kernel, value: Value) -> Option<(Value, u64, u64)> {
    match defining(kernel, value)? {
        (Op::Select, [condition, yes, no]) if kernel.ty(*condition) == Type::BOOL => {
            Some((*condition, kernel.scalar_constant(*yes)?, kernel.scalar_constant(*no)?))
        }
        (Op::Convert(convert), [origin]) => {
            let (from, to) = (kernel.ty(*origin).scalar()?, kernel.ty(value).scalar()?);
            // One conversion deep: front ends produce no more.
            let (Op::Select, [condition, yes, no]) = defining(kernel, *origin)? else { return None };
            if kernel.ty(*condition) != Type::BOOL {
                return None;
            }
            let yes = fold::convert(convert, from, to, kernel.scalar_constant(*yes)?)?;
            let no = fold::convert(convert, from, to, kernel.scalar_constant(*no)?)?;
            Some((*condition, yes, no))
        }
        _ => None,
    }
}
