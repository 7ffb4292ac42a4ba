//! Generic pointers whose address space follows from their sources.

use cranelift_entity::SecondaryMap;

use super::clean::Replacements;
use crate::{Inst, Kernel, Location, Op, Space, Type, Value, ValueDef};

/// What is known about the address space of a generic pointer.
#[derive(Clone, Copy, Default, PartialEq)]
enum KnownSpace {
    /// No source is known yet.
    #[default]
    Nothing,
    One(Space),
    Several,
}

impl KnownSpace {
    fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, known) | (known, Self::Nothing) => known,
            (Self::One(a), Self::One(b)) if a == b => self,
            _ => Self::Several,
        }
    }
}

/// Gives generic pointers the common address space of all their sources, and removes the casts.
pub fn run(kernel: &mut Kernel) {
    let mut known: SecondaryMap<Value, KnownSpace> = SecondaryMap::new();
    let mut incoming: SecondaryMap<Value, Vec<Value>> = SecondaryMap::new();
    let mut generic = Vec::new();
    for (value, data) in &kernel.values {
        match data.ty {
            Type::Pointer(Space::Generic) => generic.push(value),
            Type::Pointer(space) => known[value] = KnownSpace::One(space),
            _ => {}
        }
    }
    if generic.is_empty() {
        return;
    }
    for block in kernel.blocks.values() {
        for call in block.terminator.calls() {
            for (parameter, argument) in kernel.blocks[call.block].parameters.iter().zip(&call.arguments) {
                if kernel.ty(*parameter) == Type::Pointer(Space::Generic) {
                    incoming[*parameter].push(*argument);
                }
            }
        }
    }
    // The state only advances, by at most two steps per value.
    loop {
        let mut changed = false;
        for value in &generic {
            let sources: &[Value] = match &kernel.values[*value].def {
                ValueDef::Parameter(..) => &incoming[*value],
                ValueDef::Result(inst) => {
                    let inst = &kernel.insts[*inst];
                    match inst.op {
                        Op::SpaceCast { checked: false } | Op::Address(_) => &inst.operands[..1],
                        Op::Select => &inst.operands[1..],
                        _ => &[*value],
                    }
                }
                // Null is null in every space; other constants are not known.
                ValueDef::Constant(_) => continue,
            };
            let opaque = sources == [*value] || sources.is_empty();
            let now = if opaque {
                KnownSpace::Several
            } else {
                sources.iter().fold(KnownSpace::Nothing, |all, source| {
                    let null = kernel.scalar_constant(*source) == Some(0);
                    all.meet(if null { KnownSpace::Nothing } else { known[*source] })
                })
            };
            if now.meet(known[*value]) != known[*value] {
                known[*value] = now.meet(known[*value]);
                changed = true;
            }
        }
        if changed {
            continue;
        }
        // A pointer whose only source is null could be in any space; the pointers derived from it have to see that.
        let mut unsettled = generic
            .iter()
            .filter(|value| known[**value] == KnownSpace::Nothing && kernel.constant(**value).is_none());
        match unsettled.next() {
            Some(value) => known[*value] = KnownSpace::Several,
            None => break,
        }
    }
    // Generic constants that flow into pointers of a known space can only be null, and are recreated there.
    for value in &generic {
        if let KnownSpace::One(space) = known[*value]
            && kernel.constant(*value).is_none()
        {
            kernel.values[*value].ty = Type::Pointer(space);
        }
    }
    drop_casts(kernel);
    reconcile(kernel);
    compare_bits(kernel);
}

/// Null operands get the space of the other operand; a value that flows into a pointer that stays generic is cast.
fn reconcile(kernel: &mut Kernel) {
    for block in kernel.blocks.keys() {
        let mut insts = Vec::with_capacity(kernel.blocks[block].insts.len());
        for inst in std::mem::take(&mut kernel.blocks[block].insts) {
            let data = &kernel.insts[inst];
            let (operands, location) = (data.operands.clone(), data.location);
            let wanted = match data.op {
                Op::Select => data.result.map(|value| kernel.ty(value)),
                Op::Compare(_) => {
                    let mut types = operands.iter().map(|value| kernel.ty(*value));
                    types.find(|ty| ty.is_pointer() && *ty != Type::Pointer(Space::Generic))
                }
                _ => None,
            };
            if let Some(wanted @ Type::Pointer(_)) = wanted {
                let is_compare = matches!(kernel.insts[inst].op, Op::Compare(_));
                for (position, operand) in operands.iter().enumerate() {
                    if let Some(value) = fitted(kernel, *operand, wanted, location, is_compare, &mut insts) {
                        kernel.insts[inst].operands[position] = value;
                    }
                }
            }
            insts.push(inst);
        }
        let mut terminator = std::mem::take(&mut kernel.blocks[block].terminator);
        let location = terminator.location;
        for call in terminator.calls_mut() {
            // Only the block's instructions have been taken out, never its parameters.
            for position in 0..call.arguments.len() {
                let wanted = kernel.ty(kernel.blocks[call.block].parameters[position]);
                if let Some(value) =
                    fitted(kernel, call.arguments[position], wanted, location, false, &mut insts)
                {
                    call.arguments[position] = value;
                }
            }
        }
        kernel.blocks[block].terminator = terminator;
        kernel.blocks[block].insts = insts;
    }
}

/// A pointer converted to the wanted type, if it has another.
fn fitted(
    kernel: &mut Kernel,
    value: Value,
    wanted: Type,
    location: Option<Location>,
    only_null: bool,
    insts: &mut Vec<Inst>,
) -> Option<Value> {
    let own = kernel.ty(value);
    if !own.is_pointer() || !wanted.is_pointer() || own == wanted {
        return None;
    }
    if kernel.scalar_constant(value) == Some(0) {
        return Some(kernel.make_constant(wanted, &[0]));
    }
    if only_null {
        return None;
    }
    let cast = kernel.make_inst(Op::SpaceCast { checked: false }, &[value], Some(wanted), location);
    insts.push(cast);
    kernel.insts[cast].result
}

/// Removes casts into the space that the pointer already has.
fn drop_casts(kernel: &mut Kernel) {
    let mut replacements = Replacements::default();
    for inst in kernel.insts.values() {
        if let (Op::SpaceCast { .. }, Some(result)) = (inst.op, inst.result)
            && kernel.ty(result) == kernel.ty(inst.operands[0])
        {
            replacements.set(result, inst.operands[0]);
        }
    }
    replacements.apply(kernel);
}

/// Pointers of two spaces are compared by their bits.
fn compare_bits(kernel: &mut Kernel) {
    for block in kernel.blocks.keys() {
        let mut insts = Vec::with_capacity(kernel.blocks[block].insts.len());
        for inst in std::mem::take(&mut kernel.blocks[block].insts) {
            let data = &kernel.insts[inst];
            if let (Op::Compare(_), [a, b]) = (data.op, &data.operands[..])
                && kernel.ty(*a) != kernel.ty(*b)
            {
                let (operands, location) = (data.operands.clone(), data.location);
                for (position, operand) in operands.iter().enumerate() {
                    let bits = kernel.make_inst(Op::PointerToInt, &[*operand], Some(Type::I64), location);
                    insts.push(bits);
                    if let Some(value) = kernel.insts[bits].result {
                        kernel.insts[inst].operands[position] = value;
                    }
                }
            }
            insts.push(inst);
        }
        kernel.blocks[block].insts = insts;
    }
}
