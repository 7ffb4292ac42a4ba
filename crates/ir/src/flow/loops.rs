//! Nested natural loops, and irreducible control flow.

use cranelift_entity::SecondaryMap;

use super::{Cfg, Dominators};
use crate::Block;

/// A natural loop: all blocks from which its header is reached again without leaving the loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The single entry block.
    pub header: Block,
    /// Blocks that jump back to the header.
    pub latches: Vec<Block>,
    /// All its blocks, including those of inner loops, in the order of the graph; the header is first.
    pub blocks: Vec<Block>,
    /// Exit edges: a block inside and its successor outside.
    pub exits: Vec<(Block, Block)>,
    /// The immediately enclosing loop, by position in [`Loops::all`].
    pub outer: Option<usize>,
    /// Nesting depth, 1 for an outermost loop.
    pub depth: u32,
}

/// The loops of a kernel.
#[derive(Clone, Debug)]
pub struct Loops {
    /// Outer loops before inner ones.
    pub all: Vec<Loop>,
    innermost: SecondaryMap<Block, Option<u32>>,
    /// Edges that go backwards in the order without leading to a dominator: cycles with several entries. Such a cycle
    /// does not count as a loop, and has no trip count.
    pub irreducible: Vec<(Block, Block)>,
}

impl Loops {
    /// Finds them.
    pub fn new(cfg: &Cfg, dominators: &Dominators) -> Self {
        let mut all = Vec::new();
        let mut irreducible = Vec::new();
        // The header of the last loop found for each block.
        let mut found: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
        for header in &cfg.order {
            let mut latches = Vec::new();
            for from in &cfg.predecessors[*header] {
                if dominators.dominates(*header, *from) {
                    latches.push(*from);
                } else if cfg.position[*from] >= cfg.position[*header] {
                    irreducible.push((*from, *header));
                }
            }
            if !latches.is_empty() {
                all.push(Self::natural(cfg, *header, latches, &mut found));
            }
        }
        // Headers are in the order of the graph, so an outer loop is found before the loops inside it.
        let mut innermost: SecondaryMap<Block, Option<u32>> = SecondaryMap::new();
        for index in 0..all.len() {
            let outer = innermost[all[index].header].map(|outer| outer as usize);
            all[index].depth = outer.map_or(1, |outer: usize| all[outer].depth + 1);
            all[index].outer = outer;
            for block in &all[index].blocks {
                innermost[*block] = Some(index as u32);
            }
        }
        Self { all, innermost, irreducible }
    }

    fn natural(
        cfg: &Cfg,
        header: Block,
        latches: Vec<Block>,
        found: &mut SecondaryMap<Block, Option<Block>>,
    ) -> Loop {
        found[header] = Some(header);
        let mut blocks = vec![header];
        let mut work = latches.clone();
        while let Some(block) = work.pop() {
            if found[block].replace(header) != Some(header) {
                blocks.push(block);
                work.extend(&cfg.predecessors[block]);
            }
        }
        blocks.sort_unstable_by_key(|block| cfg.position[*block]);
        let exits = blocks
            .iter()
            .flat_map(|from| cfg.successors[*from].iter().map(move |to| (*from, *to)))
            .filter(|(_, to)| found[*to] != Some(header))
            .collect();
        Loop { header, latches, blocks, exits, outer: None, depth: 0 }
    }

    /// The innermost loop around a block, by position in [`Loops::all`].
    pub fn around(&self, block: Block) -> Option<usize> {
        self.innermost[block].map(|index| index as usize)
    }

    /// The number of loops around a block.
    pub fn depth(&self, block: Block) -> u32 {
        self.around(block).map_or(0, |index| self.all[index].depth)
    }

    /// Whether the block is in the loop.
    pub fn contains(&self, index: usize, block: Block) -> bool {
        let mut at = self.around(block);
        while let Some(inner) = at {
            if inner == index {
                return true;
            }
            at = self.all[inner].outer;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use cranelift_entity::EntityRef as _;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Every cycle contains an edge to a natural loop's header or an irreducible edge: without those edges there
        /// are no cycles.
        #[test]
        fn no_other_edge_closes_a_loop(
            edges in (1_usize..12).prop_flat_map(|count| {
                proptest::collection::vec(proptest::collection::vec(0..count, 0..3), count)
            })
        ) {
            let cfg = Cfg::of(edges.iter().enumerate().map(|(from, to)| {
                (Block::new(from), to.iter().copied().map(Block::new).collect())
            }));
            let loops = Loops::new(&cfg, &Dominators::new(&cfg));
            let cut = |from: Block, to: Block| {
                loops.irreducible.contains(&(from, to))
                    || loops.all.iter().any(|each| each.header == to && each.latches.contains(&from))
            };
            // Repeatedly remove blocks without predecessors: an acyclic graph vanishes.
            let mut left: Vec<Block> = cfg.order.clone();
            loop {
                let before = left.len();
                let current = left.clone();
                left.retain(|block| {
                    cfg.predecessors[*block].iter().any(|from| current.contains(from) && !cut(*from, *block))
                });
                if left.len() == before { break; }
            }
            prop_assert!(left.is_empty(), "{:?}", left);
            for each in &loops.all {
                let index = loops.all.iter().position(|l| l.header == each.header).unwrap();
                for block in &each.blocks {
                    prop_assert!(loops.contains(index, *block));
                }
            }
        }
    }
}
