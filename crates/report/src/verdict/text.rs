//! Verdicts as text.

use std::fmt::Write as _;

use tripipe_capture::verdict::JudgedMemory;
use tripipe_ir::diagnostic::Rule;

use super::{JudgedLaunch, ran, with_verdicts};
use crate::findings;
use crate::style::Canvas;

/// The verdict on a launch, its memory, and its findings with their lines; `checks` are the rules that were checked.
pub fn text(launch: &JudgedLaunch<'_>, checks: &[&'static Rule], canvas: Canvas) -> String {
    let judged = launch.judged;
    let device = launch.device.map_or(String::new(), |device| format!(", on {device}"));
    let mut out = format!("{}, `{}`{device}\n", launch.file, judged.kernel);
    let _ = writeln!(out, "  {}", judged.verdict.sentence());
    for memory in &judged.memory {
        let _ = writeln!(out, "  {}", line(memory));
    }
    if let Some(reproducer) = &launch.reproducer {
        let how = if reproducer.confirmed {
            "each step ran on the device"
        } else {
            "to be confirmed on the device: run-kernel --device on defined.toml"
        };
        let _ = writeln!(
            out,
            "  reproducer: {}/launch.toml: {} work-items, {} bytes of memory, {} lines of source, after {} trials; {how}",
            reproducer.folder, reproducer.work_items, reproducer.bytes, reproducer.lines, reproducer.tried
        );
    }
    if !judged.findings.is_empty() || !judged.left_out.is_empty() {
        let report = findings::Report {
            launches: &[ran(judged)],
            rules: &with_verdicts(checks),
            left_out: &judged.left_out,
            findings: &judged.findings,
            sources: launch.sources,
        };
        out.push('\n');
        out.push_str(&findings::text(&report, canvas));
    }
    canvas.shown(out)
}

fn line(memory: &JudgedMemory) -> String {
    let JudgedMemory { name, numbers, differing, allowed, open, wrong, .. } = memory;
    if *differing == 0 {
        return format!("{name}: {numbers} numbers, no difference");
    }
    if allowed + open + wrong == 0 {
        return format!("{name}: {differing} of {numbers} numbers differ");
    }
    let parts: Vec<String> = [(wrong, "not allowed"), (open, "without a bound"), (allowed, "within bounds")]
        .into_iter()
        .filter(|(count, _)| **count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    format!("{name}: {differing} of {numbers} numbers differ: {}", parts.join(", "))
}
