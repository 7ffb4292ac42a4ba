//! What a check found in kernels, as text, JSON and SARIF.

mod json;
mod sarif;
mod source;
mod text;

use std::collections::BTreeMap;

use tripipe_ir::diagnostic::{Finding, Rule, Severity};

pub use json::json;
pub use sarif::sarif;
pub use text::text;

/// A check: what was run, what was looked for, what was found.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The launches that were run, in their order.
    pub launches: &'a [Launch<'a>],
    /// What was looked for.
    pub rules: &'a [&'static Rule],
    /// What could not be looked for, one sentence each; empty when everything was.
    pub left_out: &'a [String],
    /// What was found, in the order it is to be shown.
    pub findings: &'a [Finding],
    /// The texts of source files, by the names that places have. Places in other files are shown without their lines.
    pub sources: &'a BTreeMap<String, String>,
}

/// A launch that was checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Launch<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// Work-items in each dimension.
    pub global: [u64; 3],
    /// Work-items of a work-group in each dimension.
    pub local: [u64; 3],
    /// How long it took with its checks, in all its orders together, without compiling and loading.
    pub seconds: f64,
}

impl Report<'_> {
    /// How many findings are of that weight.
    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.rule.severity == severity).count()
    }
}
