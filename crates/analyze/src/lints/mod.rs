//! Advice: what makes a kernel slow on a GPU, with evidence from this kernel and the gain according to the model.
//!
//! One file per lint: its [`Rule`], and a function that looks for it. A lint reports nothing without evidence.

mod boundary_test;
mod contended_atomic;
mod costly_integer;
mod divergent_branch;
mod emulated_fma;
mod emulated_local_memory;
mod few_work_groups;
mod foldable_argument;
mod folded_kernel;
mod free_fma;
mod gapped_access;
mod image_or_buffer;
mod int_where_short_holds;
mod narrow_access;
mod overlapping_loads;
mod oversized_work_group;
mod precise_function;
mod private_table;
mod register_step;
mod retype;
mod rewrite;
mod scattered_access;
mod spilled_registers;
mod unbalanced_pipes;
mod uneven_work_group;
mod unhoisted_load;
mod unvectorised_narrow;
mod vectorised_for_nothing;
mod wide_integer;

use std::rc::Rc;

use tripipe_device::Gpu;
use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::flow::{Cfg, Range};
use tripipe_ir::{Block, Inst, Kernel, Location, Value};
use tripipe_machine::{Code, Pipe};

use crate::facts::Facts;
use crate::{Column, Cycles, Polynomial, Registers, Setup, WarpAccess};

/// A lint.
struct Lint {
    rule: &'static Rule,
    /// Adds its findings for a kernel on a GPU.
    look: fn(&Context<'_>, &mut Vec<Advice>),
}

const LINTS: &[Lint] = &[
    Lint { rule: &boundary_test::RULE, look: boundary_test::look },
    Lint { rule: &costly_integer::RULE, look: costly_integer::look },
    Lint { rule: &contended_atomic::RULE, look: contended_atomic::look },
    Lint { rule: &divergent_branch::RULE, look: divergent_branch::look },
    Lint { rule: &emulated_fma::RULE, look: emulated_fma::look },
    Lint { rule: &emulated_local_memory::RULE, look: emulated_local_memory::look },
    Lint { rule: &few_work_groups::RULE, look: few_work_groups::look },
    Lint { rule: &foldable_argument::RULE, look: foldable_argument::look },
    Lint { rule: &folded_kernel::RULE, look: folded_kernel::look },
    Lint { rule: &free_fma::RULE, look: free_fma::look },
    Lint { rule: &gapped_access::RULE, look: gapped_access::look },
    Lint { rule: &image_or_buffer::RULE, look: image_or_buffer::look },
    Lint { rule: &int_where_short_holds::RULE, look: int_where_short_holds::look },
    Lint { rule: &narrow_access::RULE, look: narrow_access::look },
    Lint { rule: &oversized_work_group::RULE, look: oversized_work_group::look },
    Lint { rule: &overlapping_loads::RULE, look: overlapping_loads::look },
    Lint { rule: &precise_function::RULE, look: precise_function::look },
    Lint { rule: &private_table::RULE, look: private_table::look },
    Lint { rule: &register_step::RULE, look: register_step::look },
    Lint { rule: &scattered_access::RULE, look: scattered_access::look },
    Lint { rule: &spilled_registers::RULE, look: spilled_registers::look },
    Lint { rule: &unbalanced_pipes::RULE, look: unbalanced_pipes::look },
    Lint { rule: &uneven_work_group::RULE, look: uneven_work_group::look },
    Lint { rule: &unhoisted_load::RULE, look: unhoisted_load::look },
    Lint { rule: &unvectorised_narrow::RULE, look: unvectorised_narrow::look },
    Lint { rule: &vectorised_for_nothing::RULE, look: vectorised_for_nothing::look },
    Lint { rule: &wide_integer::RULE, look: wide_integer::look },
];

const RULES: [&Rule; LINTS.len()] = {
    let mut rules = [LINTS[0].rule; LINTS.len()];
    let mut at = 0;
    while at < rules.len() {
        rules[at] = LINTS[at].rule;
        at += 1;
    }
    rules
};

/// The rules of all lints, by code.
pub const ALL: &[&Rule] = &RULES;

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
const MOST_PRICES: usize = 8;

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

    fn gain_with(&self, pipes: &[Polynomial]) -> Option<f64> {
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
fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// All advice for a kernel, the largest gain first.
pub(crate) fn look(context: &Context<'_>) -> Vec<Advice> {
    let mut all = Vec::new();
    for lint in LINTS {
        (lint.look)(context, &mut all);
    }
    // Identical advice for several instructions of a line is reported once.
    let line = |advice: &Advice| advice.location.map(|location| context.kernel.own_location(location).line);
    let mut said: Vec<(&str, Option<u32>, String)> = Vec::new();
    all.retain(|advice| {
        let key = (advice.rule.code, line(advice), advice.message.clone());
        let new = advice.location.is_none() || !said.contains(&key);
        said.push(key);
        new
    });
    // Errors come before slow code.
    let key = |advice: &Advice| (advice.rule.severity == Severity::Error, advice.gain.unwrap_or(0.0));
    all.sort_by(|a, b| {
        let ((fails, gain), (other_fails, other)) = (key(a), key(b));
        other_fails.cmp(&fails).then(other.total_cmp(&gain))
    });
    all
}
