//! Local rewriting: constants fold, vector operations are looked through, redundant operations are removed.

use smallvec::SmallVec;

use super::clean::Replacements;
use super::fold;
use crate::flow::Cfg;
use crate::op::{Address, Binary, Compare, Convert, Number, Rounding, ShuffleMask, Unary};
use crate::{Block, Inst, Kernel, Op, Scalar, TerminatorKind, Type, Value};

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
    let (origin, place) = (*origin, data.place);
    let cut =
        kernel.make_inst(convert(Number::Unsigned, Number::Unsigned), &[origin], Some(Type::I32), place);
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

fn unary(kernel: &mut Kernel, op: Unary, a: Value, ty: Type) -> Option<Outcome> {
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

fn binary(kernel: &mut Kernel, op: Binary, a: Value, b: Value, ty: Type) -> Option<Outcome> {
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

fn compare(kernel: &mut Kernel, op: Compare, a: Value, b: Value, ty: Type) -> Option<Outcome> {
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

fn construct(kernel: &mut Kernel, operands: &[Value], ty: Type) -> Option<Outcome> {
    let constants: Option<Vec<u64>> = operands.iter().map(|value| kernel.scalar_constant(*value)).collect();
    if let Some(lanes) = constants {
        return Some(Outcome::Value(kernel.make_constant(ty, &lanes)));
    }
    // All lanes of one vector in order are the vector itself.
    let mut source = None;
    for (position, operand) in operands.iter().enumerate() {
        let (Op::Extract(lane), [vector]) = defining(kernel, *operand)? else { return None };
        if usize::from(lane) != position || source.is_some_and(|known| known != *vector) {
            return None;
        }
        source = Some(*vector);
    }
    source.filter(|vector| kernel.ty(*vector) == ty).map(Outcome::Value)
}

fn extract(kernel: &mut Kernel, lane: u8, vector: Value, ty: Type) -> Option<Outcome> {
    if let Some(lanes) = kernel.constant(vector) {
        let bits = *lanes.get(usize::from(lane))?;
        return Some(Outcome::Value(kernel.make_constant(ty, &[bits])));
    }
    match defining(kernel, vector)? {
        (Op::Construct, lanes) => Some(Outcome::Value(*lanes.get(usize::from(lane))?)),
        (Op::Insert(inserted), [_, scalar]) if inserted == lane => Some(Outcome::Value(*scalar)),
        (Op::Insert(_), [base, _]) => rewrite(Op::Extract(lane), &[*base]),
        (Op::Shuffle(mask), [a, b]) => {
            let source = mask.lanes().nth(usize::from(lane))??;
            let first = kernel.ty(*a).lanes();
            let (vector, lane) = if source < first { (*a, source) } else { (*b, source - first) };
            rewrite(Op::Extract(lane), &[vector])
        }
        _ => None,
    }
}

fn insert(kernel: &mut Kernel, lane: u8, vector: Value, scalar: Value, ty: Type) -> Option<Outcome> {
    // A chain of insertions that fills every lane is a construction.
    let mut lanes: [Option<Value>; Type::MAX_LANES] = [None; Type::MAX_LANES];
    *lanes.get_mut(usize::from(lane))? = Some(scalar);
    let mut base = vector;
    for _ in 0..Type::MAX_LANES {
        match defining(kernel, base) {
            Some((Op::Insert(lane), [under, scalar])) => {
                lanes[usize::from(lane)].get_or_insert(*scalar);
                base = *under;
            }
            Some((Op::Construct, parts)) => {
                for (slot, part) in lanes.iter_mut().zip(parts) {
                    slot.get_or_insert(*part);
                }
                break;
            }
            _ => break,
        }
    }
    if let Some(bits) = kernel.constant(base).map(<[u64]>::to_vec) {
        let scalar = Type::Scalar(ty.scalar()?);
        for (slot, bits) in lanes.iter_mut().zip(bits) {
            if slot.is_none() {
                *slot = Some(kernel.make_constant(scalar, &[bits]));
            }
        }
    }
    let parts: Option<SmallVec<[Value; 3]>> = lanes[..usize::from(ty.lanes())].iter().copied().collect();
    Some(Outcome::Rewrite(Op::Construct, parts?))
}

fn shuffle(kernel: &mut Kernel, mask: ShuffleMask, a: Value, b: Value, ty: Type) -> Option<Outcome> {
    let first = kernel.ty(a).lanes();
    let identity = mask.lanes().enumerate().all(|(position, lane)| lane == Some(position as u8));
    if identity && kernel.ty(a) == ty {
        return Some(Outcome::Value(a));
    }
    // Lanes that are individually known: constants, constructions, insertions.
    let scalar = Type::Scalar(ty.scalar()?);
    let mut parts: SmallVec<[Value; 3]> = SmallVec::new();
    for lane in mask.lanes() {
        let Some(lane) = lane else { break };
        let (vector, lane) = if lane < first { (a, lane) } else { (b, lane - first) };
        let part = known_lane(kernel, vector, lane, scalar);
        match part {
            Some(part) => parts.push(part),
            None => break,
        }
    }
    if parts.len() == mask.lanes().len() {
        return Some(Outcome::Rewrite(Op::Construct, parts));
    }
    // A second operand that contributes no lane is replaced by the first.
    let uses_second = mask.lanes().flatten().any(|lane| lane >= first);
    (!uses_second && a != b).then(|| rewrite(Op::Shuffle(mask), &[a, a]))?
}

fn known_lane(kernel: &mut Kernel, vector: Value, lane: u8, scalar: Type) -> Option<Value> {
    if let Some(lanes) = kernel.constant(vector) {
        let bits = *lanes.get(usize::from(lane))?;
        return Some(kernel.make_constant(scalar, &[bits]));
    }
    match defining(kernel, vector)? {
        (Op::Construct, parts) => parts.get(usize::from(lane)).copied(),
        (Op::Insert(inserted), [_, part]) if inserted == lane => Some(*part),
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
