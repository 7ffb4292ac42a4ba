//! Decodes an IR kernel into a form that is ready to run.

mod registers;

use tripipe_ir as ir;
use tripipe_ir::flow::{Cfg, Divergence, Dominators, Liveness, Loops};
use tripipe_ir::{Block, BlockCall, Kernel, Op, TerminatorKind, Type, Value};

use super::code::{Code, CodeBlock, Detail, End, Inst, NONE, Run, Spin, component_bytes};
use super::edge::{Edge, Move, SlotShape};
use super::effects::{is_global_atomic, meets};
use super::observer;
use super::ops::memory::reach;
use super::ops::select::select;
use super::ops::vector::splat;
use super::order::{BlockOrder, Step};
use super::rows::WIDTH;
use super::slice::Slice;
use super::spin;
use registers::{Flow, OperandForm, Registers};

/// A kernel that cannot be run.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "`{operation}` is not supported{}",
    location.as_ref().map(|at| format!(" ({}:{})", at.file, at.line)).unwrap_or_default()
)]
pub(crate) struct Unsupported {
    /// The instruction in the IR's text form.
    pub(crate) operation: String,
    /// The source location.
    pub(crate) location: Option<ir::diagnostic::SourceLocation>,
}

/// Whether an observer sees an instruction before it runs.
pub(crate) type Observes<'a> = &'a dyn Fn(ir::Inst) -> bool;

/// Decodes a kernel; with `observes` for launches with an observer. With a slice, nothing else is computed: an
/// instruction outside it is seen by the observer, but does not run.
///
/// # Errors
/// The kernel has an unsupported operation.
pub(crate) fn decode(
    kernel: &Kernel,
    location: impl Fn(ir::Inst) -> (String, Option<ir::diagnostic::SourceLocation>),
    observes: Option<Observes<'_>>,
    slice: Option<&Slice>,
) -> Result<Code, Unsupported> {
    let cfg = Cfg::new(kernel);
    let dominators = Dominators::new(&cfg);
    let post = Dominators::post(&cfg);
    let loops = Loops::new(&cfg, &dominators);
    let divergence = Divergence::new(kernel, &cfg, &post, &loops);
    let liveness = Liveness::new(kernel, &cfg);
    let order = BlockOrder::new(&cfg, &loops);
    let spins = spin::find(kernel, &cfg, &dominators, &loops, &order);
    let flow = Flow {
        kernel,
        cfg: &cfg,
        loops: &loops,
        divergence: &divergence,
        liveness: &liveness,
        order: &order,
        spins: !spins.is_empty(),
    };
    let registers = Registers::new(&flow);
    Decoder { flow: &flow, registers, spins, spare: Vec::new(), observes, slice }.emit(&location)
}

struct Decoder<'k> {
    flow: &'k Flow<'k>,
    registers: Registers<'k>,
    spins: Box<[Spin]>,
    /// Temporary registers for swaps.
    spare: Vec<(SlotShape, u32)>,
    observes: Option<Observes<'k>>,
    slice: Option<&'k Slice>,
}

impl Decoder<'_> {
    /// Whether a value has to be computed.
    fn needs(&self, value: Value) -> bool {
        self.slice.is_none_or(|slice| slice.has_value(value))
    }

    fn emit(
        mut self,
        location: &impl Fn(ir::Inst) -> (String, Option<ir::diagnostic::SourceLocation>),
    ) -> Result<Code, Unsupported> {
        let kernel = self.flow.kernel;
        let mut blocks = Vec::with_capacity(self.flow.order.steps.len());
        let mut any_meets = false;
        let mut global_atomics = false;
        let order = self.flow.order;
        for step in &order.steps {
            let block = match step {
                Step::Block(block) => *block,
                Step::Latch(index) => {
                    let target = self.flow.order.position[self.flow.loops.all[*index].header];
                    // The edges that lead here have already moved the header's parameters.
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
            // The entry's parameters are presets, which have all their lanes from the start.
            if block != Kernel::ENTRY {
                for parameter in &data.parameters {
                    self.splat(*parameter, &mut insts, None);
                }
            }
            for &id in &data.insts {
                let inst = &kernel.insts[id];
                any_meets |= meets(inst.op);
                global_atomics |= is_global_atomic(kernel, inst);
                let observed = self.observes.is_some_and(|observes| observes(id));
                let runs = self.slice.is_none_or(|slice| slice.has(id));
                if !runs && !observed {
                    continue;
                }
                let single = inst.result.is_some_and(|result| self.registers.single[result]);
                let Some((plain, detail)) = select(kernel, inst) else {
                    let (operation, location) = location(id);
                    return Err(Unsupported { operation, location });
                };
                let all: Vec<u32> = inst
                    .operands
                    .iter()
                    .enumerate()
                    .map(|(index, operand)| {
                        self.registers.operand(*operand, self.registers.taken(inst.op, index, inst.result))
                    })
                    .collect();
                let mut args = [NONE; 4];
                for (arg, slot) in args.iter_mut().zip(&all) {
                    *arg = *slot;
                }
                let out = inst.result.map_or(NONE, |result| {
                    let home = self.registers.homes[result];
                    if single { home.single } else { home.row }
                });
                // A store has no result. What it writes decides the number of components.
                let about = match inst.op {
                    Op::Store(_) => inst.operands.get(1).map(|value| kernel.ty(*value)),
                    _ => inst.result.map(|result| kernel.ty(result)),
                };
                // Outside the slice, an access is not made but must still be valid.
                let plain: Run = if runs { plain } else { reach };
                insts.push(Inst {
                    run: if observed { observer::INSTRUCTION } else { plain },
                    plain,
                    out,
                    args,
                    more: if all.len() > 4 { all.into() } else { Box::default() },
                    width: if single { 1 } else { WIDTH as u8 },
                    components: about.map_or(1, Type::lanes),
                    detail,
                    // Lanes that have left a loop need the value of their last iteration while others iterate.
                    blend: !single
                        && inst
                            .result
                            .is_some_and(|result| self.registers.outlives[result] || self.flow.anywhere()),
                    origin: id,
                });
                if let Some(result) = inst.result {
                    self.splat(result, &mut insts, Some(id));
                }
            }
            let end = match &data.terminator.kind {
                TerminatorKind::Jump(call) => End::Jump(self.edge(block, call)),
                TerminatorKind::Branch { condition, then, otherwise } => End::Branch {
                    condition: self.registers.operand(*condition, OperandForm::Either),
                    then: self.edge(block, then),
                    otherwise: self.edge(block, otherwise),
                },
                TerminatorKind::Switch { selector, cases, default } => End::Switch {
                    selector: self.registers.operand(*selector, OperandForm::Either),
                    bytes: component_bytes(kernel.ty(*selector)),
                    cases: cases.iter().map(|(bits, call)| (*bits, self.edge(block, call))).collect(),
                    default: self.edge(block, default),
                },
                TerminatorKind::Return => End::Return,
                TerminatorKind::Unreachable => End::Unreachable,
            };
            blocks.push(CodeBlock { of: Some(block), insts: insts.into(), end });
        }
        // The end of a block counts as a step.
        let longest = blocks.iter().map(|block| block.insts.len() as u64 + 1).max().unwrap_or(1);
        // A group that waits for a value of another work-group must see it, atomic or not.
        global_atomics |= !self.spins.is_empty();
        Ok(Code {
            blocks,
            slots: self.registers.slots,
            presets: self.registers.presets,
            meets: any_meets,
            spins: self.spins,
            longest,
            global_atomics,
        })
    }

    /// Copies a value of one lane to all lanes when an operation needs it.
    fn splat(&self, value: Value, insts: &mut Vec<Inst>, origin: Option<ir::Inst>) {
        let home = self.registers.homes[value];
        if home.single == NONE || home.row == NONE || !self.needs(value) {
            return;
        }
        let ty = self.flow.kernel.ty(value);
        insts.push(Inst {
            run: if self.observes.is_some() { observer::SPLAT } else { splat },
            plain: splat,
            out: home.row,
            args: [home.single, NONE, NONE, NONE],
            more: Box::default(),
            width: WIDTH as u8,
            components: ty.lanes(),
            detail: Detail::Number(u64::from(component_bytes(ty))),
            blend: false,
            // A block parameter has no instruction. `u32::MAX` itself is reserved by `cranelift_entity`.
            origin: origin.unwrap_or_else(|| ir::Inst::from_u32(u32::MAX - 1)),
        });
    }

    fn edge(&mut self, from: Block, call: &BlockCall) -> Edge {
        let kernel = self.flow.kernel;
        let mut pending: Vec<(u32, u32, Value)> = Vec::new();
        for (parameter, argument) in kernel.blocks[call.block].parameters.iter().zip(&call.arguments) {
            let home = self.registers.homes[*parameter];
            // Arguments of a parameter with one lane have one lane too: `find_singles` makes sure of that.
            let (to, source) = if self.registers.single[*parameter] {
                (home.single, self.registers.homes[*argument].single)
            } else {
                (home.row, self.registers.homes[*argument].row)
            };
            // An unused parameter has no register.
            if to != NONE && to != source && self.needs(*parameter) {
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
                let spare = self.spare(self.registers.slots[source as usize], &moves);
                moves.push(Move { from: source, to: spare, last: false });
                pending[0] = (spare, to, argument);
            }
        }
        Edge { target: self.flow.order.target(from, call.block), moves: moves.into() }
    }

    /// Whether the register of an argument is dead after the edge.
    fn dies(&self, argument: Value, slot: u32, call: &BlockCall) -> bool {
        let home = self.registers.homes[argument];
        slot == home.row
            && !self.registers.single[argument]
            && !self.flow.liveness.is_live_in(call.block, argument)
    }

    fn spare(&mut self, shape: SlotShape, moves: &[Move]) -> u32 {
        // A temporary register that this edge has used may still hold a value of another cycle.
        let used = |slot: u32| moves.iter().any(|each| each.to == slot || each.from == slot);
        if let Some((_, slot)) = self.spare.iter().find(|(spare, slot)| *spare == shape && !used(*slot)) {
            return *slot;
        }
        self.registers.slots.push(shape);
        let slot = self.registers.slots.len() as u32 - 1;
        self.spare.push((shape, slot));
        slot
    }
}
