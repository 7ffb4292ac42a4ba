//! Computes 64-bit integers in 32 bits where only the lower half of the result is used.
//!
//! Ids and sizes have 64 bits in OpenCL C, and much index arithmetic starts from them before it is cut to an `int`. The
//! lower bits of sums and products depend on the lower bits of their operands only.

use cranelift_entity::SecondaryMap;
use tripipe_ir::flow::Cfg;
use tripipe_ir::op::{Binary, Convert, Number, Unary};
use tripipe_ir::{Kernel, Op, Scalar, Space, Type, Value};

/// Changes the type of such results to 32 bits. Operands that stay as they are are read as their lower half.
pub(crate) fn narrow(kernel: &mut Kernel, cfg: &Cfg) {
    let mut demanded: SecondaryMap<Value, u32> = SecondaryMap::new();
    let mut narrowed: Vec<Value> = Vec::new();
    // Backwards, so that uses come before definitions; parameters of blocks are used in full.
    for block in cfg.order.iter().rev() {
        let data = &kernel.blocks[*block];
        for value in data.terminator.uses() {
            demanded[value] = u32::MAX;
        }
        for inst in data.insts.iter().rev() {
            let data = &kernel.insts[*inst];
            let wanted = data.result.map_or(u32::MAX, |result| demanded[result]);
            for (position, operand) in data.operands.iter().enumerate() {
                let bits = used(kernel, data.op, position, data.result, wanted);
                demanded[*operand] = demanded[*operand].max(bits);
            }
            if let Some(result) = data.result
                && kernel.ty(result).scalar() == Some(Scalar::I64)
                && (1..=32).contains(&wanted)
                && keeps_low_bits(kernel, data.op, &data.operands)
            {
                narrowed.push(result);
            }
        }
    }
    for value in narrowed {
        let ty = &mut kernel.values[value].ty;
        *ty = ty.with_scalar(Scalar::I32).unwrap_or(*ty);
    }
}

/// The lower bits of an operand that matter, if `wanted` bits of the result do.
fn used(kernel: &Kernel, op: Op, position: usize, result: Option<Value>, wanted: u32) -> u32 {
    match op {
        Op::Address(_) if position == 1 => match result.map(|result| kernel.ty(result)) {
            Some(Type::Pointer(Space::Local | Space::Private)) => 32,
            _ => u32::MAX,
        },
        Op::Binary(Binary::Add | Binary::Sub | Binary::Mul | Binary::And | Binary::Or | Binary::Xor)
        | Op::Unary(Unary::Neg | Unary::Not) => wanted,
        Op::Binary(Binary::Shl) if position == 0 => wanted,
        Op::Select if position > 0 => wanted,
        Op::Convert(convert) if is_resize(convert) => {
            let bits = result.and_then(|result| kernel.ty(result).scalar()).map_or(u32::MAX, Scalar::bits);
            wanted.min(bits)
        }
        _ => u32::MAX,
    }
}

/// Whether the lower half of the result depends on the lower halves of the operands only.
fn keeps_low_bits(kernel: &Kernel, op: Op, operands: &[Value]) -> bool {
    match op {
        Op::Binary(Binary::Add | Binary::Sub | Binary::Mul | Binary::And | Binary::Or | Binary::Xor)
        | Op::Unary(Unary::Neg | Unary::Not)
        | Op::Select => true,
        Op::Binary(Binary::Shl) => kernel.scalar_constant(operands[1]).is_some_and(|amount| amount < 32),
        Op::Convert(convert) => is_resize(convert),
        _ => false,
    }
}

fn is_resize(convert: Convert) -> bool {
    convert.from != Number::Float && convert.to != Number::Float && !convert.saturate
}
