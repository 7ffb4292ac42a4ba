//! Dominators and post-dominators.
//!
//! A block dominates another if every path from the entry to the other passes through it. A block post-dominates
//! another if every path from the other to the end passes through it; kernels with several ends, or with endless loops,
//! have a virtual end that all of them lead to, so a block may have no immediate post-dominator.
//!
//! Immediate dominators by the iteration of Cooper, Harvey and Kennedy ("A simple, fast dominance algorithm").

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::Cfg;
use crate::{Block, Kernel};

/// The tree of immediate dominators of reachable blocks, or of immediate post-dominators.
#[derive(Clone, Debug)]
pub struct Dominators {
    immediate: SecondaryMap<Block, Option<Block>>,
    /// Entry and exit times of each block in a walk over the tree; (0, 0) for blocks not in it.
    span: SecondaryMap<Block, (u32, u32)>,
}

impl Dominators {
    /// The dominator tree.
    pub fn new(cfg: &Cfg) -> Self {
        let count = cfg.order.len();
        let index = |block: Block| cfg.position[block].map_or(0, |position| position as usize);
        let predecessors: Vec<Vec<usize>> = cfg
            .order
            .iter()
            .map(|block| cfg.predecessors[*block].iter().map(|block| index(*block)).collect())
            .collect();
        let tree = iterate(count, &predecessors);
        Self::from_tree(&tree, &cfg.order)
    }

    /// The post-dominator tree.
    pub fn post(cfg: &Cfg) -> Self {
        // The reverse graph, from a virtual end: node 0. Blocks that reach no end are linked to it from the last such
        // block in reverse postorder.
        let count = cfg.order.len();
        let index = |block: Block| cfg.position[block].map_or(0, |position| position as usize) + 1;
        let mut forward: Vec<Vec<usize>> = vec![Vec::new(); count + 1];
        let mut backward: Vec<Vec<usize>> = vec![Vec::new(); count + 1];
        let mut link = |from: usize, to: usize| {
            forward[from].push(to);
            backward[to].push(from);
        };
        for block in &cfg.order {
            let successors = &cfg.successors[*block];
            if successors.is_empty() {
                link(index(*block), 0);
            }
            for target in successors {
                link(index(*block), index(*target));
            }
        }
        let mut order = Vec::with_capacity(count + 1);
        let mut seen = vec![false; count + 1];
        walk(0, &backward, &mut seen, &mut order);
        for node in (1..=count).rev() {
            if !seen[node] {
                forward[node].push(0);
                backward[0].push(node);
                walk(node, &backward, &mut seen, &mut order);
            }
        }
        // The walks form one depth-first walk whose root is finished last.
        if let Some(root) = order.iter().position(|node| *node == 0) {
            order.remove(root);
        }
        order.push(0);
        order.reverse();
        let mut position = vec![0; count + 1];
        for (at, node) in order.iter().enumerate() {
            position[*node] = at;
        }
        let sources: Vec<Vec<usize>> =
            order.iter().map(|node| forward[*node].iter().map(|next| position[*next]).collect()).collect();
        let tree = iterate(count + 1, &sources);
        // Node `n` of the tree is block `order[n] - 1`; the virtual end is node 0 and not a block.
        let mut immediate = SecondaryMap::new();
        let mut children: SecondaryMap<Block, SmallVec<[Block; 4]>> = SecondaryMap::new();
        let mut roots = Vec::new();
        for (node, parent) in tree.iter().enumerate().skip(1) {
            let block = cfg.order[order[node] - 1];
            match parent {
                Some(parent) if *parent != 0 => {
                    let above = cfg.order[order[*parent] - 1];
                    immediate[block] = Some(above);
                    children[above].push(block);
                }
                _ => roots.push(block),
            }
        }
        Self { span: spans(&roots, &children), immediate }
    }

    fn from_tree(tree: &[Option<usize>], order: &[Block]) -> Self {
        let mut immediate = SecondaryMap::new();
        let mut children: SecondaryMap<Block, SmallVec<[Block; 4]>> = SecondaryMap::new();
        for (node, parent) in tree.iter().enumerate().skip(1) {
            if let Some(parent) = parent {
                immediate[order[node]] = Some(order[*parent]);
                children[order[*parent]].push(order[node]);
            }
        }
        Self { span: spans(&[Kernel::ENTRY], &children), immediate }
    }

    /// The closest dominator other than the block; `None` for the root and unreachable blocks.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        self.immediate[block]
    }

    /// Whether `a` dominates `b`; every block of the tree dominates itself.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let (outer, inner) = (self.span[a], self.span[b]);
        outer.1 != 0 && inner.1 != 0 && outer.0 <= inner.0 && inner.1 <= outer.1
    }

    /// The children of each block in the tree.
    pub fn children(&self, blocks: impl Iterator<Item = Block>) -> SecondaryMap<Block, SmallVec<[Block; 4]>> {
        let mut children: SecondaryMap<Block, SmallVec<[Block; 4]>> = SecondaryMap::new();
        for block in blocks {
            if let Some(above) = self.immediate[block] {
                children[above].push(block);
            }
        }
        children
    }

    /// The dominance frontier: where a block's dominance ends.
    pub fn frontiers(&self, cfg: &Cfg) -> SecondaryMap<Block, SmallVec<[Block; 4]>> {
        let mut frontiers: SecondaryMap<Block, SmallVec<[Block; 4]>> = SecondaryMap::new();
        for block in &cfg.order {
            let predecessors = &cfg.predecessors[*block];
            if predecessors.len() < 2 && *block != Kernel::ENTRY {
                continue;
            }
            for predecessor in predecessors {
                let mut runner = Some(*predecessor);
                while let Some(at) = runner.filter(|at| Some(*at) != self.immediate[*block]) {
                    // Blocks come one after the other, so a duplicate can only be the last entry.
                    if frontiers[at].last() == Some(block) {
                        break;
                    }
                    frontiers[at].push(*block);
                    runner = self.immediate[at];
                }
            }
        }
        frontiers
    }
}

/// Appends the nodes that `node` reaches to a postorder.
fn walk(node: usize, edges: &[Vec<usize>], seen: &mut [bool], order: &mut Vec<usize>) {
    if seen[node] {
        return;
    }
    seen[node] = true;
    let mut stack = vec![(node, 0)];
    while let Some((at, next)) = stack.last_mut() {
        if let Some(target) = edges[*at].get(*next).copied() {
            *next += 1;
            if !seen[target] {
                seen[target] = true;
                stack.push((target, 0));
            }
        } else {
            order.push(*at);
            stack.pop();
        }
    }
}

/// Immediate dominators of nodes numbered in reverse postorder from the root, 0.
fn iterate(count: usize, predecessors: &[Vec<usize>]) -> Vec<Option<usize>> {
    let mut immediate: Vec<Option<usize>> = vec![None; count];
    if count > 0 {
        immediate[0] = Some(0);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for node in 1..count {
            let mut known = predecessors[node].iter().copied().filter(|from| immediate[*from].is_some());
            let Some(first) = known.next() else { continue };
            let closest = known.fold(first, |mut a, mut b| {
                while a != b {
                    if a > b {
                        a = immediate[a].unwrap_or(0);
                    } else {
                        b = immediate[b].unwrap_or(0);
                    }
                }
                a
            });
            if immediate[node] != Some(closest) {
                immediate[node] = Some(closest);
                changed = true;
            }
        }
    }
    if count > 0 {
        immediate[0] = None;
    }
    immediate
}

fn spans(
    roots: &[Block],
    children: &SecondaryMap<Block, SmallVec<[Block; 4]>>,
) -> SecondaryMap<Block, (u32, u32)> {
    let mut span: SecondaryMap<Block, (u32, u32)> = SecondaryMap::new();
    let mut clock = 0;
    for root in roots {
        clock += 1;
        span[*root].0 = clock;
        let mut stack = vec![(*root, 0)];
        while let Some((block, next)) = stack.last_mut() {
            if let Some(child) = children[*block].get(*next).copied() {
                *next += 1;
                clock += 1;
                span[child].0 = clock;
                stack.push((child, 0));
            } else {
                clock += 1;
                span[*block].1 = clock;
                stack.pop();
            }
        }
    }
    span
}

#[cfg(test)]
mod tests {
    use cranelift_entity::EntityRef as _;
    use proptest::prelude::*;

    use super::*;

    /// Whether a path leads from `from` to `to` without `without`.
    fn reaches(edges: &[Vec<usize>], from: usize, to: usize, without: usize) -> bool {
        if from == without {
            return false;
        }
        let mut seen = vec![false; edges.len()];
        let mut stack = vec![from];
        while let Some(at) = stack.pop() {
            if at == to {
                return true;
            }
            if !std::mem::replace(&mut seen[at], true) {
                stack.extend(edges[at].iter().copied().filter(|next| *next != without));
            }
        }
        false
    }

    fn graph() -> impl Strategy<Value = Vec<Vec<usize>>> {
        (1_usize..12).prop_flat_map(|count| {
            proptest::collection::vec(proptest::collection::vec(0..count, 0..3), count)
        })
    }

    proptest! {
        /// By definition: `a` dominates `b` if removing `a` cuts `b` off from the entry.
        #[test]
        fn dominators_cut(edges in graph()) {
            let cfg = Cfg::of(edges.iter().enumerate().map(|(from, to)| {
                (Block::new(from), to.iter().copied().map(Block::new).collect())
            }));
            let dominators = Dominators::new(&cfg);
            let none = edges.len();
            for a in 0..edges.len() {
                for b in 0..edges.len() {
                    let (reachable_a, reachable_b) = (reaches(&edges, 0, a, none), reaches(&edges, 0, b, none));
                    let expected = reachable_a && reachable_b && (a == b || !reaches(&edges, 0, b, a));
                    prop_assert_eq!(dominators.dominates(Block::new(a), Block::new(b)), expected, "{} {}", a, b);
                }
            }
        }

        /// Post-dominance by removal, in graphs all of whose reachable blocks reach an end.
        #[test]
        fn post_dominators_cut(mut edges in graph()) {
            let end = edges.len();
            let none = end + 1;
            for list in &mut edges {
                if list.is_empty() { list.push(end); }
            }
            edges.push(Vec::new());
            let alive: Vec<usize> = (0..=end).filter(|node| reaches(&edges, 0, *node, none)).collect();
            // Endless loops get an end.
            for node in &alive {
                if !reaches(&edges, *node, end, none) { edges[*node].push(end); }
            }
            let alive: Vec<usize> = (0..=end).filter(|node| reaches(&edges, 0, *node, none)).collect();
            let cfg = Cfg::of(edges.iter().enumerate().map(|(from, to)| {
                (Block::new(from), to.iter().copied().map(Block::new).collect())
            }));
            let post = Dominators::post(&cfg);
            for a in &alive {
                for b in &alive {
                    let expected = a == b || !reaches(&edges, *b, end, *a);
                    prop_assert_eq!(post.dominates(Block::new(*a), Block::new(*b)), expected, "{} {}", a, b);
                }
            }
        }

        /// Endless loops do not fail: every post-dominator is one in the graph where these loops may end.
        #[test]
        fn post_dominators_of_endless_loops_end(edges in graph()) {
            let cfg = Cfg::of(edges.iter().enumerate().map(|(from, to)| {
                (Block::new(from), to.iter().copied().map(Block::new).collect())
            }));
            let post = Dominators::post(&cfg);
            for block in &cfg.order {
                prop_assert!(post.dominates(*block, *block));
            }
        }
    }
}
