//! Changes to a kernel that is priced again, for [`super::Context::gain_by`].

use cranelift_entity::EntitySet;
use tripipe_ir::{Block, Inst, Kernel, Op, Value, ValueData, ValueDef};

/// Removes instructions; what is computed only for them costs nothing then.
pub(super) fn remove(kernel: &mut Kernel, gone: &[Inst]) {
    for block in kernel.blocks.values_mut() {
        block.insts.retain(|inst| !gone.contains(inst));
    }
}

/// Replaces an instruction's operation; the result keeps its type.
pub(super) fn replace(kernel: &mut Kernel, inst: Inst, op: Op, operands: &[Value]) {
    let data = &mut kernel.insts[inst];
    data.op = op;
    data.operands = operands.iter().copied().collect();
}

/// A constant of the type of another value, with the same bits in every lane.
pub(super) fn constant_like(kernel: &mut Kernel, like: Value, bits: u64) -> Value {
    let ty = kernel.ty(like);
    let lanes = vec![bits; usize::from(ty.lanes())].into_boxed_slice();
    kernel.values.push(ValueData { ty, def: ValueDef::Constant(lanes) })
}

/// Sorts a block's instructions so that each comes after its operands; others keep their position.
pub(super) fn sort(kernel: &mut Kernel, block: Block) {
    let insts = std::mem::take(&mut kernel.blocks[block].insts);
    let mut waiting: EntitySet<Inst> = EntitySet::new();
    waiting.extend(insts.iter().copied());
    let mut sorted = Vec::with_capacity(insts.len());
    for inst in insts {
        let mut work = vec![inst];
        while let Some(inst) = work.last().copied() {
            let operands = kernel.insts[inst].operands.iter();
            let first = operands.filter_map(|operand| kernel.defining(*operand)).find(|maker| {
                // An instruction that depends on itself keeps its position.
                waiting.contains(*maker) && !work.contains(maker)
            });
            if let Some(first) = first {
                work.push(first);
                continue;
            }
            work.pop();
            if waiting.remove(inst) {
                sorted.push(inst);
            }
        }
    }
    kernel.blocks[block].insts = sorted;
}
