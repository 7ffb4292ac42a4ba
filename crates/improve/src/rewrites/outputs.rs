//! Proposals of kernels with several outputs a work-item.

use crate::replicate::{Plan, replicate};
use crate::{Condition, HostChange, Proposal, View};

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
    for plan in plans {
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
        if replicated.overlaps {
            conditions.push(Condition::Stated("the buffers do not overlap".to_owned()));
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
            code: outputs.code,
            title: (outputs.title)(plan),
            why: outputs.why.to_owned(),
            source: replicated.source,
            conditions,
            host: replaced
                .iter()
                .map(|(dimension, by)| HostChange::Divide { dimension: *dimension, by: *by })
                .collect(),
            relative_error: 0.0,
        });
    }
    proposals
}
