//! What the blocks of a kernel cost a CPU core, without their memory.

use std::collections::HashMap;

use cranelift_entity::SecondaryMap;
use tripipe_device::Cpu;
use tripipe_ir::flow::{Cfg, Divergence, Dominators, Loops};
use tripipe_ir::op::{Binary, Builtin, Number};
use tripipe_ir::{Block, BlockCall, Inst, Kernel, Op, Scalar, TerminatorKind, Type, Value};

/// Instructions, by what they occupy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct IssueCounts {
    pub(super) integer: f64,
    pub(super) multiply: f64,
    /// Floats, and all of NEON.
    pub(super) vector: f64,
    pub(super) load: f64,
    pub(super) store: f64,
}

impl IssueCounts {
    pub(super) fn add(&mut self, other: Self, times: f64) {
        self.integer += other.integer * times;
        self.multiply += other.multiply * times;
        self.vector += other.vector * times;
        self.load += other.load * times;
        self.store += other.store * times;
    }

    /// Clocks in which a core issues them: those of the fullest pipe, or of the issue slots.
    pub(super) fn clocks(&self, cpu: &Cpu) -> f64 {
        let Self { integer, multiply, vector, load, store } = *self;
        let memory = if cpu.loads_share_stores_pipes.value {
            (load + store) / cpu.load_pipes.value
        } else {
            (load / cpu.load_pipes.value).max(store / cpu.store_pipes.value)
        };
        let pipes = [
            (integer + multiply + vector + load + store) / cpu.issue_width.value,
            integer / cpu.integer_pipes.value,
            multiply / cpu.multiply_pipes.value,
            vector / cpu.vector_pipes.value,
            memory,
        ];
        pipes.into_iter().fold(0.0, f64::max) / cpu.issue_efficiency.value
    }
}

/// A block's cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockCost {
    /// Of one work-item after another.
    pub(super) serial: IssueCounts,
    /// Of what is the same for all work-items of a group, or advances with them: once for all of them.
    pub(super) shared: IssueCounts,
    /// Of the rest in NEON, for each work-item.
    pub(super) neon: IssueCounts,
    /// Clocks from one run of a loop of one block to the next, at least: its longest chain of dependences.
    pub(super) chain: f64,
}

/// Bits that a pipe computes in a clock: a NEON register has 128.
pub(super) fn vector_bits(cpu: &Cpu) -> f64 {
    cpu.vector_bits.value.min(128.0)
}

/// The costs of a kernel's blocks.
pub(super) fn costs(kernel: &Kernel, cpu: &Cpu) -> SecondaryMap<Block, BlockCost> {
    let cfg = Cfg::new(kernel);
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    let divergence = Divergence::new(kernel, &cfg, &Dominators::post(&cfg), &loops);
    let mut costs: SecondaryMap<Block, BlockCost> = SecondaryMap::new();
    for (block, data) in &kernel.blocks {
        let mut cost = BlockCost { chain: chain(kernel, block, cpu), ..BlockCost::default() };
        for inst in &data.insts {
            let one = scalar(kernel, *inst);
            cost.serial.add(one, 1.0);
            // An integer that grows evenly with dimension 0 is a counter of the loop over work-items, not a vector.
            let is_shared = |value: Value| {
                let variation = divergence.variation(value);
                variation.is_uniform() || !kernel.ty(value).is_float() && variation.coefficient(0).is_some()
            };
            let instruction = &kernel.insts[*inst];
            match instruction.result {
                Some(result) if !is_shared(result) => {
                    let bits = widest(kernel, *inst);
                    let count = one.integer + one.multiply + one.vector + extension(kernel, *inst);
                    cost.neon.vector += count * bits / vector_bits(cpu);
                }
                _ => cost.shared.add(one, 1.0),
            }
        }
        let branches = match data.terminator.kind {
            TerminatorKind::Branch { .. } => 1.0,
            TerminatorKind::Switch { .. } => 2.0,
            _ => 0.0,
        };
        cost.serial.integer += branches;
        cost.shared.integer += branches;
        costs[block] = cost;
    }
    // The loop over work-items: an addition, a comparison, a branch.
    costs[Kernel::ENTRY].serial.integer += 3.0;
    costs[Kernel::ENTRY].shared.integer += 3.0;
    costs
}

/// An instruction's own cost, one work-item at a time. Loads and stores are counted where they are traced.
fn scalar(kernel: &Kernel, inst: Inst) -> IssueCounts {
    let instruction = &kernel.insts[inst];
    let ty = instruction.result.map(|result| kernel.ty(result));
    let lanes = f64::from(ty.map_or(1, Type::lanes));
    let operand = instruction.operands.first().map(|value| kernel.ty(*value));
    let is_float = ty.is_some_and(Type::is_float) || operand.is_some_and(Type::is_float);
    let mut counts = IssueCounts::default();
    let simple = if is_float { &mut counts.vector } else { &mut counts.integer };
    match instruction.op {
        Op::Binary(Binary::Mul) => counts.multiply = lanes,
        Op::Unary(_) | Op::Binary(_) | Op::Select => *simple = lanes,
        Op::Compare(_) => *simple = f64::from(operand.map_or(1, Type::lanes)),
        // Loads and stores extend and truncate.
        Op::Convert(convert) if convert.from != Number::Float && convert.to != Number::Float => {
            counts.integer = if convert.saturate { lanes } else { 0.0 };
        }
        Op::Convert(_) => counts.vector = lanes,
        // The addressing modes of loads and stores have a base, a shifted index and an offset.
        Op::Address(address) if address.stride > 0 && !address.stride.is_power_of_two() => {
            counts.integer = 1.0;
        }
        Op::Dot(_) => counts.multiply = f64::from(operand.map_or(1, Type::lanes)),
        Op::Builtin(builtin) => {
            let wide = f64::from(operand.map_or(1, Type::lanes)).max(lanes);
            // Of a clamp each bound is an operation. A function of the library counts as one too.
            *simple = if builtin.name().ends_with("clamp") { 2.0 * wide } else { wide };
        }
        _ => {}
    }
    counts
}

/// Instructions with which NEON makes wider integers: scalar code needs none.
fn extension(kernel: &Kernel, inst: Inst) -> f64 {
    let instruction = &kernel.insts[inst];
    match (instruction.op, instruction.result) {
        (Op::Convert(convert), Some(result))
            if convert.from != Number::Float && convert.to != Number::Float =>
        {
            f64::from(kernel.ty(result).lanes())
        }
        _ => 0.0,
    }
}

/// Bits of the widest number that an instruction computes with.
fn widest(kernel: &Kernel, inst: Inst) -> f64 {
    let instruction = &kernel.insts[inst];
    let values = instruction.result.iter().chain(&instruction.operands);
    let bits = values.filter_map(|value| kernel.ty(*value).scalar()).map(Scalar::bits);
    f64::from(bits.max().unwrap_or(32).max(8))
}

/// The longest chain of latencies from a parameter of a block to the value that the block passes on to itself for it.
fn chain(kernel: &Kernel, block: Block, cpu: &Cpu) -> f64 {
    let data = &kernel.blocks[block];
    let calls = data.terminator.calls();
    let Some(BlockCall { arguments, .. }) = calls.iter().find(|call| call.block == block) else { return 0.0 };
    let longest = |from: Value, to: Value| {
        // Definitions precede uses within a block, so one pass finds the longest chain.
        let mut after: HashMap<Value, f64> = HashMap::from([(from, 0.0)]);
        for inst in &data.insts {
            let instruction = &kernel.insts[*inst];
            let start =
                instruction.operands.iter().filter_map(|value| after.get(value)).copied().reduce(f64::max);
            if let (Some(start), Some(result)) = (start, instruction.result) {
                after.insert(result, start + latency(kernel, *inst, cpu));
            }
        }
        after.get(&to).copied().unwrap_or(0.0)
    };
    data.parameters.iter().zip(arguments).map(|(from, to)| longest(*from, *to)).fold(0.0, f64::max)
}

fn latency(kernel: &Kernel, inst: Inst, cpu: &Cpu) -> f64 {
    let counts = scalar(kernel, inst);
    match kernel.insts[inst].op {
        Op::Load(_) => cpu.load.value,
        Op::Binary(Binary::FMul) => cpu.float_multiply.value,
        Op::Builtin(Builtin::Fma | Builtin::Mad) => cpu.float_multiply_add.value,
        _ if counts.multiply > 0.0 => cpu.multiply.value,
        _ if counts.vector > 0.0 => cpu.float_add.value,
        _ if counts.integer > 0.0 => cpu.integer.value,
        _ => 0.0,
    }
}
