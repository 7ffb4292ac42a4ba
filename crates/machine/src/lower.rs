//! From the IR to operations of units, in the program's order.
//!
//! Values are tracked lane by lane: extracting lanes from a vector or assembling a vector costs nothing by itself. An
//! operation that needs its lanes in one register pays for collecting them (`gather`) only when they are elsewhere.

mod memory;

use std::collections::HashMap;

use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use smallvec::SmallVec;
use tripipe_device::Basis;
use tripipe_ir::flow::Cfg;
use tripipe_ir::op::{Binary, Number};
use tripipe_ir::{Block, Inst, Kernel, Op, Place, Scalar, TerminatorKind, Type, Value};

use crate::code::{Operation, Register, RegisterData};
use crate::lanes::{self, Lane, Lanes};
use crate::model::{Model, Step, Units};
use crate::uniform::Uniform;
use crate::work;

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
pub(crate) type Edges = SecondaryMap<Block, Vec<Passed>>;

type Passed = (SmallVec<[Register; 4]>, SmallVec<[Register; 4]>);

pub(crate) fn lower(kernel: &Kernel, model: &Model, cfg: &Cfg) -> Lowered {
    let uniform = Uniform::new(kernel, cfg);
    let mut lowering = Lowering {
        kernel,
        model,
        uses: Uses::new(kernel, cfg),
        uniform,
        lanes: SecondaryMap::new(),
        registers: PrimaryMap::new(),
        renamed: SecondaryMap::new(),
        gathered: HashMap::new(),
        operations: Vec::new(),
        unknown: Vec::new(),
        inst: None,
        place: None,
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
            lowering.place = kernel.insts[*inst].place;
            lowering.instruction(*inst);
        }
        lowering.inst = None;
        lowering.place = kernel.blocks[*block].terminator.place;
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
    let has_effect =
        |operation: &Operation| operation.writes.is_empty() || matches!(operation.work, "atomic" | "group");
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

/// How a value is used.
struct Uses {
    count: SecondaryMap<Value, u32>,
    /// Uses as a pointer of a load, store or atomic, or as the base of a constant offset that has only such uses.
    as_address: SecondaryMap<Value, u32>,
    /// Uses as the index of an address.
    as_index: SecondaryMap<Value, u32>,
    /// Uses as the condition of a select.
    as_condition: SecondaryMap<Value, u32>,
    /// Uses as the condition or selector of a terminator.
    as_decider: SecondaryMap<Value, u32>,
    /// Uses as an operand of bitwise logic.
    in_logic: SecondaryMap<Value, u32>,
    /// Uses as a shift amount.
    as_amount: SecondaryMap<Value, u32>,
}

impl Uses {
    fn new(kernel: &Kernel, cfg: &Cfg) -> Self {
        let mut uses = Self {
            count: SecondaryMap::new(),
            as_address: SecondaryMap::new(),
            as_index: SecondaryMap::new(),
            as_condition: SecondaryMap::new(),
            as_decider: SecondaryMap::new(),
            in_logic: SecondaryMap::new(),
            as_amount: SecondaryMap::new(),
        };
        // Backwards, so that the uses of a pointer are known before those of its base.
        for block in cfg.order.iter().rev() {
            let data = &kernel.blocks[*block];
            for value in data.terminator.uses() {
                uses.count[value] += 1;
            }
            if let Some(decider) = data.terminator.decider() {
                uses.as_decider[decider] += 1;
            }
            for inst in data.insts.iter().rev() {
                let data = &kernel.insts[*inst];
                for value in &data.operands {
                    uses.count[*value] += 1;
                }
                match (data.op, &data.operands[..]) {
                    (Op::Load(_) | Op::Store(_) | Op::Atomic(_), [pointer, ..]) => {
                        uses.as_address[*pointer] += 1;
                    }
                    (Op::Address(address), [base, rest @ ..]) => {
                        if let Some(index) = rest.first() {
                            uses.as_index[*index] += 1;
                        }
                        let only_addresses =
                            data.result.is_some_and(|result| uses.as_address[result] == uses.count[result]);
                        if address.stride == 0 && only_addresses {
                            uses.as_address[*base] += 1;
                        }
                    }
                    (Op::Select, [condition, ..]) => uses.as_condition[*condition] += 1,
                    (Op::Binary(Binary::And | Binary::Or | Binary::Xor), [a, b]) => {
                        uses.in_logic[*a] += 1;
                        uses.in_logic[*b] += 1;
                    }
                    (Op::Binary(Binary::Shl | Binary::LShr | Binary::AShr), [_, amount]) => {
                        uses.as_amount[*amount] += 1;
                    }
                    _ => {}
                }
            }
        }
        uses
    }
}

struct Lowering<'k> {
    kernel: &'k Kernel,
    model: &'k Model,
    uses: Uses,
    uniform: Uniform,
    lanes: SecondaryMap<Value, Option<Lanes>>,
    registers: PrimaryMap<Register, RegisterData>,
    /// Registers that were merged into a wider one.
    renamed: SecondaryMap<Register, Option<Register>>,
    /// Lanes of a value that this block has already gathered, by value, first lane and number of lanes.
    gathered: HashMap<(Value, usize, usize), Lanes>,
    operations: Vec<Operation>,
    unknown: Vec<String>,
    inst: Option<Inst>,
    place: Option<Place>,
}

/// The source of the lanes that an operation reads.
#[derive(Clone)]
enum Input {
    Value(Value),
    Made(Lanes),
}

impl Lowering<'_> {
    fn fuses(&self, what: &str) -> bool {
        self.model.layout.fuses.iter().any(|name| name == what)
    }

    /// The lanes of a value.
    fn lanes_of(&self, value: Value) -> Lanes {
        if self.uniform.is(value) {
            let undefined =
                self.kernel.defining(value).is_some_and(|inst| self.kernel.insts[inst].op == Op::Undefined);
            let lane = if undefined { Lane::Undefined } else { Lane::Constant };
            return SmallVec::from_elem(lane, usize::from(self.kernel.ty(value).lanes()));
        }
        self.lanes[value].clone().unwrap_or_else(|| {
            SmallVec::from_elem(Lane::Constant, usize::from(self.kernel.ty(value).lanes()))
        })
    }

    /// Registers for a value of a type, with lanes side by side where the family packs them. `width` is the type of a
    /// lane where `ty` has no width of its own (`bool`).
    fn allocate(&mut self, ty: Type, width: Option<Scalar>, value: Option<Value>) -> Lanes {
        let bits = match ty.scalar() {
            None => 64,
            Some(Scalar::Bool) => width.map_or(self.model.layout.scalar_bits, Scalar::bits).max(8),
            Some(scalar) => scalar.bits(),
        };
        self.allocate_lanes(usize::from(ty.lanes()), bits, value)
    }

    fn allocate_lanes(&mut self, count: usize, bits: u32, value: Option<Value>) -> Lanes {
        let layout = &self.model.layout;
        let together = ((layout.register_bits / bits) as usize).clamp(1, count);
        let mut made = Lanes::new();
        while made.len() < count {
            let here = together.min(count - made.len());
            let bits_here = (here.next_power_of_two() as u32 * bits).max(layout.scalar_bits);
            let register = self.registers.push(RegisterData { bits: bits_here, value });
            for lane in 0..here {
                made.push(Lane::In(register, (lane as u32 * bits / 8) as u8));
            }
        }
        made
    }

    /// Emits an operation.
    fn emit(
        &mut self,
        work: &'static str,
        step: &Step,
        basis: Basis,
        shape: Shape,
        reads: &[Register],
        writes: &[Register],
    ) {
        self.operations.push(Operation {
            work,
            units: shape.units(self.model, step),
            inst: self.inst,
            place: self.place,
            reads: SmallVec::from_slice(reads),
            writes: SmallVec::from_slice(writes),
            lanes: shape.lanes,
            room: shape.room,
            bits: shape.bits,
            memory_bits: 0,
            basis,
        });
    }

    /// The recipe of an operation. If there is none, records it as unknown and returns no steps.
    fn recipe(&mut self, work: &str, ty: &str) -> (Vec<Step>, Basis) {
        if let Some(recipe) = self.model.recipe(ty, work) {
            return (recipe.value.clone(), recipe.basis);
        }
        let name = format!("{work} on {ty}");
        if !self.unknown.contains(&name) {
            self.unknown.push(name);
        }
        (Vec::new(), Basis::Guessed)
    }

    /// Gathers lanes of an input into one register unless they are there already, and returns the registers to read.
    fn read(&mut self, input: &Input, from: usize, count: usize, bits: u32) -> SmallVec<[Register; 4]> {
        let all = match input {
            Input::Value(value) => match self.gathered.get(&(*value, from, count)) {
                Some(lanes) => return lanes::registers(lanes),
                None => self.lanes_of(*value),
            },
            Input::Made(lanes) => lanes.clone(),
        };
        // A scalar is used for every lane.
        let wanted: Lanes =
            if all.len() == 1 { all } else { all.iter().skip(from).take(count).copied().collect() };
        let together = count > 1 && wanted.len() > 1 && self.model.layout.register_bits > 0;
        let scattered = together && lanes::sources(&wanted) > 1;
        let displaced =
            together && self.model.layout.fixed_bytes && bits == 8 && !lanes::in_order(&wanted, bits / 8);
        if !scattered && !displaced || wanted.iter().all(|lane| !matches!(lane, Lane::In(..))) {
            return lanes::registers(&wanted);
        }
        let made = self.gather(&wanted, bits);
        if let Input::Value(value) = input {
            self.gathered.insert((*value, from, count), made.clone());
        }
        lanes::registers(&made)
    }

    fn gather(&mut self, wanted: &[Lane], bits: u32) -> Lanes {
        let (steps, basis) = self.recipe("gather", int_name(bits));
        let made = self.allocate_lanes(wanted.len(), bits, None);
        let target = lanes::registers(&made);
        let sources = lanes::sources(wanted);
        let first = u32::from(!self.model.layout.gather_first && sources > 1);
        let reads = lanes::registers(wanted);
        for source in first..sources {
            // Each operation adds the lanes of one more source. The last source may be constants.
            let mut read: SmallVec<[Register; 4]> =
                reads.iter().skip(source as usize).take(1).copied().collect();
            if source == first {
                read.extend(reads.iter().take(first as usize).copied());
            }
            for step in &steps {
                let shape = Shape::of(self.model, step, wanted.len() as u32, bits);
                self.emit("gather", step, basis, shape, &read, &target);
            }
        }
        made
    }

    /// Emits a chain of operations on lanes and returns the location of the result.
    fn chain(
        &mut self,
        works: &[(&'static str, Scalar)],
        lanes: u32,
        inputs: &[Input],
        result: Type,
        value: Option<Value>,
    ) -> Lanes {
        let mut stages: Vec<(&'static str, Scalar, Step, Basis)> = Vec::new();
        for (work, scalar) in works {
            let (steps, basis) = self.recipe(work, scalar.name());
            for step in steps {
                stages.extend((0..step.count).map(|_| (*work, *scalar, step.clone(), basis)));
            }
        }
        if stages.is_empty() {
            return match inputs.first() {
                Some(Input::Value(value)) => self.lanes_of(*value),
                Some(Input::Made(lanes)) => lanes.clone(),
                None => self.allocate(result, None, value),
            };
        }
        let mut inputs: Vec<Input> = inputs.to_vec();
        let last = stages.len() - 1;
        for (position, (work, scalar, step, basis)) in stages.iter().enumerate() {
            let bits = scalar.bits().max(8);
            let made = if position == last {
                self.allocate(result, Some(*scalar), value)
            } else {
                let next = stages[position + 1].1;
                self.allocate_lanes(lanes as usize, next.bits().max(8), None)
            };
            let shape = Shape::of(self.model, step, lanes, bits);
            let mut from = 0;
            while from < lanes {
                let count = shape.room.min(lanes - from);
                let mut reads: SmallVec<[Register; 4]> = SmallVec::new();
                for input in &inputs {
                    reads.extend(self.read(input, from as usize, count as usize, bits));
                }
                // The result of a reduction has fewer lanes than it computes.
                let wanted: Lanes = if made.len() == 1 {
                    made.clone()
                } else {
                    made.iter().skip(from as usize).take(count as usize).copied().collect()
                };
                let writes = lanes::registers(&wanted);
                self.emit(work, step, *basis, Shape { lanes: count, ..shape }, &reads, &writes);
                from += count;
            }
            inputs = vec![Input::Made(made)];
        }
        match inputs.pop() {
            Some(Input::Made(lanes)) => lanes,
            _ => Lanes::new(),
        }
    }

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
                Some(self.merge(lanes, operands, result))
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
                let works = vec![("compare_select", scalar); lanes as usize];
                let inputs: Vec<Input> = operands.iter().map(|value| Input::Value(*value)).collect();
                result.map(|result| self.chain(&works, 1, &inputs, self.kernel.ty(result), Some(result)))
            }
            Op::Address(address) => self.address(inst, address.stride != 0),
            Op::Query(_) => result.map(|result| {
                let recipe = self.recipe("query_id", "any");
                let made = self.allocate_lanes(usize::from(self.kernel.ty(result).lanes()), 32, Some(result));
                for step in &recipe.0 {
                    let shape = Shape::of(self.model, step, 1, 32);
                    self.emit("query_id", step, recipe.1, shape, &[], &lanes::registers(&made));
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
            Op::Barrier { .. } => self.plain("barrier", &[], None),
            Op::ImageRead { .. } => self.plain("image_read", operands, result),
            Op::ImageSample(_) => self.plain("image_sample", operands, result),
            Op::ImageWrite { .. } => self.plain("image_write", operands, None),
            Op::ImageQuery(_) => self.plain("image_query", &[], result),
            Op::Group(_) => self.plain("group", operands, result),
            Op::Printf(_) => {
                self.recipe("printf", "any");
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

    fn arithmetic(&mut self, op: Op, operands: &[Value], result: Value) -> Option<Lanes> {
        let ty = self.kernel.ty(result);
        let Some(mut chain) = work::chain(self.kernel, op, operands, ty) else {
            self.recipe(&format!("{op}"), "any");
            return Some(self.allocate(ty, None, Some(result)));
        };
        let mut inputs: Vec<Input> = operands.iter().map(|value| Input::Value(*value)).collect();
        match op {
            Op::Select => {
                if let Some(compare) = self.kernel.defining(operands[0])
                    && !self.uniform.is(operands[0])
                    && self.is_fused_compare(operands[0])
                {
                    let data = &self.kernel.insts[compare];
                    chain.works = vec![("compare_select", chain.works[0].1)];
                    inputs = data
                        .operands
                        .iter()
                        .chain(&operands[1..])
                        .map(|value| Input::Value(*value))
                        .collect();
                }
            }
            // A dot product is one operation if the family has one for that many lanes.
            Op::Builtin(builtin) => {
                let source = self.kernel.ty(operands[0]);
                let scalar = source.scalar().unwrap_or(Scalar::F32);
                let named = self.model.recipe(scalar.name(), builtin.name()).is_some();
                if named && builtin.name() != "dot" {
                    chain.works = vec![(builtin.name(), scalar)];
                } else if self.model.recipe(scalar.name(), "dot").is_some()
                    && let Some(first) = chain.works.iter().position(|work| work.0 == "mul")
                    && chain.works.get(first + 1).is_some_and(|next| next.0 == "mad")
                    && chain.lanes == 1
                {
                    let end = first + usize::from(source.lanes());
                    let dots = usize::from(source.lanes()).div_ceil(4);
                    chain.works.splice(first..end, vec![("dot", scalar); dots]);
                }
            }
            // Division by a power of two needs only shifts and logic.
            Op::Binary(Binary::UDiv | Binary::URem | Binary::SDiv | Binary::SRem)
                if self
                    .kernel
                    .constant(operands[1])
                    .is_some_and(|lanes| lanes.iter().all(|lane| lane.is_power_of_two())) =>
            {
                let scalar = chain.works[0].1;
                chain.works = match op {
                    Op::Binary(Binary::UDiv) => vec![("shift", scalar)],
                    Op::Binary(Binary::URem) => vec![("logic", scalar)],
                    _ => vec![("shift", scalar), ("add", scalar), ("shift", scalar)],
                };
            }
            Op::Binary(Binary::UDiv | Binary::URem | Binary::SDiv | Binary::SRem | Binary::SMod)
                if self.kernel.constant(operands[1]).is_some() =>
            {
                // Division by a constant: the upper half of a product, and a shift.
                let scalar = chain.works[0].1;
                let mut works = vec![("mul_hi", scalar), ("shift", scalar), ("add", scalar)];
                works.extend(chain.works.iter().skip(1));
                chain.works = works;
            }
            Op::Binary(Binary::Mul)
                if self
                    .kernel
                    .constant(operands[1])
                    .is_some_and(|lanes| lanes.iter().all(|lane| lane.is_power_of_two())) =>
            {
                chain.works = vec![("shift", chain.works[0].1)];
            }
            _ => {}
        }
        // The 32 bits of a work-item's id are available without a conversion, whatever its type.
        if let Op::Convert(convert) = op
            && convert.from != Number::Float
            && convert.to != Number::Float
            && self
                .kernel
                .defining(operands[0])
                .is_some_and(|inst| matches!(self.kernel.insts[inst].op, Op::Query(_)))
            && matches!(ty.scalar(), Some(Scalar::I32))
        {
            return Some(self.lanes_of(operands[0]));
        }
        let chain_lanes = chain.lanes;
        Some(self.chain(&chain.works, chain_lanes, &inputs, ty, Some(result)))
    }

    /// Whether a comparison is done by the selects or the branch that use it.
    fn is_fused_compare(&self, condition: Value) -> bool {
        let Some(inst) = self.kernel.defining(condition) else { return false };
        if !matches!(self.kernel.insts[inst].op, Op::Compare(_)) {
            return false;
        }
        let uses = self.uses.count[condition];
        uses == self.uses.as_condition[condition] && self.fuses("compare_select")
            || uses == 1 && self.uses.as_decider[condition] == 1 && self.fuses("compare_branch")
    }

    fn is_fused_shift(&self, value: Value) -> bool {
        self.fuses("shift_logic") && self.uses.count[value] == 1 && self.uses.in_logic[value] == 1
    }

    /// Whether a value is used only as a shift amount and only masks it to the width of the shifted value.
    fn is_masked_amount(&self, value: Value) -> bool {
        let Some(inst) = self.kernel.defining(value) else { return false };
        let most = self.kernel.ty(value).scalar().map(|scalar| u64::from(scalar.bits()) - 1);
        let mask = self.kernel.constant(self.kernel.insts[inst].operands[1]);
        self.uses.count[value] == self.uses.as_amount[value]
            && mask.is_some_and(|lanes| lanes.iter().all(|lane| Some(*lane) == most))
    }

    /// Whether a widened index is used only by addresses, which widen it themselves.
    fn is_free_index(&self, inst: Inst, from: Number) -> bool {
        let data = &self.kernel.insts[inst];
        let Some(result) = data.result else { return false };
        from != Number::Float
            && self.kernel.ty(result) == Type::I64
            && self.kernel.ty(data.operands[0]).is_int()
            && self.uses.count[result] == self.uses.as_index[result]
    }

    /// Scalars that are computed only for one vector are computed directly in its registers.
    fn merge(&mut self, wanted: Lanes, operands: &[Value], result: Option<Value>) -> Lanes {
        let Some(bits) = result.and_then(|result| self.kernel.ty(result).scalar()).map(Scalar::bits) else {
            return wanted;
        };
        let together = (self.model.layout.register_bits / bits.max(8)) as usize;
        let alone = |lane: &Lane, operand: &Value| match lane {
            Lane::In(register, 0) => {
                self.uses.count[*operand] == 1
                    && self.renamed[*register].is_none()
                    && self.registers[*register].value == Some(*operand)
                    && self.kernel.ty(*operand).lanes() == 1
                    && self
                        .kernel
                        .defining(*operand)
                        .is_some_and(|inst| !matches!(self.kernel.insts[inst].op, Op::Query(_)))
            }
            Lane::Undefined => true,
            Lane::In(..) | Lane::Constant => false,
        };
        if together < 2 || !wanted.iter().zip(operands).all(|(lane, operand)| alone(lane, operand)) {
            return wanted;
        }
        let made = self.allocate_lanes(wanted.len(), bits.max(8), result);
        for (old, new) in wanted.iter().zip(&made) {
            if let (Lane::In(old, _), Lane::In(new, _)) = (old, new) {
                self.renamed[*old] = Some(*new);
            }
        }
        made
    }

    fn bitcast(&mut self, from: Value, result: Value) -> Lanes {
        let all = self.lanes_of(from);
        let bits = |ty: Type| ty.scalar().map_or(64, |scalar| scalar.bits().max(8));
        let (old, new) = (bits(self.kernel.ty(from)), bits(self.kernel.ty(result)));
        let count = usize::from(self.kernel.ty(result).lanes());
        if new == old {
            return all;
        }
        if new < old {
            let parts = (old / new) as usize;
            return (0..count)
                .map(|lane| match all.get(lane / parts) {
                    Some(Lane::In(register, byte)) => {
                        Lane::In(*register, byte.wrapping_add(((lane % parts) as u32 * new / 8) as u8))
                    }
                    Some(lane) => *lane,
                    None => Lane::Undefined,
                })
                .collect();
        }
        let parts = (new / old) as usize;
        let mut made = Lanes::new();
        for lane in 0..count {
            let part: Lanes = all.iter().skip(lane * parts).take(parts).copied().collect();
            let whole = if lanes::sources(&part) <= 1 { part } else { self.gather(&part, old) };
            made.push(whole.first().copied().unwrap_or(Lane::Undefined));
        }
        made
    }

    /// An instruction that has one recipe of its own.
    fn plain(&mut self, work: &'static str, operands: &[Value], result: Option<Value>) -> Option<Lanes> {
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

    /// Registers of a whole value for memory and texture operations: the lanes of each register are gathered.
    fn whole(&mut self, value: Value) -> SmallVec<[Register; 4]> {
        let ty = self.kernel.ty(value);
        let bits = ty.scalar().map_or(64, |scalar| scalar.bits().max(8));
        let together = ((self.model.layout.register_bits / bits) as usize).max(1);
        let mut reads = SmallVec::new();
        let mut from = 0;
        let count = usize::from(ty.lanes());
        while from < count {
            let here = together.min(count - from);
            reads.extend(self.read(&Input::Value(value), from, here, bits));
            from += here;
        }
        reads
    }

    fn terminator(&mut self, block: Block) {
        let terminator = &self.kernel.blocks[block].terminator;
        let next = |to: Block| to.as_u32() == block.as_u32() + 1;
        let (work, ty, inputs, times) = match &terminator.kind {
            TerminatorKind::Jump(call) if next(call.block) => return,
            TerminatorKind::Jump(_) => ("jump", "any", Vec::new(), 1),
            TerminatorKind::Return | TerminatorKind::Unreachable => return,
            TerminatorKind::Branch { condition, .. } => {
                if !self.uniform.is(*condition)
                    && self.is_fused_compare(*condition)
                    && let Some(compare) = self.kernel.defining(*condition)
                {
                    let operands = &self.kernel.insts[compare].operands;
                    let scalar = self.kernel.ty(operands[0]).scalar().unwrap_or(Scalar::I64);
                    ("compare_branch", scalar.name(), operands.to_vec(), 1)
                } else {
                    ("branch", "any", vec![*condition], 1)
                }
            }
            TerminatorKind::Switch { selector, cases, .. } => {
                let scalar = self.kernel.ty(*selector).scalar().unwrap_or(Scalar::I32);
                ("compare_branch", scalar.name(), vec![*selector], cases.len())
            }
        };
        let (steps, basis) = self.recipe(work, ty);
        let bits = inputs
            .first()
            .and_then(|value| self.kernel.ty(*value).scalar())
            .map_or(32, |scalar| scalar.bits().max(8));
        let mut reads: SmallVec<[Register; 4]> = SmallVec::new();
        for value in inputs {
            reads.extend(self.whole(value));
        }
        for _ in 0..times {
            let mut carried = reads.clone();
            for (position, step) in steps.iter().enumerate() {
                let shape = Shape::of(self.model, step, 1, bits);
                let more = position + 1 < steps.len();
                let writes: SmallVec<[Register; 4]> =
                    if more { lanes::registers(&self.allocate_lanes(1, 32, None)) } else { SmallVec::new() };
                self.emit(work, step, basis, shape, &carried, &writes);
                carried = writes;
            }
        }
    }

    fn edges(&mut self, block: Block) -> Vec<Passed> {
        let mut edges = Vec::new();
        for call in self.kernel.blocks[block].terminator.calls() {
            for (argument, parameter) in call.arguments.iter().zip(&self.kernel.blocks[call.block].parameters)
            {
                if let Some(to) = &self.lanes[*parameter] {
                    edges.push((lanes::registers(&self.lanes_of(*argument)), lanes::registers(to)));
                }
            }
        }
        edges
    }
}

/// Lanes of an operation, the lanes it has room for, and the bits of a lane.
#[derive(Clone, Copy)]
struct Shape {
    lanes: u32,
    room: u32,
    bits: u32,
}

impl Shape {
    /// The shape for `lanes` lanes, limited to what the widest unit computes at once.
    fn of(model: &Model, step: &Step, lanes: u32, bits: u32) -> Self {
        let room = step.units.iter().map(|unit| room(model, step, unit, bits)).max().unwrap_or(1);
        Self { lanes: lanes.min(room), room, bits }
    }

    /// The units that have room for the lanes.
    fn units(self, model: &Model, step: &Step) -> Units {
        let fitting = step
            .units
            .iter()
            .filter(|unit| room(model, step, *unit, self.bits) >= self.lanes.min(self.room))
            .fold(0, |units, unit| units | 1 << unit);
        if fitting == 0 { step.units } else { Units(fitting) }
    }
}

fn room(model: &Model, step: &Step, unit: usize, bits: u32) -> u32 {
    step.lanes.unwrap_or_else(|| (model.units[unit].bits / bits.max(8)).max(1))
}

fn int_name(bits: u32) -> &'static str {
    match bits {
        8 => "i8",
        16 => "i16",
        64 => "i64",
        _ => "i32",
    }
}
