//! The findings of launches with checks (`TRIPIPE_CHECK`), printed when the process ends.

use std::ffi::c_int;
use std::fmt::Write as _;
use std::panic::catch_unwind;
use std::sync::{Mutex, Once};

use tripipe_ir::diagnostic::Finding;
use tripipe_launch::locks::lock;

static FINDINGS: Mutex<Vec<Finding>> = Mutex::new(Vec::new());

/// Adds the findings of a launch. One that an earlier launch had too counts there.
pub fn record(findings: Vec<Finding>) {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| {
        unsafe extern "C" {
            fn atexit(call: extern "C" fn()) -> c_int;
        }
        // SAFETY: a function of the C library with this signature; the library stays loaded (`build.rs`).
        let _ = unsafe { atexit(print) };
    });
    merge(&mut lock(&FINDINGS), findings);
}

fn merge(all: &mut Vec<Finding>, findings: Vec<Finding>) {
    let key = |finding: &Finding| {
        (finding.rule.code, finding.kernel.clone(), finding.location.clone(), finding.instruction.clone())
    };
    for finding in findings {
        match all.iter_mut().find(|known| key(known) == key(&finding)) {
            Some(known) => known.count += finding.count,
            None => all.push(finding),
        }
    }
}

extern "C" fn print() {
    // No panic may leave a function that C calls.
    let _ = catch_unwind(|| {
        let text = text(&lock(&FINDINGS));
        show(&text);
    });
}

#[allow(clippy::print_stderr, reason = "the user asked for it: a driver has no other channel at the end")]
fn show(text: &str) {
    eprint!("{text}");
}

/// The findings, most severe first.
fn text(findings: &[Finding]) -> String {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.rule.severity));
    let mut text = String::new();
    for finding in sorted {
        let place = finding.location.as_ref().map_or_else(String::new, |location| {
            format!("{}:{}:{}: ", location.file, location.line, location.column)
        });
        let (severity, code) = (finding.rule.severity.name(), finding.rule.code);
        let times = if finding.count == 1 { String::new() } else { format!(" ({} times)", finding.count) };
        let _ = writeln!(
            text,
            "{place}{severity}[{code}] in kernel `{}`: {}{times}",
            finding.kernel, finding.message
        );
        if !finding.fix.is_empty() {
            let _ = writeln!(text, "  fix: {}", finding.fix);
        }
    }
    let _ = writeln!(text, "tripipe: {} findings; `tripipe explain CODE` explains each", findings.len());
    text
}
