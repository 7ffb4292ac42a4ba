//! Findings as JSON.

use serde_json::{Value, json};
use tripipe_ir::diagnostic::{AccessedMemory, Finding, Related, Severity, SourceLocation, WorkItem};

use super::{Launch, Report};

/// The version of the format. It increases when a key is removed or changes its meaning, not for a new key.
const VERSION: u32 = 2;

/// One JSON object on one line; `docs/findings.md` lists every key. Unknown values are `null`.
pub fn json(report: &Report<'_>) -> String {
    json!({
        "command": "check",
        "version": VERSION,
        "launches": report.launches.iter().map(launch).collect::<Vec<_>>(),
        "checks": report.rules.iter().map(|rule| rule.code).collect::<Vec<_>>(),
        "left_out": report.left_out,
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "notes": report.count(Severity::Note),
        "findings": report.findings.iter().map(|each| finding(report, each)).collect::<Vec<_>>(),
    })
    .to_string()
}

pub(super) fn launch(launch: &Launch<'_>) -> Value {
    let Launch { kernel, global, local, seconds } = launch;
    json!({ "kernel": kernel, "global": global, "local": local, "seconds": seconds })
}

fn finding(report: &Report<'_>, finding: &Finding) -> Value {
    let location = |at: &SourceLocation| location(report, at);
    json!({
        "code": finding.rule.code,
        "severity": finding.rule.severity.name(),
        "message": finding.message,
        "fix": finding.fix,
        "kernel": finding.kernel,
        "location": finding.location.as_ref().map(location),
        "instruction": (!finding.instruction.is_empty()).then_some(&finding.instruction),
        "count": finding.count,
        "work_item": finding.work_item.as_ref().map(work_item),
        "memory": finding.memory.as_ref().map(memory),
        "related": finding.related.iter().map(|each| related(report, each)).collect::<Vec<_>>(),
    })
}

fn related(report: &Report<'_>, related: &Related) -> Value {
    json!({
        "message": related.message,
        "location": related.location.as_ref().map(|at| location(report, at)),
        "work_item": related.work_item.as_ref().map(work_item),
    })
}

fn location(report: &Report<'_>, location: &SourceLocation) -> Value {
    let context = report.context(location);
    let lines: Vec<&str> = context.iter().flat_map(|(_, lines)| lines.iter().copied()).collect();
    json!({
        "file": location.file,
        "line": location.line,
        "column": (location.column > 0).then_some(location.column),
        "text": report.line(location).map(|line| line.text),
        "first_line": context.as_ref().map(|(first, _)| first),
        "lines": lines,
    })
}

pub(super) fn work_item(item: &WorkItem) -> Value {
    json!({ "global": item.global, "local": item.local, "group": item.group })
}

pub(super) fn memory(memory: &AccessedMemory) -> Value {
    json!({
        "object": memory.object,
        "space": memory.space.name(),
        "object_bytes": memory.object_bytes,
        "offset": memory.offset,
        "bytes": memory.bytes,
    })
}
