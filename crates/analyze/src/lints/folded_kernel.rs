//! `folded-kernel`: nothing that the kernel computes is stored.

use tripipe_ir::diagnostic::{Rule, Severity};

use super::context::{Advice, Context};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "folded-kernel",
    severity: Severity::Warning,
    title: "the kernel stores no result",
    what: "A kernel that is empty after optimisation.",
    why: "
It costs nothing because it does nothing: a store was forgotten, a value given by `-D` folded it away, or the wrong
kernel was selected. Its figures say nothing about the intended kernel.",
    example: "
__kernel void scale(__global float *data, float factor) {
    float x = data[get_global_id(0)] * factor;
}",
    instead: "
__kernel void scale(__global float *data, float factor) {
    data[get_global_id(0)] *= factor;
}",
    exceptions: "An empty kernel that measures the cost of a launch.",
    source: "- The behaviour of every optimising compiler: unused results are not computed.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    if context.longest.bound.is_empty() {
        found.push(Advice {
            rule: &RULE,
            location: None,
            message: "the kernel is empty after optimisation: it stores nothing".into(),
            fix: "Look for a missing store, and check the build options.".into(),
            gain: None,
        });
    }
}
