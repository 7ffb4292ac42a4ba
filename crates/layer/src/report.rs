//! The report at the end: leaks and misuse, as text or JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use serde::Serialize;

use crate::misuse::{Misuse, Misused};
use crate::objects::{Object, ObjectKind};
use crate::settings::Output;

/// Leaks of one kind that the text lists.
const LISTED: usize = 5;

/// Everything in a report.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    command: &'static str,
    version: u32,
    program: String,
    calls: u64,
    launches: u64,
    findings: Vec<Finding>,
    leaks: Vec<Leak>,
}

/// A finding.
#[derive(Debug, Serialize)]
struct Finding {
    code: &'static str,
    message: String,
    count: u64,
    example: Example,
    fix: &'static str,
}

/// A call.
#[derive(Debug, Serialize)]
struct Example {
    call: u64,
    what: String,
}

/// An object that was not released.
#[derive(Debug, Serialize)]
struct Leak {
    kind: String,
    handle: String,
    references: u32,
    bytes: Option<u64>,
    name: Option<String>,
    made_by: &'static str,
    call: u64,
    thread: u32,
    seconds: f64,
    backtrace: Option<String>,
}

impl Report {
    /// A report of this number of calls. `live` are the objects that live at the end, in the order of their calls.
    pub(crate) fn new(calls: u64, misuse: &Misuse, live: &[(u64, Object)], start: Instant) -> Self {
        let program = std::env::current_exe().ok();
        let program = program.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
        let findings = misuse.misuses().into_iter().chain(leaked(live)).map(|misused| Finding {
            code: misused.code,
            message: misused.message,
            count: misused.count,
            example: Example { call: misused.example.0, what: misused.example.1 },
            fix: misused.fix,
        });
        let leaks = live.iter().map(|(handle, object)| Leak {
            kind: object.kind.to_string(),
            handle: format!("{handle:#x}"),
            references: object.references,
            bytes: object.bytes,
            name: object.name.as_deref().map(str::to_owned),
            made_by: object.made_by.name(),
            call: object.call,
            thread: object.thread,
            seconds: object.made_at.saturating_duration_since(start).as_secs_f64(),
            backtrace: object.backtrace.as_ref().map(ToString::to_string),
        });
        Self {
            command: "layer",
            version: 1,
            program: program.unwrap_or_default().into_owned(),
            calls,
            launches: misuse.launches(),
            findings: findings.collect(),
            leaks: leaks.collect(),
        }
    }

    /// As JSON for a file whose name ends in `.json`, else as text.
    pub(crate) fn written(&self, output: &Output) -> String {
        let json =
            matches!(output, Output::File(path) if path.extension().is_some_and(|ending| ending == "json"));
        if json {
            let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
            text.push('\n');
            return text;
        }
        self.text()
    }

    fn text(&self) -> String {
        let mut text = format!(
            "tripipe layer: {}: {} calls, {} launches, {} findings\n",
            self.program,
            self.calls,
            self.launches,
            self.findings.len()
        );
        for finding in &self.findings {
            let _ = write!(
                text,
                "\n{}: {}\n  first: call {}, {}\n  fix: {}\n",
                finding.code, finding.message, finding.example.call, finding.example.what, finding.fix
            );
        }
        let mut kinds: BTreeMap<&str, Vec<&Leak>> = BTreeMap::new();
        for leak in &self.leaks {
            kinds.entry(&leak.kind).or_default().push(leak);
        }
        for (kind, leaks) in kinds {
            let _ = write!(text, "\nnot released: {} x {kind}\n", leaks.len());
            for leak in leaks.iter().take(LISTED) {
                let _ = write!(
                    text,
                    "  {} held {} times, made by {} (call {}, thread {}, {:.6} s)",
                    leak.handle, leak.references, leak.made_by, leak.call, leak.thread, leak.seconds
                );
                if let Some(bytes) = leak.bytes {
                    let _ = write!(text, ", {bytes} bytes");
                }
                if let Some(name) = &leak.name {
                    let _ = write!(text, ", {name}");
                }
                text.push('\n');
                for line in leak.backtrace.iter().flat_map(|backtrace| backtrace.lines()) {
                    let _ = writeln!(text, "    {line}");
                }
            }
            if leaks.len() > LISTED {
                let _ = writeln!(text, "  and {} more", leaks.len() - LISTED);
            }
        }
        text
    }
}

/// A finding for each kind of object that was not released.
fn leaked(live: &[(u64, Object)]) -> Vec<Misused> {
    let mut kinds: BTreeMap<ObjectKind, Vec<&Object>> = BTreeMap::new();
    for (_, object) in live {
        kinds.entry(object.kind).or_default().push(object);
    }
    let finding = |(kind, objects): (ObjectKind, Vec<&Object>)| {
        let first = objects.first()?;
        let bytes: u64 = objects.iter().filter_map(|object| object.bytes).sum();
        let of = if bytes > 0 { format!(", {bytes} bytes") } else { String::new() };
        Some(Misused {
            code: "not-released",
            message: format!("{} x {kind} not released at the end{of}", objects.len()),
            count: objects.len() as u64,
            example: (first.call, first.made_by.name().to_owned()),
            fix: "release each object as often as it was made and retained",
        })
    };
    kinds.into_iter().filter_map(finding).collect()
}
