//! Findings of a check in kernels, as text, SARIF and a result.

mod result;
mod sarif;
mod source;
mod text;

use std::collections::BTreeMap;

use tripipe_ir::diagnostic::{Finding, Rule, Severity};

pub(crate) use result::finding;
pub use result::result;
pub use sarif::sarif;
pub(crate) use sarif::{log as sarif_log, new_source, uri, with_fixes};
pub use text::text;

/// The result of a check: launches, rules and findings.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The launches that were run, in order.
    pub launches: &'a [Launch<'a>],
    /// The rules that were checked.
    pub rules: &'a [&'static Rule],
    /// What could not be checked, one sentence each; empty when everything was.
    pub left_out: &'a [String],
    /// The findings, in the order of display.
    pub findings: &'a [Finding],
    /// The texts of source files, by the names in locations. Locations in other files are shown without their lines.
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
    /// The duration with its checks, in all its orders together, without compiling and loading; `None` if it was not
    /// measured.
    pub seconds: Option<f64>,
}

impl Report<'_> {
    /// The number of findings with this severity.
    fn count(&self, severity: Severity) -> u64 {
        self.findings.iter().filter(|finding| finding.rule.severity == severity).count() as u64
    }
}
