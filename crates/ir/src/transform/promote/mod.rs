//! Private variables that are only read and written as a whole become values.
//!
//! A variable is promoted when every use of its address is a (non-volatile) load or store at a constant offset inside
//! it during its lifetime, and the accesses form slots that do not overlap. Reading a slot before it is written gives
//! [`Op::Undefined`], with the location of the declaration and the variable's name. The join points are the iterated
//! dominance frontier (Cytron et al., "Efficiently computing static single assignment form"), where the slot is live.

mod candidates;
mod rename;

use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;

use self::candidates::{Keys, candidates};
use self::rename::rename;
use super::copies::resolve;
use crate::flow::{Cfg, Dominators};
use crate::{Block, Inst, Kernel, Object, Op, Type, Value};

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

/// First slot of each promoted object, and the end of its slots.
type ByObject = SecondaryMap<Object, Option<(usize, usize)>>;
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
