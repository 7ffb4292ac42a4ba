//! What the steps of a program stand for: words of the pipes, and lines of the source.

use std::collections::{HashMap, HashSet};

use cranelift_entity::EntityRef as _;
use tripipe_device::Gpu;
use tripipe_ir::{Inst, Kernel, Module};
use tripipe_machine::{Code, Issue, Pipe, Work};

use crate::program::{Program, SERVERS, Step, servers};

/// A line of the source; `None` for code without a location.
pub(crate) type SourceLine = Option<(String, u32)>;

/// What a message does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sends {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic operation.
    Atomic,
    /// A read of an image.
    Texture,
    /// Nothing that has an address, or arithmetic.
    #[default]
    Other,
}

/// The part of a step that comes from a line.
#[derive(Clone, Debug)]
pub(crate) struct LineShare {
    /// The line, by position in [`Facts::lines`].
    pub(crate) line: usize,
    /// Words, by [`Pipe::index`].
    pub(crate) words: [f64; Pipe::ALL.len()],
    /// Its share of the step's ticks of each server; of a message in the first.
    pub(crate) ticks: [f64; SERVERS],
}

/// A step, executed once by a warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepFacts {
    /// Words, by [`Pipe::index`].
    pub(crate) words: [f64; Pipe::ALL.len()],
    /// Of the words of arithmetic, those whose operations are all of at most 16 bits.
    pub(crate) narrow: f64,
    /// Whether it is a message.
    pub(crate) is_message: bool,
    pub(crate) sends: Sends,
    /// Bytes of each work-item.
    pub(crate) bytes: f64,
    /// Floating-point operations of each work-item.
    pub(crate) float_operations: u32,
    pub(crate) lines: Vec<LineShare>,
}

/// All steps of a program.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// By block and position.
    pub(crate) steps: Vec<Vec<StepFacts>>,
    pub(crate) lines: Vec<SourceLine>,
    /// The messages that a register's contents may come from: block, step.
    pub(crate) producers: HashMap<u32, Vec<(usize, usize)>>,
}

/// Whether words of a pipe are arithmetic.
pub(crate) fn is_arithmetic(pipe: Pipe) -> bool {
    !matches!(pipe, Pipe::LoadStore | Pipe::Texture)
}

impl Facts {
    pub(crate) fn new(module: &Module, kernel: &Kernel, code: &Code, program: &Program, gpu: &Gpu) -> Self {
        let mut facts = Self { steps: Vec::new(), lines: Vec::new(), producers: HashMap::new() };
        let hoisted: HashSet<Inst> = code.hoisted.iter().copied().collect();
        for (block, steps) in program.blocks.iter() {
            let issues = &code.blocks[block];
            let mut of_block = Vec::new();
            for (at, step) in steps.iter().enumerate() {
                // A barrier has no issues of its own: they belong to the message before it.
                let range = program.issues[block].get(at).cloned().unwrap_or_default();
                of_block.push(facts.step((module, kernel), gpu, step, issues.get(range).unwrap_or_default()));
                if let Step::Message(message) = step {
                    for register in &message.writes {
                        facts.producers.entry(*register).or_default().push((block.index(), at));
                    }
                }
            }
            // A step has words, which may do several of the block's operations or a part of one, so the first has all.
            if let Some(first) = of_block.first_mut() {
                let own = kernel.blocks[block].insts.iter().filter(|inst| !hoisted.contains(inst));
                first.float_operations = own.map(|inst| kernel.float_operations(*inst)).sum();
            }
            facts.steps.push(of_block);
        }
        facts.follow(program);
        facts
    }

    /// Adds the producers of registers that blocks pass on.
    fn follow(&mut self, program: &Program) {
        // To a fixed point, because edges may lead back.
        let passed: Vec<(u32, u32)> = program.passed.values().flatten().copied().collect();
        loop {
            let mut changed = false;
            for (from, to) in &passed {
                for producer in self.producers.get(from).cloned().unwrap_or_default() {
                    let known = self.producers.entry(*to).or_default();
                    if !known.contains(&producer) {
                        known.push(producer);
                        changed = true;
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn step(
        &mut self,
        (module, kernel): (&Module, &Kernel),
        gpu: &Gpu,
        step: &Step,
        issues: &[Issue],
    ) -> StepFacts {
        let mut facts = StepFacts { is_message: matches!(step, Step::Message(_)), ..StepFacts::default() };
        // A family's issue rule is not additive. The run's ticks are divided by what each issue would take alone.
        let alone: Vec<[f64; SERVERS]> = issues
            .iter()
            .map(|issue| {
                let mut pipes = [0.0; Pipe::ALL.len()];
                pipes[issue.pipe.index()] = issue.cycles;
                servers(gpu, &pipes)
            })
            .collect();
        let total: [f64; SERVERS] = std::array::from_fn(|at| alone.iter().map(|clocks| clocks[at]).sum());
        for (issue, alone) in issues.iter().zip(&alone) {
            facts.words[issue.pipe.index()] += 1.0;
            if is_arithmetic(issue.pipe) && issue.operations.iter().all(|(_, operation)| operation.bits <= 16)
            {
                facts.narrow += 1.0;
            }
            // A word has no line of its own, so its operations share it equally.
            let part = 1.0 / issue.operations.len().max(1) as f64;
            for (_, operation) in &issue.operations {
                let line = operation.location.map(|location| kernel.own_location(location));
                // Line 0 marks code that the compiler made up.
                let line = line.filter(|location| location.line > 0);
                let line = line.map(|location| (module.files[location.file].to_string(), location.line));
                let line = self.line(line);
                let at = facts.lines.iter().position(|share| share.line == line).unwrap_or_else(|| {
                    let empty = LineShare { line, words: [0.0; Pipe::ALL.len()], ticks: [0.0; SERVERS] };
                    facts.lines.push(empty);
                    facts.lines.len() - 1
                });
                let share = &mut facts.lines[at];
                share.words[issue.pipe.index()] += part;
                match step {
                    Step::Run(run) => {
                        for server in 0..SERVERS {
                            let of_all = alone[server] / total[server].max(f64::MIN_POSITIVE);
                            share.ticks[server] += run.ticks[server] as f64 * of_all * part;
                        }
                    }
                    // How long a message takes depends on its addresses. Only its share is known here.
                    Step::Message(_) | Step::Barrier => share.ticks[0] += part,
                }
                facts.bytes += f64::from(operation.memory_bits / 8);
                // The pipe comes first, because an image read is a load too.
                facts.sends = match operation.work {
                    _ if issue.pipe == Pipe::Texture => Sends::Texture,
                    Work::Atomic => Sends::Atomic,
                    Work::Store | Work::Spill | Work::ImageWrite => Sends::Store,
                    _ if operation.memory_bits > 0 => Sends::Load,
                    // Address arithmetic in the same word does not change what the word sends.
                    _ => facts.sends,
                };
            }
        }
        facts
    }

    fn line(&mut self, line: SourceLine) -> usize {
        self.lines.iter().position(|known| *known == line).unwrap_or_else(|| {
            self.lines.push(line);
            self.lines.len() - 1
        })
    }
}
