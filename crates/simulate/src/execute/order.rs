//! The order blocks are run in when lanes are apart: the lowest first.
//!
//! Each block comes before its successors but for back edges, and a loop's blocks lie together. Where
//! several blocks go back to a loop's start, they go through one more block behind the loop's last, so that all lanes of an
//! iteration meet before any starts the next.

use cranelift_entity::{EntitySet, SecondaryMap};
use tripipe_ir::Block;
use tripipe_ir::flow::{Cfg, Loops};

/// A position in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A block of the kernel.
    Block(Block),
    /// Where the ways back to that loop's header meet.
    Latch(usize),
}

/// The order.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) steps: Vec<Step>,
    /// Position of each block.
    pub(crate) position: SecondaryMap<Block, u32>,
    /// For each loop, its first and last position.
    pub(crate) spans: Vec<(u32, u32)>,
    /// For each loop, the position of the extra block, if it has one.
    latches: Vec<Option<u32>>,
    /// The loop of each header.
    headers: SecondaryMap<Block, Option<u32>>,
}

impl Order {
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
        // Loops that are being placed: which, and how many of their blocks have been looked at.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for block in &cfg.order {
            order.place(*block, loops, &mut placed, &mut open);
            while let Some((index, next)) = open.last_mut() {
                let index = *index;
                if let Some(block) = loops.all[index].blocks.get(*next) {
                    *next += 1;
                    order.place(*block, loops, &mut placed, &mut open);
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

    fn place(
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
            // Its header is the first of its blocks.
            debug_assert_eq!(loops.all[index as usize].blocks.first(), Some(&block));
            open.push((index as usize, 1));
        }
    }

    /// Where an edge leads: the target, or for one of several ways back to it, where they meet.
    pub(crate) fn target(&self, from: Block, to: Block) -> u32 {
        let position = self.position[to];
        if self.position[from] < position {
            return position;
        }
        self.headers[to].and_then(|index| self.latches[index as usize]).unwrap_or(position)
    }
}
