//! What goes wrong while a kernel runs.
//!
//! In a checked launch each instruction that can go wrong is run by a watcher ([`wrap`]): it looks at the operands, writes down
//! what is wrong with them ([`findings`]), and runs the instruction itself for the lanes that are left. Kernels
//! that are not checked have none of this in their way. [`rules`] says what there is to be found.

pub(crate) mod findings;
pub mod rules;

use std::collections::BTreeSet;

use tripipe_ir::Op;
use tripipe_ir::diagnostic::Rule;

use crate::execute::code::Run;
use findings::Findings;

/// Which rules are looked for.
#[derive(Clone, Debug)]
pub struct Checks {
    off: BTreeSet<&'static str>,
}

impl Checks {
    /// All rules.
    pub fn all() -> Self {
        Self { off: BTreeSet::new() }
    }

    /// Turns a rule on or off.
    pub fn set(&mut self, rule: &'static Rule, on: bool) {
        if on {
            self.off.remove(rule.code);
        } else {
            self.off.insert(rule.code);
        }
    }

    /// Whether a rule is looked for.
    pub fn has(&self, rule: &Rule) -> bool {
        !self.off.contains(rule.code)
    }
}

impl Default for Checks {
    fn default() -> Self {
        Self::all()
    }
}

/// The watchers of a launch, and what they have found.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) checks: Checks,
    pub(crate) findings: Findings,
}

impl Watch {
    pub(crate) fn new(checks: Checks) -> Self {
        Self { checks, findings: Findings::default() }
    }
}

/// The watcher that runs an operation in a checked launch; `None` if nothing can go wrong with it. It finds the operation's
/// own function in [`crate::execute::code::Inst::plain`].
pub(crate) fn wrap(op: Op) -> Option<Run> {
    let _ = op;
    None
}
