//! Advice: what makes a kernel slow on a GPU, with evidence from this kernel and the gain according to the model.
//!
//! One file per lint: its [`Rule`], and a function that looks for it. A lint reports nothing without evidence.

mod alike;
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

pub use context::{Advice, Applied, Basis, Effect, Gain, WORTH};
pub(crate) use context::{Context, Share};

/// A lint.
struct Lint {
    rule: &'static Rule,
    /// Adds its findings for a kernel on a GPU.
    look: Look,
    /// The codes of the rewrites that do what it advises, the likeliest first: findings without a gain of their own are
    /// priced by applying them (`tripipe_improve::advice`).
    rewrites: &'static [&'static str],
    /// Whether following it rounds floating-point results differently.
    rounds: bool,
}

/// How a lint looks for its findings.
type Look = fn(&Context<'_>, &mut Vec<Advice>);

/// A lint whose advice is followed by hand.
const fn by_hand(rule: &'static Rule, look: Look) -> Lint {
    by(rule, look, &[])
}

/// A lint whose advice rewrites follow.
const fn by(rule: &'static Rule, look: Look, rewrites: &'static [&'static str]) -> Lint {
    Lint { rule, look, rewrites, rounds: false }
}

const LINTS: &[Lint] = &[
    by_hand(&boundary_test::RULE, boundary_test::look),
    by_hand(&costly_integer::RULE, costly_integer::look),
    by_hand(&contended_atomic::RULE, contended_atomic::look),
    by_hand(&divergent_branch::RULE, divergent_branch::look),
    by_hand(&double_literal::RULE, double_literal::look),
    Lint { rounds: true, ..by(&emulated_fma::RULE, emulated_fma::look, &["multiply-add"]) },
    by(&emulated_local_memory::RULE, emulated_local_memory::look, &["unstage-tile"]),
    by_hand(&few_work_groups::RULE, few_work_groups::look),
    by(&foldable_argument::RULE, foldable_argument::look, &["specialise-arguments"]),
    by_hand(&folded_kernel::RULE, folded_kernel::look),
    Lint { rounds: true, ..by(&free_fma::RULE, free_fma::look, &["multiply-add"]) },
    by_hand(&gapped_access::RULE, gapped_access::look),
    by(&image_or_buffer::RULE, image_or_buffer::look, &["buffer-to-image"]),
    by_hand(&indivisible_size::RULE, indivisible_size::look),
    by(&int_where_short_holds::RULE, int_where_short_holds::look, &["widen"]),
    by(&integer_dot_product::RULE, integer_dot_product::look, &["integer-dot"]),
    by(&narrow_access::RULE, narrow_access::look, &["merge-accesses"]),
    by_hand(&oversized_work_group::RULE, oversized_work_group::look),
    by(&overlapping_loads::RULE, overlapping_loads::look, &["share-loads"]),
    Lint {
        rounds: true,
        ..by(&precise_function::RULE, precise_function::look, &["native-functions", "powers", "reciprocals"])
    },
    by_hand(&private_table::RULE, private_table::look),
    by_hand(&register_step::RULE, register_step::look),
    by(&scattered_access::RULE, scattered_access::look, &["swap-dimensions", "row-per-group"]),
    by(&single_output::RULE, single_output::look, &["widen", "coarsen"]),
    by_hand(&spilled_registers::RULE, spilled_registers::look),
    by_hand(&unbalanced_pipes::RULE, unbalanced_pipes::look),
    by(&unblocked_product::RULE, unblocked_product::look, &["block", "tile-product"]),
    by_hand(&uneven_work_group::RULE, uneven_work_group::look),
    by(&unhoisted_load::RULE, unhoisted_load::look, &["restrict-pointers"]),
    by(&unvectorised_narrow::RULE, unvectorised_narrow::look, &["widen"]),
    by_hand(&vectorised_for_nothing::RULE, vectorised_for_nothing::look),
    by(&wide_integer::RULE, wide_integer::look, &["narrow-index"]),
    by(&work_group_size::RULE, work_group_size::look, &["resize-work-group"]),
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

/// The codes of the rewrites that do what a rule advises; empty where that is done by hand.
pub fn rewrites(rule: &Rule) -> &'static [&'static str] {
    LINTS.iter().find(|lint| lint.rule.code == rule.code).map_or(&[], |lint| lint.rewrites)
}

impl Advice {
    /// The codes of the rewrites that do what it proposes; empty where it is done by hand.
    pub fn rewrites(&self) -> &'static [&'static str] {
        rewrites(self.rule)
    }

    /// Whether it waits for one of its rewrites to be applied and priced. A gain of its own is an estimate, for where none
    /// applies.
    pub fn is_for_rewrites(&self) -> bool {
        let is_priced = self.gain.as_ref().is_some_and(|gain| gain.basis != Basis::Estimate);
        !is_priced && !self.rewrites().is_empty()
    }
}

/// Whether following what a rule advises rounds floating-point results differently.
pub fn rounds(rule: &Rule) -> bool {
    LINTS.iter().any(|lint| lint.rule.code == rule.code && lint.rounds)
}

/// All advice for a kernel, the largest gain first.
pub(crate) fn look(context: &Context<'_>) -> Vec<Advice> {
    let mut all = Vec::new();
    for lint in LINTS {
        (lint.look)(context, &mut all);
    }
    together(context, &mut all);
    sort(&mut all);
    alike::merge(context, all)
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
