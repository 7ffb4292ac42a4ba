//! Private variables that are only read and written as a whole become values.
//!
//! A variable is promoted when every use of its address is a (non-volatile) load or store at a constant offset inside
//! it during its lifetime, and the accesses form slots that do not overlap. Reading a slot before it is written gives
//! [`Op::Undefined`], with the location of the declaration and the variable's name. The join points are the iterated
//! dominance frontier (Cytron et al., "Efficiently computing static single assignment form"), where the slot is live.

use std::collections::{BTreeMap, HashMap};

use cranelift_entity::SecondaryMap;

use super::clean::Replacements;
use super::copies::resolve;
use crate::flow::{Cfg, Dominators};
use crate::{Block, Initial, Inst, Kernel, Object, Op, Place, Space, Type, Value, ValueDef};

/// A part of a variable that is read and written as a whole.
struct Slot {
    object: Object,
    ty: Type,
    /// The blocks that write it or make it undefined.
    defs: Vec<Block>,
    /// The blocks that read it before they write it.
    exposed: Vec<Block>,
}

/// The effect of an instruction on slots.
#[derive(Clone, Copy)]
enum Act {
    Read(usize),
    Write(usize),
    Start,
    Gone,
}

/// Promotes all variables that can be promoted.
pub fn run(kernel: &mut Kernel) {
    let keys = candidates(kernel);
    let (mut slots, by_object, by_key) = slots(kernel, &keys);
    if by_object.values().all(Option::is_none) {
        return;
    }
    let cfg = Cfg::new(kernel);
    let dominators = Dominators::new(&cfg);
    let acts = acts(kernel, &by_object, &by_key, &mut slots);
    let parameters = join(kernel, &cfg, &dominators, &slots);
    rename(kernel, &cfg, &dominators, &slots, &by_object, &acts, &parameters);
}

/// For each object that can be promoted: the types by offset.
type Keys = SecondaryMap<Object, Option<BTreeMap<u64, Type>>>;

fn candidates(kernel: &Kernel) -> Keys {
    let mut keys: Keys = SecondaryMap::new();
    for (object, data) in &kernel.objects {
        if data.space == Space::Private && data.initial == Initial::Unwritten {
            keys[object] = Some(BTreeMap::new());
        }
    }
    // Any other use of an address than those below keeps the object in memory.
    let escape = |keys: &mut Keys, value: Value| {
        if kernel.ty(value).is_pointer()
            && let Some(object) = root(kernel, value)
        {
            keys[object] = None;
        }
    };
    for block in kernel.blocks.values() {
        for inst in &block.insts {
            let inst = &kernel.insts[*inst];
            match (inst.op, &inst.operands[..]) {
                (Op::Load(access) | Op::Store(access), [pointer, rest @ ..]) => {
                    if let Some(value) = rest.first() {
                        escape(&mut keys, *value);
                    }
                    let ty = kernel.ty(rest.first().copied().or(inst.result).unwrap_or(*pointer));
                    match resolve(kernel, *pointer) {
                        Some((object, offset)) if !access.volatile => {
                            note(kernel, &mut keys, object, offset, ty);
                        }
                        _ => escape(&mut keys, *pointer),
                    }
                }
                (Op::Address(address), [base]) if address.stride == 0 => {
                    // Its uses decide; an unknown base does not belong to an object.
                    let _ = base;
                }
                (Op::SpaceCast { checked: false }, _) => {}
                _ => inst.operands.iter().for_each(|value| escape(&mut keys, *value)),
            }
        }
        block.terminator.uses().for_each(|value| escape(&mut keys, value));
    }
    keep_outlived(kernel, &mut keys);
    keys
}

/// Whether an object is live after a block that starts or ends its lifetime.
type Lives = HashMap<Block, bool>;

/// Keeps objects in memory that may be accessed after their lifetime: as values, such an access would not be detected.
///
/// Each object is followed back from its accesses to the start of its lifetime, so that only the blocks in which it is
/// live are visited. Returns the number of these blocks.
fn keep_outlived(kernel: &Kernel, keys: &mut Keys) -> usize {
    let mut lives: SecondaryMap<Object, Lives> = SecondaryMap::new();
    // Blocks that access an object before they start or end its lifetime.
    let mut exposed: SecondaryMap<Object, Vec<Block>> = SecondaryMap::new();
    for (block, data) in &kernel.blocks {
        for inst in &data.insts {
            let inst = &kernel.insts[*inst];
            match inst.op {
                Op::LifetimeStart(object) => drop(lives[object].insert(block, true)),
                Op::LifetimeEnd(object) => drop(lives[object].insert(block, false)),
                Op::Load(_) | Op::Store(_) => {
                    if let Some((object, _)) = resolve(kernel, inst.operands[0])
                        && keys[object].is_some()
                    {
                        match lives[object].get(&block) {
                            Some(false) => keys[object] = None,
                            None if exposed[object].last() != Some(&block) => exposed[object].push(block),
                            Some(true) | None => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }
    let cfg = Cfg::new(kernel);
    let mut seen: SecondaryMap<Block, Option<Object>> = SecondaryMap::new();
    let mut visits = 0;
    for object in kernel.objects.keys() {
        let (lives, mut work) = (&lives[object], std::mem::take(&mut exposed[object]));
        if keys[object].is_none() || lives.values().all(|lives| *lives) {
            continue;
        }
        while let Some(block) = work.pop() {
            if seen[block].replace(object) == Some(object) {
                continue;
            }
            visits += 1;
            for from in &cfg.predecessors[block] {
                match lives.get(from) {
                    Some(true) => {}
                    Some(false) => keys[object] = None,
                    None => work.push(*from),
                }
            }
        }
    }
    visits
}

/// The object that an address is derived from, through any arithmetic.
fn root(kernel: &Kernel, mut pointer: Value) -> Option<Object> {
    loop {
        let inst = &kernel.insts[kernel.defining(pointer)?];
        match inst.op {
            Op::ObjectAddress(object) => return Some(object),
            Op::Address(_) | Op::SpaceCast { .. } => pointer = *inst.operands.first()?,
            _ => return None,
        }
    }
}

fn note(kernel: &Kernel, keys: &mut Keys, object: Object, offset: i64, ty: Type) {
    let Some(map) = &mut keys[object] else { return };
    let inside = u64::try_from(offset)
        .ok()
        .filter(|offset| offset + u64::from(ty.bytes()) <= kernel.objects[object].bytes());
    let fits = inside.is_some_and(|offset| {
        let own = map.entry(offset).or_insert(ty);
        let same = *own == ty || (own.bytes() == ty.bytes() && castable(*own) && castable(ty));
        let end = offset + u64::from(ty.bytes());
        let after = map.range(offset + 1..).next().is_none_or(|next| *next.0 >= end);
        let before =
            map.range(..offset).next_back().is_none_or(|(start, ty)| start + u64::from(ty.bytes()) <= offset);
        same && after && before
    });
    if !fits {
        keys[object] = None;
    }
}

/// Whether a value can be reinterpreted as another type of the same size.
fn castable(ty: Type) -> bool {
    ty.scalar().is_some() && !ty.is_bool()
}

/// First slot of each promoted object, and the end of its slots.
type ByObject = SecondaryMap<Object, Option<(usize, usize)>>;
/// A block on the way down the dominator tree, its next child, and the values to restore when it is left.
type Step = (Block, usize, Vec<(usize, Option<Value>)>);
type ByKey = BTreeMap<(Object, u64), usize>;

fn slots(kernel: &Kernel, keys: &Keys) -> (Vec<Slot>, ByObject, ByKey) {
    let mut slots = Vec::new();
    let mut by_object: ByObject = SecondaryMap::new();
    let mut by_key = BTreeMap::new();
    for object in kernel.objects.keys() {
        let Some(map) = &keys[object] else { continue };
        let first = slots.len();
        for (offset, ty) in map {
            by_key.insert((object, *offset), slots.len());
            slots.push(Slot { object, ty: *ty, defs: Vec::new(), exposed: Vec::new() });
        }
        by_object[object] = Some((first, slots.len()));
    }
    (slots, by_object, by_key)
}

/// The effect of each instruction, and the blocks where slots are defined and read.
fn acts(
    kernel: &Kernel,
    by_object: &ByObject,
    by_key: &ByKey,
    slots: &mut [Slot],
) -> SecondaryMap<Inst, Option<Act>> {
    let mut acts = SecondaryMap::new();
    let mut written = vec![None; slots.len()];
    for (block, data) in &kernel.blocks {
        let mut define = |slots: &mut [Slot], slot: usize| {
            if written[slot] != Some(block) {
                written[slot] = Some(block);
                slots[slot].defs.push(block);
            }
        };
        let mut reads = Vec::new();
        for inst in &data.insts {
            let op = kernel.insts[*inst].op;
            let operands = &kernel.insts[*inst].operands;
            let slot = |pointer: Value| {
                let (object, offset) = resolve(kernel, pointer)?;
                by_object[object]?;
                by_key.get(&(object, u64::try_from(offset).ok()?)).copied()
            };
            acts[*inst] = match op {
                Op::Load(_) => slot(operands[0]).map(Act::Read),
                Op::Store(_) => slot(operands[0]).map(Act::Write),
                Op::LifetimeStart(object) => by_object[object].map(|_| Act::Start),
                Op::LifetimeEnd(object) => by_object[object].map(|_| Act::Gone),
                _ => None,
            };
            match acts[*inst] {
                Some(Act::Read(slot)) if !slots[slot].defs.ends_with(&[block]) => reads.push(slot),
                Some(Act::Write(slot)) => define(slots, slot),
                Some(Act::Start) => {
                    if let Op::LifetimeStart(object) = op
                        && let Some((first, end)) = by_object[object]
                    {
                        (first..end).for_each(|slot| define(slots, slot));
                    }
                }
                _ => {}
            }
        }
        for slot in reads {
            slots[slot].exposed.push(block);
        }
    }
    acts
}

/// Adds a block parameter wherever several values of a slot join and one is read later.
fn join(
    kernel: &mut Kernel,
    cfg: &Cfg,
    dominators: &Dominators,
    slots: &[Slot],
) -> SecondaryMap<Block, Vec<(usize, Value)>> {
    let frontiers = dominators.frontiers(cfg);
    let mut parameters: SecondaryMap<Block, Vec<(usize, Value)>> = SecondaryMap::new();
    let mut live: SecondaryMap<Block, usize> = SecondaryMap::new();
    let mut placed: SecondaryMap<Block, usize> = SecondaryMap::new();
    let mut defined: SecondaryMap<Block, usize> = SecondaryMap::new();
    for (number, slot) in slots.iter().enumerate() {
        let mark = number + 1;
        slot.defs.iter().for_each(|block| defined[*block] = mark);
        // The blocks from which the slot is read before it is written.
        let mut work = slot.exposed.clone();
        while let Some(block) = work.pop() {
            if std::mem::replace(&mut live[block], mark) != mark {
                work.extend(cfg.predecessors[block].iter().filter(|from| defined[**from] != mark));
            }
        }
        let mut work = slot.defs.clone();
        while let Some(block) = work.pop() {
            for join in &frontiers[block] {
                if live[*join] == mark && std::mem::replace(&mut placed[*join], mark) != mark {
                    let value = kernel.add_parameter(*join, slot.ty);
                    kernel.names[value] = name(kernel, slot.object);
                    parameters[*join].push((number, value));
                    work.push(*join);
                }
            }
        }
    }
    parameters
}

fn name(kernel: &Kernel, object: Object) -> Option<std::sync::Arc<str>> {
    let name = &kernel.objects[object].name;
    let name = name.strip_suffix(".addr").unwrap_or(name);
    (!name.is_empty()).then(|| name.into())
}

/// Replaces loads by the current values, walking down the dominator tree.
fn rename(
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
    fn undefined(kernel: &mut Kernel, slot: &Slot, place: Option<Place>) -> Inst {
        let inst = kernel.make_inst(Op::Undefined, &[], Some(slot.ty), place);
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
            let place = kernel.insts[inst].place;
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
                        let cast = kernel.make_inst(Op::Bitcast, &[value], Some(slots[number].ty), place);
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
                        let made = Self::undefined(kernel, slot, place);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Access;
    use crate::{BlockCall, BlockData, Layout, ObjectData, TerminatorKind};

    /// This many consecutive scopes, each with a branch and a variable of its own, like inlined functions; with
    /// `outlived`, the last variable is also read after its scope.
    fn scopes(count: usize, outlived: bool) -> Kernel {
        let mut kernel = Kernel::default();
        let mut block = kernel.blocks.push(BlockData::default());
        let access = Access { align: 4, volatile: false, vector_builtin: false };
        let condition = kernel.add_parameter(block, Type::BOOL);
        let mut last = None;
        for _ in 0..count {
            let object = kernel.objects.push(ObjectData {
                name: String::new(),
                space: Space::Private,
                align: 4,
                layout: Layout::Value(Type::I32),
                initial: Initial::Unwritten,
            });
            let put = |kernel: &mut Kernel, block: Block, op: Op, operands: &[Value], ty: Option<Type>| {
                let inst = kernel.make_inst(op, operands, ty, None);
                kernel.blocks[block].insts.push(inst);
                kernel.insts[inst].result
            };
            let [then, otherwise, join, next] = [(); 4].map(|()| kernel.blocks.push(BlockData::default()));
            put(&mut kernel, block, Op::LifetimeStart(object), &[], None);
            let pointer = Some(Type::Pointer(Space::Private));
            let address = put(&mut kernel, block, Op::ObjectAddress(object), &[], pointer).unwrap();
            let one = kernel.make_constant(Type::I32, &[1]);
            put(&mut kernel, block, Op::Store(access), &[address, one], None);
            put(&mut kernel, then, Op::Load(access), &[address], Some(Type::I32));
            put(&mut kernel, join, Op::Load(access), &[address], Some(Type::I32));
            put(&mut kernel, join, Op::LifetimeEnd(object), &[], None);
            kernel.blocks[block].terminator.kind = TerminatorKind::Branch {
                condition,
                then: BlockCall::to(then),
                otherwise: BlockCall::to(otherwise),
            };
            for (from, to) in [(then, join), (otherwise, join), (join, next)] {
                kernel.blocks[from].terminator.kind = TerminatorKind::Jump(BlockCall::to(to));
            }
            block = next;
            last = Some(address);
        }
        if let Some(address) = last.filter(|_| outlived) {
            let inst = kernel.make_inst(Op::Load(access), &[address], Some(Type::I32), None);
            kernel.blocks[block].insts.push(inst);
        }
        kernel.blocks[block].terminator.kind = TerminatorKind::Return;
        kernel
    }

    fn kept(kernel: &Kernel) -> (usize, Vec<bool>) {
        let mut keys: Keys = SecondaryMap::new();
        kernel.objects.keys().for_each(|object| keys[object] = Some(BTreeMap::new()));
        let visits = keep_outlived(kernel, &mut keys);
        (visits, kernel.objects.keys().map(|object| keys[object].is_none()).collect())
    }

    #[test]
    fn only_what_outlives_its_scope_stays_in_memory() {
        assert_eq!(kept(&scopes(3, false)).1, [false; 3]);
        assert_eq!(kept(&scopes(3, true)).1, [false, false, true]);
    }

    /// If every scope's end were followed to the end of the kernel, the visits would quadruple.
    #[test]
    fn twice_as_many_scopes_take_twice_the_work() {
        let (once, twice) = (kept(&scopes(200, false)).0, kept(&scopes(400, false)).0);
        assert!(once > 200 && twice <= 2 * once, "{once} and {twice} blocks");
    }
}
