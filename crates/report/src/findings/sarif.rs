//! Findings as SARIF 2.1.0 (OASIS), which editors and code hosts show next to the source.
//!
//! Own code: `serde-sarif` generates its types at build time (with a third version of `syn`), and to fill them is no
//! shorter than `json!`.

use std::collections::HashMap;
use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tripipe_ir::diagnostic::{Finding, Rule, SourceLocation, WorkItem};

use super::Report;
use super::result::{launch, memory, work_item};
use crate::rules::sections;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Characters of a path that are not encoded in a URI: unreserved characters, and the separator.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// One SARIF log with one run, on one line. Rules include their whole explanation, results their work-item and memory
/// as properties; a finding with further locations also has a code flow with one thread for each work-item.
pub fn sarif(report: &Report<'_>) -> String {
    with_fixes(report, &[])
}

/// The same with the fix of each finding that has one.
pub(crate) fn with_fixes(report: &Report<'_>, fixes: &[Option<Value>]) -> String {
    let rules = rules(report);
    let mut met = HashMap::new();
    let results: Vec<Value> = report
        .findings
        .iter()
        .enumerate()
        .map(|(position, finding)| {
            let index = rules.iter().position(|rule| rule.code == finding.rule.code);
            let identity = identity(report, finding);
            // Equal findings need fingerprints of their own, or code hosts merge them.
            let nth = met.entry(identity.clone()).and_modify(|nth| *nth += 1).or_insert(1u32);
            let mut result = result(report, finding, index, &format!("{identity}:{nth}"));
            if let Some(Some(fix)) = fixes.get(position) {
                result["fixes"] = json!([fix]);
            }
            result
        })
        .collect();
    let notifications: Vec<Value> =
        report.left_out.iter().map(|reason| json!({ "level": "note", "message": text(reason) })).collect();
    let properties = json!({ "launches": report.launches.iter().map(launch).collect::<Vec<_>>() });
    log(&rules, &notifications, &results, &properties)
}

/// A fix: a new source in place of the whole one.
pub(crate) fn new_source(description: &str, name: &str, before: &str, after: &str) -> Value {
    let lines = before.lines().count().max(1);
    let last_line = before.lines().last().map_or(0, |line| line.chars().count());
    // SARIF's end is exclusive: behind the last character, or at the start of the next line.
    let end = if before.ends_with('\n') { (lines + 1, 1) } else { (lines, last_line + 1) };
    json!({
        "description": text(description),
        "artifactChanges": [{
            "artifactLocation": { "uri": uri(name) },
            "replacements": [{
                "deletedRegion": { "startLine": 1, "startColumn": 1, "endLine": end.0, "endColumn": end.1 },
                "insertedContent": text(after),
            }],
        }],
    })
}

/// A log with one run.
pub(crate) fn log(rules: &[&Rule], notifications: &[Value], results: &[Value], properties: &Value) -> String {
    let mut log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "tripipe",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    if !properties.is_null() {
        log["runs"][0]["properties"] = properties.clone();
    }
    log.to_string()
}

/// The rules that were checked, and those of findings that are not among them.
fn rules(report: &Report<'_>) -> Vec<&'static Rule> {
    let mut rules = report.rules.to_vec();
    for finding in report.findings {
        if !rules.iter().any(|rule| rule.code == finding.rule.code) {
            rules.push(finding.rule);
        }
    }
    rules
}

fn descriptor(rule: &Rule) -> Value {
    let help = sections(rule, "##");
    json!({
        "id": rule.code,
        "shortDescription": text(rule.title),
        "help": { "text": help, "markdown": help },
        "defaultConfiguration": { "level": rule.severity.name() },
    })
}

fn result(report: &Report<'_>, finding: &Finding, rule_index: Option<usize>, fingerprint: &str) -> Value {
    let mut message = finding.message.trim_end_matches('.').to_owned();
    if !finding.fix.is_empty() {
        let _ = write!(message, ". {}", finding.fix);
    }
    let mut location = json!({ "logicalLocations": [{ "name": finding.kernel, "kind": "function" }] });
    if let Some(source) = &finding.location {
        location["physicalLocation"] = physical(report, source);
    }
    let mut result = json!({
        "ruleId": finding.rule.code,
        "ruleIndex": rule_index,
        "level": finding.rule.severity.name(),
        "message": text(&message),
        "locations": [location],
        "partialFingerprints": { "tripipeFinding/v1": fingerprint },
        "occurrenceCount": finding.count,
        "properties": properties(finding),
    });
    let related: Vec<Value> = finding
        .related
        .iter()
        .enumerate()
        .map(|(index, related)| {
            let mut location = json!({ "id": index, "message": text(&related.message) });
            if let Some(source) = &related.location {
                location["physicalLocation"] = physical(report, source);
            }
            location
        })
        .collect();
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    if let Some(flow) = flow(report, finding) {
        result["codeFlows"] = json!([flow]);
    }
    result
}

/// The facts that SARIF has no field for, with the keys of our own JSON.
fn properties(finding: &Finding) -> Value {
    let mut properties = json!({ "kernel": finding.kernel });
    if !finding.instruction.is_empty() {
        properties["instruction"] = json!(finding.instruction);
    }
    if let Some(item) = &finding.work_item {
        properties["work_item"] = json!(work_item(item));
    }
    if let Some(accessed) = &finding.memory {
        properties["memory"] = json!(memory(accessed));
    }
    properties
}

/// The locations of a finding as steps of the work-items that executed them: those of its own work-item, then the
/// finding itself; and those of each other work-item. `None` when there is no other step.
fn flow(report: &Report<'_>, finding: &Finding) -> Option<Value> {
    let mut threads: Vec<(Option<&WorkItem>, Vec<Value>)> = vec![(finding.work_item.as_ref(), Vec::new())];
    for related in &finding.related {
        let Some(source) = &related.location else { continue };
        let step = step(report, source, &related.message);
        let item = related.work_item.as_ref().or(finding.work_item.as_ref());
        match threads.iter_mut().find(|thread| thread.0 == item) {
            Some((_, steps)) => steps.push(step),
            None => threads.push((item, vec![step])),
        }
    }
    if threads.iter().all(|(_, steps)| steps.is_empty()) {
        return None;
    }
    // The finding's own work-item is always the first thread.
    threads[0].1.push(step(report, finding.location.as_ref()?, &finding.message));
    let threads: Vec<Value> = threads
        .into_iter()
        .map(|(item, steps)| {
            let mut thread = json!({ "locations": steps });
            if let Some(WorkItem { global: [x, y, z], .. }) = item {
                thread["id"] = json!(format!("work-item ({x}, {y}, {z})"));
            }
            thread
        })
        .collect();
    Some(json!({ "threadFlows": threads }))
}

fn step(report: &Report<'_>, source: &SourceLocation, message: &str) -> Value {
    json!({ "location": { "physicalLocation": physical(report, source), "message": text(message) } })
}

fn physical(report: &Report<'_>, source: &SourceLocation) -> Value {
    let mut location = json!({ "artifactLocation": { "uri": uri(&source.file) } });
    // SARIF counts lines from 1; line 0 means no line.
    if source.line > 0 {
        let mut region = json!({ "startLine": source.line });
        if let Some(column) = report.column(source) {
            region["startColumn"] = json!(column);
        }
        location["region"] = region;
        if let Some(line) = report.line(source) {
            location["contextRegion"] = json!({ "startLine": source.line, "snippet": text(line.text) });
        }
    }
    location
}

/// A file's name as a URI: relative paths unchanged, absolute ones with their scheme.
pub(crate) fn uri(file: &str) -> String {
    let path = file.replace('\\', "/");
    let encode = |path: &str| utf8_percent_encode(path, PATH).to_string();
    match path.split_once(":/") {
        // A single letter before `:/` is a drive of Windows.
        Some((drive, rest)) if drive.len() == 1 => format!("file:///{drive}:/{}", encode(rest)),
        _ if path.starts_with('/') => format!("file://{}", encode(&path)),
        _ => encode(&path),
    }
}

/// A hash that stays the same when lines are added above: of code, kernel, object, and the source line or else the
/// instruction.
fn identity(report: &Report<'_>, finding: &Finding) -> String {
    let line = finding.location.as_ref().and_then(|source| report.line(source));
    let mut hash = Sha256::new();
    for part in [
        finding.rule.code,
        &finding.kernel,
        finding.memory.as_ref().map_or("", |memory| &memory.object),
        line.map_or(finding.instruction.as_str(), |line| line.text.trim()),
    ] {
        // With their lengths, `ab` and `c` differ from `a` and `bc`.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    // 64 bits suffice to tell the findings of a project apart.
    hash.finalize().iter().take(8).fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_become_uris() {
        // RFC 3986: a space, `%` and non-ASCII characters are encoded; RFC 8089: file URIs of absolute paths.
        assert_eq!(uri("kernels/add.cl"), "kernels/add.cl");
        assert_eq!(uri("my kernels/größe 100%.cl"), "my%20kernels/gr%C3%B6%C3%9Fe%20100%25.cl");
        assert_eq!(uri("/home/a/add.cl"), "file:///home/a/add.cl");
        assert_eq!(uri(r"C:\a b\add.cl"), "file:///C:/a%20b/add.cl");
        assert_eq!(uri("<source>"), "%3Csource%3E");
        assert_eq!(uri("a:b.cl"), "a%3Ab.cl");
    }
}
