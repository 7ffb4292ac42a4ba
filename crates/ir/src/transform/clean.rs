//! Removes unused code, merges blocks, and renumbers everything.

use std::collections::HashMap;

use cranelift_entity::{PrimaryMap, SecondaryMap};

use crate::flow::Cfg;
use crate::{
    Block, BlockCall, BlockData, Kernel, Location, LocationData, Op, ParameterKind, Terminator,
    TerminatorKind, Value, ValueData, ValueDef,
};

/// Cleans a kernel to a fixed point, then renumbers it: blocks in reverse postorder, instructions and values in the
/// order of their first occurrence.
pub fn run(kernel: &mut Kernel, remove_dead_loads: bool) {
    // Every iteration with a change removes a block, a parameter or an edge; a few iterations suffice in practice.
    for _ in 0..16 {
        let mut changed = fold_terminators(kernel);
        changed |= drop_unreachable(kernel);
        changed |= super::thread::run(kernel);
        changed |= thread_empty_blocks(kernel);
        changed |= join_blocks(kernel);
        changed |= drop_redundant_parameters(kernel);
        if !changed {
            break;
        }
    }
    drop_unreachable(kernel);
    drop_dead(kernel, remove_dead_loads);
    renumber(kernel);
}

/// Values that are replaced by others.
#[derive(Default)]
pub(super) struct Replacements(SecondaryMap<Value, Option<Value>>);

impl Replacements {
    pub(super) fn set(&mut self, value: Value, by: Value) {
        let by = self.get(by);
        if by != value {
            self.0[value] = Some(by);
        }
    }

    pub(super) fn get(&mut self, value: Value) -> Value {
        let mut end = value;
        while let Some(next) = self.0[end] {
            end = next;
        }
        // Path compression for later lookups.
        let mut at = value;
        while let Some(next) = self.0[at] {
            self.0[at] = Some(end);
            at = next;
            if at == end {
                break;
            }
        }
        end
    }

    /// Replaces the values in every use of the kernel.
    pub(super) fn apply(&mut self, kernel: &mut Kernel) {
        for inst in kernel.insts.values_mut() {
            for operand in &mut inst.operands {
                *operand = self.get(*operand);
            }
        }
        for block in kernel.blocks.values_mut() {
            block.terminator.replace(|value| self.get(value));
        }
        // The name in the source is copied to the replacement.
        for value in kernel.values.keys() {
            let by = self.get(value);
            if by != value && kernel.names[by].is_none() && kernel.constant(by).is_none() {
                kernel.names[by] = kernel.names[value].clone();
            }
        }
    }
}

/// Branches with a known target become jumps.
fn fold_terminators(kernel: &mut Kernel) -> bool {
    let mut changed = false;
    for block in kernel.blocks.keys() {
        let jump = match &kernel.blocks[block].terminator.kind {
            TerminatorKind::Branch { condition, then, otherwise } => match kernel.scalar_constant(*condition)
            {
                _ if then == otherwise => Some(then.clone()),
                Some(0) => Some(otherwise.clone()),
                Some(_) => Some(then.clone()),
                None => None,
            },
            TerminatorKind::Switch { selector, cases, default } => {
                if cases.iter().all(|case| case.1 == *default) {
                    Some(default.clone())
                } else {
                    kernel.scalar_constant(*selector).map(|bits| {
                        cases.iter().find(|case| case.0 == bits).map_or(default, |case| &case.1).clone()
                    })
                }
            }
            _ => None,
        };
        if let Some(call) = jump {
            kernel.blocks[block].terminator.kind = TerminatorKind::Jump(call);
            changed = true;
        }
    }
    changed
}

/// Empties unreachable blocks; `renumber` removes them.
fn drop_unreachable(kernel: &mut Kernel) -> bool {
    let cfg = Cfg::new(kernel);
    let mut changed = false;
    for block in kernel.blocks.keys() {
        let data = &mut kernel.blocks[block];
        let empty = data.insts.is_empty() && data.terminator.calls().is_empty();
        if !(cfg.is_reachable(block) || empty) {
            *data = BlockData::default();
            changed = true;
        }
    }
    changed
}

/// Bypasses blocks that only jump, unless that gives a block two edges to one target.
fn thread_empty_blocks(kernel: &mut Kernel) -> bool {
    let mut through: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    let mut any = false;
    for (block, data) in &kernel.blocks {
        if let TerminatorKind::Jump(call) = &data.terminator.kind
            && block != Kernel::ENTRY
            && data.insts.is_empty()
            && data.parameters.is_empty()
            && call.block != block
            && call.arguments.is_empty()
        {
            through[block] = Some(call.block);
            any = true;
        }
    }
    if !any {
        return false;
    }
    let mut changed = false;
    // The number of edges from a block to each other one, counting those that would bypass an empty block.
    let mut edges: HashMap<Block, u32> = HashMap::new();
    for block in kernel.blocks.keys() {
        let mut calls = kernel.blocks[block].terminator.calls_mut();
        if calls.iter().all(|call| through[call.block].is_none()) {
            continue;
        }
        edges.clear();
        for call in &calls {
            *edges.entry(call.block).or_default() += 1;
            if let Some(next) = through[call.block] {
                *edges.entry(next).or_default() += 1;
            }
        }
        for call in &mut calls {
            if let Some(next) = through[call.block]
                && next != block
                && edges[&next] == 1
            {
                **call = BlockCall::to(next);
                changed = true;
            }
        }
    }
    changed
}

/// Appends a block to its only predecessor if that only jumps to it.
fn join_blocks(kernel: &mut Kernel) -> bool {
    let mut edges: SecondaryMap<Block, u32> = SecondaryMap::new();
    for data in kernel.blocks.values() {
        for call in data.terminator.calls() {
            edges[call.block] += 1;
        }
    }
    let mut replacements = Replacements::default();
    let mut changed = false;
    for block in kernel.blocks.keys() {
        while let TerminatorKind::Jump(call) = &kernel.blocks[block].terminator.kind {
            let next = call.block;
            if next == block || next == Kernel::ENTRY || edges[next] != 1 {
                break;
            }
            let arguments = call.arguments.clone();
            let tail = std::mem::take(&mut kernel.blocks[next]);
            for (parameter, argument) in tail.parameters.iter().zip(arguments) {
                replacements.set(*parameter, argument);
            }
            kernel.blocks[block].insts.extend(tail.insts);
            kernel.blocks[block].terminator = tail.terminator;
            edges[next] = 0;
            changed = true;
        }
    }
    if changed {
        replacements.apply(kernel);
    }
    changed
}

/// Replaces block parameters that have the same value on every incoming edge.
fn drop_redundant_parameters(kernel: &mut Kernel) -> bool {
    let mut incoming: SecondaryMap<Value, Incoming> = SecondaryMap::new();
    for data in kernel.blocks.values() {
        for call in data.terminator.calls() {
            for (parameter, argument) in kernel.blocks[call.block].parameters.iter().zip(&call.arguments) {
                incoming[*parameter].meet(*parameter, *argument);
            }
        }
    }
    let mut replacements = Replacements::default();
    let mut changed = false;
    for block in kernel.blocks.keys() {
        if block == Kernel::ENTRY {
            continue;
        }
        for parameter in &kernel.blocks[block].parameters {
            if let Incoming::One(value) = incoming[*parameter]
                && replacements.get(value) != *parameter
            {
                replacements.set(*parameter, value);
                changed = true;
            }
        }
    }
    if changed {
        replacements.apply(kernel);
        let gone = |value: Value, replacements: &mut Replacements| replacements.get(value) != value;
        remove_parameters(kernel, |value| gone(value, &mut replacements));
    }
    changed
}

#[derive(Clone, Copy, Default)]
enum Incoming {
    #[default]
    None,
    One(Value),
    Several,
}

impl Incoming {
    fn meet(&mut self, parameter: Value, argument: Value) {
        *self = match *self {
            _ if argument == parameter => return,
            Self::None => Self::One(argument),
            Self::One(value) if value == argument => return,
            _ => Self::Several,
        };
    }
}

/// Removes parameters of all blocks except the entry, with their arguments.
fn remove_parameters(kernel: &mut Kernel, mut gone: impl FnMut(Value) -> bool) {
    let mut kept: SecondaryMap<Block, Option<Vec<bool>>> = SecondaryMap::new();
    for (block, data) in &mut kernel.blocks {
        if block == Kernel::ENTRY {
            continue;
        }
        let flags: Vec<bool> = data.parameters.iter().map(|value| !gone(*value)).collect();
        if flags.iter().all(|flag| *flag) {
            continue;
        }
        let mut flag = flags.iter();
        data.parameters.retain(|_| flag.next().copied().unwrap_or(true));
        kept[block] = Some(flags);
    }
    for data in kernel.blocks.values_mut() {
        for call in data.terminator.calls_mut() {
            if let Some(flags) = &kept[call.block] {
                let mut flag = flags.iter();
                call.arguments.retain(|_| flag.next().copied().unwrap_or(true));
            }
        }
    }
    for (block, data) in &kernel.blocks {
        for (position, value) in data.parameters.iter().enumerate() {
            kernel.values[*value].def = ValueDef::Parameter(block, position as u32);
        }
    }
}

/// Removes instructions without effect and unused parameters.
fn drop_dead(kernel: &mut Kernel, remove_dead_loads: bool) {
    let kept = |op: Op| match op {
        Op::Load(access) => !remove_dead_loads || access.volatile,
        Op::ImageSample(_) | Op::ImageRead { .. } => !remove_dead_loads,
        _ => !op.is_pure(),
    };
    let mut live: SecondaryMap<Value, bool> = SecondaryMap::new();
    let mut work: Vec<Value> = Vec::new();
    // Arguments of each parameter, to be marked when the parameter is.
    let mut arguments: SecondaryMap<Value, Vec<Value>> = SecondaryMap::new();
    for data in kernel.blocks.values() {
        for inst in &data.insts {
            let inst = &kernel.insts[*inst];
            if kept(inst.op) {
                work.extend(&inst.operands);
            }
        }
        work.extend(data.terminator.decider());
        for call in data.terminator.calls() {
            for (parameter, argument) in kernel.blocks[call.block].parameters.iter().zip(&call.arguments) {
                arguments[*parameter].push(*argument);
            }
        }
    }
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut live[value], true) {
            continue;
        }
        match &kernel.values[value].def {
            ValueDef::Result(inst) => work.extend(&kernel.insts[*inst].operands),
            ValueDef::Parameter(..) => work.append(&mut arguments[value]),
            ValueDef::Constant(_) => {}
        }
    }
    let insts = &kernel.insts;
    for data in kernel.blocks.values_mut() {
        data.insts.retain(|inst| {
            let inst = &insts[*inst];
            kept(inst.op) || inst.result.is_some_and(|value| live[value])
        });
    }
    remove_parameters(kernel, |value| !live[value]);
}

/// Rebuilds the kernel: only what is reachable and used, in reverse postorder.
fn renumber(kernel: &mut Kernel) {
    let cfg = Cfg::new(kernel);
    let mut old = std::mem::take(kernel);
    let mut new = Kernel {
        name: old.name,
        parameters: old.parameters,
        required_local_size: old.required_local_size,
        local_size_hint: old.local_size_hint,
        vector_hint: old.vector_hint,
        required_sub_group_size: old.required_sub_group_size,
        required_sub_group_share: old.required_sub_group_share,
        ..Kernel::default()
    };
    let mut values: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let mut locations: HashMap<Location, Location> = HashMap::new();
    let mut objects = SecondaryMap::new();
    let mut formats: HashMap<u32, u32> = HashMap::new();
    let keep_object = |old: &mut PrimaryMap<crate::Object, crate::ObjectData>,
                       new: &mut Kernel,
                       objects: &mut SecondaryMap<crate::Object, Option<crate::Object>>,
                       object: crate::Object| {
        *objects[object].get_or_insert_with(|| new.objects.push(old[object].clone()))
    };
    for parameter in &mut new.parameters.clone() {
        if let ParameterKind::Struct { object } = parameter.kind {
            keep_object(&mut old.objects, &mut new, &mut objects, object);
        }
    }
    for parameter in &mut new.parameters {
        if let ParameterKind::Struct { object } = &mut parameter.kind
            && let Some(kept) = objects[*object]
        {
            *object = kept;
        }
    }
    // First blocks, parameters and results in order; then operands, which may be from later blocks.
    for block in &cfg.order {
        let data = &old.blocks[*block];
        let number = new.blocks.push(BlockData::default());
        for value in &data.parameters {
            let ty = old.values[*value].ty;
            let kept = new.add_parameter(number, ty);
            new.names[kept].clone_from(&old.names[*value]);
            values[*value] = Some(kept);
        }
        for inst in &data.insts {
            let inst = &old.insts[*inst];
            let location = inst
                .location
                .map(|location| keep_location(&old.locations, &mut new.locations, &mut locations, location));
            let op = match inst.op {
                Op::ObjectAddress(object) => {
                    Op::ObjectAddress(keep_object(&mut old.objects, &mut new, &mut objects, object))
                }
                Op::LifetimeStart(object) => {
                    Op::LifetimeStart(keep_object(&mut old.objects, &mut new, &mut objects, object))
                }
                Op::LifetimeEnd(object) => {
                    Op::LifetimeEnd(keep_object(&mut old.objects, &mut new, &mut objects, object))
                }
                Op::Printf(format) => Op::Printf(*formats.entry(format).or_insert_with(|| {
                    new.formats.push(old.formats[format as usize].clone());
                    new.formats.len() as u32 - 1
                })),
                op => op,
            };
            let made =
                new.make_inst(op, &inst.operands, inst.result.map(|value| old.values[value].ty), location);
            new.insts[made].flags = inst.flags;
            if let (Some(before), Some(after)) = (inst.result, new.insts[made].result) {
                new.names[after].clone_from(&old.names[before]);
                values[before] = Some(after);
            }
            new.blocks[number].insts.push(made);
        }
    }
    let mut map = |value: Value, new: &mut Kernel| {
        if let Some(known) = values[value] {
            return known;
        }
        let ValueData { ty, def } = &old.values[value];
        let lanes: &[u64] = match def {
            ValueDef::Constant(lanes) => lanes,
            _ => &[],
        };
        let made = new.make_constant(*ty, lanes);
        values[value] = Some(made);
        made
    };
    let numbers: HashMap<Block, Block> = cfg.order.iter().copied().zip(new.blocks.keys()).collect();
    for block in &cfg.order {
        let number = numbers[block];
        for inst in new.blocks[number].insts.clone() {
            let before = new.insts[inst].operands.clone();
            let operands = before.into_iter().map(|value| map(value, &mut new)).collect();
            new.insts[inst].operands = operands;
        }
        let Terminator { mut kind, location } = std::mem::take(&mut old.blocks[*block].terminator);
        let location = location
            .map(|location| keep_location(&old.locations, &mut new.locations, &mut locations, location));
        let mut terminator = Terminator { kind: std::mem::take(&mut kind), location };
        for call in terminator.calls_mut() {
            call.block = numbers[&call.block];
        }
        terminator.replace(|value| map(value, &mut new));
        new.blocks[number].terminator = terminator;
    }
    *kernel = new;
}

fn keep_location(
    old: &PrimaryMap<Location, LocationData>,
    new: &mut PrimaryMap<Location, LocationData>,
    known: &mut HashMap<Location, Location>,
    location: Location,
) -> Location {
    // The chain of calls is stored outermost first, so that a location always comes after the one it was inlined at.
    let mut chain = vec![location];
    while let Some(outer) = old[chain[chain.len() - 1]].inlined_at {
        chain.push(outer);
    }
    let mut kept = None;
    for location in chain.into_iter().rev() {
        kept = Some(
            *known
                .entry(location)
                .or_insert_with(|| new.push(LocationData { inlined_at: kept, ..old[location] })),
        );
    }
    kept.unwrap_or(location)
}
