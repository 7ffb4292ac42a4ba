//! Value numbering: equal pure operations are merged where one dominates the other.

use std::collections::HashMap;

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::clean::Replacements;
use crate::flow::{Cfg, Dominators};
use crate::op::{Binary, Compare};
use crate::{Flags, Inst, Kernel, Op, Type, Value};

type Key = (Op, SmallVec<[Value; 3]>, Type);

/// Merges equal operations. The remaining one has only the guarantees of both.
pub fn run(kernel: &mut Kernel) {
    let cfg = Cfg::new(kernel);
    let dominators = Dominators::new(&cfg);
    let children = dominators.children(cfg.order.iter().copied());
    let mut replacements = Replacements::default();
    let mut known: HashMap<Key, Value> = HashMap::new();
    let mut removed: SecondaryMap<Inst, bool> = SecondaryMap::new();
    // A walk down the dominator tree; a block's entries are removed when it is left.
    let mut stack = vec![(Kernel::ENTRY, 0, Vec::new())];
    while let Some((block, next, added)) = stack.last_mut() {
        if *next == 0 {
            for inst in kernel.blocks[*block].insts.clone() {
                visit(kernel, inst, &mut replacements, &mut known, added, &mut removed);
            }
        }
        if let Some(child) = children[*block].get(*next).copied() {
            *next += 1;
            stack.push((child, 0, Vec::new()));
        } else {
            for key in std::mem::take(added) {
                known.remove(&key);
            }
            stack.pop();
        }
    }
    replacements.apply(kernel);
    for block in kernel.blocks.values_mut() {
        block.insts.retain(|inst| !removed[*inst]);
    }
}

fn visit(
    kernel: &mut Kernel,
    inst: Inst,
    replacements: &mut Replacements,
    known: &mut HashMap<Key, Value>,
    added: &mut Vec<Key>,
    removed: &mut SecondaryMap<Inst, bool>,
) {
    let data = &mut kernel.insts[inst];
    for operand in &mut data.operands {
        *operand = replacements.get(*operand);
    }
    let Some(result) = data.result else { return };
    // Undefined values are not merged: two variables stay distinct.
    if !data.op.is_pure() || data.op == Op::Undefined {
        return;
    }
    let mut operands = data.operands.clone();
    if commutes(data.op) {
        operands.sort();
    }
    let (op, flags) = (data.op, data.flags);
    let key = (op, operands, kernel.values[result].ty);
    if let Some(first) = known.get(&key) {
        let first = *first;
        if let Some(kept) = kernel.defining(first) {
            let common: Flags = kernel.insts[kept].flags.intersection(flags);
            kernel.insts[kept].flags = common;
        }
        replacements.set(result, first);
        removed[inst] = true;
    } else {
        known.insert(key.clone(), result);
        added.push(key);
    }
}

/// Whether the order of two operands does not matter.
fn commutes(op: Op) -> bool {
    matches!(
        op,
        Op::Binary(
            Binary::Add | Binary::Mul | Binary::And | Binary::Or | Binary::Xor | Binary::FAdd | Binary::FMul
        ) | Op::Compare(Compare::Eq | Compare::Ne | Compare::FEq | Compare::FUNe)
    )
}
