//! Blocks of a function in reverse postorder.

use std::collections::{HashMap, HashSet};

use rspirv::spirv::Op;

use super::code::{Code, Fallible, Raw, invalid};
use super::declare::RawBlock;

pub(super) fn is_terminator(op: Op) -> bool {
    matches!(
        op,
        Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::Return
            | Op::ReturnValue
            | Op::Unreachable
            | Op::Kill
            | Op::TerminateInvocation
    )
}

/// The labels that a terminator names, in order.
pub(super) fn targets(raw: Raw<'_>, switch_literal_words: usize) -> Fallible<Vec<u32>> {
    Ok(match raw.op {
        Op::Branch => vec![raw.word(1)?],
        Op::BranchConditional => vec![raw.word(2)?, raw.word(3)?],
        Op::Switch => {
            let step = switch_literal_words + 1;
            let mut targets = vec![raw.word(2)?];
            targets.extend(raw.rest(3).chunks_exact(step).map(|case| case[step - 1]));
            targets
        }
        _ => Vec::new(),
    })
}

/// Words of a switch's literals. An odd number of words after the default cannot be pairs; otherwise `labels` decides.
pub(super) fn literal_words(raw: Raw<'_>, labels: &HashSet<u32>) -> usize {
    let cases = raw.rest(3);
    let fits = |step: usize| {
        cases.len().is_multiple_of(step)
            && cases.chunks_exact(step).all(|case| labels.contains(&case[step - 1]))
    };
    if fits(2) { 1 } else { 2 }
}

/// The reachable blocks, the entry first, each after all blocks that dominate it.
pub(super) fn reverse_postorder(code: &Code, blocks: &[RawBlock]) -> Fallible<Vec<RawBlock>> {
    let Some(entry) = blocks.first() else { return Ok(Vec::new()) };
    let labels: HashSet<u32> = blocks.iter().map(|block| block.label).collect();
    let by_label: HashMap<u32, &RawBlock> = blocks.iter().map(|block| (block.label, block)).collect();
    if by_label.len() != blocks.len() {
        return invalid("two blocks have one label");
    }
    let successors = |block: &RawBlock| -> Fallible<Vec<u32>> {
        let Some(raw) = code.get(block.last) else { return Ok(Vec::new()) };
        let words = if raw.op == Op::Switch { literal_words(raw, &labels) } else { 1 };
        targets(raw, words)
    };
    let mut seen = HashSet::from([entry.label]);
    let mut stack = vec![(entry, successors(entry)?, 0)];
    let mut order = Vec::with_capacity(blocks.len());
    while let Some((block, targets, next)) = stack.last_mut() {
        if let Some(label) = targets.get(*next) {
            *next += 1;
            let Some(target) = by_label.get(label) else {
                return invalid(format_args!("%{label} is not a block of the function"));
            };
            if target.label == entry.label {
                return invalid("a branch to the first block");
            }
            if seen.insert(*label) {
                stack.push((target, successors(target)?, 0));
            }
        } else {
            order.push(RawBlock::clone(block));
            stack.pop();
        }
    }
    order.reverse();
    Ok(order)
}
