//! Verdicts as JSON.

use serde_json::{Value, json};
use tripipe_capture::verdict::{JudgedMemory, Kind, Number};
use tripipe_ir::diagnostic::Rule;

use super::{JudgedLaunch, Reproducer, ran};
use crate::findings;

/// The version of the format. It increases when a key is removed or changes its meaning, not for a new key.
const VERSION: u32 = 1;

/// One JSON object on one line for a launch; `docs/capture.md` lists every key. Numbers of results are text, because
/// JSON has neither NaN nor infinity.
pub fn json(launch: &JudgedLaunch<'_>, checks: &[&'static Rule]) -> String {
    let judged = launch.judged;
    let report = findings::Report {
        launches: &[ran(judged)],
        rules: checks,
        left_out: &judged.left_out,
        findings: &judged.findings,
        sources: launch.sources,
    };
    let of_check: Value = serde_json::from_str(&findings::json(&report)).unwrap_or_default();
    json!({
        "command": "verdict",
        "version": VERSION,
        "file": launch.file,
        "device": launch.device,
        "kernel": judged.kernel,
        "global": judged.global,
        "local": judged.local,
        "verdict": judged.verdict.name(),
        "memory": judged.memory.iter().map(memory).collect::<Vec<_>>(),
        "reproducer": launch.reproducer.as_ref().map(reproducer),
        "findings": of_check["findings"],
        "left_out": judged.left_out,
    })
    .to_string()
}

fn memory(memory: &JudgedMemory) -> Value {
    json!({
        "argument": memory.argument,
        "name": memory.name,
        "numbers": memory.numbers,
        "differing": memory.differing,
        "allowed": memory.allowed,
        "open": memory.open,
        "wrong": memory.wrong,
        "first": memory.first.iter().map(number).collect::<Vec<_>>(),
    })
}

fn number(number: &Number) -> Value {
    let kind = match number.kind {
        Kind::Wrong => "wrong",
        Kind::Open => "open",
        Kind::Allowed => "allowed",
    };
    json!({
        "index": number.index,
        "offset": number.offset,
        "kind": kind,
        "device": number.device,
        "defined": number.defined,
        "float64": number.exact.map(|exact| exact.to_string()),
        "bounds": number.bounds.map(|bounds| bounds.map(|bound| bound.to_string())),
        "work_item": number.work_item,
        "cause": number.cause,
    })
}

fn reproducer(reproducer: &Reproducer<'_>) -> Value {
    json!({
        "folder": reproducer.folder,
        "work_items": reproducer.work_items,
        "bytes": reproducer.bytes,
        "lines": reproducer.lines,
        "tried": reproducer.tried,
        "confirmed": reproducer.confirmed,
    })
}
