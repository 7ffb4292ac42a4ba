//! `swap-dimensions`: two dimensions of the launch change places.

use std::collections::BTreeSet;

use tripipe_ir::diagnostic::Rule;

use super::text::dimension;
use crate::syntax::{Edits, ExprKind, Function, Symbol, Tree};
use crate::{HostChange, Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "swap-dimensions",
    title: "two dimensions of the launch change places",
    what: "`get_global_id(0)` becomes `get_global_id(1)` and the other way round, and the host exchanges the sizes.",
    why: "
Work-items that are neighbours in dimension 0 run together in a warp. They should access neighbouring elements: dimension 0
should be the index that varies fastest in memory.",
    example: "
const int y = get_global_id(0), x = get_global_id(1);
out[y * width + x] = in[y * width + x];",
    instead: "
const int y = get_global_id(1), x = get_global_id(0);
out[y * width + x] = in[y * width + x];",
    exceptions: "Where the other dimension has few work-items.",
    source: "- Arm's and Qualcomm's OpenCL guides: neighbouring work-items should access neighbouring elements.",
    ..Rule::REWRITE
};

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let Some(tree) = view.tree else { return Vec::new() };
    let dimensions = view.subject.launch.range.dimensions();
    // An attribute or a helper function that names the dimensions would have to change, too.
    if dimensions < 2 || tree.source.contains("work_group_size") {
        return Vec::new();
    }
    (1..dimensions).filter_map(|other| swapped(view, 0, other)).collect()
}

fn swapped(view: &View<'_>, a: usize, b: usize) -> Option<Proposal> {
    let tree = view.tree?;
    let mut edits = Edits::new();
    let mut fits = true;
    let others = called_by_others(tree, &view.subject.kernel);
    for function in &tree.functions {
        if function.is_kernel && function.name != view.subject.kernel {
            continue;
        }
        let mut asks = false;
        function.body.walk_expressions(&mut |expr| {
            let Some((_, found, argument)) = dimension(expr) else { return };
            asks = true;
            let other = match found {
                found if found == a => b,
                found if found == b => a,
                _ => return,
            };
            let place = &argument.bare().place;
            fits &= place.exact
                && !place.in_macro
                && edits.replace(place.range.clone(), other.to_string()).is_ok();
        });
        // Another kernel that calls a helper that asks would change, too.
        fits &= !asks || function.is_kernel || !others.contains(&function.symbol);
    }
    (fits && !edits.is_empty()).then(|| Proposal {
        title: format!("dimensions {a} and {b} exchanged"),
        why: "work-items of a warp then have other neighbours in memory".to_owned(),
        source: edits.apply(&tree.source),
        host: vec![HostChange::SwapDimensions(a, b)],
        ..Proposal::of(RULE.code)
    })
}

/// The functions that other kernels than `own` call, directly or not.
fn called_by_others(tree: &Tree, own: &str) -> BTreeSet<Symbol> {
    let mut called = BTreeSet::new();
    let mut open: Vec<&Function> =
        tree.functions.iter().filter(|function| function.is_kernel && function.name != own).collect();
    while let Some(function) = open.pop() {
        function.body.walk_expressions(&mut |expr| {
            if let ExprKind::Call { symbol, .. } = &expr.kind
                && called.insert(*symbol)
            {
                open.extend(tree.function(*symbol));
            }
        });
    }
    called
}
