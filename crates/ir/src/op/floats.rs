//! Floating-point operations as rates count them.

use super::{Binary, Builtin, Op};
use crate::{Inst, Kernel};

impl Kernel {
    /// Floating-point operations of an instruction, as quoted rates count them: a sum, difference, product, quotient or
    /// square root of each lane is one, a multiply-add two, `dot` of n lanes 2n - 1. Other functions, comparisons and
    /// conversions count none: what they cost differs between GPUs.
    pub fn float_operations(&self, inst: Inst) -> u32 {
        let instruction = &self.insts[inst];
        let lanes = instruction.operands.first().map_or(0, |value| u32::from(self.values[*value].ty.lanes()));
        match instruction.op {
            Op::Binary(Binary::FAdd | Binary::FSub | Binary::FMul | Binary::FDiv)
            | Op::Builtin(
                Builtin::Sqrt
                | Builtin::HalfSqrt
                | Builtin::NativeSqrt
                | Builtin::HalfDivide
                | Builtin::NativeDivide
                | Builtin::HalfRecip
                | Builtin::NativeRecip,
            ) => lanes,
            Op::Builtin(Builtin::Fma | Builtin::Mad) => 2 * lanes,
            Op::Builtin(Builtin::Dot) => (2 * lanes).saturating_sub(1),
            _ => 0,
        }
    }
}
