//! A compiled kernel in the form that is played: runs of arithmetic, messages to memory, barriers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use cranelift_entity::{EntityRef as _, SecondaryMap};
use smallvec::SmallVec;
use tripipe_device::{Family, Gpu};
use tripipe_ir::flow::Cfg;
use tripipe_ir::{Block, Inst, Kernel};
use tripipe_machine::{Code, Issue, Pipe, Register, Work};

use crate::figures::Figures;
use crate::memory::ticks;
use crate::shape::Shape;

/// Arithmetic units of an engine that are busy independently of each other.
pub(crate) const SERVERS: usize = 3;

/// Registers, by number.
pub(crate) type Registers = SmallVec<[u32; 4]>;

/// Part of a block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Arithmetic that needs no result of a message, except those in `waits`.
    Run(Run),
    /// An access to memory.
    Message(Message),
    /// A barrier of the work-group.
    Barrier,
}

/// Consecutive arithmetic of a warp.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Run {
    /// Results of messages that it needs.
    pub(crate) waits: Registers,
    /// Clocks of the pipes, by [`Pipe::index`], before the family's issue rule.
    pub(crate) pipes: [f64; Pipe::ALL.len()],
    /// Clocks that it occupies each server of its engine.
    pub(crate) clocks: [f64; SERVERS],
    /// The same in ticks, with the pipes that share the server.
    pub(crate) ticks: [u64; SERVERS],
    /// Clocks that it takes a warp that is alone.
    pub(crate) alone: f64,
    /// The same in ticks.
    pub(crate) alone_ticks: u64,
}

/// A word of the load/store or texture pipe.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) waits: Registers,
    pub(crate) writes: Registers,
    /// Whether it is for the texture pipe.
    pub(crate) texture: bool,
    /// Clocks of its pipe, at least.
    pub(crate) clocks: f64,
    pub(crate) parts: SmallVec<[Part; 2]>,
}

/// What a message accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Bytes `from..from + bytes` of each work-item's access by an instruction.
    Access { inst: Inst, from: u32, bytes: u32 },
    /// A spilled register in the work-item's own memory.
    Spill { slot: u32, bytes: u32, write: bool },
    /// No address.
    None,
}

/// A kernel as a GPU plays it.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) blocks: SecondaryMap<Block, Vec<Step>>,
    /// The issues of the code that each step consists of.
    pub(crate) issues: SecondaryMap<Block, Vec<Range<usize>>>,
    /// Work of a warp that runs a block: clocks of a warp that is alone.
    pub(crate) costs: SecondaryMap<Block, f64>,
    /// The share of each step in it.
    pub(crate) step_costs: SecondaryMap<Block, Vec<f64>>,
    /// Registers that a block passes on and that a message may have written: from, to.
    pub(crate) passed: SecondaryMap<Block, Vec<(u32, u32)>>,
}

impl Program {
    pub(crate) fn new(kernel: &Kernel, code: &Code, gpu: &Gpu, figures: &Figures, shape: &Shape) -> Self {
        let cfg = Cfg::new(kernel);
        let from_messages = from_messages(&cfg, code);
        let mut blocks: SecondaryMap<Block, Vec<Step>> = SecondaryMap::new();
        let mut issues: SecondaryMap<Block, Vec<Range<usize>>> = SecondaryMap::new();
        let mut passed: SecondaryMap<Block, Vec<(u32, u32)>> = SecondaryMap::new();
        for block in &cfg.order {
            // A new builder for each block: what the paths before it have waited for differs.
            let builder = Builder {
                gpu,
                figures,
                shape,
                from_messages: &from_messages,
                steps: Vec::new(),
                ranges: Vec::new(),
                run: None,
                chain: Chain::default(),
                waited: BTreeSet::new(),
                pieces: BTreeMap::new(),
                slots: BTreeMap::new(),
            };
            (blocks[*block], issues[*block]) = builder.build(&code.blocks[*block]);
            for (from, to) in &code.passed[*block] {
                let pairs = from.iter().zip(to).map(|(from, to)| (number(*from), number(*to)));
                passed[*block].extend(pairs.filter(|(from, _)| from_messages.contains(from)));
            }
        }
        let (mut costs, mut step_costs) = (SecondaryMap::new(), SecondaryMap::<Block, Vec<f64>>::new());
        for block in &cfg.order {
            step_costs[*block] = blocks[*block].iter().map(|step| step.cost(figures)).collect();
            costs[*block] = step_costs[*block].iter().sum();
        }
        Self { blocks, issues, costs, step_costs, passed }
    }
}

impl Program {
    /// Whether work-items wait for others of their work-group.
    pub(crate) fn has_barriers(&self) -> bool {
        self.blocks.values().flatten().any(|step| matches!(step, Step::Barrier))
    }
}

impl Step {
    /// Clocks of a warp that is alone; of results that arrive while others are awaited their part.
    fn cost(&self, figures: &Figures) -> f64 {
        match self {
            Self::Run(run) => run.clocks.iter().copied().fold(run.alone, f64::max),
            Self::Message(message) => {
                let latency = if message.texture { figures.texture_latency } else { figures.load_latency };
                message.clocks + latency / figures.messages_in_flight.max(1.0)
            }
            Self::Barrier => figures.barrier_clocks,
        }
    }
}

fn number(register: Register) -> u32 {
    register.index() as u32
}

fn is_message(issue: &Issue) -> bool {
    matches!(issue.pipe, Pipe::LoadStore | Pipe::Texture)
}

/// Registers whose contents come from a message, directly or passed from block to block.
fn from_messages(cfg: &Cfg, code: &Code) -> BTreeSet<u32> {
    let messages = cfg.order.iter().flat_map(|block| &code.blocks[*block]).filter(|issue| is_message(issue));
    let written = messages.flat_map(|issue| &issue.operations).flat_map(|(_, operation)| &operation.writes);
    let mut all: BTreeSet<u32> = written.map(|register| number(*register)).collect();
    // To a fixed point, because registers are passed around loops.
    loop {
        let before = all.len();
        for (from, to) in cfg.order.iter().flat_map(|block| &code.passed[*block]) {
            for (from, to) in from.iter().zip(to) {
                if all.contains(&number(*from)) {
                    all.insert(number(*to));
                }
            }
        }
        if all.len() == before {
            return all;
        }
    }
}

/// When the registers of a run are ready, for a warp that is alone.
#[derive(Default)]
struct Chain {
    now: f64,
    ready: BTreeMap<u32, f64>,
}

struct Builder<'a> {
    gpu: &'a Gpu,
    figures: &'a Figures,
    shape: &'a Shape,
    from_messages: &'a BTreeSet<u32>,
    steps: Vec<Step>,
    /// The issues of each step.
    ranges: Vec<Range<usize>>,
    run: Option<Run>,
    chain: Chain,
    /// Results of messages that the block has already waited for.
    waited: BTreeSet<u32>,
    /// Bytes of each instruction's access that earlier messages have transferred.
    pieces: BTreeMap<Inst, u32>,
    /// Slots of spilled registers.
    slots: BTreeMap<u32, u32>,
}

impl Builder<'_> {
    fn build(mut self, issues: &[Issue]) -> (Vec<Step>, Vec<Range<usize>>) {
        for (at, issue) in issues.iter().enumerate() {
            if issue.operations.iter().any(|(_, operation)| operation.work == Work::Barrier) {
                self.end_run(at);
                // A barrier is a word of its pipe, too.
                self.message(issue, at);
                self.push(Step::Barrier, at + 1);
            } else if is_message(issue) {
                self.end_run(at);
                self.message(issue, at);
            } else {
                self.arithmetic(issue, at);
            }
        }
        self.end_run(issues.len());
        (self.steps, self.ranges)
    }

    /// Adds a step of the issues since the last one, up to `end`.
    fn push(&mut self, step: Step, end: usize) {
        self.ranges.push(self.ranges.last().map_or(0, |range| range.end)..end);
        self.steps.push(step);
    }

    /// Results of messages that an issue needs and that the block has not waited for.
    fn waits(&mut self, issue: &Issue) -> Registers {
        let reads = issue.operations.iter().flat_map(|(_, operation)| &operation.reads);
        let needs = reads.map(|register| number(*register));
        let needs: BTreeSet<u32> = needs.filter(|register| self.from_messages.contains(register)).collect();
        // A later read in the block finds the result in its register.
        needs.into_iter().filter(|register| self.waited.insert(*register)).collect()
    }

    fn arithmetic(&mut self, issue: &Issue, at: usize) {
        let waits = self.waits(issue);
        // A new run starts at the wait, so that the arithmetic before it does not wait.
        if !waits.is_empty() {
            self.end_run(at);
        }
        let run = self.run.get_or_insert_with(|| Run { waits, ..Run::default() });
        run.pipes[issue.pipe.index()] += issue.cycles;
        // In-order issue: behind the one before, and when the operands are there.
        let reads = issue.operations.iter().flat_map(|(_, operation)| &operation.reads);
        let ready = reads.filter_map(|register| self.chain.ready.get(&number(*register)));
        let start = ready.copied().fold(self.chain.now, f64::max);
        let latency = match issue.pipe {
            Pipe::Special => self.figures.special_latency,
            _ => self.figures.arithmetic_latency,
        };
        let serial = self.figures.messages_in_flight < 1.0;
        // A thread that computes for several work-items waits once for all of them.
        let latency = if serial { latency * issue.cycles.min(1.0) } else { latency };
        // The words of a thread of Midgard do not overlap.
        self.chain.now = start + if serial { latency.max(issue.cycles) } else { issue.cycles };
        for register in issue.operations.iter().flat_map(|(_, operation)| &operation.writes) {
            self.chain.ready.insert(number(*register), start + latency);
        }
    }

    fn end_run(&mut self, end: usize) {
        let Some(mut run) = self.run.take() else { return };
        run.alone = self.chain.now;
        run.clocks = servers(self.gpu, &run.pipes);
        // Any thread of Midgard uses any pipe, so the pipes are one server that is as many times as fast.
        run.ticks = run.clocks.map(|clocks| ticks(clocks / self.shape.shared_pipes));
        run.alone_ticks = ticks(run.alone);
        self.push(Step::Run(run), end);
        let ended = self.chain.now;
        // What is not ready yet counts from the start of the next run.
        self.chain.ready.retain(|_, ready| *ready > ended);
        self.chain.ready.values_mut().for_each(|ready| *ready -= ended);
        self.chain.now = 0.0;
    }

    fn message(&mut self, issue: &Issue, at: usize) {
        let waits = self.waits(issue);
        let mut writes = Registers::new();
        let mut parts = SmallVec::new();
        for (_, operation) in &issue.operations {
            for register in &operation.writes {
                // The register gets a new result, which must be awaited again.
                self.waited.remove(&number(*register));
                writes.push(number(*register));
            }
            let bytes = operation.memory_bits / 8;
            parts.push(match (operation.work, operation.inst) {
                (Work::Spill | Work::Fill, _) => {
                    let registers = operation.reads.iter().chain(&operation.writes);
                    let register = registers.map(|register| number(*register)).next().unwrap_or(0);
                    let next = self.slots.len() as u32;
                    let slot = *self.slots.entry(register).or_insert(next);
                    Part::Spill { slot, bytes, write: operation.work == Work::Spill }
                }
                (Work::Barrier, _) | (_, None) => Part::None,
                (_, Some(inst)) => {
                    // An access may take several messages, in the order of its bytes.
                    let done = self.pieces.entry(inst).or_default();
                    let from = *done;
                    *done += bytes;
                    Part::Access { inst, from, bytes }
                }
            });
        }
        let texture = issue.pipe == Pipe::Texture;
        self.push(Step::Message(Message { waits, writes, texture, clocks: issue.cycles, parts }), at + 1);
    }
}

/// Clocks that operations of a warp, given as clocks of the pipes, occupy each server of its engine.
pub(crate) fn servers(gpu: &Gpu, pipes: &[f64; Pipe::ALL.len()]) -> [f64; SERVERS] {
    let at = |pipe: Pipe| pipes[pipe.index()];
    let warp = f64::from(gpu.core.warp_width.value.max(1));
    let lanes = gpu.core.lanes_per_pipe.as_ref().map_or(1.0, |lanes| f64::from(lanes.value.max(1)));
    match gpu.family() {
        Family::Midgard => [at(Pipe::Arithmetic), 0.0, 0.0],
        Family::Bifrost => [at(Pipe::Arithmetic) * warp / lanes, 0.0, 0.0],
        Family::Valhall | Family::Arm5thGen => {
            let (fma, convert, special) = (at(Pipe::Fma), at(Pipe::Convert), at(Pipe::Special));
            let times = warp / lanes;
            let Some(rule) = &gpu.core.issue_rule else {
                return [fma * times, convert * times, 4.0 * special * times];
            };
            match rule.value {
                tripipe_device::IssueRule::Parallel => [fma * times, convert * times, 4.0 * special * times],
                // The rule bounds the three pipes together. The SFU, at a quarter of the rate, is a bound of its own.
                rule => [rule.cycles(fma, convert, special) * times, 0.0, 4.0 * special * times],
            }
        }
        Family::Adreno5xx | Family::Adreno6xx | Family::Adreno7xx | Family::Adreno8xx => {
            let engines = f64::from(gpu.core.arithmetic_pipes.value.max(1));
            let rate = f64::from(gpu.operations_per_clock_per_core.fp32_fma.value.max(1)) / engines;
            [at(Pipe::Arithmetic) * warp / rate, 0.0, at(Pipe::Special) * warp / rate]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half as many lanes take twice as long on every pipe, with and without an issue rule.
    #[test]
    fn the_width_of_a_pipe_scales_all_servers() {
        let mut wide = tripipe_device::find("g77").unwrap().clone();
        let Some(lanes) = wide.core.lanes_per_pipe.as_mut() else { panic!("no lanes") };
        lanes.value = wide.core.warp_width.value;
        let mut without = wide.clone();
        without.core.issue_rule = None;
        let mut pipes = [0.0; Pipe::ALL.len()];
        for (pipe, clocks) in [(Pipe::Fma, 3.0), (Pipe::Convert, 5.0), (Pipe::Special, 7.0)] {
            pipes[pipe.index()] = clocks;
        }
        for wide in [wide, without] {
            let mut narrow = wide.clone();
            if let Some(lanes) = narrow.core.lanes_per_pipe.as_mut() {
                lanes.value /= 2;
            }
            assert_eq!(servers(&narrow, &pipes), servers(&wide, &pipes).map(|clocks| 2.0 * clocks));
        }
    }
}
