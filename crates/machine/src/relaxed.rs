//! What a compiler does where the build allows less precise floats: native functions, and products fused into sums.
//!
//! The source of the permissions are the flags of each instruction ([`Flags::FAST`], [`Flags::CONTRACT`]). Drivers do not
//! document what they make of them; OpenCL C 3.0, 7.4, gives functions the precision of the hardware's instructions
//! with `-cl-unsafe-math-optimizations` and `-cl-fast-relaxed-math`.

use cranelift_entity::SecondaryMap;
use tripipe_ir::flow::Cfg;
use tripipe_ir::op::{Binary, Builtin};
use tripipe_ir::{Block, Flags, Inst, Kernel, Op, Scalar, Value};

/// The less precise function of the hardware with the same operands; `None` if there is none. Only 32-bit floats have
/// them.
pub fn native(builtin: Builtin) -> Option<Builtin> {
    match builtin {
        // The native function takes no negative base, so it is `native_powr`.
        Builtin::Pow => Some(Builtin::NativePowr),
        _ => Builtin::named(&format!("native_{}", builtin.name()))
            .filter(|other| other.signature() == builtin.signature()),
    }
}

/// Rewrites what the flags allow.
pub(crate) fn relax(kernel: &mut Kernel, cfg: &Cfg) {
    let allows = |inst: &Inst| kernel.insts[*inst].flags.allow_contraction();
    let all = || cfg.order.iter().flat_map(|block| &kernel.blocks[*block].insts);
    if !all().any(allows) {
        return;
    }
    let mut uses: SecondaryMap<Value, u32> = SecondaryMap::new();
    let mut homes: SecondaryMap<Inst, Option<Block>> = SecondaryMap::new();
    for block in &cfg.order {
        let data = &kernel.blocks[*block];
        for inst in &data.insts {
            kernel.insts[*inst].operands.iter().for_each(|operand| uses[*operand] += 1);
            homes[*inst] = Some(*block);
        }
        data.terminator.uses().for_each(|value| uses[value] += 1);
    }
    let all: Vec<Inst> = all().copied().collect();
    let mut fused: Vec<Inst> = Vec::new();
    for inst in all {
        let data = &kernel.insts[inst];
        let (flags, op, operands) = (data.flags, data.op, data.operands.clone());
        let is_single = data.result.is_some_and(|result| kernel.ty(result).scalar() == Some(Scalar::F32));
        let relaxed = flags.contains(Flags::FAST) && is_single;
        let op = match op {
            Op::Builtin(builtin) if relaxed => native(builtin).map(Op::Builtin),
            Op::Binary(Binary::FDiv) if relaxed => Some(Op::Builtin(Builtin::NativeDivide)),
            Op::Binary(Binary::FAdd | Binary::FSub) if flags.allow_contraction() => {
                let product = operands.iter().enumerate().find_map(|(side, value)| {
                    let product = kernel.defining(*value).filter(|_| uses[*value] == 1)?;
                    let data = &kernel.insts[product];
                    let fits = data.op == Op::Binary(Binary::FMul)
                        && data.flags.allow_contraction()
                        && homes[product] == homes[inst];
                    fits.then_some((side, product))
                });
                let Some((side, product)) = product else { continue };
                // A sign is free.
                let mut all = kernel.insts[product].operands.clone();
                all.push(operands[1 - side]);
                kernel.insts[inst].operands = all;
                fused.push(product);
                Some(Op::Builtin(Builtin::Mad))
            }
            _ => None,
        };
        if let Some(op) = op {
            kernel.insts[inst].op = op;
        }
    }
    for block in kernel.blocks.values_mut() {
        block.insts.retain(|inst| !fused.contains(inst));
    }
}
