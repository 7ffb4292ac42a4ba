//! Advice: what makes a kernel slow on a GPU, with evidence from this kernel and the gain according to the model.
//!
//! One file per lint: its [`Rule`], and a function that looks for it. A lint reports nothing without evidence.

mod boundary_test;
mod contended_atomic;
mod context;
mod costly_integer;
mod divergent_branch;
mod double_literal;
mod emulated_fma;
mod emulated_local_memory;
mod few_work_groups;
mod foldable_argument;
mod folded_kernel;
mod free_fma;
mod gapped_access;
mod image_or_buffer;
mod indivisible_size;
mod int_where_short_holds;
mod integer_dot_product;
mod narrow_access;
mod outputs;
mod overlapping_loads;
mod oversized_work_group;
mod precise_function;
mod private_table;
mod register_step;
mod retype;
mod rewrite;
mod scattered_access;
mod single_output;
mod spilled_registers;
mod unbalanced_pipes;
mod unblocked_product;
mod uneven_work_group;
mod unhoisted_load;
mod unvectorised_narrow;
mod vectorised_for_nothing;
mod wide_integer;
mod work_group_size;

use tripipe_ir::diagnostic::{Rule, Severity};

pub use context::{Advice, Effect, Gain, WORTH, WorkEffect};
pub(crate) use context::{Context, Share};

/// A lint.
struct Lint {
    rule: &'static Rule,
    /// Adds its findings for a kernel on a GPU.
    look: fn(&Context<'_>, &mut Vec<Advice>),
}

const LINTS: &[Lint] = &[
    Lint { rule: &boundary_test::RULE, look: boundary_test::look },
    Lint { rule: &costly_integer::RULE, look: costly_integer::look },
    Lint { rule: &contended_atomic::RULE, look: contended_atomic::look },
    Lint { rule: &divergent_branch::RULE, look: divergent_branch::look },
    Lint { rule: &double_literal::RULE, look: double_literal::look },
    Lint { rule: &emulated_fma::RULE, look: emulated_fma::look },
    Lint { rule: &emulated_local_memory::RULE, look: emulated_local_memory::look },
    Lint { rule: &few_work_groups::RULE, look: few_work_groups::look },
    Lint { rule: &foldable_argument::RULE, look: foldable_argument::look },
    Lint { rule: &folded_kernel::RULE, look: folded_kernel::look },
    Lint { rule: &free_fma::RULE, look: free_fma::look },
    Lint { rule: &gapped_access::RULE, look: gapped_access::look },
    Lint { rule: &image_or_buffer::RULE, look: image_or_buffer::look },
    Lint { rule: &indivisible_size::RULE, look: indivisible_size::look },
    Lint { rule: &int_where_short_holds::RULE, look: int_where_short_holds::look },
    Lint { rule: &integer_dot_product::RULE, look: integer_dot_product::look },
    Lint { rule: &narrow_access::RULE, look: narrow_access::look },
    Lint { rule: &oversized_work_group::RULE, look: oversized_work_group::look },
    Lint { rule: &overlapping_loads::RULE, look: overlapping_loads::look },
    Lint { rule: &precise_function::RULE, look: precise_function::look },
    Lint { rule: &private_table::RULE, look: private_table::look },
    Lint { rule: &register_step::RULE, look: register_step::look },
    Lint { rule: &scattered_access::RULE, look: scattered_access::look },
    Lint { rule: &single_output::RULE, look: single_output::look },
    Lint { rule: &spilled_registers::RULE, look: spilled_registers::look },
    Lint { rule: &unbalanced_pipes::RULE, look: unbalanced_pipes::look },
    Lint { rule: &unblocked_product::RULE, look: unblocked_product::look },
    Lint { rule: &uneven_work_group::RULE, look: uneven_work_group::look },
    Lint { rule: &unhoisted_load::RULE, look: unhoisted_load::look },
    Lint { rule: &unvectorised_narrow::RULE, look: unvectorised_narrow::look },
    Lint { rule: &vectorised_for_nothing::RULE, look: vectorised_for_nothing::look },
    Lint { rule: &wide_integer::RULE, look: wide_integer::look },
    Lint { rule: &work_group_size::RULE, look: work_group_size::look },
];

const RULES: [&Rule; LINTS.len()] = {
    let mut rules = [LINTS[0].rule; LINTS.len()];
    let mut at = 0;
    while at < rules.len() {
        rules[at] = LINTS[at].rule;
        at += 1;
    }
    rules
};

/// The rules of all lints, by code.
pub const ALL: &[&Rule] = &RULES;

/// All advice for a kernel, the largest gain first.
pub(crate) fn look(context: &Context<'_>) -> Vec<Advice> {
    let mut all = Vec::new();
    for lint in LINTS {
        (lint.look)(context, &mut all);
    }
    // Identical advice for several instructions of a line is reported once.
    let line = |advice: &Advice| advice.location.map(|location| context.kernel.own_location(location).line);
    let mut said: Vec<(&str, Option<u32>, String)> = Vec::new();
    all.retain(|advice| {
        let key = (advice.rule.code, line(advice), advice.message.clone());
        let new = advice.location.is_none() || !said.contains(&key);
        said.push(key);
        new
    });
    together(context, &mut all);
    sort(&mut all);
    all
}

/// Sorts advice: errors before slow code, the largest gain first. Gains in time count where they are known.
pub fn sort(all: &mut [Advice]) {
    all.sort_by(|a, b| {
        let fails = |advice: &Advice| advice.rule.severity == Severity::Error;
        let own = |advice: &Advice| advice.gain.as_ref().map_or(0.0, Gain::share);
        let share = |advice: &Advice| advice.share().unwrap_or(0.0);
        fails(b).cmp(&fails(a)).then(share(b).total_cmp(&share(a))).then(own(b).total_cmp(&own(a)))
    });
}

/// Sums the gains of each lint that has several.
fn together(context: &Context<'_>, all: &mut [Advice]) {
    for lint in LINTS {
        let same = all.iter().filter(|advice| advice.rule.code == lint.rule.code);
        let gains: Vec<&Gain> = same.filter_map(|advice| advice.gain.as_ref()).collect();
        if gains.len() < 2 {
            continue;
        }
        let sum = context.gain_together(&gains);
        for advice in all.iter_mut().filter(|advice| advice.rule.code == lint.rule.code) {
            if let Some(gain) = &mut advice.gain {
                gain.together = sum;
            }
        }
    }
}
