//! `restrict-pointers`: the pointers of a kernel are declared not to overlap.

use tripipe_ir::diagnostic::Rule;

use crate::syntax::{Edits, Space, Type};
use crate::{Condition, Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "restrict-pointers",
    title: "the pointers of a kernel are declared not to overlap",
    what: "Pointer arguments in global memory become `restrict`.",
    why: "
A compiler that knows that a store changes nothing that is loaded keeps loaded values in registers, loads them once for
several outputs, and moves loads before stores.",
    example: "kernel void blur(global const float *in, global float *out)",
    instead: "kernel void blur(global const float *restrict in, global float *restrict out)",
    exceptions: "Where the host passes one buffer twice, or sub-buffers that overlap.",
    source: "- OpenCL C, section 6.5: `restrict` on arguments of kernels.",
    ..Rule::REWRITE
};

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let Some(kernel) = view.kernel() else { return Vec::new() };
    let source = &view.subject.source;
    let mut edits = Edits::new();
    let mut names = Vec::new();
    let mut is_written = false;
    for parameter in &kernel.parameters {
        let Type::Pointer { space: Space::Global, constant, restrict, .. } = &parameter.ty else {
            continue;
        };
        is_written |= !constant;
        let spelled = source.get(parameter.place.range.clone()).is_some_and(|text| text.contains('*'));
        if *restrict || !spelled || parameter.place.in_macro {
            continue;
        }
        if edits.insert(parameter.name_range.start, "restrict ").is_err() {
            return Vec::new();
        }
        names.push(format!("`{}`", parameter.name));
    }
    if names.is_empty()
        || !is_written
        || kernel.parameters.iter().filter(|one| is_global(&one.ty)).count() < 2
    {
        return Vec::new();
    }
    vec![Proposal {
        title: format!("{} declared `restrict`", names.join(", ")),
        why: "what is loaded stays in registers over stores".to_owned(),
        source: edits.apply(source),
        conditions: vec![Condition::BuffersApart],
        ..Proposal::of(RULE.code)
    }]
}

fn is_global(ty: &Type) -> bool {
    matches!(ty, Type::Pointer { space: Space::Global, .. })
}
