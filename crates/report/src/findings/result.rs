//! The result of the command.

use tripipe_ir::diagnostic::{AccessedMemory, Finding, Related, Severity, SourceLocation, WorkItem};
use tripipe_results::{self as results, CheckReport, CheckedLaunch};

use super::{Launch, Report};

/// The launches, checks and findings.
pub fn result(report: &Report<'_>) -> CheckReport {
    CheckReport {
        version: CheckReport::VERSION,
        launches: report.launches.iter().map(launch).collect(),
        checks: report.rules.iter().map(|rule| rule.code.to_owned()).collect(),
        left_out: report.left_out.to_vec(),
        errors: report.count(Severity::Error),
        warnings: report.count(Severity::Warning),
        notes: report.count(Severity::Note),
        findings: report.findings.iter().map(|each| finding(report, each)).collect(),
    }
}

pub(super) fn launch(launch: &Launch<'_>) -> CheckedLaunch {
    let Launch { kernel, global, local, seconds } = *launch;
    CheckedLaunch { kernel: kernel.to_owned(), global, local, seconds }
}

pub(crate) fn finding(report: &Report<'_>, finding: &Finding) -> results::Finding {
    results::Finding {
        code: finding.rule.code.to_owned(),
        severity: finding.rule.severity.name().to_owned(),
        message: finding.message.clone(),
        fix: finding.fix.clone(),
        kernel: finding.kernel.clone(),
        location: finding.location.as_ref().map(|at| location(report, at)),
        instruction: (!finding.instruction.is_empty()).then(|| finding.instruction.clone()),
        count: finding.count,
        work_item: finding.work_item.as_ref().map(work_item),
        memory: finding.memory.as_ref().map(memory),
        related: finding.related.iter().map(|each| related(report, each)).collect(),
    }
}

fn related(report: &Report<'_>, related: &Related) -> results::Related {
    results::Related {
        message: related.message.clone(),
        location: related.location.as_ref().map(|at| location(report, at)),
        work_item: related.work_item.as_ref().map(work_item),
    }
}

fn location(report: &Report<'_>, location: &SourceLocation) -> results::Location {
    let context = report.context(location);
    results::Location {
        file: location.file.clone(),
        line: location.line,
        column: (location.column > 0).then_some(location.column),
        text: report.line(location).map(|line| line.text.to_owned()),
        first_line: context.as_ref().map(|(first, _)| *first),
        lines: context.iter().flat_map(|(_, lines)| lines).map(|line| (*line).to_owned()).collect(),
    }
}

pub(super) fn work_item(item: &WorkItem) -> results::WorkItem {
    results::WorkItem { global: item.global, local: item.local, group: item.group }
}

pub(super) fn memory(memory: &AccessedMemory) -> results::Memory {
    results::Memory {
        object: memory.object.clone(),
        space: memory.space.name().to_owned(),
        object_bytes: memory.object_bytes,
        offset: memory.offset,
        bytes: memory.bytes,
    }
}
