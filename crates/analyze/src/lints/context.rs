//! What a lint sees of a kernel, and the advice that it gives.

use std::rc::Rc;

use tripipe_device::Gpu;
use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::flow::{Cfg, Range};
use tripipe_ir::{Block, Inst, Kernel, Location, Value};
use tripipe_machine::{Code, Pipe};

use crate::facts::Facts;
use crate::{Column, Cycles, Polynomial, Registers, Setup, WarpAccess};

/// A possible improvement of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The lint.
    pub rule: &'static Rule,
    /// The source location, if there is one.
    pub location: Option<Location>,
    /// The evidence, with figures.
    pub message: String,
    /// The proposed change.
    pub fix: String,
    /// What the change would save; `None` where the model cannot predict it.
    pub gain: Option<Gain>,
}

impl Advice {
    /// The largest fraction of cycles that belongs to it: that of all advice of its lint, or its own.
    pub fn most_cycles(&self) -> Option<f64> {
        let gain = self.gain.as_ref()?;
        gain.together.or(gain.cycles)
    }

    /// Whether it is reported: it gains enough as far as that is known, or the kernel fails without it.
    pub fn is_reported(&self) -> bool {
        // Advice without a proposed change waits for a rewrite that has one.
        let is_advice = !self.fix.is_empty() && self.share().is_none_or(|share| share >= LEAST);
        self.rule.severity == Severity::Error || is_advice
    }

    /// The rewrite that its gain is of, if it was applied.
    pub fn applied(&self) -> Option<&Applied> {
        match &self.gain.as_ref()?.basis {
            Basis::Applied(applied) => Some(applied),
            _ => None,
        }
    }

    /// The fraction that it saves: of the time where that is known, otherwise of the cycles.
    pub fn share(&self) -> Option<f64> {
        let seconds = self.gain.as_ref().and_then(|gain| gain.seconds);
        seconds.map(|[before, after]| 1.0 - after / before).or_else(|| self.most_cycles())
    }
}

/// What a change would save.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gain {
    /// The fraction of the bounding pipe's cycles on the longest path, above 0 and at most 1; `None` where only a model
    /// of time can tell.
    pub cycles: Option<f64>,
    /// The same for all advice of the lint together, if there is more than one.
    pub together: Option<f64>,
    /// What the change does, for a model of time; `None` where that is not known.
    pub effect: Option<Effect>,
    /// Seconds of the launch before and after the change, for a caller with a model of time to set.
    pub seconds: Option<[f64; 2]>,
    /// Where it comes from.
    pub basis: Basis,
    /// Clocks of each pipe along the longest path; empty where the gain is not one of pipes.
    saved: Vec<Polynomial>,
}

/// Where a gain comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Basis {
    /// The lint estimates it.
    #[default]
    Estimate,
    /// A rewrite was applied, and the changed kernel priced. It is not verified.
    Applied(Box<Applied>),
    /// None of the lint's rewrites applies to the kernel: a gain is the lint's estimate.
    Inapplicable,
}

/// A rewrite that was applied to price advice.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The rewrite's code.
    pub code: &'static str,
    /// What it changes.
    pub title: String,
    /// The whole changed source.
    pub source: String,
    /// What the host's code must change, in sentences.
    pub host: Vec<String>,
}

impl Gain {
    /// The gain of a rewrite: the fraction of cycles that it saves, or the seconds of the launch before and after it.
    pub fn of_rewrite(applied: Applied, cycles: Option<f64>, seconds: Option<[f64; 2]>) -> Self {
        Self { cycles, seconds, basis: Basis::Applied(Box::new(applied)), ..Self::default() }
    }

    /// A fraction of the time that follows from the launch, not from the pipes.
    pub(super) fn of_launch(share: f64) -> Self {
        Self { cycles: Some(share), ..Self::default() }
    }

    /// A change whose gain only a model of time can tell.
    pub(super) fn of_effect(effect: Effect) -> Self {
        Self { effect: Some(effect), ..Self::default() }
    }

    /// The fraction of cycles; 0 where it is not known.
    pub(super) fn share(&self) -> f64 {
        self.cycles.unwrap_or(0.0)
    }

    /// Whether it is at least [`WORTH`].
    pub(super) fn is_worth_it(&self) -> bool {
        self.share() >= WORTH
    }

    /// The same without `share` of the cycles, which another change saves.
    pub(super) fn less(self, share: f64) -> Self {
        Self { cycles: Some(self.share() - share), ..self }
    }
}

/// What a change does, for a model of time.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The kernel has other instructions in the same blocks, with the same loads and stores or fewer.
    Kernel(Box<Kernel>),
    /// Instructions are executed another number of times, as a multiple; all others as often as before.
    Work(Vec<(Inst, f64)>),
    /// The launch has another size. `factor` is the work-items of the changed launch, divided by those of `global`.
    Launch {
        /// A global size of about as many work-items, for which the kernel runs unchanged.
        global: [u64; 3],
        /// What the time is multiplied by.
        factor: f64,
    },
}

/// The least gain that justifies a kernel that is harder to read, or a less exact result; less does not count as a
/// gain.
pub const WORTH: f64 = 0.05;

/// The least gain that is reported.
const LEAST: f64 = 0.01;

/// The number of changes that a lint prices separately.
pub(super) const MOST_PRICES: usize = 8;

/// The compiled code of a changed kernel, and the clocks of each pipe along its longest path.
type Repriced = (Rc<Code>, Vec<Polynomial>);

/// The input of the lints.
pub(crate) struct Context<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) cfg: &'a Cfg,
    pub(crate) gpu: &'static Gpu,
    pub(crate) setup: &'a Setup,
    pub(crate) columns: &'static [Column],
    pub(crate) accesses: &'a [WarpAccess],
    pub(crate) registers: &'a Registers,
    pub(crate) longest: &'a Cycles,
    /// The longest path's clocks of each pipe.
    pub(crate) pipes: &'a [Polynomial],
    /// The cost of each operation of an instruction when its block runs once.
    pub(crate) shares: &'a [Share],
    /// The longest path's clocks of loads and stores that only spill and fill registers.
    pub(crate) spills: Polynomial,
    /// How many times each block runs.
    pub(crate) weight: &'a dyn Fn(Block) -> Polynomial,
    /// Prices the kernel with other instructions in the same blocks.
    pub(crate) reprice: &'a dyn Fn(&Kernel) -> Repriced,
    pub(crate) facts: &'a Facts<'a>,
}

/// Clocks of a pipe that an instruction takes when its block runs once.
pub(crate) struct Share {
    pub(crate) inst: Inst,
    pub(crate) block: Block,
    pub(crate) pipe: Pipe,
    pub(crate) clocks: f64,
    /// Lanes it computes.
    pub(crate) lanes: u32,
    /// Lanes it could compute.
    pub(crate) room: u32,
    /// Width of a lane.
    pub(crate) bits: u32,
}

impl Context<'_> {
    /// The fraction by which the longest path gets shorter when instructions keep only the fraction `remains` of their
    /// cost; `None` when it does not get shorter.
    pub(crate) fn gain(&self, remains: impl Fn(&Share) -> f64) -> Option<Gain> {
        Some(self.work(remains)).filter(|gain| gain.cycles.is_some())
    }

    /// The same, for a model of time to price where the path does not get shorter.
    pub(crate) fn work(&self, remains: impl Fn(&Share) -> f64) -> Gain {
        let mut times: Vec<(Inst, f64)> = Vec::new();
        let mut pipes = self.pipes.to_vec();
        for share in self.shares {
            let remains = remains(share);
            let saved = share.clocks * (1.0 - remains);
            if saved != 0.0 {
                if !times.iter().any(|(inst, _)| *inst == share.inst) {
                    times.push((share.inst, remains));
                }
                let pipe = &mut pipes[share.pipe.index()];
                *pipe = pipe.plus(&(self.weight)(share.block).times(-saved));
            }
        }
        self.priced(&pipes, Effect::Work(times))
    }

    /// A change after which the longest path takes these clocks of each pipe.
    pub(crate) fn priced(&self, pipes: &[Polynomial], effect: Effect) -> Gain {
        match self.gain_with(pipes) {
            Some(gain) => Gain { effect: Some(effect), ..gain },
            None => Gain::of_effect(effect),
        }
    }

    /// The fraction by which the longest path gets shorter without spills; `None` when it does not.
    pub(crate) fn gain_without_spills(&self) -> Option<Gain> {
        let mut pipes = self.pipes.to_vec();
        let pipe = &mut pipes[Pipe::LoadStore.index()];
        *pipe = pipe.plus(&self.spills.times(-1.0));
        self.gain_with(&pipes)
    }

    /// The fraction by which the longest path gets shorter when the kernel is changed: other instructions in the same
    /// blocks, with the same loads and stores. `None` when it does not get shorter.
    pub(crate) fn gain_by(&self, change: impl FnOnce(&mut Kernel)) -> Option<Gain> {
        Some(self.rewritten(change)).filter(|gain| gain.cycles.is_some())
    }

    /// The same, for a model of time to price where the path does not get shorter.
    pub(crate) fn rewritten(&self, change: impl FnOnce(&mut Kernel)) -> Gain {
        let mut kernel = self.kernel.clone();
        change(&mut kernel);
        let pipes = (self.reprice)(&kernel).1;
        self.priced(&pipes, Effect::Kernel(Box::new(kernel)))
    }

    /// The range of an integer; `None` for values that are not integers, and for unreachable code.
    pub(crate) fn range(&self, value: Value) -> Option<Range> {
        self.facts.range(value)
    }

    /// What is saved together by changes that each save something of the pipes; `None` when nothing is.
    pub(super) fn gain_together(&self, gains: &[&Gain]) -> Option<f64> {
        let mut pipes = self.pipes.to_vec();
        for gain in gains {
            for (pipe, saved) in pipes.iter_mut().zip(&gain.saved) {
                *pipe = pipe.plus(&saved.times(-1.0));
            }
        }
        self.gain_with(&pipes).map(|gain| gain.share())
    }

    /// What is saved when the longest path takes these clocks of each pipe.
    pub(super) fn gain_with(&self, pipes: &[Polynomial]) -> Option<Gain> {
        let longest = |columns: &[Polynomial]| {
            columns.iter().map(|column| column.evaluate(crate::ASSUMED_TRIPS)).fold(0.0, f64::max)
        };
        let columns: Vec<Polynomial> =
            self.columns.iter().map(|column| column.cost(self.gpu, pipes)).collect();
        let before = longest(&self.longest.columns);
        let gain = 1.0 - longest(&columns) / before;
        let saved = || self.pipes.iter().zip(pipes).map(|(old, new)| old.plus(&new.times(-1.0))).collect();
        (before > 0.0 && gain > 0.001).then(|| Gain { cycles: Some(gain), saved: saved(), ..Gain::default() })
    }

    /// How a load, store or atomic accesses memory.
    pub(crate) fn access(&self, inst: Inst) -> Option<&WarpAccess> {
        self.accesses.iter().find(|access| access.inst == inst)
    }

    /// Whether an instruction takes load/store clocks of its own: of accesses that the compiler merges, one does.
    pub(crate) fn is_access(&self, inst: Inst) -> bool {
        self.shares.iter().any(|share| share.inst == inst && share.pipe == Pipe::LoadStore)
    }

    /// Whether the column takes longest.
    pub(crate) fn is_bound_by(&self, column: Column) -> bool {
        self.longest.bound.iter().any(|at| self.columns[*at] == column)
    }

    /// Groups findings in instructions by line and `key`, to be priced separately. Where there are many groups, all
    /// findings with the same key are combined.
    pub(crate) fn by_line<T, K: PartialEq>(
        &self,
        found: impl IntoIterator<Item = (Inst, T)>,
        key: impl Fn(&T) -> K,
    ) -> Vec<Vec<(Inst, T)>> {
        let line = |inst: Inst| {
            self.kernel.insts[inst].location.map(|location| {
                let location = self.kernel.own_location(location);
                (location.file, location.line)
            })
        };
        let mut groups: Vec<Vec<(Inst, T)>> = Vec::new();
        let put = |groups: &mut Vec<Vec<(Inst, T)>>, entry: (Inst, T), lines: bool| {
            let same = |group: &&mut Vec<(Inst, T)>| {
                (!lines || line(group[0].0) == line(entry.0)) && key(&group[0].1) == key(&entry.1)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(entry),
                None => groups.push(vec![entry]),
            }
        };
        for entry in found {
            put(&mut groups, entry, true);
        }
        if groups.len() > MOST_PRICES {
            for entry in std::mem::take(&mut groups).into_iter().flatten() {
                put(&mut groups, entry, false);
            }
        }
        groups
    }

    /// Instructions of reachable blocks, in order.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = (Block, Inst)> + '_ {
        self.cfg
            .order
            .iter()
            .flat_map(|block| self.kernel.blocks[*block].insts.iter().map(|inst| (*block, *inst)))
    }
}
