//! The order in which blocks run when lanes have diverged: the lowest first, as at thread frontiers (Diamos and others
//! 2011). Lanes reconverge wherever their paths meet, without a stack of masks, also where control flow is not structured.
//!
//! Each block comes before its successors, except along back edges, and the blocks of a loop are contiguous. If
//! several blocks branch back to a loop's header, they go through an additional block after the loop's last one, so
//! that all lanes of an iteration reconverge before the next iteration starts.

use cranelift_entity::{EntitySet, SecondaryMap};
use tripipe_ir::Block;
use tripipe_ir::flow::{Cfg, Loops};

/// A position in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A block of the kernel.
    Block(Block),
    /// The block where the back edges to this loop's header join.
    Latch(usize),
}

/// The order of the blocks of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct BlockOrder {
    pub(crate) steps: Vec<Step>,
    /// Position of each block.
    pub(crate) position: SecondaryMap<Block, u32>,
    /// For each loop, its first and last position.
    pub(crate) spans: Vec<(u32, u32)>,
    /// For each loop, the position of the additional block, if it has one.
    latches: Vec<Option<u32>>,
    /// The loop with this header.
    headers: SecondaryMap<Block, Option<u32>>,
}

impl BlockOrder {
    pub(crate) fn new(cfg: &Cfg, loops: &Loops) -> Self {
        let mut order = Self {
            steps: Vec::new(),
            position: SecondaryMap::new(),
            spans: vec![(0, 0); loops.all.len()],
            latches: vec![None; loops.all.len()],
            headers: SecondaryMap::new(),
        };
        for (index, each) in loops.all.iter().enumerate() {
            order.headers[each.header] = Some(index as u32);
        }
        let mut placed = EntitySet::new();
        // Loops in progress: the index, and the number of blocks visited.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for block in &cfg.order {
            order.append_block(*block, loops, &mut placed, &mut open);
            while let Some((index, next)) = open.last_mut() {
                let index = *index;
                if let Some(block) = loops.all[index].blocks.get(*next) {
                    *next += 1;
                    order.append_block(*block, loops, &mut placed, &mut open);
                } else {
                    if loops.all[index].latches.len() > 1 {
                        order.latches[index] = Some(order.steps.len() as u32);
                        order.steps.push(Step::Latch(index));
                    }
                    order.spans[index].1 = order.steps.len() as u32 - 1;
                    open.pop();
                }
            }
        }
        order
    }

    fn append_block(
        &mut self,
        block: Block,
        loops: &Loops,
        placed: &mut EntitySet<Block>,
        open: &mut Vec<(usize, usize)>,
    ) {
        if !placed.insert(block) {
            return;
        }
        let position = self.steps.len() as u32;
        self.position[block] = position;
        self.steps.push(Step::Block(block));
        if let Some(index) = self.headers[block] {
            self.spans[index as usize].0 = position;
            // The header is the first block of its loop.
            debug_assert_eq!(loops.all[index as usize].blocks.first(), Some(&block));
            open.push((index as usize, 1));
        }
    }

    /// The destination of an edge: the target block, or, for one of several back edges, the block where they join.
    pub(crate) fn target(&self, from: Block, to: Block) -> u32 {
        let position = self.position[to];
        // Only a back edge leads to an earlier position.
        if self.position[from] < position {
            return position;
        }
        self.headers[to].and_then(|index| self.latches[index as usize]).unwrap_or(position)
    }
}
