//! The cost of kernels on GPUs ([`tripipe_analyze::Analysis`]).

mod malioc;
mod markdown;
mod result;
mod text;

pub use malioc::malioc;
pub use markdown::markdown;
pub use result::results;
pub use text::text;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use tripipe_analyze::{Advice, Analysis, Basis};
use tripipe_ir::diagnostic::{Finding, Related, Rule, SourceLocation};
use tripipe_ir::{Kernel, Location, LocationData, Module};

use crate::findings::{Report, new_source, with_fixes};
use crate::number::{percent, significant, time};
use crate::simulation::Predicted;

/// A kernel and its cost on each GPU.
pub struct Priced<'a> {
    /// The module that contains it, for the names of its files.
    pub module: &'a Module,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The name of its source, as in its locations.
    pub name: &'a str,
    /// The text of its source, for displayed lines; empty when it is not available.
    pub source: &'a str,
    /// One for each GPU.
    pub analyses: &'a [Analysis],
    /// The predicted time of the launch on each GPU, or why there is none.
    pub predictions: &'a [Result<Predicted, String>],
}

impl Priced<'_> {
    /// The line of a location, in the function that contains the code.
    fn line(&self, location: Location) -> u32 {
        self.kernel.own_location(location).line
    }

    /// The file of a location.
    fn file(&self, location: Location) -> &str {
        &self.module.files[self.kernel.own_location(location).file]
    }

    /// `12`, or `own.h:12` for a line of another file; `None` without a line.
    fn at(&self, location: Option<Location>) -> Option<String> {
        // Line 0 marks code that the compiler made up.
        let location = location.filter(|location| self.line(*location) > 0)?;
        let (file, line) = (self.file(location), self.line(location));
        Some(if file == self.name { line.to_string() } else { format!("{file}:{line}") })
    }

    /// The line of the call, for code of a function that the kernel calls.
    fn call_line(&self, location: Location) -> Option<u32> {
        self.kernel.called_from(location).map(|from| from.line)
    }

    /// ` (called from line 20)` for code of a function that the kernel calls.
    fn called(&self, location: Option<Location>) -> String {
        let from = location.and_then(|location| self.call_line(location));
        from.map_or_else(String::new, |line| format!(" (called from line {line})"))
    }

    /// The trimmed text of a location's line; empty if it is not available.
    fn text_of(&self, location: Location) -> &str {
        // Only the text of the main source is at hand, not that of included files.
        if self.file(location) != self.name {
            return "";
        }
        // Line 0 wraps around to a line that does not exist.
        self.source.lines().nth((self.line(location) as usize).wrapping_sub(1)).unwrap_or("").trim()
    }
}

/// The advice of all analyses as findings, for the formats of findings; each names its GPU.
fn findings(priced: &Priced<'_>) -> Vec<Finding> {
    let in_source = |data: LocationData| {
        let file = priced.module.files[data.file].to_string();
        (data.line > 0).then_some(SourceLocation { file, line: data.line, column: data.column })
    };
    let called = |location| {
        let from = priced.kernel.called_from(location)?;
        Some(Related { message: "called from here".to_owned(), location: in_source(from), work_item: None })
    };
    priced
        .analyses
        .iter()
        .flat_map(|analysis| analysis.advice.iter().map(move |advice| (analysis.gpu.name(), advice)))
        .map(|(gpu, advice)| Finding {
            rule: advice.rule,
            kernel: priced.kernel.name.clone(),
            location: advice.location.and_then(|location| in_source(priced.kernel.own_location(location))),
            instruction: String::new(),
            message: format!("on {gpu}: {}", advice.message),
            fix: advice.fix.clone(),
            count: 1,
            work_item: None,
            memory: None,
            related: advice.location.and_then(called).into_iter().collect(),
        })
        .collect()
}

/// What advice would save, in sentences with a space before each; empty where that is not known.
fn gain(advice: &Advice) -> String {
    let Some(gain) = &advice.gain else { return by_hand(advice).to_owned() };
    let cycles = gain.cycles.map(percent);
    let by = advice.applied().map(|applied| format!(" By `{}`, {}.", applied.code, applied.title));
    let mut said = by.unwrap_or_default();
    let price = match (gain.seconds, cycles) {
        (Some([before, after]), cycles) => {
            let factor = significant(before / after.max(f64::MIN_POSITIVE));
            let cycles = cycles.map_or_else(String::new, |cycles| format!(" ({cycles} of the cycles)"));
            format!(" Predicted time: {} instead of {}, {factor}x faster{cycles}.", time(after), time(before))
        }
        (None, Some(cycles)) if advice.applied().is_some() => {
            format!(" {cycles} of the static cycles would be saved.")
        }
        (None, Some(cycles)) => format!(" {cycles} of the cycles would be saved."),
        (None, None) => String::new(),
    };
    said.push_str(&price);
    if let Some(together) = gain.together {
        let _ = write!(said, " All advice of this kind together: {} of the cycles.", percent(together));
    }
    said + by_hand(advice)
}

/// What is said where no rewrite follows the advice.
fn by_hand(advice: &Advice) -> &'static str {
    match advice.gain.as_ref().map(|gain| &gain.basis) {
        Some(Basis::Applied(_)) => "",
        Some(Basis::Inapplicable) => " No rewrite applies here: by hand.",
        Some(Basis::Estimate) | None if advice.is_for_rewrites() => "",
        Some(Basis::Estimate) | None => " No rewrite: by hand.",
    }
}

/// What is said below advice of which some is priced by rewrites; `None` if none is.
fn unverified(analysis: &Analysis) -> Option<&'static str> {
    analysis.advice.iter().any(|advice| advice.applied().is_some()).then_some(
        "Rewrites were applied and priced, not verified; `tripipe improve` verifies, and so does `tripipe analyze \
        --fix CODE`, which applies those of one advice.",
    )
}

/// The advice of all analyses as SARIF. The source that a rewrite makes is a fix.
pub fn sarif(all: &[Priced<'_>], rules: &'static [&'static Rule]) -> String {
    let found: Vec<Finding> = all.iter().flat_map(findings).collect();
    // The kernels of a call are of one source, so the first has it.
    let Some(first) = all.first() else { return String::new() };
    let advice = all.iter().flat_map(|priced| priced.analyses).flat_map(|analysis| &analysis.advice);
    let fix = |advice: &Advice| {
        let applied = advice.applied()?;
        let mut title = format!(
            "{} (not verified; `tripipe analyze --fix {}` verifies)",
            applied.title, advice.rule.code
        );
        for change in &applied.host {
            let _ = write!(title, "; {change}");
        }
        Some(new_source(&title, first.name, first.source, &applied.source))
    };
    let fixes: Vec<Option<Value>> = advice.map(fix).collect();
    let sources = BTreeMap::from([(first.name.to_owned(), first.source.to_owned())]);
    let report = Report { launches: &[], rules, left_out: &[], findings: &found, sources: &sources };
    with_fixes(&report, &fixes)
}

/// The names of the columns that bound: `A`, `A, CVT`; `none` when nothing has a cost.
fn bound(analysis: &Analysis, at: &[usize]) -> String {
    let family = analysis.gpu.family();
    let names: Vec<&str> = at.iter().map(|at| analysis.columns[*at].head(family)).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
