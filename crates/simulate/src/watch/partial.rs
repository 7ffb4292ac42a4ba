//! Partial stores: a component of a vector, a bit field.
//!
//! The source writes a part and reads nothing; the compiler loads the whole value to put the rest back. Such a load
//! is recognised by the use of its value: it is stored at the same address, with every retained bit at its original
//! position.

use std::collections::HashMap;

use tripipe_ir::op::Binary;
use tripipe_ir::{Block, Inst, Kernel, Op, Value, ValueDef};

/// The loads and stores of a kernel that belong to partial writes.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    /// The loads, with the stores that they belong to.
    loads: HashMap<Inst, Inst>,
    /// The stores, with one bit for each byte that is put back, entirely or in part.
    stores: HashMap<Inst, u128>,
}

impl Partial {
    pub(crate) fn of(kernel: &Kernel) -> Self {
        let mut users: HashMap<Value, Vec<(Block, Inst)>> = HashMap::new();
        let mut handed_on: Vec<Value> = Vec::new();
        for (block, data) in &kernel.blocks {
            for inst in &data.insts {
                for operand in &kernel.insts[*inst].operands {
                    users.entry(*operand).or_default().push((block, *inst));
                }
            }
            handed_on.extend(data.terminator.uses());
        }
        for value in handed_on {
            // Uses of values that are passed to other blocks are not tracked.
            users.remove(&value);
        }
        let mut partial = Self::default();
        for (block, data) in &kernel.blocks {
            for load in data.insts.iter().filter(|inst| matches!(kernel.insts[**inst].op, Op::Load(_))) {
                if let Some((store, kept)) = put_back(kernel, &users, block, *load) {
                    partial.loads.insert(*load, store);
                    *partial.stores.entry(store).or_default() |= kept;
                }
            }
        }
        partial
    }

    /// Whether a load only fetches bytes that are put back.
    pub(crate) fn is_load(&self, inst: Inst) -> bool {
        self.loads.contains_key(&inst)
    }

    /// The bytes that a store puts back, one bit for each.
    pub(crate) fn put_back(&self, inst: Inst) -> u128 {
        self.stores.get(&inst).copied().unwrap_or(0)
    }
}

/// The store that puts a load's value back at its address, and the bytes concerned; `None` if the value has any other
/// use.
fn put_back(
    kernel: &Kernel,
    users: &HashMap<Value, Vec<(Block, Inst)>>,
    block: Block,
    load: Inst,
) -> Option<(Inst, u128)> {
    let data = &kernel.insts[load];
    let (place, loaded) = (*data.operands.first()?, data.result?);
    let ty = kernel.ty(loaded);
    let component = ty.scalar()?.bytes();
    // For each component of a value, whether it is still the loaded one.
    let mut work: Vec<(Value, Vec<bool>)> = vec![(loaded, vec![true; usize::from(ty.lanes())])];
    let mut store = None;
    while let Some((value, old)) = work.pop() {
        for (at, user) in users.get(&value)? {
            let inst = &kernel.insts[*user];
            let only = |index: usize| {
                inst.operands.iter().enumerate().all(|(other, operand)| other == index || *operand != value)
            };
            let kept: Vec<bool> = match inst.op {
                Op::Insert(lane) if only(0) => {
                    let mut kept = old.clone();
                    *kept.get_mut(usize::from(lane))? = false;
                    kept
                }
                Op::Shuffle(mask) => {
                    let first = usize::from(kernel.ty(inst.operands[0]).lanes());
                    let from = |lane: u8| {
                        let lane = usize::from(lane);
                        if lane < first { (inst.operands[0], lane) } else { (inst.operands[1], lane - first) }
                    };
                    let mut kept = Vec::new();
                    for (lane, picked) in mask.lanes().enumerate() {
                        let taken = picked.map(from).filter(|(vector, from)| *vector == value && old[*from]);
                        // A component that moves counts as read.
                        if taken.is_some_and(|(_, from)| from != lane) {
                            return None;
                        }
                        kept.push(taken.is_some());
                    }
                    kept
                }
                Op::Binary(Binary::And) if is_constant(kernel, &inst.operands) => old.clone(),
                Op::Binary(Binary::Or) => old.clone(),
                Op::Store(_) if *at == block && inst.operands[0] == place && only(1) => {
                    if store.is_some_and(|(store, _)| store != *user) {
                        return None;
                    }
                    let bytes =
                        old.iter().enumerate().filter(|(_, old)| **old).fold(0u128, |all, (lane, _)| {
                            all | ((1 << component) - 1) << (lane as u32 * component)
                        });
                    store = Some((*user, bytes | store.map_or(0, |(_, kept)| kept)));
                    continue;
                }
                _ => return None,
            };
            // A value that is stored exactly as loaded was read in order to be stored.
            let result = inst.result?;
            if kernel.ty(result) != ty {
                return None;
            }
            work.push((result, kept));
        }
    }
    let (store, kept) = store?;
    (kernel.insts[store].operands[1] != loaded).then_some((store, kept))
}

fn is_constant(kernel: &Kernel, operands: &[Value]) -> bool {
    operands.iter().any(|operand| matches!(kernel.values[*operand].def, ValueDef::Constant(_)))
}
