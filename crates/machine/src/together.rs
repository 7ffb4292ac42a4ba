//! Neighbouring work-items in the lanes that one leaves free.
//!
//! Later compilers for Midgard do scalar arithmetic of several work-items at once: on a T860, one dependent chain of
//! multiply-adds does two floats or four halves a word, vectors of two fill the word, and doubles do one (clpeak).

use cranelift_entity::SecondaryMap;
use tripipe_ir::Block;
use tripipe_ir::flow::Cfg;

use crate::code::Issue;
use crate::model::{Model, Pipe};

/// Divides the cost of words between the work-items that share them, in blocks of arithmetic alone: nothing is known of
/// blocks that access memory, whose words stay those of one work-item.
pub(crate) fn share(model: &Model, cfg: &Cfg, blocks: &mut SecondaryMap<Block, Vec<Issue>>) {
    if model.layout.items_together_bits == 0 {
        return;
    }
    for block in &cfg.order {
        let issues = &mut blocks[*block];
        if issues.iter().all(|issue| issue.pipe == Pipe::Arithmetic) {
            for issue in issues {
                issue.cycles /= f64::from(items(model, issue));
            }
        }
    }
}

/// Work-items whose operations fit into a word.
fn items(model: &Model, issue: &Issue) -> u32 {
    let layout = &model.layout;
    let priced = issue.operations.iter().filter(|(_, operation)| operation.bits > 0);
    let fits = |bits: u32, lanes: u32| {
        (layout.items_together_bits / bits).min(layout.register_bits / (bits * lanes))
    };
    let items = priced.clone().map(|(_, operation)| fits(operation.bits, operation.lanes.max(1))).min();
    // Operations of one stage are independent: they have filled lanes already.
    let of_stage =
        |stage| priced.clone().filter(|(unit, _)| model.units[*unit].stage == stage).count() as u32;
    (items.unwrap_or(1) / of_stage(0).max(of_stage(1)).max(1)).max(1)
}
