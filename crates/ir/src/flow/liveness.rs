//! Liveness: which values are used later.

use cranelift_entity::{EntitySet, SecondaryMap};

use super::Cfg;
use crate::{Block, Kernel, Value};

/// Values that live across block boundaries. Constants are never live: they are part of the code.
#[derive(Clone, Debug)]
pub struct Liveness {
    live_in: SecondaryMap<Block, EntitySet<Value>>,
    live_out: SecondaryMap<Block, EntitySet<Value>>,
}

impl Liveness {
    /// Computes it for reachable blocks.
    pub fn new(kernel: &Kernel, cfg: &Cfg) -> Self {
        let mut all = Self { live_in: SecondaryMap::new(), live_out: SecondaryMap::new() };
        let mut work: Vec<Block> = cfg.order.clone();
        let mut queued: EntitySet<Block> = EntitySet::new();
        queued.extend(cfg.order.iter().copied());
        while let Some(block) = work.pop() {
            queued.remove(block);
            let data = &kernel.blocks[block];
            let mut live: EntitySet<Value> = EntitySet::new();
            for target in &cfg.successors[block] {
                for value in all.live_in[*target].iter() {
                    if !kernel.blocks[*target].parameters.contains(&value) {
                        live.insert(value);
                    }
                }
            }
            let add = |live: &mut EntitySet<Value>, value: Value| {
                if kernel.constant(value).is_none() {
                    live.insert(value);
                }
            };
            all.live_out[block] = live.clone();
            data.terminator.uses().for_each(|value| add(&mut live, value));
            for inst in data.insts.iter().rev() {
                let inst = &kernel.insts[*inst];
                if let Some(result) = inst.result {
                    live.remove(result);
                }
                inst.operands.iter().for_each(|value| add(&mut live, *value));
            }
            if live != all.live_in[block] {
                all.live_in[block] = live;
                for from in &cfg.predecessors[block] {
                    if queued.insert(*from) {
                        work.push(*from);
                    }
                }
            }
        }
        all
    }

    /// Whether a value is live at a block's start; its parameters are if they are used.
    pub fn is_live_in(&self, block: Block, value: Value) -> bool {
        self.live_in[block].contains(value)
    }

    /// Values live at a block's start, in order.
    pub fn live_in(&self, block: Block) -> impl Iterator<Item = Value> + '_ {
        self.live_in[block].iter()
    }

    /// Values live after a block's end, in order.
    pub fn live_out(&self, block: Block) -> impl Iterator<Item = Value> + '_ {
        self.live_out[block].iter()
    }
}
