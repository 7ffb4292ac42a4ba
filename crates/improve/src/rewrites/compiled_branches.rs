//! `compiled-branches`: `#if` inside functions is reduced to the branch that is compiled.

use tripipe_ir::diagnostic::Rule;

use crate::{Condition, Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "compiled-branches",
    title: "only the branches that are compiled",
    what: "
Inside functions that the kernel uses, `#if`, `#elif`, `#else` and `#endif` and the branches that are not compiled for
these GPUs with these options vanish.",
    why: "It gains nothing by itself. What another rewrite makes of the kernel would be wrong for the other branches.",
    example: "
#ifdef cl_khr_fp16
    half sum = 0;
#else
    float sum = 0;
#endif",
    instead: "    float sum = 0;",
    exceptions: "
Where GPUs compile different branches: improve the kernel for each alone. Where macros inside a function depend on it.",
    source: "- OpenCL C, section 6.13: directives as in C99.",
    ..Rule::REWRITE
};

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let offered = view.gpus.first().map(|gpu| gpu.opencl());
    let Some(source) = view.subject.with_compiled_branches(offered) else { return Vec::new() };
    vec![Proposal {
        title: "`#if` inside functions reduced to the branches that are compiled".to_owned(),
        why: "other branches would not be rewritten".to_owned(),
        source,
        conditions: vec![Condition::Stated(
            "the kernel is built with the same options, for a driver that defines the same macros".to_owned(),
        )],
        ..Proposal::of(RULE.code)
    }]
}
