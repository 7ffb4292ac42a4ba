//! Lanes of vectors: constructions, extractions, insertions, shuffles.

use smallvec::SmallVec;

use super::{Outcome, defining, rewrite};
use crate::op::ShuffleMask;
use crate::{Kernel, Op, Type, Value};

pub(super) fn construct(kernel: &mut Kernel, operands: &[Value], ty: Type) -> Option<Outcome> {
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

pub(super) fn extract(kernel: &mut Kernel, lane: u8, vector: Value, ty: Type) -> Option<Outcome> {
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

pub(super) fn insert(
    kernel: &mut Kernel,
    lane: u8,
    vector: Value,
    scalar: Value,
    ty: Type,
) -> Option<Outcome> {
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

pub(super) fn shuffle(
    kernel: &mut Kernel,
    mask: ShuffleMask,
    a: Value,
    b: Value,
    ty: Type,
) -> Option<Outcome> {
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
