//! Verdicts on a device's results, as text, JSON and SARIF.

mod json;
mod text;

use std::collections::BTreeMap;

use tripipe_capture::verdict::{Judged, rules};
use tripipe_ir::diagnostic::{Finding, Rule};

use crate::findings;

pub use json::json;
pub use text::text;

/// A launch whose results were judged.
#[derive(Clone, Copy, Debug)]
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
    pub reproducer: Option<Reproducer<'a>>,
}

/// A launch that was cut down as far as the difference stays.
#[derive(Clone, Copy, Debug)]
pub struct Reproducer<'a> {
    /// Its folder.
    pub folder: &'a str,
    /// Work-items that are left.
    pub work_items: u64,
    /// Bytes of memory that are left.
    pub bytes: u64,
    /// Lines of source that are left.
    pub lines: usize,
    /// Launches that were tried.
    pub tried: usize,
    /// Whether each step was confirmed on a device.
    pub confirmed: bool,
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
    findings::Launch { kernel: &judged.kernel, global: judged.global, local: judged.local, seconds: 0.0 }
}
