//! Local rewriting: constants fold, vector operations are looked through, redundant operations are removed.

mod numbers;
mod vectors;

use smallvec::SmallVec;

use super::clean::Replacements;
use super::fold;
use crate::flow::Cfg;
use crate::op::{Address, Binary, Convert, Number, Rounding, Unary};
use crate::{Block, Inst, Kernel, Op, TerminatorKind, Type, Value};
use numbers::{binary, compare, unary};
use vectors::{construct, extract, insert, shuffle};

/// The replacement of an instruction.
enum Outcome {
    /// Its result is replaced by this value.
    Value(Value),
    /// It is replaced by this operation.
    Rewrite(Op, SmallVec<[Value; 3]>),
}

/// Rewrites every instruction once, in an order in which operands come before their uses.
pub fn run(kernel: &mut Kernel) {
    let cfg = Cfg::new(kernel);
    let mut replacements = Replacements::default();
    for block in &cfg.order {
        for inst in kernel.blocks[*block].insts.clone() {
            for position in 0..kernel.insts[inst].operands.len() {
                let operand = kernel.insts[inst].operands[position];
                kernel.insts[inst].operands[position] = replacements.get(operand);
            }
            widen(kernel, *block, inst);
            // A rewrite may enable another; the rules have chains of at most two.
            for _ in 0..4 {
                match simplify(kernel, inst) {
                    Some(Outcome::Value(value)) => {
                        if let Some(result) = kernel.insts[inst].result {
                            replacements.set(result, value);
                        }
                        break;
                    }
                    Some(Outcome::Rewrite(op, operands)) => {
                        kernel.insts[inst].op = op;
                        kernel.insts[inst].operands = operands;
                    }
                    None => break,
                }
            }
        }
        let mut terminator = std::mem::take(&mut kernel.blocks[*block].terminator);
        terminator.replace(|value| replacements.get(value));
        if let TerminatorKind::Branch { condition, then, otherwise } = &mut terminator.kind
            && let Some((Op::Unary(Unary::Not), operands)) = defining(kernel, *condition)
        {
            *condition = operands[0];
            std::mem::swap(then, otherwise);
        }
        kernel.blocks[*block].terminator = terminator;
    }
    replacements.apply(kernel);
}

/// Replaces clang's `(x << 32) >> 32` for 32 bits of a 64-bit number that are widened again by two conversions.
fn widen(kernel: &mut Kernel, block: Block, inst: Inst) {
    let data = &kernel.insts[inst];
    let number = match data.op {
        Op::Binary(Binary::AShr) => Number::Signed,
        Op::Binary(Binary::LShr) => Number::Unsigned,
        _ => return,
    };
    let Some(shifted) = kernel.defining(data.operands[0]).map(|shifted| &kernel.insts[shifted]) else {
        return;
    };
    // A shift with flags is left alone.
    let (Op::Binary(Binary::Shl), [origin, left], true) =
        (shifted.op, &shifted.operands[..], shifted.flags.is_empty())
    else {
        return;
    };
    let half = |by: Value| kernel.ty(by) == Type::I64 && kernel.scalar_constant(by) == Some(32);
    if !half(*left) || !half(data.operands[1]) {
        return;
    }
    let convert = |from, to| Op::Convert(Convert { from, to, rounding: Rounding::Nearest, saturate: false });
    let (origin, location) = (*origin, data.location);
    let cut =
        kernel.make_inst(convert(Number::Unsigned, Number::Unsigned), &[origin], Some(Type::I32), location);
    let Some(low) = kernel.insts[cut].result else { return };
    kernel.insts[inst].op = convert(number, number);
    kernel.insts[inst].operands = SmallVec::from_slice(&[low]);
    let insts = &mut kernel.blocks[block].insts;
    if let Some(at) = insts.iter().position(|other| *other == inst) {
        insts.insert(at, cut);
    }
}

fn defining(kernel: &Kernel, value: Value) -> Option<(Op, &[Value])> {
    let inst = &kernel.insts[kernel.defining(value)?];
    Some((inst.op, &inst.operands))
}

fn rewrite(op: Op, operands: &[Value]) -> Option<Outcome> {
    Some(Outcome::Rewrite(op, SmallVec::from_slice(operands)))
}

fn simplify(kernel: &mut Kernel, inst: Inst) -> Option<Outcome> {
    let data = &kernel.insts[inst];
    let ty = kernel.ty(data.result?);
    let (op, operands) = (data.op, data.operands.clone());
    match (op, &operands[..]) {
        (Op::Unary(op), [a]) => unary(kernel, op, *a, ty),
        (Op::Binary(op), [a, b]) => binary(kernel, op, *a, *b, ty),
        (Op::Compare(op), [a, b]) => compare(kernel, op, *a, *b, ty),
        (Op::Select, [condition, a, b]) => {
            if a == b {
                return Some(Outcome::Value(*a));
            }
            match kernel.scalar_constant(*condition)? {
                0 => Some(Outcome::Value(*b)),
                _ => Some(Outcome::Value(*a)),
            }
        }
        (Op::Convert(convert), [a]) => {
            let (from, to) = (kernel.ty(*a).scalar()?, ty.scalar()?);
            if let Some(lanes) = kernel.constant(*a) {
                let folded: Option<Vec<u64>> =
                    lanes.iter().map(|bits| fold::convert(convert, from, to, *bits)).collect();
                return Some(Outcome::Value(kernel.make_constant(ty, &folded?)));
            }
            if from.is_int() && from == to && convert.from == convert.to {
                return Some(Outcome::Value(*a));
            }
            // Truncation after extension: to the original, or to a part of it.
            if from.is_int()
                && to.is_int()
                && !convert.saturate
                && let Some((Op::Convert(inner), [origin])) = defining(kernel, *a)
                && !inner.saturate
                && inner.from != Number::Float
            {
                let origin = *origin;
                let width = kernel.ty(origin).scalar()?.bits();
                if width < from.bits() && to.bits() <= width {
                    return if to.bits() == width {
                        Some(Outcome::Value(origin))
                    } else {
                        rewrite(Op::Convert(convert), &[origin])
                    };
                }
            }
            None
        }
        (Op::Bitcast, [a]) => {
            if kernel.ty(*a) == ty {
                return Some(Outcome::Value(*a));
            }
            if let (Some([bits]), Type::Scalar(_)) = (kernel.constant(*a), ty) {
                let bits = *bits;
                return Some(Outcome::Value(kernel.make_constant(ty, &[bits])));
            }
            match defining(kernel, *a) {
                Some((Op::Bitcast, [origin])) => rewrite(Op::Bitcast, &[*origin]),
                _ => None,
            }
        }
        (Op::PointerToInt, [a]) => match defining(kernel, *a) {
            Some((Op::IntToPointer, [bits])) => Some(Outcome::Value(*bits)),
            _ => None,
        },
        (Op::SpaceCast { .. }, [a]) => {
            if kernel.ty(*a) == ty {
                return Some(Outcome::Value(*a));
            }
            match defining(kernel, *a) {
                Some((Op::SpaceCast { checked: false }, [origin])) if kernel.ty(*origin) == ty => {
                    Some(Outcome::Value(*origin))
                }
                _ => None,
            }
        }
        (Op::Construct, _) => construct(kernel, &operands, ty),
        (Op::Extract(lane), [a]) => extract(kernel, lane, *a, ty),
        (Op::ExtractDynamic, [a, index]) => {
            let lane = u8::try_from(kernel.scalar_constant(*index)?).ok()?;
            (lane < kernel.ty(*a).lanes()).then(|| rewrite(Op::Extract(lane), &[*a]))?
        }
        (Op::InsertDynamic, [a, scalar, index]) => {
            let lane = u8::try_from(kernel.scalar_constant(*index)?).ok()?;
            (lane < ty.lanes()).then(|| rewrite(Op::Insert(lane), &[*a, *scalar]))?
        }
        (Op::Insert(lane), [a, scalar]) => insert(kernel, lane, *a, *scalar, ty),
        (Op::Shuffle(mask), [a, b]) => shuffle(kernel, mask, *a, *b, ty),
        (Op::Address(address), _) => self::address(kernel, address, &operands),
        _ => None,
    }
}

fn address(kernel: &mut Kernel, address: Address, operands: &[Value]) -> Option<Outcome> {
    match operands {
        [base] if address.stride == 0 => {
            if address.offset == 0 {
                return Some(Outcome::Value(*base));
            }
            let (Op::Address(inner), under) = defining(kernel, *base)? else { return None };
            let merged = Address {
                offset: inner.offset.wrapping_add(address.offset),
                in_bounds: inner.in_bounds && address.in_bounds,
                ..inner
            };
            let under = SmallVec::from_slice(under);
            Some(Outcome::Rewrite(Op::Address(merged), under))
        }
        [base, index] => {
            if let Some(constant) = kernel.signed_constant(*index) {
                let inside = address
                    .count
                    .is_none_or(|count| u64::try_from(constant).is_ok_and(|index| index < count));
                if inside {
                    let moved = constant.wrapping_mul(address.stride.cast_signed());
                    let offset = address.offset.wrapping_add(moved);
                    return rewrite(
                        Op::Address(Address { stride: 0, offset, count: None, ..address }),
                        &[*base],
                    );
                }
            }
            let (Op::Address(inner), [under]) = defining(kernel, *base)? else { return None };
            let merged = Address {
                offset: inner.offset.wrapping_add(address.offset),
                in_bounds: inner.in_bounds && address.in_bounds,
                ..address
            };
            rewrite(Op::Address(merged), &[*under, *index])
        }
        _ => None,
    }
}
