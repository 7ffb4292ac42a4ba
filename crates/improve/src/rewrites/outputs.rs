//! Proposals of kernels with several outputs a work-item.

use crate::replicate::{Plan, replicate};
use crate::syntax::{Affine, Function};
use crate::{Bound, Condition, HostChange, Proposal, View};

/// How proposals are worded.
pub(super) struct Outputs<'a> {
    pub(super) code: &'static str,
    pub(super) title: &'a dyn Fn(&Plan) -> String,
    pub(super) why: &'a str,
}

/// The kernel with each plan that it can be replicated by.
pub(super) fn propose(view: &View<'_>, plans: &[Plan], outputs: &Outputs<'_>) -> Vec<Proposal> {
    let subject = view.subject;
    let Some(tree) = view.tree else { return Vec::new() };
    let Some(kernel) = tree.kernel(&subject.kernel) else { return Vec::new() };
    let range = &subject.launch.range;
    let mut proposals = Vec::new();
    'plans: for plan in plans {
        let replaced: Vec<(usize, usize)> = [plan.vector, plan.copies].into_iter().flatten().collect();
        // An offset would be multiplied, too.
        if replaced.iter().any(|(dimension, _)| range.global_offset()[*dimension] != 0) {
            continue;
        }
        let Ok(replicated) = replicate(tree, kernel, *plan) else { continue };
        let multiples = replicated
            .unbounded
            .iter()
            .map(|(dimension, of)| Condition::GlobalMultiple { dimension: *dimension, of: *of });
        let mut conditions: Vec<Condition> = multiples.collect();
        for (dimension, by) in &replaced {
            let Some((times, sum)) = replicated.bounded.get(dimension) else { continue };
            let Some(bound) = bound(kernel, *times, sum) else { continue 'plans };
            // Groups that are moved inwards reach up to the end.
            let is_moved = plan.edges && plan.vector.is_some_and(|(along, _)| along == *dimension);
            let of = Some(*by).filter(|_| !is_moved);
            conditions.push(Condition::GlobalCovers { dimension: *dimension, of, bound });
        }
        if replicated.overlaps {
            conditions.push(Condition::BuffersApart);
        }
        // Vectors that are filled element by element gain nothing.
        let accesses = |source: &str| source.matches("vload").count() + source.matches("vstore").count();
        if plan.vector.is_some() && accesses(&replicated.source) == accesses(&subject.source) {
            continue;
        }
        if proposals.iter().any(|it: &Proposal| it.source == replicated.source) {
            continue;
        }
        if conditions.iter().any(|condition| condition.holds(&subject.launch) == Some(false)) {
            continue;
        }
        proposals.push(Proposal {
            title: (outputs.title)(plan),
            why: outputs.why.to_owned(),
            source: replicated.source,
            conditions,
            host: replaced
                .iter()
                .map(|(dimension, by)| HostChange::Divide { dimension: *dimension, by: *by })
                .collect(),
            ..Proposal::of(outputs.code)
        });
    }
    proposals
}

/// A sum of parameters as a number of work-items.
pub(super) fn bound(kernel: &Function, times: i128, sum: &Affine) -> Option<Bound> {
    let argument = |name: &String| {
        Some((kernel.parameters.iter().position(|parameter| parameter.name == *name)?, name.clone()))
    };
    let product = |(term, times): (&Vec<String>, &i128)| {
        Some((term.iter().map(argument).collect::<Option<Vec<_>>>()?, *times))
    };
    let products = sum.terms.iter().map(product).collect::<Option<Vec<_>>>()?;
    Some(Bound { products, constant: sum.constant, times })
}
