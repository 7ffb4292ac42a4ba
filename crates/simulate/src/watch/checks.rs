//! The set of enabled rules.

use std::collections::BTreeSet;

use tripipe_ir::diagnostic::Rule;

/// The set of enabled rules.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    off: BTreeSet<&'static str>,
}

impl Checks {
    /// All rules.
    pub fn all() -> Self {
        Self::default()
    }

    /// Turns a rule on or off.
    pub fn set(&mut self, rule: &'static Rule, on: bool) {
        if on {
            self.off.remove(rule.code);
        } else {
            self.off.insert(rule.code);
        }
    }

    /// Whether a rule is enabled.
    pub fn has(&self, rule: &Rule) -> bool {
        !self.off.contains(rule.code)
    }
}
