//! What paths and lints need to know about a kernel; each fact is computed on first use.

use std::cell::OnceCell;

use cranelift_entity::SecondaryMap;
use tripipe_ir::flow::{
    Cfg, Divergence, Dominators, LinearForms, Loops, MemoryFact, Range, Ranges, TripCount,
};
use tripipe_ir::{Block, Inst, Kernel, Value, ValueDef};

use crate::Setup;

/// Facts about a kernel.
pub(crate) struct Facts<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) cfg: &'a Cfg,
    pub(crate) setup: &'a Setup,
    forms: OnceCell<LinearForms>,
    launched: OnceCell<LinearForms>,
    memory: OnceCell<Vec<MemoryFact>>,
    dominators: OnceCell<Dominators>,
    post: OnceCell<Dominators>,
    loops: OnceCell<Loops>,
    counts: OnceCell<Vec<Option<TripCount>>>,
    divergence: OnceCell<Divergence>,
    uses: OnceCell<SecondaryMap<Value, Uses>>,
    homes: OnceCell<SecondaryMap<Inst, Option<Block>>>,
    ranges: OnceCell<Ranges>,
}

/// The uses of a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    /// Instructions, each as many times as it has the value as an operand.
    pub(crate) by: Vec<Inst>,
    /// Whether a block's terminator uses it: as the condition, or as an argument for the next block.
    pub(crate) at_end: bool,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(kernel: &'a Kernel, cfg: &'a Cfg, setup: &'a Setup) -> Self {
        Self {
            kernel,
            cfg,
            setup,
            forms: OnceCell::new(),
            launched: OnceCell::new(),
            memory: OnceCell::new(),
            dominators: OnceCell::new(),
            post: OnceCell::new(),
            loops: OnceCell::new(),
            counts: OnceCell::new(),
            divergence: OnceCell::new(),
            uses: OnceCell::new(),
            homes: OnceCell::new(),
            ranges: OnceCell::new(),
        }
    }

    /// Integers and addresses as linear forms, for every launch.
    pub(crate) fn forms(&self) -> &LinearForms {
        self.forms.get_or_init(|| LinearForms::new(self.kernel, self.cfg))
    }

    /// The same for this launch: what is known of it is a constant.
    fn launched(&self) -> &LinearForms {
        let known = |atom| self.setup.value(self.kernel, atom);
        self.launched.get_or_init(|| LinearForms::with(self.kernel, self.cfg, &known))
    }

    /// Every load, store and atomic with its address, in the kernel's order.
    pub(crate) fn memory(&self) -> &[MemoryFact] {
        self.memory.get_or_init(|| self.forms().accesses(self.kernel, self.cfg))
    }

    /// The same for this launch.
    pub(crate) fn launched_memory(&self) -> Vec<MemoryFact> {
        self.launched().accesses(self.kernel, self.cfg)
    }

    /// The dominator tree.
    pub(crate) fn dominators(&self) -> &Dominators {
        self.dominators.get_or_init(|| Dominators::new(self.cfg))
    }

    /// The post-dominator tree.
    pub(crate) fn post(&self) -> &Dominators {
        self.post.get_or_init(|| Dominators::post(self.cfg))
    }

    /// The loops.
    pub(crate) fn loops(&self) -> &Loops {
        self.loops.get_or_init(|| Loops::new(self.cfg, self.dominators()))
    }

    /// How many times each loop goes back to its start, where a counter determines that: for every launch, or else for
    /// this one, as with a step of `get_local_size(0)`.
    pub(crate) fn counts(&self) -> &[Option<TripCount>] {
        self.counts.get_or_init(|| {
            let count = |forms, each| TripCount::of(self.kernel, self.cfg, self.dominators(), forms, each);
            let counts = |each| count(self.forms(), each).or_else(|| count(self.launched(), each));
            self.loops().all.iter().map(counts).collect()
        })
    }

    /// Which values differ between the work-items of a group.
    pub(crate) fn divergence(&self) -> &Divergence {
        self.divergence.get_or_init(|| Divergence::new(self.kernel, self.cfg, self.post(), self.loops()))
    }

    /// The block that defines a value; `None` for constants and unreachable code.
    pub(crate) fn home(&self, value: Value) -> Option<Block> {
        let homes = self.homes.get_or_init(|| {
            let mut all = SecondaryMap::new();
            for block in &self.cfg.order {
                self.kernel.blocks[*block].insts.iter().for_each(|inst| all[*inst] = Some(*block));
            }
            all
        });
        match self.kernel.values[value].def {
            ValueDef::Constant(_) => None,
            ValueDef::Parameter(block, _) => Some(block),
            ValueDef::Result(inst) => homes[inst],
        }
    }

    /// The range of an integer; `None` for values that are not integers, and for unreachable code.
    pub(crate) fn range(&self, value: Value) -> Option<Range> {
        let ranges = self.ranges.get_or_init(|| {
            let known = |atom| self.setup.value(self.kernel, atom);
            Ranges::new(self.kernel, self.cfg, self.dominators(), self.loops(), &known)
        });
        ranges.get(self.kernel, value)
    }

    /// The uses of a value.
    pub(crate) fn uses(&self, value: Value) -> &Uses {
        let all = self.uses.get_or_init(|| {
            let mut all: SecondaryMap<Value, Uses> = SecondaryMap::new();
            for block in &self.cfg.order {
                let block = &self.kernel.blocks[*block];
                for inst in &block.insts {
                    for operand in &self.kernel.insts[*inst].operands {
                        all[*operand].by.push(*inst);
                    }
                }
                block.terminator.uses().for_each(|value| all[value].at_end = true);
            }
            all
        });
        &all[value]
    }
}
