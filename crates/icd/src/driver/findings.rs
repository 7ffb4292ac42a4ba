//! The findings of launches with checks (`TRIPIPE_CHECK`), printed when the process ends.

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::fmt::Write as _;
use std::panic::catch_unwind;
use std::sync::{Mutex, Once};

use tripipe_ir::diagnostic::Finding;
use tripipe_launch::locks::lock;
use tripipe_simulate::Checked;

/// What the launches of the process had.
#[derive(Debug, Default)]
struct Collected {
    findings: Vec<Finding>,
    /// Checks that were not possible, one sentence each.
    left_out: BTreeSet<String>,
}

static FOUND: Mutex<Collected> = Mutex::new(Collected { findings: Vec::new(), left_out: BTreeSet::new() });

/// Adds the findings of a launch. One that an earlier launch had too counts there.
pub fn record(checked: Checked) {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| {
        unsafe extern "C" {
            fn atexit(call: extern "C" fn()) -> c_int;
        }
        // SAFETY: a function of the C library with this signature; the library stays loaded (`build.rs`).
        let _ = unsafe { atexit(print) };
    });
    let mut found = lock(&FOUND);
    merge(&mut found.findings, checked.findings);
    found.left_out.extend(checked.left_out);
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
        let text = text(&lock(&FOUND));
        show(&text);
    });
}

#[allow(clippy::print_stderr, reason = "the user asked for it: a driver has no other channel at the end")]
fn show(text: &str) {
    eprint!("{text}");
}

/// The findings, most severe first, and what was not checked.
fn text(Collected { findings, left_out }: &Collected) -> String {
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
    for reason in left_out {
        let _ = writeln!(text, "tripipe: not checked: {reason}");
    }
    let _ = writeln!(text, "tripipe: {} findings; `tripipe explain CODE` explains each", findings.len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_checked_is_printed_once() {
        let mut found = Collected::default();
        for _ in 0..2 {
            found.left_out.insert("there were too many groups".to_owned());
        }
        let text = text(&found);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[0], "tripipe: not checked: there were too many groups");
        assert!(lines[1].starts_with("tripipe: 0 findings"), "{text}");
    }
}
