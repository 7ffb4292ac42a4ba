//! Verdicts on a device's results, as text, JSON and SARIF.

mod result;
mod text;

use std::collections::BTreeMap;

use tripipe_capture::verdict::{Judged, rules};
use tripipe_ir::diagnostic::{Finding, Rule};
use tripipe_results::Reproducer;

use crate::findings;

pub use result::result;
pub use text::text;

/// A launch whose results were judged.
#[derive(Clone, Debug)]
pub struct JudgedLaunch<'a> {
    /// The launch file.
    pub file: &'a str,
    /// The device that the results are of; `None` for those of the launch file.
    pub device: Option<&'a str>,
    /// The verdict.
    pub judged: &'a Judged,
    /// The texts of source files, by the names in locations.
    pub sources: &'a BTreeMap<String, String>,
    /// The launch that was cut down, if it was wanted and there is one.
    pub reproducer: Option<Reproducer>,
}

/// All findings in one SARIF log.
pub fn sarif(launches: &[JudgedLaunch<'_>], checks: &[&'static Rule]) -> String {
    let mut sources = BTreeMap::new();
    let mut findings: Vec<Finding> = Vec::new();
    for launch in launches {
        sources.extend(launch.sources.iter().map(|(name, text)| (name.clone(), text.clone())));
        findings.extend(launch.judged.findings.iter().cloned());
    }
    let ran: Vec<findings::Launch<'_>> = launches.iter().map(|launch| ran(launch.judged)).collect();
    let left_out: Vec<String> =
        launches.iter().flat_map(|launch| launch.judged.left_out.iter().cloned()).collect();
    findings::sarif(&findings::Report {
        launches: &ran,
        rules: &with_verdicts(checks),
        left_out: &left_out,
        findings: &findings,
        sources: &sources,
    })
}

/// The rules of checks, and those of verdicts.
fn with_verdicts(checks: &[&'static Rule]) -> Vec<&'static Rule> {
    checks.iter().copied().chain(rules::ALL).collect()
}

fn ran(judged: &Judged) -> findings::Launch<'_> {
    findings::Launch { kernel: &judged.kernel, global: judged.global, local: judged.local, seconds: None }
}
