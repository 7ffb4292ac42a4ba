//! The control-flow graph: predecessors, successors, reverse postorder.

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use crate::{Block, Kernel};

/// Predecessors and successors of each block, without duplicates, and an order.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// The predecessors of each block.
    pub predecessors: SecondaryMap<Block, SmallVec<[Block; 4]>>,
    /// The successors of each block.
    pub successors: SecondaryMap<Block, SmallVec<[Block; 2]>>,
    /// Reachable blocks, each before its successors except along back edges; the entry first.
    pub order: Vec<Block>,
    /// Position in `order`; `None` for unreachable blocks.
    pub position: SecondaryMap<Block, Option<u32>>,
}

impl Cfg {
    /// The graph of a kernel.
    pub fn new(kernel: &Kernel) -> Self {
        Self::of(kernel.blocks.keys().map(|block| {
            let targets =
                kernel.blocks[block].terminator.calls().into_iter().map(|call| call.block).collect();
            (block, targets)
        }))
    }

    /// The graph of these blocks and successors. Edges from unreachable blocks do not count as predecessors.
    pub fn of(blocks: impl Iterator<Item = (Block, Vec<Block>)>) -> Self {
        let mut cfg = Self {
            predecessors: SecondaryMap::new(),
            successors: SecondaryMap::new(),
            order: Vec::new(),
            position: SecondaryMap::new(),
        };
        let mut last: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
        for (block, targets) in blocks {
            for target in targets {
                if last[target].replace(block) != Some(block) {
                    cfg.successors[block].push(target);
                }
            }
        }
        let mut seen: SecondaryMap<Block, bool> = SecondaryMap::new();
        seen[Kernel::ENTRY] = true;
        let mut stack = vec![(Kernel::ENTRY, 0)];
        while let Some((block, next)) = stack.last_mut() {
            // The last successor first, so that the first comes right after the block in the order: bodies before
            // exits.
            if let Some(target) = cfg.successors[*block].iter().rev().nth(*next).copied() {
                *next += 1;
                if !seen[target] {
                    seen[target] = true;
                    stack.push((target, 0));
                }
            } else {
                cfg.order.push(*block);
                stack.pop();
            }
        }
        cfg.order.reverse();
        for (position, block) in cfg.order.iter().enumerate() {
            cfg.position[*block] = Some(position as u32);
            for target in &cfg.successors[*block] {
                cfg.predecessors[*target].push(*block);
            }
        }
        cfg
    }

    /// Whether the block is reachable from the entry.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.position[block].is_some()
    }
}
