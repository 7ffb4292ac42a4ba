//! Decodes an IR kernel into a form that is ready to run.
//!
//! Values that are uniform across a work-group get one-lane registers and are computed once. If a per-lane operation
//! needs such a value, a copy in all lanes is made as well. The other values get registers of 64 lanes, which are
//! shared when their live ranges allow it. A live range is an interval of positions in block order. It covers every
//! loop after which the value is needed, so that lanes that have left the loop keep their value while others continue
//! to iterate.

use std::collections::BinaryHeap;

use cranelift_entity::SecondaryMap;
use tripipe_ir as ir;
use tripipe_ir::flow::{Cfg, Divergence, Dominators, Liveness, Loops};
use tripipe_ir::{Block, BlockCall, Kernel, Op, TerminatorKind, Type, Value, ValueDef};

use super::code::{Code, CodeBlock, Detail, Edge, End, Inst, Move, NONE, Preset, PresetSource, SlotShape};
use super::ops;
use super::order::{Order, Step};
use super::rows::WIDTH;
use super::spin::{self, Spin};

/// A kernel that cannot be run.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{operation}` is not supported{}", place.as_ref().map(|place| format!(" ({}:{})", place.file, place.line)).unwrap_or_default())]
pub(crate) struct Unsupported {
    /// The instruction in the IR's text form.
    pub(crate) operation: String,
    /// The source location.
    pub(crate) place: Option<ir::diagnostic::SourcePlace>,
}

/// Bytes of a component of a value.
pub(crate) fn component_bytes(ty: Type) -> u32 {
    ty.scalar().map_or(8, ir::Scalar::bytes)
}

/// The registers of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Home {
    /// One lane.
    single: u32,
    /// All lanes.
    row: u32,
}

impl Default for Home {
    fn default() -> Self {
        Self { single: NONE, row: NONE }
    }
}

/// How an operand is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// From one lane if the value has a one-lane register, else from all lanes.
    Either,
    Row,
    Single,
}

/// Decodes a kernel.
///
/// # Errors
/// The kernel has an unsupported operation.
pub(crate) fn decode(
    kernel: &Kernel,
    place: impl Fn(ir::Inst) -> (String, Option<ir::diagnostic::SourcePlace>),
    watched: bool,
) -> Result<Code, Unsupported> {
    let cfg = Cfg::new(kernel);
    let dominators = Dominators::new(&cfg);
    let post = Dominators::post(&cfg);
    let loops = Loops::new(&cfg, &dominators);
    let divergence = Divergence::new(kernel, &cfg, &post, &loops);
    let liveness = Liveness::new(kernel, &cfg);
    let order = Order::new(&cfg, &loops);
    let spins = spin::find(kernel, &cfg, &dominators, &loops, &order);
    let mut decoder = Decoder {
        kernel,
        cfg: &cfg,
        loops: &loops,
        divergence: &divergence,
        liveness: &liveness,
        order: &order,
        spins,
        single: SecondaryMap::with_default(false),
        outlives: SecondaryMap::new(),
        homes: SecondaryMap::new(),
        slots: Vec::new(),
        presets: Vec::new(),
        spare: Vec::new(),
        watched,
    };
    decoder.find_singles();
    decoder.assign();
    decoder.emit(&place)
}

struct Decoder<'k> {
    kernel: &'k Kernel,
    cfg: &'k Cfg,
    loops: &'k Loops,
    divergence: &'k Divergence,
    liveness: &'k Liveness,
    order: &'k Order,
    spins: Box<[Spin]>,
    /// Values computed once for all lanes.
    single: SecondaryMap<Value, bool>,
    /// Values needed after a loop in which they are defined.
    outlives: SecondaryMap<Value, bool>,
    homes: SecondaryMap<Value, Home>,
    slots: Vec<SlotShape>,
    presets: Vec<Preset>,
    /// Temporary registers for swaps.
    spare: Vec<(SlotShape, u32)>,
    watched: bool,
}

impl Decoder<'_> {
    /// Whether lanes may be at arbitrary blocks, so that registers cannot be shared.
    fn anywhere(&self) -> bool {
        !self.loops.irreducible.is_empty() || !self.spins.is_empty()
    }

    /// The block in which a value is defined; `None` for constants.
    fn home_block(&self, value: Value, blocks: &SecondaryMap<ir::Inst, Option<Block>>) -> Option<Block> {
        match self.kernel.values[value].def {
            ValueDef::Parameter(block, _) => Some(block),
            ValueDef::Result(inst) => blocks[inst],
            ValueDef::Constant(_) => None,
        }
    }

    fn find_singles(&mut self) {
        let kernel = self.kernel;
        let mut blocks: SecondaryMap<ir::Inst, Option<Block>> = SecondaryMap::new();
        for block in &self.cfg.order {
            for inst in &kernel.blocks[*block].insts {
                blocks[*inst] = Some(*block);
            }
        }
        for each in &self.loops.all {
            for (_, to) in &each.exits {
                for value in self.liveness.live_in(*to) {
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
                    let merged =
                        self.loops.all.iter().any(|each| each.header == block && each.latches.len() > 1);
                    self.uniform(value) && !merged
                }
                ValueDef::Result(inst) => self.uniform(value) && single_operation(kernel.insts[inst].op),
            };
        }
        // A value with several lanes makes all values computed from it have several lanes.
        let mut changed = true;
        while changed {
            changed = false;
            for block in &self.cfg.order {
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
        self.divergence.shape(value).is_uniform() && !self.outlives[value] && !self.anywhere()
    }

    fn taken(&self, op: Op, index: usize, result: Option<Value>) -> Taken {
        if result.is_some_and(|result| self.single[result]) {
            return Taken::Single;
        }
        match op {
            Op::Load(_) | Op::Store(_) if index == 0 => Taken::Either,
            _ => Taken::Row,
        }
    }

    /// Whether a value is needed in all lanes for this use.
    fn needs_row(&self, value: Value, taken: Taken) -> bool {
        match taken {
            Taken::Single => false,
            Taken::Row => true,
            Taken::Either => !self.single[value],
        }
    }

    fn new_slot(&mut self, value: Value, lanes: usize) -> u32 {
        let ty = self.kernel.ty(value);
        let words = (component_bytes(ty) as usize * usize::from(ty.lanes()) * lanes).div_ceil(8) as u32;
        self.slots.push(SlotShape { words, components: ty.lanes(), single: lanes == 1 });
        self.slots.len() as u32 - 1
    }

    fn assign(&mut self) {
        let kernel = self.kernel;
        // Positions: one for a block's start, one for each instruction, one for its end.
        let mut starts = vec![0; self.order.steps.len() + 1];
        for (index, step) in self.order.steps.iter().enumerate() {
            let insts = match step {
                Step::Block(block) => kernel.blocks[*block].insts.len(),
                Step::Latch(_) => 0,
            };
            starts[index + 1] = starts[index] + insts as u32 + 2;
        }
        let start = |block: Block| starts[self.order.position[block] as usize];
        let end = |block: Block| starts[self.order.position[block] as usize + 1] - 1;
        let mut ranges: SecondaryMap<Value, Option<(u32, u32)>> = SecondaryMap::new();
        let mut rows: SecondaryMap<Value, bool> = SecondaryMap::new();
        let extend = |ranges: &mut SecondaryMap<Value, Option<(u32, u32)>>, value: Value, at: u32| {
            let range = ranges[value].get_or_insert((at, at));
            *range = (range.0.min(at), range.1.max(at));
        };
        for block in &self.cfg.order {
            let data = &kernel.blocks[*block];
            for value in self.liveness.live_in(*block) {
                extend(&mut ranges, value, start(*block));
            }
            for value in self.liveness.live_out(*block) {
                extend(&mut ranges, value, end(*block));
            }
            for parameter in &data.parameters {
                extend(&mut ranges, *parameter, start(*block));
                rows[*parameter] |= !self.single[*parameter];
                for from in &self.cfg.predecessors[*block] {
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
                    rows[*argument] |= !self.single[*parameter];
                }
            }
        }
        // The range of a value that is needed after a loop covers the whole loop.
        for (index, each) in self.loops.all.iter().enumerate() {
            let (first, end) = self.order.spans[index];
            let span = (starts[first as usize], starts[end as usize + 1] - 1);
            for (_, to) in &each.exits {
                for value in self.liveness.live_in(*to) {
                    if let Some(range) = &mut ranges[value]
                        && range.0 <= span.1
                        && range.1 >= span.0
                    {
                        *range = (range.0.min(span.0), range.1.max(span.1));
                    }
                }
            }
        }
        let anywhere = self.anywhere();
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
        intervals.sort_unstable();
        // Free registers, by shape; and busy registers, earliest end first.
        let mut free: Vec<(SlotShape, u32)> = Vec::new();
        let mut busy: BinaryHeap<std::cmp::Reverse<(u32, u32)>> = BinaryHeap::new();
        for (from, to, value) in intervals {
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
        let source = match &self.kernel.values[value].def {
            ValueDef::Constant(bits) => PresetSource::Constant(bits.clone()),
            ValueDef::Parameter(_, index) => PresetSource::Argument(*index),
            ValueDef::Result(_) => return,
        };
        self.presets.push(Preset { slot, bytes: component_bytes(self.kernel.ty(value)), source });
    }

    fn operand(&self, value: Value, taken: Taken) -> u32 {
        let home = self.homes[value];
        if self.needs_row(value, taken) { home.row } else { home.single }
    }

    fn emit(
        mut self,
        place: &impl Fn(ir::Inst) -> (String, Option<ir::diagnostic::SourcePlace>),
    ) -> Result<Code, Unsupported> {
        let kernel = self.kernel;
        let mut blocks = Vec::with_capacity(self.order.steps.len());
        let plan = self.watched.then(|| crate::watch::Plan::new(kernel));
        let mut meets = false;
        let mut global_atomics = false;
        let order = self.order;
        for step in &order.steps {
            let block = match step {
                Step::Block(block) => *block,
                Step::Latch(index) => {
                    let target = self.order.position[self.loops.all[*index].header];
                    blocks.push(CodeBlock {
                        of: None,
                        insts: Box::default(),
                        end: End::Jump(Edge { target, moves: Box::default() }),
                    });
                    continue;
                }
            };
            let data = &kernel.blocks[block];
            let mut insts = Vec::new();
            if block != Kernel::ENTRY {
                for parameter in &data.parameters {
                    self.splat(*parameter, &mut insts, None);
                }
            }
            for &id in &data.insts {
                let inst = &kernel.insts[id];
                meets |= ops::meets(inst.op);
                global_atomics |= ops::is_global_atomic(kernel, inst);
                let single = inst.result.is_some_and(|result| self.single[result]);
                let Some((plain, detail)) = ops::select(kernel, inst) else {
                    let (operation, place) = place(id);
                    return Err(Unsupported { operation, place });
                };
                let all: Vec<u32> = inst
                    .operands
                    .iter()
                    .enumerate()
                    .map(|(index, operand)| self.operand(*operand, self.taken(inst.op, index, inst.result)))
                    .collect();
                let mut args = [NONE; 4];
                for (arg, slot) in args.iter_mut().zip(&all) {
                    *arg = *slot;
                }
                let out = inst.result.map_or(NONE, |result| {
                    let home = self.homes[result];
                    if single { home.single } else { home.row }
                });
                let about = match inst.op {
                    Op::Store(_) => inst.operands.get(1).map(|value| kernel.ty(*value)),
                    _ => inst.result.map(|result| kernel.ty(result)),
                };
                let watcher = plan.as_ref().and_then(|plan| plan.watcher(id));
                insts.push(Inst {
                    run: watcher.unwrap_or(plain),
                    plain,
                    out,
                    args,
                    more: if all.len() > 4 { all.into() } else { Box::default() },
                    width: if single { 1 } else { WIDTH as u8 },
                    components: about.map_or(1, Type::lanes),
                    detail,
                    blend: !single
                        && inst.result.is_some_and(|result| self.outlives[result] || self.anywhere()),
                    origin: id,
                });
                if let Some(result) = inst.result {
                    self.splat(result, &mut insts, Some(id));
                }
            }
            let end = match &data.terminator.kind {
                TerminatorKind::Jump(call) => End::Jump(self.edge(block, call)),
                TerminatorKind::Branch { condition, then, otherwise } => End::Branch {
                    condition: self.operand(*condition, Taken::Either),
                    then: self.edge(block, then),
                    otherwise: self.edge(block, otherwise),
                },
                TerminatorKind::Switch { selector, cases, default } => End::Switch {
                    selector: self.operand(*selector, Taken::Either),
                    bytes: component_bytes(kernel.ty(*selector)),
                    cases: cases.iter().map(|(bits, call)| (*bits, self.edge(block, call))).collect(),
                    default: self.edge(block, default),
                },
                TerminatorKind::Return => End::Return,
                TerminatorKind::Unreachable => End::Unreachable,
            };
            blocks.push(CodeBlock { of: Some(block), insts: insts.into(), end });
        }
        let shadow = self.slots.len() as u32;
        if self.watched {
            self.slots.extend_from_within(..);
            for block in &mut blocks {
                block.end.shadow(shadow);
            }
        }
        let longest = blocks.iter().map(|block| block.insts.len() as u64 + 1).max().unwrap_or(1);
        // A group that waits for a value of another work-group must see it, atomic or not.
        global_atomics |= !self.spins.is_empty();
        Ok(Code {
            blocks,
            slots: self.slots,
            shadow,
            presets: self.presets,
            meets,
            spins: self.spins,
            longest,
            global_atomics,
        })
    }

    /// Copies a value of one lane to all lanes when an operation needs it.
    fn splat(&self, value: Value, insts: &mut Vec<Inst>, origin: Option<ir::Inst>) {
        let home = self.homes[value];
        if home.single == NONE || home.row == NONE {
            return;
        }
        let ty = self.kernel.ty(value);
        insts.push(Inst {
            run: if self.watched { crate::watch::taint::splat } else { ops::splat },
            plain: ops::splat,
            out: home.row,
            args: [home.single, NONE, NONE, NONE],
            more: Box::default(),
            width: WIDTH as u8,
            components: ty.lanes(),
            detail: Detail::Number(u64::from(component_bytes(ty))),
            blend: false,
            origin: origin.unwrap_or_else(|| ir::Inst::from_u32(u32::MAX - 1)),
        });
    }

    fn edge(&mut self, from: Block, call: &BlockCall) -> Edge {
        let kernel = self.kernel;
        let mut pending: Vec<(u32, u32, Value)> = Vec::new();
        for (parameter, argument) in kernel.blocks[call.block].parameters.iter().zip(&call.arguments) {
            let home = self.homes[*parameter];
            let (to, source) = if self.single[*parameter] {
                (home.single, self.homes[*argument].single)
            } else {
                (home.row, self.homes[*argument].row)
            };
            // An unused parameter has no register.
            if to != NONE && to != source {
                pending.push((source, to, *argument));
            }
        }
        let mut moves = Vec::with_capacity(pending.len());
        // A move is ready when no other pending move reads its destination.
        while !pending.is_empty() {
            let ready = (0..pending.len()).find(|index| {
                let to = pending[*index].1;
                pending.iter().enumerate().all(|(other, (source, ..))| other == *index || *source != to)
            });
            if let Some(index) = ready {
                let (source, to, argument) = pending.remove(index);
                let last =
                    !pending.iter().any(|(other, ..)| *other == source) && self.dies(argument, source, call);
                moves.push(Move { from: source, to, last });
            } else {
                // Only cycles are left: save one source to a temporary register.
                let (source, to, argument) = pending[0];
                let spare = self.spare(self.slots[source as usize], &moves);
                moves.push(Move { from: source, to: spare, last: false });
                pending[0] = (spare, to, argument);
            }
        }
        Edge { target: self.order.target(from, call.block), moves: moves.into() }
    }

    /// Whether the register of an argument is dead after the edge.
    fn dies(&self, argument: Value, slot: u32, call: &BlockCall) -> bool {
        let home = self.homes[argument];
        slot == home.row && !self.single[argument] && !self.liveness.is_live_in(call.block, argument)
    }

    fn spare(&mut self, shape: SlotShape, moves: &[Move]) -> u32 {
        let used = |slot: u32| moves.iter().any(|each| each.to == slot || each.from == slot);
        if let Some((_, slot)) = self.spare.iter().find(|(spare, slot)| *spare == shape && !used(*slot)) {
            return *slot;
        }
        self.slots.push(shape);
        let slot = self.slots.len() as u32 - 1;
        self.spare.push((shape, slot));
        slot
    }
}

/// Whether an operation can run once for all lanes.
fn single_operation(op: Op) -> bool {
    matches!(
        op,
        Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Select
            | Op::Convert(_)
            | Op::Bitcast
            | Op::PointerToInt
            | Op::IntToPointer
            | Op::SpaceCast { .. }
            | Op::Construct
            | Op::Extract(_)
            | Op::Insert(_)
            | Op::ExtractDynamic
            | Op::InsertDynamic
            | Op::Shuffle(_)
            | Op::ObjectAddress(_)
            | Op::ProgramAddress(_)
            | Op::Address(_)
            | Op::Load(_)
            | Op::Dot(_)
            | Op::Query(_)
            | Op::Builtin(_)
    )
}
