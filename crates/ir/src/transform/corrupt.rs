//! Wrong code on purpose: what a driver with a defect would make of a kernel.

use smallvec::SmallVec;

use crate::op::{Binary, Builtin, Unary};
use crate::{Inst, Kernel, Op, Scalar, Type, Value};

/// What is wrong with results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corruption {
    /// A bit: the lowest of an integer, the highest of a float's fraction.
    FlippedBit,
    /// They are zero.
    Zero,
    /// `fma` rounds its product, too.
    RoundedTwice,
}

/// Makes the results of instructions wrong; of a store or a write of an image, what it writes. Instructions whose results
/// cannot be wrong in this way, such as pointers, stay right. A well-formed kernel stays well-formed.
pub fn corrupt(kernel: &mut Kernel, insts: &[Inst], how: Corruption) {
    for inst in insts {
        let data = &kernel.insts[*inst];
        let written = match data.op {
            Op::Store(_) => Some(1),
            Op::ImageWrite { .. } => Some(2),
            _ => None,
        };
        match (how, written, data.result) {
            (Corruption::RoundedTwice, _, Some(result)) => round_twice(kernel, *inst, result),
            (Corruption::RoundedTwice, ..) | (_, None, None) => {}
            (_, Some(position), _) => {
                let right = data.operands[position];
                let (wrong, added) = spoiled(kernel, right, how, *inst);
                insert(kernel, *inst, 0, &added);
                kernel.insts[*inst].operands[position] = wrong;
            }
            (_, None, Some(result)) => {
                let (wrong, added) = spoiled(kernel, result, how, *inst);
                insert(kernel, *inst, 1, &added);
                replace(kernel, result, wrong, &added);
            }
        }
    }
}

/// A wrong value in place of a right one, and the instructions that make it.
fn spoiled(kernel: &mut Kernel, right: Value, how: Corruption, at: Inst) -> (Value, Vec<Inst>) {
    let (ty, location) = (kernel.ty(right), kernel.insts[at].location);
    let Some(scalar) = ty.scalar() else { return (right, Vec::new()) };
    if how == Corruption::Zero {
        return (kernel.splat_constant(ty, 0), Vec::new());
    }
    let mut added = Vec::new();
    let mut add = |kernel: &mut Kernel, op: Op, operands: &[Value], ty: Type| {
        let inst = kernel.make_inst(op, operands, Some(ty), location);
        added.push(inst);
        kernel.insts[inst].result.unwrap_or(right)
    };
    let bit = match scalar {
        Scalar::F16 => 9,
        Scalar::F32 => 22,
        Scalar::F64 => 51,
        _ => 0,
    };
    let integer =
        if scalar.is_float() { Scalar::int(scalar.bits()).and_then(|int| ty.with_scalar(int)) } else { None };
    let wrong = match integer {
        None if scalar == Scalar::Bool => add(kernel, Op::Unary(Unary::Not), &[right], ty),
        None => {
            let mask = kernel.splat_constant(ty, 1 << bit);
            add(kernel, Op::Binary(Binary::Xor), &[right, mask], ty)
        }
        Some(integer) => {
            let mask = kernel.splat_constant(integer, 1 << bit);
            let bits = add(kernel, Op::Bitcast, &[right], integer);
            let bits = add(kernel, Op::Binary(Binary::Xor), &[bits, mask], integer);
            add(kernel, Op::Bitcast, &[bits], ty)
        }
    };
    (wrong, added)
}

/// Replaces `fma` by a product and a sum.
fn round_twice(kernel: &mut Kernel, inst: Inst, result: Value) {
    let data = &kernel.insts[inst];
    let (Op::Builtin(Builtin::Fma), [a, b, c]) = (data.op, &data.operands[..]) else { return };
    let (a, b, c, location) = (*a, *b, *c, data.location);
    let product = kernel.make_inst(Op::Binary(Binary::FMul), &[a, b], Some(kernel.ty(result)), location);
    let Some(rounded) = kernel.insts[product].result else { return };
    insert(kernel, inst, 0, &[product]);
    kernel.insts[inst].op = Op::Binary(Binary::FAdd);
    kernel.insts[inst].operands = SmallVec::from_slice(&[rounded, c]);
}

/// Puts instructions into the block of another one, this far behind it.
fn insert(kernel: &mut Kernel, beside: Inst, behind: usize, added: &[Inst]) {
    for block in kernel.blocks.values_mut() {
        if let Some(at) = block.insts.iter().position(|inst| *inst == beside) {
            block.insts.splice(at + behind..at + behind, added.iter().copied());
        }
    }
}

/// Replaces a value in all uses but those of some instructions.
fn replace(kernel: &mut Kernel, value: Value, by: Value, except: &[Inst]) {
    for (_, data) in kernel.insts.iter_mut().filter(|(inst, _)| !except.contains(inst)) {
        for operand in data.operands.iter_mut().filter(|operand| **operand == value) {
            *operand = by;
        }
    }
    for block in kernel.blocks.values_mut() {
        block.terminator.replace(|used| if used == value { by } else { used });
    }
}
