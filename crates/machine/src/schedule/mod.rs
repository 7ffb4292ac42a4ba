//! Scheduling of operations into words.
//!
//! A block is scheduled in two passes. The first finds an order, from the end backwards: it always takes the operation
//! that frees the most registers, with a few loads ahead of their use. The second fills words in that order: the next
//! operation starts a word, and operations soon after it join it while slots are free and their operands are ready.

mod backwards;

use std::collections::HashMap;

use cranelift_entity::PrimaryMap;
use smallvec::{SmallVec, smallvec};

use crate::code::{Issue, Operation, Register, RegisterData};
use crate::model::{Model, Pipe};
use crate::work::Work;
use backwards::Backwards;

/// Number of operations after the next one that may join its word.
const WINDOW: usize = 24;

/// Schedules the operations of a block into words. `live_out` lists the registers needed after the block, `most_bits`
/// is the total size of all registers. If more are live, the block is scheduled again: without loads ahead of their
/// use, then with fewer registers, so that less is computed early, then in the order of the source. The schedule with
/// the fewest live registers counts.
pub(crate) fn schedule(
    model: &Model,
    registers: &PrimaryMap<Register, RegisterData>,
    live_out: &[Register],
    most_bits: u32,
    operations: &[Operation],
) -> Vec<Issue> {
    let local = Local::new(operations, registers, live_out);
    let graph = Graph::new(operations, &local);
    let packed = |most_bits: u32, order: &[usize]| {
        Packer::new(model, &local, &graph, most_bits, operations).pack(order)
    };
    let ordered = |most_bits: u32, ahead_bits: u32| {
        graph.order(operations, &local, most_bits, ahead_bits, model.layout.ahead_in_memory)
    };
    let mut best = packed(most_bits, &ordered(most_bits, model.layout.load_ahead_bits));
    for again in 0..3 {
        let excess = best.1.saturating_sub(most_bits);
        if excess == 0 {
            break;
        }
        let fewer = most_bits.saturating_sub(excess);
        let other = match again {
            0 => packed(most_bits, &ordered(most_bits, 0)),
            1 => packed(fewer, &ordered(fewer, 0)),
            _ => packed(fewer, &(0..operations.len()).collect::<Vec<_>>()),
        };
        if other.1 < best.1 {
            best = other;
        }
    }
    best.0
}

/// The registers of a block, renumbered, so that the arrays are as long as the block's registers, not the kernel's.
struct Local {
    /// Registers that each operation reads.
    reads: Vec<SmallVec<[usize; 4]>>,
    writes: Vec<SmallVec<[usize; 4]>>,
    bits: Vec<u32>,
    /// Whether each register is needed after the block.
    live_out: Vec<bool>,
    /// Bits of the registers that are needed after the block and that it does not touch.
    live_past: u32,
}

impl Local {
    fn new(
        operations: &[Operation],
        registers: &PrimaryMap<Register, RegisterData>,
        live_out: &[Register],
    ) -> Self {
        let mut numbers: HashMap<Register, usize> = HashMap::new();
        let mut bits = Vec::new();
        let mut number = |register: &Register| {
            *numbers.entry(*register).or_insert_with(|| {
                bits.push(registers[*register].bits);
                bits.len() - 1
            })
        };
        let reads = operations.iter().map(|operation| operation.reads.iter().map(&mut number).collect());
        let reads = reads.collect();
        let writes = operations.iter().map(|operation| operation.writes.iter().map(&mut number).collect());
        let writes = writes.collect();
        let mut live = vec![false; bits.len()];
        let mut live_past = 0;
        for register in live_out {
            match numbers.get(register) {
                Some(number) => live[*number] = true,
                None => live_past += registers[*register].bits,
            }
        }
        Self { reads, writes, bits, live_out: live, live_past }
    }
}

/// A word with one operation, on the first of its units.
pub(crate) fn alone(model: &Model, mut operation: Operation) -> Issue {
    let unit = operation.units.iter().next().unwrap_or(0);
    operation.units.0 = 1 << unit;
    Issue {
        pipe: model.units.get(unit).map_or(Pipe::Arithmetic, |unit| unit.pipe),
        cycles: model.units.get(unit).map_or(1.0, |unit| unit.cycles),
        operations: smallvec![(unit, operation)],
    }
}

/// Dependencies between operations.
struct Graph {
    before: Vec<SmallVec<[usize; 4]>>,
    behind: Vec<SmallVec<[usize; 4]>>,
}

impl Graph {
    fn new(operations: &[Operation], local: &Local) -> Self {
        let mut before = Vec::with_capacity(operations.len());
        let mut behind = vec![SmallVec::new(); operations.len()];
        let mut writers: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); local.bits.len()];
        let mut last_store: Option<usize> = None;
        let mut since_store: Vec<usize> = Vec::new();
        for (index, operation) in operations.iter().enumerate() {
            let mut needs: SmallVec<[usize; 4]> = SmallVec::new();
            for register in &local.reads[index] {
                needs.extend(writers[*register].iter().copied());
            }
            if is_ordered(operation) {
                needs.extend(last_store);
                if writes_memory(operation) {
                    needs.extend(since_store.drain(..));
                    last_store = Some(index);
                } else {
                    since_store.push(index);
                }
            }
            for register in &local.writes[index] {
                writers[*register].push(index);
            }
            needs.sort_unstable();
            needs.dedup();
            for each in &needs {
                behind[*each].push(index);
            }
            before.push(needs);
        }
        Self { before, behind }
    }

    /// An order with low register pressure; up to `ahead_bits` bits are loaded ahead of their use.
    fn order(
        &self,
        operations: &[Operation],
        local: &Local,
        most_bits: u32,
        ahead_bits: u32,
        ahead_in_memory: bool,
    ) -> Vec<usize> {
        let waiting = self.behind.iter().map(SmallVec::len).collect();
        let mut backwards = Backwards::new(operations, local, waiting, ahead_in_memory);
        let mut order = Vec::with_capacity(operations.len());
        while let Some(index) = backwards.next(most_bits, ahead_bits) {
            backwards.put(index, &self.before[index]);
            order.push(index);
        }
        order.reverse();
        order
    }
}

/// Operations of a word, each with its unit.
type Assignment = SmallVec<[(usize, usize); 8]>;

struct Packer<'p> {
    model: &'p Model,
    local: &'p Local,
    graph: &'p Graph,
    most_bits: u32,
    operations: &'p [Operation],
    done: Vec<bool>,
    /// Reads of each register that are still to come.
    reads_left: Vec<u32>,
    live: Vec<bool>,
    live_bits: u32,
}

impl<'p> Packer<'p> {
    fn new(
        model: &'p Model,
        local: &'p Local,
        graph: &'p Graph,
        most_bits: u32,
        operations: &'p [Operation],
    ) -> Self {
        let mut reads_left = vec![0; local.bits.len()];
        let mut live = local.live_out.clone();
        for register in local.reads.iter().flatten() {
            reads_left[*register] += 1;
            live[*register] = true;
        }
        for register in local.writes.iter().flatten() {
            live[*register] = false;
        }
        let touched = live.iter().zip(&local.bits).filter(|(live, _)| **live);
        let live_bits = local.live_past + touched.map(|(_, bits)| bits).sum::<u32>();
        let done = vec![false; operations.len()];
        Self { model, local, graph, most_bits, operations, done, reads_left, live, live_bits }
    }

    /// Whether an operation may join a word early: not if it needs more registers than are free.
    fn may_come(&self, index: usize) -> bool {
        let bits = |register: &usize| self.local.bits[*register];
        let writes = self.local.writes[index].iter();
        let made: u32 = writes.filter(|register| !self.live[**register]).map(bits).sum();
        let reads = self.local.reads[index].iter();
        let freed: u32 = reads.filter(|register| self.is_last_read(**register)).map(bits).sum();
        made <= freed || self.live_bits + made - freed <= self.most_bits
    }

    fn is_last_read(&self, register: usize) -> bool {
        self.reads_left[register] == 1 && !self.local.live_out[register]
    }

    /// Updates the live registers after an operation.
    fn settle(&mut self, index: usize) {
        let local = self.local;
        for register in &local.reads[index] {
            let last = self.is_last_read(*register);
            self.reads_left[*register] = self.reads_left[*register].saturating_sub(1);
            if last && std::mem::replace(&mut self.live[*register], false) {
                self.live_bits -= local.bits[*register];
            }
        }
        for register in &local.writes[index] {
            let needed = self.reads_left[*register] > 0 || local.live_out[*register];
            if needed && !std::mem::replace(&mut self.live[*register], true) {
                self.live_bits += local.bits[*register];
            }
        }
    }

    /// The words, and the most bits that are live before or after one of them.
    fn pack(mut self, order: &[usize]) -> (Vec<Issue>, u32) {
        let mut issues = Vec::new();
        let mut peak = self.live_bits;
        for (position, index) in order.iter().enumerate() {
            if !self.done[*index] {
                let soon = &order[position + 1..order.len().min(position + 1 + WINDOW)];
                issues.push(self.word(*index, soon));
                peak = peak.max(self.live_bits);
            }
        }
        (issues, peak)
    }

    fn word(&mut self, first: usize, soon: &[usize]) -> Issue {
        let units = &self.model.units;
        let kind = self.operations[first].units.iter().next().and_then(|unit| units[unit].word);
        let mut placed = Assignment::new();
        let unit = self.free_units(first, &placed).first().copied();
        placed.push((first, unit.unwrap_or(0)));
        self.settle(first);
        // Repeats when an operation was added: it may have made another one ready.
        let mut before = 0;
        while kind.is_some() && before < placed.len() {
            before = placed.len();
            for index in soon {
                let operation = &self.operations[*index];
                let same = operation.units.iter().next().and_then(|unit| units[unit].word) == kind;
                if self.done[*index] || !same || placed.iter().any(|(other, _)| other == index) {
                    continue;
                }
                if self.may_come(*index)
                    && let Some(together) = self.with(&placed, *index)
                {
                    placed = together;
                    self.settle(*index);
                }
            }
        }
        if kind.is_none()
            && let Some(second) = self.store_beside(first, soon)
        {
            placed.push((second, placed[0].1));
            self.settle(second);
        }
        let mut operations = SmallVec::new();
        for (index, unit) in &placed {
            self.done[*index] = true;
            let mut operation = self.operations[*index].clone();
            operation.units.0 = 1 << unit;
            operations.push((*unit, operation));
        }
        let cycles = placed.iter().map(|(_, unit)| units[*unit].cycles).fold(0.0, f64::max);
        Issue { pipe: units[placed[0].1].pipe, cycles, operations }
    }

    /// The word with one more operation, with units reassigned if needed; `None` if there is no assignment for all.
    fn with(&self, placed: &Assignment, more: usize) -> Option<Assignment> {
        let ready = |earlier: &usize| self.done[*earlier] || placed.iter().any(|(other, _)| other == earlier);
        if !self.graph.before[more].iter().all(ready) {
            return None;
        }
        if let Some(unit) = self.free_units(more, placed).first() {
            let mut together = placed.clone();
            together.push((more, *unit));
            return Some(together);
        }
        // In the order they were added, so that each operation comes after its dependencies.
        let all: SmallVec<[usize; 8]> = placed.iter().map(|(index, _)| *index).chain([more]).collect();
        let mut together = Assignment::new();
        self.assign_units(&all, &mut together).then_some(together)
    }

    /// Assigns units to the remaining operations by backtracking.
    fn assign_units(&self, all: &[usize], placed: &mut Assignment) -> bool {
        let Some(next) = all.get(placed.len()) else { return true };
        self.free_units(*next, placed).into_iter().any(|unit| {
            placed.push((*next, unit));
            let found = self.assign_units(all, placed);
            if !found {
                placed.pop();
            }
            found
        })
    }

    /// Whether a unit is free in this word, or is used by an equal operation that leaves half of its lanes free.
    fn has_room(&self, unit: usize, index: usize, placed: &Assignment) -> bool {
        let mut there = placed.iter().filter(|(_, used)| *used == unit).map(|(other, _)| *other);
        let Some(first) = there.next() else { return true };
        let (one, other) = (&self.operations[first], &self.operations[index]);
        self.model.layout.joins_halves
            && there.next().is_none()
            && one.work != Work::Gather
            && (one.work, one.bits, one.lanes) == (other.work, other.bits, other.lanes)
            && one.lanes > 1
            && 2 * one.lanes * one.bits <= self.model.units[unit].bits
    }

    /// Units with room in this word that can do an operation whose operands come from earlier words, or from earlier
    /// stages of this word: the earliest stage first, then the narrowest unit.
    fn free_units(&self, index: usize, placed: &Assignment) -> SmallVec<[usize; 8]> {
        let units = &self.model.units;
        let stage_of = |earlier: &usize| {
            placed.iter().find(|(other, _)| other == earlier).map(|(_, unit)| units[*unit].stage)
        };
        let behind = self.graph.before[index].iter().filter_map(stage_of).max();
        let mut free: SmallVec<[usize; 8]> = self.operations[index]
            .units
            .iter()
            .filter(|unit| self.has_room(*unit, index, placed))
            .filter(|unit| behind.is_none_or(|stage| units[*unit].stage > stage))
            .collect();
        free.sort_by_key(|unit| (units[*unit].stage, units[*unit].bits, *unit));
        free
    }

    /// The next store, if it can share the word of this one.
    fn store_beside(&self, first: usize, soon: &[usize]) -> Option<usize> {
        let most = self.model.layout.store_pair_bits;
        let store = &self.operations[first];
        if store.work != Work::Store || most == 0 {
            return None;
        }
        let next = soon.iter().find(|index| !self.done[**index] && is_ordered(&self.operations[**index]))?;
        let fits = self.operations[*next].memory_bits + store.memory_bits <= most;
        let ready = self.graph.before[*next].iter().all(|earlier| *earlier == first || self.done[*earlier]);
        (self.operations[*next].work == Work::Store && fits && ready).then_some(*next)
    }
}

fn is_load(operation: &Operation) -> bool {
    operation.work == Work::Load
}

fn writes_memory(operation: &Operation) -> bool {
    matches!(operation.work, Work::Store | Work::Atomic | Work::Barrier | Work::ImageWrite | Work::Group)
}

/// Whether an operation must keep its order relative to memory writes.
fn is_ordered(operation: &Operation) -> bool {
    writes_memory(operation) || matches!(operation.work, Work::Load | Work::ImageRead | Work::ImageSample)
}
