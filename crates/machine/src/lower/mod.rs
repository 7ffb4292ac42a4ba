//! From the IR to operations of units, in the program's order.
//!
//! Values are tracked lane by lane: extracting lanes from a vector or assembling a vector costs nothing by itself. An
//! operation that needs its lanes in one register pays for collecting them (`gather`) only when they are elsewhere.

mod arithmetic;
mod gathers;
mod lowering;
mod memory;
mod shape;
mod terminators;
mod uses;

use std::collections::HashMap;

use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use smallvec::SmallVec;
use tripipe_ir::flow::Cfg;
use tripipe_ir::op::Binary;
use tripipe_ir::{Block, Inst, Kernel, Op, Scalar, Type, Value};

use crate::addresses::{JoinedLoads, JoinedStores};
use crate::code::{Operation, Register, RegisterData};
use crate::lanes::{self, Lane, Lanes};
use crate::model::Model;
use crate::uniform::Uniform;
use crate::work::Work;
use gathers::Input;
use lowering::Lowering;
use shape::Shape;
use uses::Uses;

/// The lowered kernel: operations that are not yet scheduled into words.
pub(crate) struct Lowered {
    pub(crate) blocks: SecondaryMap<Block, Vec<Operation>>,
    /// At the exits of a block: registers read for the successors' parameters, and the registers of the parameters.
    pub(crate) edges: Edges,
    pub(crate) registers: PrimaryMap<Register, RegisterData>,
    pub(crate) uniform: Uniform,
    pub(crate) unknown: Vec<String>,
}

/// For each block, what it passes to its successors: registers read, and the registers of the parameters they become.
pub(crate) type Edges = SecondaryMap<Block, Vec<PassedRegisters>>;

type PassedRegisters = (SmallVec<[Register; 4]>, SmallVec<[Register; 4]>);

pub(crate) fn lower(
    kernel: &Kernel,
    model: &Model,
    cfg: &Cfg,
    joins: JoinedLoads,
    stores: JoinedStores,
) -> Lowered {
    let uniform = Uniform::new(kernel, cfg);
    let mut lowering = Lowering {
        kernel,
        model,
        uses: Uses::new(kernel, cfg),
        joins,
        stores,
        joined: SecondaryMap::new(),
        uniform,
        lanes: SecondaryMap::new(),
        registers: PrimaryMap::new(),
        renamed: SecondaryMap::new(),
        gathered: HashMap::new(),
        operations: Vec::new(),
        extra: SmallVec::new(),
        unknown: Vec::new(),
        inst: None,
        location: None,
    };
    for block in &cfg.order {
        for parameter in &kernel.blocks[*block].parameters {
            if !lowering.uniform.is(*parameter) {
                let made = lowering.allocate(kernel.ty(*parameter), None, Some(*parameter));
                lowering.lanes[*parameter] = Some(made);
            }
        }
    }
    let mut blocks = SecondaryMap::new();
    let mut edges = SecondaryMap::new();
    for block in &cfg.order {
        lowering.gathered.clear();
        for inst in &kernel.blocks[*block].insts {
            lowering.inst = Some(*inst);
            lowering.location = kernel.insts[*inst].location;
            lowering.instruction(*inst);
        }
        lowering.inst = None;
        lowering.location = kernel.blocks[*block].terminator.location;
        lowering.terminator(*block);
        blocks[*block] = std::mem::take(&mut lowering.operations);
        edges[*block] = lowering.edges(*block);
    }
    let Lowering { registers, renamed, uniform, unknown, .. } = lowering;
    let name = |register: &mut Register| {
        while let Some(other) = renamed[*register] {
            *register = other;
        }
    };
    for block in &cfg.order {
        for operation in &mut blocks[*block] {
            operation.reads.iter_mut().for_each(name);
            operation.writes.iter_mut().for_each(name);
            unique(&mut operation.reads);
            unique(&mut operation.writes);
        }
        for (reads, writes) in &mut edges[*block] {
            reads.iter_mut().for_each(name);
            writes.iter_mut().for_each(name);
        }
    }
    prune(cfg, &mut blocks, &edges);
    Lowered { blocks, edges, registers, uniform, unknown }
}

/// Removes dead operations: unused lanes of vectors, and the operations that only they need.
fn prune(cfg: &Cfg, blocks: &mut SecondaryMap<Block, Vec<Operation>>, edges: &Edges) {
    let has_effect = |operation: &Operation| {
        operation.writes.is_empty() || matches!(operation.work, Work::Atomic | Work::Group)
    };
    let mut needed: EntitySet<Register> = EntitySet::new();
    let mut changed = true;
    while changed {
        changed = false;
        for block in cfg.order.iter().rev() {
            for (passed, parameter) in &edges[*block] {
                if parameter.iter().any(|register| needed.contains(*register)) {
                    passed.iter().for_each(|register| changed |= needed.insert(*register));
                }
            }
            for operation in blocks[*block].iter().rev() {
                if has_effect(operation) || operation.writes.iter().any(|register| needed.contains(*register))
                {
                    operation.reads.iter().for_each(|register| changed |= needed.insert(*register));
                }
            }
        }
    }
    for block in &cfg.order {
        blocks[*block].retain(|operation| {
            has_effect(operation) || operation.writes.iter().any(|register| needed.contains(*register))
        });
    }
}

fn unique<const N: usize>(registers: &mut SmallVec<[Register; N]>)
where
    [Register; N]: smallvec::Array<Item = Register>,
{
    let mut seen: SmallVec<[Register; 4]> = SmallVec::new();
    registers.retain(|register| {
        let new = !seen.contains(register);
        seen.push(*register);
        new
    });
}

impl Lowering<'_> {
    fn instruction(&mut self, inst: Inst) {
        let data = &self.kernel.insts[inst];
        let result = data.result;
        if result.is_some_and(|result| self.uniform.is(result)) {
            return;
        }
        let operands = &data.operands;
        let made = match data.op {
            Op::Construct => {
                let lanes =
                    operands.iter().filter_map(|operand| self.lanes_of(*operand).first().copied()).collect();
                let bits = result.and_then(|result| self.kernel.ty(result).scalar()).map(Scalar::bits);
                Some(self.merge(lanes, operands, bits, result))
            }
            Op::Extract(lane) => {
                self.lanes_of(operands[0]).get(usize::from(lane)).map(|lane| SmallVec::from_slice(&[*lane]))
            }
            Op::Insert(lane) => {
                let mut lanes = self.lanes_of(operands[0]);
                if let (Some(slot), Some(new)) =
                    (lanes.get_mut(usize::from(lane)), self.lanes_of(operands[1]).first())
                {
                    *slot = *new;
                }
                Some(lanes)
            }
            Op::Shuffle(mask) => {
                let mut all = self.lanes_of(operands[0]);
                all.extend(self.lanes_of(operands[1]));
                let pick = |lane: Option<u8>| lane.and_then(|lane| all.get(usize::from(lane)).copied());
                Some(mask.lanes().map(|lane| pick(lane).unwrap_or(Lane::Undefined)).collect())
            }
            Op::Bitcast => result.map(|result| self.bitcast(operands[0], result)),
            Op::ExtractDynamic | Op::InsertDynamic => {
                let lanes = u32::from(self.kernel.ty(operands[0]).lanes());
                let scalar = self.kernel.ty(operands[0]).scalar().unwrap_or(Scalar::I32);
                let works = vec![(Work::CompareSelect, scalar); lanes as usize];
                let inputs: Vec<Input> = operands.iter().map(|value| Input::Value(*value)).collect();
                result.map(|result| self.chain(&works, 1, &inputs, self.kernel.ty(result), Some(result)))
            }
            Op::Address(address) => self.address(inst, address.stride != 0),
            Op::Query(_) => result.map(|result| {
                let recipe = self.recipe(Work::QueryId, "any");
                let made = self.allocate_lanes(usize::from(self.kernel.ty(result).lanes()), 32, Some(result));
                for step in &recipe.0 {
                    let shape = Shape::of(self.model, step, 1, 32);
                    self.emit(Work::QueryId, step, recipe.1, shape, &[], &lanes::registers(&made));
                }
                made
            }),
            Op::LifetimeStart(_)
            | Op::LifetimeEnd(_)
            | Op::Fence { .. }
            | Op::WaitEvents { .. }
            | Op::WaitCopies { .. } => None,
            Op::Load(_) | Op::Store(_) | Op::Atomic(_) | Op::Copy(_) | Op::AsyncCopy { .. } => {
                self.memory(inst)
            }
            Op::Barrier { .. } => self.plain(Work::Barrier, &[], None),
            Op::ImageRead { .. } => self.plain(Work::ImageRead, operands, result),
            Op::ImageSample(_) => self.plain(Work::ImageSample, operands, result),
            Op::ImageWrite { .. } => self.plain(Work::ImageWrite, operands, None),
            Op::ImageQuery(_) => self.plain(Work::ImageQuery, &[], result),
            Op::Group(_) => self.plain(Work::Group, operands, result),
            Op::Printf(_) => {
                self.unpriced("printf", "any");
                None
            }
            Op::Compare(_) if result.is_some_and(|result| self.is_fused_compare(result)) => None,
            Op::Binary(Binary::Shl | Binary::LShr | Binary::AShr)
                if result.is_some_and(|result| self.is_fused_shift(result)) =>
            {
                // Its user does the shift in the same operation.
                result.map(|_| self.lanes_of(operands[0]))
            }
            // Shifts of every family read only the lowest bits of the amount.
            Op::Binary(Binary::And) if result.is_some_and(|result| self.is_masked_amount(result)) => {
                Some(self.lanes_of(operands[0]))
            }
            Op::Convert(convert) if self.is_free_index(inst, convert.from) => {
                Some(self.lanes_of(operands[0]))
            }
            op => result.and_then(|result| self.arithmetic(op, operands, result)),
        };
        if let (Some(result), Some(made)) = (result, made) {
            self.lanes[result] = Some(made);
        }
    }

    /// An instruction that has one recipe of its own.
    fn plain(&mut self, work: Work, operands: &[Value], result: Option<Value>) -> Option<Lanes> {
        let (steps, basis) = self.recipe(work, "any");
        let mut reads: SmallVec<[Register; 4]> = SmallVec::new();
        for operand in operands {
            if matches!(self.kernel.ty(*operand), Type::Image(_) | Type::Sampler) {
                continue;
            }
            reads.extend(self.whole(*operand));
        }
        let made = result.map(|result| self.allocate(self.kernel.ty(result), None, Some(result)));
        let writes = made.as_ref().map(|made| lanes::registers(made)).unwrap_or_default();
        let bits = result.map_or(0, |result| self.kernel.ty(result).bytes() * 8);
        for step in steps {
            for _ in 0..step.count {
                let shape = Shape { lanes: 1, room: 1, bits: bits.min(128) };
                self.emit(work, &step, basis, shape, &reads, &writes);
            }
        }
        made
    }
}
