//! Assigns registers to the values of a kernel.
//!
//! Values that are uniform across a work-group get one-lane registers and are computed once. If a per-lane operation
//! needs such a value, a copy in all lanes is made as well. The other values get registers of 64 lanes, which are
//! shared when their live ranges allow it. A live range is an interval of positions in block order. It covers every
//! loop after which the value is needed, so that lanes that have left the loop keep their value while others continue
//! to iterate.

use std::collections::BinaryHeap;

use cranelift_entity::SecondaryMap;
use tripipe_ir as ir;
use tripipe_ir::flow::{Cfg, Divergence, Liveness, Loops};
use tripipe_ir::{Block, Kernel, Op, Value, ValueDef};

use crate::execute::code::{NONE, Preset, PresetSource, component_bytes};
use crate::execute::edge::SlotShape;
use crate::execute::order::{BlockOrder, Step};
use crate::execute::rows::WIDTH;

/// The registers of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RegisterHome {
    /// One lane.
    pub(super) single: u32,
    /// All lanes.
    pub(super) row: u32,
}

impl Default for RegisterHome {
    fn default() -> Self {
        Self { single: NONE, row: NONE }
    }
}

/// How an operand is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperandForm {
    /// From one lane if the value has a one-lane register, else from all lanes.
    Either,
    Row,
    Single,
}

/// A kernel and the analyses of its control flow.
pub(super) struct Flow<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) cfg: &'k Cfg,
    pub(super) loops: &'k Loops,
    pub(super) divergence: &'k Divergence,
    pub(super) liveness: &'k Liveness,
    pub(super) order: &'k BlockOrder,
    /// Whether it has loops in which work-items wait for each other.
    pub(super) spins: bool,
}

impl Flow<'_> {
    /// Whether lanes may be at arbitrary blocks, so that registers cannot be shared.
    pub(super) fn anywhere(&self) -> bool {
        !self.loops.irreducible.is_empty() || self.spins
    }
}

/// The registers of a kernel.
pub(super) struct Registers<'k> {
    flow: &'k Flow<'k>,
    /// Values computed once for all lanes.
    pub(super) single: SecondaryMap<Value, bool>,
    /// Values needed after a loop in which they are defined.
    pub(super) outlives: SecondaryMap<Value, bool>,
    pub(super) homes: SecondaryMap<Value, RegisterHome>,
    pub(super) slots: Vec<SlotShape>,
    pub(super) presets: Vec<Preset>,
}

impl<'k> Registers<'k> {
    /// Assigns a register to each value that is used.
    pub(super) fn new(flow: &'k Flow<'k>) -> Self {
        let mut registers = Self {
            flow,
            single: SecondaryMap::with_default(false),
            outlives: SecondaryMap::new(),
            homes: SecondaryMap::new(),
            slots: Vec::new(),
            presets: Vec::new(),
        };
        registers.find_singles();
        registers.assign();
        registers
    }

    /// The block in which a value is defined; `None` for constants.
    fn home_block(&self, value: Value, blocks: &SecondaryMap<ir::Inst, Option<Block>>) -> Option<Block> {
        match self.flow.kernel.values[value].def {
            ValueDef::Parameter(block, _) => Some(block),
            ValueDef::Result(inst) => blocks[inst],
            ValueDef::Constant(_) => None,
        }
    }

    fn find_singles(&mut self) {
        let kernel = self.flow.kernel;
        let mut blocks: SecondaryMap<ir::Inst, Option<Block>> = SecondaryMap::new();
        for block in &self.flow.cfg.order {
            for inst in &kernel.blocks[*block].insts {
                blocks[*inst] = Some(*block);
            }
        }
        for each in &self.flow.loops.all {
            for (_, to) in &each.exits {
                for value in self.flow.liveness.live_in(*to) {
                    if self.home_block(value, &blocks).is_some_and(|home| each.blocks.contains(&home)) {
                        self.outlives[value] = true;
                    }
                }
                // Values passed as arguments are needed after the loop only through the parameter.
            }
        }
        for value in kernel.values.keys() {
            self.single[value] = match kernel.values[value].def {
                ValueDef::Constant(_) | ValueDef::Parameter(Kernel::ENTRY, _) => true,
                ValueDef::Parameter(block, _) => {
                    // Back edges move their arguments at different times, so one lane cannot hold the value for all.
                    let merged =
                        self.flow.loops.all.iter().any(|each| each.header == block && each.latches.len() > 1);
                    self.uniform(value) && !merged
                }
                ValueDef::Result(inst) => self.uniform(value) && single_operation(kernel.insts[inst].op),
            };
        }
        // A value with several lanes makes all values computed from it have several lanes.
        let mut changed = true;
        while changed {
            changed = false;
            for block in &self.flow.cfg.order {
                let data = &kernel.blocks[*block];
                for inst in &data.insts {
                    let inst = &kernel.insts[*inst];
                    if let Some(result) = inst.result
                        && self.single[result]
                        && inst.operands.iter().any(|operand| !self.single[*operand])
                    {
                        self.single[result] = false;
                        changed = true;
                    }
                }
                for call in data.terminator.calls() {
                    for (parameter, argument) in
                        kernel.blocks[call.block].parameters.iter().zip(&call.arguments)
                    {
                        if self.single[*parameter] && !self.single[*argument] {
                            self.single[*parameter] = false;
                            changed = true;
                        }
                    }
                }
            }
        }
    }

    fn uniform(&self, value: Value) -> bool {
        self.flow.divergence.variation(value).is_uniform() && !self.outlives[value] && !self.flow.anywhere()
    }

    pub(super) fn taken(&self, op: Op, index: usize, result: Option<Value>) -> OperandForm {
        if result.is_some_and(|result| self.single[result]) {
            return OperandForm::Single;
        }
        match op {
            // A load or store at one address has a fast path.
            Op::Load(_) | Op::Store(_) if index == 0 => OperandForm::Either,
            _ => OperandForm::Row,
        }
    }

    /// Whether a value is needed in all lanes for this use.
    fn needs_row(&self, value: Value, taken: OperandForm) -> bool {
        match taken {
            OperandForm::Single => false,
            OperandForm::Row => true,
            OperandForm::Either => !self.single[value],
        }
    }

    fn new_slot(&mut self, value: Value, lanes: usize) -> u32 {
        let ty = self.flow.kernel.ty(value);
        let words = (component_bytes(ty) as usize * usize::from(ty.lanes()) * lanes).div_ceil(8) as u32;
        self.slots.push(SlotShape { words, components: ty.lanes(), single: lanes == 1 });
        self.slots.len() as u32 - 1
    }

    fn assign(&mut self) {
        let kernel = self.flow.kernel;
        // Positions: one for a block's start, one for each instruction, one for its end.
        let mut starts = vec![0; self.flow.order.steps.len() + 1];
        for (index, step) in self.flow.order.steps.iter().enumerate() {
            let insts = match step {
                Step::Block(block) => kernel.blocks[*block].insts.len(),
                Step::Latch(_) => 0,
            };
            starts[index + 1] = starts[index] + insts as u32 + 2;
        }
        let start = |block: Block| starts[self.flow.order.position[block] as usize];
        let end = |block: Block| starts[self.flow.order.position[block] as usize + 1] - 1;
        let mut ranges: SecondaryMap<Value, Option<(u32, u32)>> = SecondaryMap::new();
        let mut rows: SecondaryMap<Value, bool> = SecondaryMap::new();
        let extend = |ranges: &mut SecondaryMap<Value, Option<(u32, u32)>>, value: Value, at: u32| {
            let range = ranges[value].get_or_insert((at, at));
            *range = (range.0.min(at), range.1.max(at));
        };
        for block in &self.flow.cfg.order {
            let data = &kernel.blocks[*block];
            for value in self.flow.liveness.live_in(*block) {
                extend(&mut ranges, value, start(*block));
            }
            for value in self.flow.liveness.live_out(*block) {
                extend(&mut ranges, value, end(*block));
            }
            for parameter in &data.parameters {
                extend(&mut ranges, *parameter, start(*block));
                rows[*parameter] |= !self.single[*parameter];
                // Predecessors move the argument into the parameter at their ends.
                for from in &self.flow.cfg.predecessors[*block] {
                    extend(&mut ranges, *parameter, end(*from));
                }
            }
            for (index, inst) in data.insts.iter().enumerate() {
                let at = start(*block) + 1 + index as u32;
                let inst = &kernel.insts[*inst];
                for (position, operand) in inst.operands.iter().enumerate() {
                    extend(&mut ranges, *operand, at);
                    rows[*operand] |= self.needs_row(*operand, self.taken(inst.op, position, inst.result));
                }
                if let Some(result) = inst.result {
                    extend(&mut ranges, result, at);
                    rows[result] |= !self.single[result];
                }
            }
            if let Some(decider) = data.terminator.decider() {
                extend(&mut ranges, decider, end(*block));
                rows[decider] |= !self.single[decider];
            }
            for call in data.terminator.calls() {
                for (parameter, argument) in kernel.blocks[call.block].parameters.iter().zip(&call.arguments)
                {
                    extend(&mut ranges, *argument, end(*block));
                    // The move to a parameter with all lanes copies all lanes.
                    rows[*argument] |= !self.single[*parameter];
                }
            }
        }
        // The range of a value that is needed after a loop covers the whole loop.
        for (index, each) in self.flow.loops.all.iter().enumerate() {
            let (first, end) = self.flow.order.spans[index];
            let span = (starts[first as usize], starts[end as usize + 1] - 1);
            for (_, to) in &each.exits {
                for value in self.flow.liveness.live_in(*to) {
                    if let Some(range) = &mut ranges[value]
                        && range.0 <= span.1
                        && range.1 >= span.0
                    {
                        *range = (range.0.min(span.0), range.1.max(span.1));
                    }
                }
            }
        }
        let anywhere = self.flow.anywhere();
        let mut intervals: Vec<(u32, u32, Value)> = Vec::new();
        for value in kernel.values.keys() {
            let Some((from, to)) = ranges[value] else { continue };
            let preset = matches!(
                kernel.values[value].def,
                ValueDef::Constant(_) | ValueDef::Parameter(Kernel::ENTRY, _)
            );
            if self.single[value] {
                let slot = self.new_slot(value, 1);
                self.homes[value].single = slot;
                if preset {
                    self.preset(value, slot);
                }
            }
            if rows[value] {
                // A preset is filled once for each warp, so no other value may use its register.
                if preset {
                    let slot = self.new_slot(value, WIDTH);
                    self.homes[value].row = slot;
                    self.preset(value, slot);
                } else if anywhere {
                    self.homes[value].row = self.new_slot(value, WIDTH);
                } else {
                    intervals.push((from, to, value));
                }
            }
        }
        // Linear scan (Poletto and Sarkar 1999). Nothing is spilled, as there may be any number of registers: sharing them
        // keeps a warp in the cache.
        intervals.sort_unstable();
        // Free registers, by shape; and busy registers, earliest end first.
        let mut free: Vec<(SlotShape, u32)> = Vec::new();
        let mut busy: BinaryHeap<std::cmp::Reverse<(u32, u32)>> = BinaryHeap::new();
        for (from, to, value) in intervals {
            // Strictly before: an instruction takes the row of its result out while it reads its operands.
            while let Some(std::cmp::Reverse((until, slot))) = busy.peek().copied()
                && until < from
            {
                busy.pop();
                free.push((self.slots[slot as usize], slot));
            }
            let ty = kernel.ty(value);
            let words = (component_bytes(ty) as usize * usize::from(ty.lanes()) * WIDTH).div_ceil(8) as u32;
            let shape = SlotShape { words, components: ty.lanes(), single: false };
            // The most recently freed register is most likely still in the cache.
            let slot = match free.iter().rposition(|(free, _)| *free == shape) {
                Some(index) => free.remove(index).1,
                None => self.new_slot(value, WIDTH),
            };
            self.homes[value].row = slot;
            busy.push(std::cmp::Reverse((to, slot)));
        }
    }

    fn preset(&mut self, value: Value, slot: u32) {
        let source = match &self.flow.kernel.values[value].def {
            ValueDef::Constant(bits) => PresetSource::Constant(bits.clone()),
            ValueDef::Parameter(_, index) => PresetSource::Argument(*index),
            ValueDef::Result(_) => return,
        };
        self.presets.push(Preset { slot, bytes: component_bytes(self.flow.kernel.ty(value)), source });
    }

    pub(super) fn operand(&self, value: Value, taken: OperandForm) -> u32 {
        let home = self.homes[value];
        if self.needs_row(value, taken) { home.row } else { home.single }
    }
}

/// Whether an operation can run once for all lanes.
fn single_operation(op: Op) -> bool {
    matches!(op, Op::Load(_)) || op.is_pure() && !matches!(op, Op::Undefined | Op::ImageQuery(_))
}
