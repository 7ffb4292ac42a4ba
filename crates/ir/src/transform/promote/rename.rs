//! Replacement of the loads and stores of slots by values.

use cranelift_entity::SecondaryMap;

use super::{Act, ByObject, Slot, name};
use crate::flow::{Cfg, Dominators};
use crate::transform::clean::Replacements;
use crate::{Block, Inst, Kernel, Location, Op, Value, ValueDef};

/// A block on the way down the dominator tree, its next child, and the values to restore when it is left.
type Step = (Block, usize, Vec<(usize, Option<Value>)>);

/// Replaces loads by the current values, walking down the dominator tree.
pub(super) fn rename(
    kernel: &mut Kernel,
    cfg: &Cfg,
    dominators: &Dominators,
    slots: &[Slot],
    by_object: &ByObject,
    acts: &SecondaryMap<Inst, Option<Act>>,
    parameters: &SecondaryMap<Block, Vec<(usize, Value)>>,
) {
    let children = dominators.children(cfg.order.iter().copied());
    let mut renamer = Renamer {
        replacements: Replacements::default(),
        current: vec![None; slots.len()],
        unwritten: Vec::new(),
        unwritten_of: vec![None; slots.len()],
    };
    let mut stack: Vec<Step> = vec![(Kernel::ENTRY, 0, Vec::new())];
    while let Some((block, next, undo)) = stack.last_mut() {
        let block = *block;
        if *next == 0 {
            for (slot, value) in &parameters[block] {
                undo.push((*slot, renamer.current[*slot].replace(*value)));
            }
            renamer.block(kernel, block, slots, by_object, acts, undo);
            let mut terminator = std::mem::take(&mut kernel.blocks[block].terminator);
            for call in terminator.calls_mut() {
                for (slot, _) in &parameters[call.block] {
                    call.arguments.push(renamer.value(kernel, *slot, &slots[*slot]));
                }
            }
            kernel.blocks[block].terminator = terminator;
        }
        if let Some(child) = children[block].get(*next).copied() {
            *next += 1;
            stack.push((child, 0, Vec::new()));
        } else {
            for (slot, value) in std::mem::take(undo).into_iter().rev() {
                renamer.current[slot] = value;
            }
            stack.pop();
        }
    }
    let Renamer { mut replacements, unwritten, .. } = renamer;
    // Undefined values of the entry come first.
    kernel.blocks[Kernel::ENTRY].insts.splice(0..0, unwritten);
    replacements.apply(kernel);
}

struct Renamer {
    replacements: Replacements,
    current: Vec<Option<Value>>,
    /// The instructions for slots that are read before they are written, in order.
    unwritten: Vec<Inst>,
    /// The instruction of each slot, if it has one.
    unwritten_of: Vec<Option<Inst>>,
}

impl Renamer {
    fn undefined(kernel: &mut Kernel, slot: &Slot, location: Option<Location>) -> Inst {
        let inst = kernel.make_inst(Op::Undefined, &[], Some(slot.ty), location);
        if let Some(value) = kernel.insts[inst].result {
            kernel.names[value] = name(kernel, slot.object);
        }
        inst
    }

    fn value(&mut self, kernel: &mut Kernel, number: usize, slot: &Slot) -> Value {
        if let Some(value) = self.current[number] {
            return value;
        }
        let inst = *self.unwritten_of[number].get_or_insert_with(|| {
            let inst = Self::undefined(kernel, slot, None);
            self.unwritten.push(inst);
            inst
        });
        match kernel.insts[inst].result {
            Some(value) => value,
            None => kernel.splat_constant(slot.ty, 0),
        }
    }

    fn block(
        &mut self,
        kernel: &mut Kernel,
        block: Block,
        slots: &[Slot],
        by_object: &ByObject,
        acts: &SecondaryMap<Inst, Option<Act>>,
        undo: &mut Vec<(usize, Option<Value>)>,
    ) {
        let mut kept = Vec::with_capacity(kernel.blocks[block].insts.len());
        for inst in std::mem::take(&mut kernel.blocks[block].insts) {
            let location = kernel.insts[inst].location;
            match acts[inst] {
                None => kept.push(inst),
                Some(Act::Gone) => {}
                Some(Act::Read(number)) => {
                    let value = self.value(kernel, number, &slots[number]);
                    let Some(result) = kernel.insts[inst].result else { continue };
                    if kernel.ty(result) == slots[number].ty {
                        self.replacements.set(result, value);
                    } else {
                        // The load itself becomes the cast, so that its result keeps its name.
                        kernel.insts[inst].op = Op::Bitcast;
                        kernel.insts[inst].operands = smallvec::smallvec![value];
                        kept.push(inst);
                    }
                }
                Some(Act::Write(number)) => {
                    let mut value = kernel.insts[inst].operands[1];
                    value = self.replacements.get(value);
                    if kernel.ty(value) != slots[number].ty {
                        let cast = kernel.make_inst(Op::Bitcast, &[value], Some(slots[number].ty), location);
                        kept.push(cast);
                        value = kernel.insts[cast].result.unwrap_or(value);
                    }
                    if kernel.names[value].is_none()
                        && !matches!(kernel.values[value].def, ValueDef::Constant(_))
                    {
                        kernel.names[value] = name(kernel, slots[number].object);
                    }
                    undo.push((number, self.current[number].replace(value)));
                }
                Some(Act::Start) => {
                    let Op::LifetimeStart(object) = kernel.insts[inst].op else { continue };
                    let Some((first, end)) = by_object[object] else { continue };
                    for (number, slot) in slots.iter().enumerate().take(end).skip(first) {
                        let made = Self::undefined(kernel, slot, location);
                        kept.push(made);
                        undo.push((
                            number,
                            std::mem::replace(&mut self.current[number], kernel.insts[made].result),
                        ));
                    }
                }
            }
        }
        kernel.blocks[block].insts = kept;
    }
}
