//! What a lint sees of a kernel, and the advice that it gives.

use std::rc::Rc;

use tripipe_device::Gpu;
use tripipe_ir::diagnostic::Rule;
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
    /// The fraction of the bounding pipe's cycles on the longest path that the change would save, above 0 and at most
    /// 1; `None` where the model cannot predict it.
    pub gain: Option<f64>,
}

/// The least gain that justifies a kernel that is harder to read, or a less exact result; less does not count as a
/// gain.
pub const WORTH: f64 = 0.05;

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
    pub(crate) fn gain(&self, remains: impl Fn(&Share) -> f64) -> Option<f64> {
        let mut pipes = self.pipes.to_vec();
        for share in self.shares {
            let saved = share.clocks * (1.0 - remains(share));
            if saved != 0.0 {
                let pipe = &mut pipes[share.pipe.index()];
                *pipe = pipe.plus(&(self.weight)(share.block).times(-saved));
            }
        }
        self.gain_with(&pipes)
    }

    /// The fraction by which the longest path gets shorter without spills; `None` when it does not.
    pub(crate) fn gain_without_spills(&self) -> Option<f64> {
        let mut pipes = self.pipes.to_vec();
        let pipe = &mut pipes[Pipe::LoadStore.index()];
        *pipe = pipe.plus(&self.spills.times(-1.0));
        self.gain_with(&pipes)
    }

    /// The fraction by which the longest path gets shorter when the kernel is changed: other instructions in the same
    /// blocks, with the same loads and stores. `None` when it does not get shorter.
    pub(crate) fn gain_by(&self, change: impl FnOnce(&mut Kernel)) -> Option<f64> {
        let mut kernel = self.kernel.clone();
        change(&mut kernel);
        self.gain_with(&(self.reprice)(&kernel).1)
    }

    /// The range of an integer; `None` for values that are not integers, and for unreachable code.
    pub(crate) fn range(&self, value: Value) -> Option<Range> {
        self.facts.range(value)
    }

    pub(super) fn gain_with(&self, pipes: &[Polynomial]) -> Option<f64> {
        let longest = |columns: &[Polynomial]| {
            columns.iter().map(|column| column.evaluate(crate::ASSUMED_TRIPS)).fold(0.0, f64::max)
        };
        let columns: Vec<Polynomial> =
            self.columns.iter().map(|column| column.cost(self.gpu, pipes)).collect();
        let before = longest(&self.longest.columns);
        let gain = 1.0 - longest(&columns) / before;
        (before > 0.0 && gain > 0.001).then_some(gain)
    }

    /// How a load, store or atomic accesses memory.
    pub(crate) fn access(&self, inst: Inst) -> Option<&WarpAccess> {
        self.accesses.iter().find(|access| access.inst == inst)
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

/// A count with its noun, in the plural unless it is 1.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
