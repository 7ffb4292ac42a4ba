//! The variables that can be promoted.

use std::collections::{BTreeMap, HashMap};

use cranelift_entity::SecondaryMap;

use crate::flow::Cfg;
use crate::transform::copies::resolve;
use crate::{Block, Initial, Kernel, Object, Op, Space, Type, Value};

/// For each object that can be promoted: the types by offset.
pub(super) type Keys = SecondaryMap<Object, Option<BTreeMap<u64, Type>>>;

pub(super) fn candidates(kernel: &Kernel) -> Keys {
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
fn root(kernel: &Kernel, pointer: Value) -> Option<Object> {
    match kernel.insts[kernel.defining(kernel.pointer_base(pointer))?].op {
        Op::ObjectAddress(object) => Some(object),
        _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::AccessAttributes;
    use crate::{BlockCall, BlockData, ObjectData, TerminatorKind, TypeLayout};

    /// This many consecutive scopes, each with a branch and a variable of its own, like inlined functions; with
    /// `outlived`, the last variable is also read after its scope.
    fn scopes(count: usize, outlived: bool) -> Kernel {
        let mut kernel = Kernel::default();
        let mut block = kernel.blocks.push(BlockData::default());
        let access = AccessAttributes { align: 4, volatile: false, vector_builtin: false };
        let condition = kernel.add_parameter(block, Type::BOOL);
        let mut last = None;
        for _ in 0..count {
            let object = kernel.objects.push(ObjectData {
                name: String::new(),
                space: Space::Private,
                align: 4,
                layout: TypeLayout::Value(Type::I32),
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
    fn only_variables_that_outlive_their_scope_stay_in_memory() {
        assert_eq!(kept(&scopes(3, false)).1, [false; 3]);
        assert_eq!(kept(&scopes(3, true)).1, [false, false, true]);
    }

    /// If every scope's end were followed to the end of the kernel, the visits would quadruple.
    #[test]
    fn work_is_linear_in_the_number_of_scopes() {
        let (once, twice) = (kept(&scopes(200, false)).0, kept(&scopes(400, false)).0);
        assert!(once > 200 && twice <= 2 * once, "{once} and {twice} blocks");
    }
}
