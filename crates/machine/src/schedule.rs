//! Operations into words.
//!
//! In two passes over a block. The first finds an order, from the end backwards: always the operation that frees most
//! registers, with a few loads ahead of where they are needed. The second fills words in that order: the next operation
//! starts one, and those soon behind it come along as long as there are slots and their operands are ready.

use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use smallvec::{SmallVec, smallvec};

use crate::code::{Issue, Operation, Register, RegisterData};
use crate::model::{Model, Pipe};

/// Operations behind the next one that may come along in its word.
const WINDOW: usize = 24;

/// Puts a block's operations into words. `live_out` are the registers needed
/// behind the block, `most_bits` what all registers have together.
pub(crate) fn schedule(
    model: &Model,
    registers: &PrimaryMap<Register, RegisterData>,
    live_out: &EntitySet<Register>,
    most_bits: u32,
    operations: Vec<Operation>,
) -> Vec<Issue> {
    let graph = Graph::new(&operations);
    let ahead_bits = model.layout.load_ahead_bits;
    let order = graph.order(&operations, registers, live_out, most_bits, ahead_bits);
    Packer::new(model, registers, &graph, live_out, most_bits, operations).pack(&order)
}

/// A word of one operation, on the first of its units.
pub(crate) fn alone(model: &Model, mut operation: Operation) -> Issue {
    let unit = operation.units.iter().next().unwrap_or(0);
    operation.units.0 = 1 << unit;
    Issue {
        pipe: model.units.get(unit).map_or(Pipe::Arithmetic, |unit| unit.pipe),
        cycles: model.units.get(unit).map_or(1.0, |unit| unit.cycles),
        operations: smallvec![(unit, operation)],
    }
}

/// What has to come before what.
struct Graph {
    before: Vec<SmallVec<[usize; 4]>>,
    behind: Vec<SmallVec<[usize; 4]>>,
}

impl Graph {
    fn new(operations: &[Operation]) -> Self {
        let mut before = Vec::with_capacity(operations.len());
        let mut behind = vec![SmallVec::new(); operations.len()];
        let mut writers: SecondaryMap<Register, SmallVec<[usize; 2]>> = SecondaryMap::new();
        let mut last_store: Option<usize> = None;
        let mut since_store: Vec<usize> = Vec::new();
        for (index, operation) in operations.iter().enumerate() {
            let mut needs: SmallVec<[usize; 4]> = SmallVec::new();
            for register in &operation.reads {
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
            for register in &operation.writes {
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

    /// An order that keeps few registers live, with so many bits loaded ahead of where they are needed.
    fn order(
        &self,
        operations: &[Operation],
        registers: &PrimaryMap<Register, RegisterData>,
        live_out: &EntitySet<Register>,
        most_bits: u32,
        ahead_bits: u32,
    ) -> Vec<usize> {
        let mut live = live_out.clone();
        let mut waiting: Vec<usize> = self.behind.iter().map(SmallVec::len).collect();
        // Operations that write a part of a register free it only with the first of them.
        let mut writes_left: SecondaryMap<Register, u32> = SecondaryMap::new();
        for register in operations.iter().flat_map(|operation| &operation.writes) {
            writes_left[*register] += 1;
        }
        let mut ready: Vec<usize> = (0..operations.len()).filter(|index| waiting[*index] == 0).collect();
        let mut order = Vec::with_capacity(operations.len());
        while !ready.is_empty() {
            let growth = |index: usize| {
                let operation = &operations[index];
                let bits = |register: &&Register| i64::from(registers[**register].bits);
                let made: i64 = operation
                    .reads
                    .iter()
                    .filter(|register| !live.contains(**register))
                    .map(|r| bits(&r))
                    .sum();
                let freed: i64 = operation
                    .writes
                    .iter()
                    .filter(|register| writes_left[**register] == 1)
                    .map(|r| bits(&r))
                    .sum();
                made - freed
            };
            let live_bits: i64 = live.iter().map(|register| i64::from(registers[register].bits)).sum();
            let ahead: u32 = ready
                .iter()
                .filter(|index| is_load(&operations[**index]))
                .flat_map(|index| &operations[*index].writes)
                .map(|register| registers[*register].bits)
                .sum();
            // A load waits, which is to say goes further up, as long as not too many do and the registers
            // suffice.
            let best = ready.iter().enumerate().min_by_key(|(_, index)| {
                let growth = growth(**index);
                let waits =
                    is_load(&operations[**index]) && ahead <= ahead_bits && live_bits <= i64::from(most_bits);
                let too_many = growth > 0 && live_bits + growth > i64::from(most_bits);
                (too_many, waits, growth, std::cmp::Reverse(**index))
            });
            let Some((position, index)) = best.map(|(position, index)| (position, *index)) else { break };
            ready.swap_remove(position);
            for register in &operations[index].writes {
                writes_left[*register] -= 1;
                if writes_left[*register] == 0 {
                    live.remove(*register);
                }
            }
            live.extend(operations[index].reads.iter().copied());
            for earlier in &self.before[index] {
                waiting[*earlier] -= 1;
                if waiting[*earlier] == 0 {
                    ready.push(*earlier);
                }
            }
            order.push(index);
        }
        order.reverse();
        order
    }
}

/// Operations of a word, each with its unit.
type Placed = SmallVec<[(usize, usize); 8]>;

struct Packer<'p> {
    model: &'p Model,
    registers: &'p PrimaryMap<Register, RegisterData>,
    graph: &'p Graph,
    live_out: &'p EntitySet<Register>,
    most_bits: u32,
    operations: Vec<Operation>,
    done: Vec<bool>,
    /// Reads of each register that are still to come.
    reads_left: SecondaryMap<Register, u32>,
    live: EntitySet<Register>,
    live_bits: u32,
}

impl<'p> Packer<'p> {
    fn new(
        model: &'p Model,
        registers: &'p PrimaryMap<Register, RegisterData>,
        graph: &'p Graph,
        live_out: &'p EntitySet<Register>,
        most_bits: u32,
        operations: Vec<Operation>,
    ) -> Self {
        let mut reads_left: SecondaryMap<Register, u32> = SecondaryMap::new();
        let mut written: EntitySet<Register> = EntitySet::new();
        let mut live = live_out.clone();
        for operation in &operations {
            operation.reads.iter().for_each(|register| reads_left[*register] += 1);
            live.extend(operation.reads.iter().copied());
            written.extend(operation.writes.iter().copied());
        }
        written.iter().for_each(|register| {
            live.remove(register);
        });
        let live_bits = live.iter().map(|register| registers[register].bits).sum();
        let done = vec![false; operations.len()];
        Self { model, registers, graph, live_out, most_bits, operations, done, reads_left, live, live_bits }
    }

    /// Whether an operation may come along early: not if that takes registers that are not there.
    fn may_come(&self, index: usize) -> bool {
        let operation = &self.operations[index];
        let bits = |register: &Register| self.registers[*register].bits;
        let made: u32 =
            operation.writes.iter().filter(|register| !self.live.contains(**register)).map(bits).sum();
        let freed: u32 =
            operation.reads.iter().filter(|register| self.is_last_read(**register)).map(bits).sum();
        made <= freed || self.live_bits + made - freed <= self.most_bits
    }

    fn is_last_read(&self, register: Register) -> bool {
        self.reads_left[register] == 1 && !self.live_out.contains(register)
    }

    /// Counts registers after an operation.
    fn settle(&mut self, index: usize) {
        let operation = &self.operations[index];
        for register in &operation.reads {
            let last = self.reads_left[*register] == 1 && !self.live_out.contains(*register);
            self.reads_left[*register] = self.reads_left[*register].saturating_sub(1);
            if last && self.live.remove(*register) {
                self.live_bits -= self.registers[*register].bits;
            }
        }
        for register in &operation.writes {
            let needed = self.reads_left[*register] > 0 || self.live_out.contains(*register);
            if needed && self.live.insert(*register) {
                self.live_bits += self.registers[*register].bits;
            }
        }
    }

    fn pack(mut self, order: &[usize]) -> Vec<Issue> {
        let mut issues = Vec::new();
        for (position, index) in order.iter().enumerate() {
            if !self.done[*index] {
                let soon = &order[position + 1..order.len().min(position + 1 + WINDOW)];
                issues.push(self.word(*index, soon));
            }
        }
        issues
    }

    fn word(&mut self, first: usize, soon: &[usize]) -> Issue {
        let units = &self.model.units;
        let kind = self.operations[first].units.iter().next().and_then(|unit| units[unit].word);
        let mut placed = Placed::new();
        let unit = self.free_units(first, &placed).first().copied();
        placed.push((first, unit.unwrap_or(0)));
        self.settle(first);
        // Once more when something came along: it may have made another ready.
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

    /// The operations of a word with one more, on other units if need be; `None` if they cannot all have one.
    fn with(&self, placed: &Placed, more: usize) -> Option<Placed> {
        let ready = |earlier: &usize| self.done[*earlier] || placed.iter().any(|(other, _)| other == earlier);
        if !self.graph.before[more].iter().all(ready) {
            return None;
        }
        if let Some(unit) = self.free_units(more, placed).first() {
            let mut together = placed.clone();
            together.push((more, *unit));
            return Some(together);
        }
        // As they were added, so that each comes behind those it needs.
        let all: SmallVec<[usize; 8]> = placed.iter().map(|(index, _)| *index).chain([more]).collect();
        let mut together = Placed::new();
        self.place(&all, &mut together).then_some(together)
    }

    /// Finds units for the rest of some operations.
    fn place(&self, all: &[usize], placed: &mut Placed) -> bool {
        let Some(next) = all.get(placed.len()) else { return true };
        self.free_units(*next, placed).into_iter().any(|unit| {
            placed.push((*next, unit));
            let found = self.place(all, placed);
            if !found {
                placed.pop();
            }
            found
        })
    }

    /// Whether a unit has no work in this word, or one like it that leaves half of the lanes.
    fn has_room(&self, unit: usize, index: usize, placed: &Placed) -> bool {
        let mut there = placed.iter().filter(|(_, used)| *used == unit).map(|(other, _)| *other);
        let Some(first) = there.next() else { return true };
        let (one, other) = (&self.operations[first], &self.operations[index]);
        self.model.layout.joins_halves
            && there.next().is_none()
            && one.work != "gather"
            && (one.work, one.bits, one.lanes) == (other.work, other.bits, other.lanes)
            && one.lanes > 1
            && 2 * one.lanes * one.bits <= self.model.units[unit].bits
    }

    /// Units with room in this word that can do an operation whose operands come from earlier words, or from earlier
    /// stages of this one: the earliest first, then the narrowest.
    fn free_units(&self, index: usize, placed: &Placed) -> SmallVec<[usize; 8]> {
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

    /// The next store, if it may share the word of this one.
    fn store_beside(&self, first: usize, soon: &[usize]) -> Option<usize> {
        let most = self.model.layout.store_pair_bits;
        let store = &self.operations[first];
        if store.work != "store" || most == 0 {
            return None;
        }
        let next = soon.iter().find(|index| !self.done[**index] && is_ordered(&self.operations[**index]))?;
        let fits = self.operations[*next].memory_bits + store.memory_bits <= most;
        let ready = self.graph.before[*next].iter().all(|earlier| *earlier == first || self.done[*earlier]);
        (self.operations[*next].work == "store" && fits && ready).then_some(*next)
    }
}

fn is_load(operation: &Operation) -> bool {
    operation.work == "load"
}

fn writes_memory(operation: &Operation) -> bool {
    matches!(operation.work, "store" | "atomic" | "barrier" | "image_write" | "group")
}

/// Whether the order among such operations counts.
fn is_ordered(operation: &Operation) -> bool {
    writes_memory(operation) || matches!(operation.work, "load" | "image_read" | "image_sample")
}
