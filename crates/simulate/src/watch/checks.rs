//! The set of enabled rules.

use std::collections::BTreeSet;

use tripipe_ir::diagnostic::Rule;
use tripipe_launch::ScalarType;

use super::rules::ALL;

/// The set of enabled rules, and what is known about the launch.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    off: BTreeSet<&'static str>,
    elements: Vec<Option<ScalarType>>,
}

impl Checks {
    /// All rules.
    pub fn all() -> Self {
        Self::default()
    }

    /// No rule.
    pub(crate) fn none() -> Self {
        Self { off: ALL.iter().map(|rule| rule.code).collect(), elements: Vec::new() }
    }

    /// Turns a rule on or off.
    pub fn set(&mut self, rule: &'static Rule, on: bool) {
        if on {
            self.off.remove(rule.code);
        } else {
            self.off.insert(rule.code);
        }
    }

    /// Sets the type that the application gives the elements of each argument's buffer; `None` where it gives none.
    pub fn set_elements(&mut self, elements: Vec<Option<ScalarType>>) {
        self.elements = elements;
    }

    /// The types of [`Self::set_elements`].
    pub(super) fn elements(&self) -> &[Option<ScalarType>] {
        &self.elements
    }

    /// Whether a rule is enabled.
    pub fn has(&self, rule: &Rule) -> bool {
        !self.off.contains(rule.code)
    }
}
