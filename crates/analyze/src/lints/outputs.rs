//! Which outputs a work-item computes.

use cranelift_entity::EntitySet;
use tripipe_ir::flow::{Atom, MemoryFact};
use tripipe_ir::op::QueryKind;
use tripipe_ir::{Kernel, Op, Value, ValueDef};
use tripipe_machine::Pipe;

use super::context::Context;
use crate::ASSUMED_TRIPS;

/// Bytes of the widest load or store.
pub(super) const WORD: i64 = 16;

/// How an address depends on the ids of a work-item.
#[derive(Clone, Debug, Default)]
pub(super) struct Movement {
    /// Bytes from one work-item to the next in each dimension.
    pub(super) bytes: [i64; 3],
    /// Dimensions in which the distance is not a constant.
    pub(super) unknown: [bool; 3],
}

impl Movement {
    /// Whether the address differs between work-items of a dimension.
    pub(super) fn depends(&self, dimension: usize) -> bool {
        self.bytes[dimension] != 0 || self.unknown[dimension]
    }

    /// How the address of an access depends on the ids.
    pub(super) fn of(context: &Context<'_>, fact: &MemoryFact) -> Self {
        let mut movement = Self::default();
        for (atom, factor) in &fact.offset.terms {
            match atom {
                Atom::Query(QueryKind::GlobalId, dimension) => {
                    movement.bytes[usize::from((*dimension).min(2))] += factor;
                }
                Atom::Query(kind, dimension) => ids_of_query(*kind, *dimension, &mut movement.unknown),
                Atom::Value(value) => {
                    ids_of(context.kernel, *value, &mut EntitySet::new(), &mut movement.unknown);
                }
            }
        }
        movement
    }
}

/// Marks the dimensions of the ids that a value depends on.
fn ids_of(kernel: &Kernel, value: Value, seen: &mut EntitySet<Value>, found: &mut [bool; 3]) {
    if !seen.insert(value) {
        return;
    }
    match kernel.values[value].def {
        ValueDef::Constant(_) | ValueDef::Parameter(Kernel::ENTRY, _) => {}
        ValueDef::Parameter(..) => {
            for from in passed(kernel, value) {
                ids_of(kernel, from, seen, found);
            }
        }
        ValueDef::Result(inst) => {
            let data = &kernel.insts[inst];
            if let Op::Query(query) = data.op {
                ids_of_query(query.kind, query.dimension, found);
            }
            for operand in &data.operands {
                ids_of(kernel, *operand, seen, found);
            }
        }
    }
}

fn ids_of_query(kind: QueryKind, dimension: u8, found: &mut [bool; 3]) {
    use QueryKind as Q;
    match kind {
        Q::GlobalId | Q::LocalId | Q::GroupId => found[usize::from(dimension.min(2))] = true,
        Q::GlobalSize | Q::GlobalOffset | Q::LocalSize | Q::EnqueuedLocalSize | Q::NumGroups | Q::WorkDim => {
        }
        _ => *found = [true; 3],
    }
}

/// The values that a block's parameter can have: those that its predecessors pass.
fn passed(kernel: &Kernel, parameter: Value) -> Vec<Value> {
    let ValueDef::Parameter(block, position) = kernel.values[parameter].def else { return Vec::new() };
    let calls = kernel.blocks.values().flat_map(|from| from.terminator.calls());
    let calls = calls.filter(|call| call.block == block);
    calls.filter_map(|call| call.arguments.get(position as usize).copied()).collect()
}

/// Whether work-items of a group depend on each other, so that they cannot be merged freely.
pub(super) fn work_in_groups(context: &Context<'_>) -> bool {
    let mut insts = context.instructions();
    insts.any(|(_, inst)| {
        matches!(
            context.kernel.insts[inst].op,
            Op::Barrier { .. } | Op::Atomic(_) | Op::AsyncCopy { .. } | Op::Group(_)
        )
    })
}

/// The share of lanes that compute nothing, along the longest path.
pub(super) fn idle(context: &Context<'_>) -> f64 {
    let (mut lanes, mut room) = (0.0, 0.0);
    for share in context.shares.iter().filter(|share| is_arithmetic(share.pipe)) {
        let weight = (context.weight)(share.block).evaluate(ASSUMED_TRIPS);
        lanes += weight * f64::from(share.lanes);
        room += weight * f64::from(share.room);
    }
    if room > 0.0 { 1.0 - lanes / room } else { 0.0 }
}

fn is_arithmetic(pipe: Pipe) -> bool {
    !matches!(pipe, Pipe::LoadStore | Pipe::Texture)
}
