//! Each format of findings, on hand-made ones.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tripipe_ir::Space;
use tripipe_ir::diagnostic::{AccessedMemory, Finding, Related, Rule, Severity, SourceLocation, WorkItem};
use tripipe_report::Canvas;
use tripipe_report::findings::{Launch, Report, result, sarif, text};
use tripipe_results::Document;

use crate::sarif_shape;

const WRITE: Rule = Rule {
    code: "out-of-bounds-write",
    severity: Severity::Error,
    title: "a write is outside of its memory object",
    what: "A write outside.",
    ..Rule::CHECK
};
const RACE: Rule = Rule {
    code: "data-race",
    severity: Severity::Error,
    title: "two work-items race",
    what: "A race.",
    ..Rule::CHECK
};
const UNINITIALISED: Rule = Rule {
    code: "uninitialised-value",
    severity: Severity::Error,
    title: "a value that was never written is used",
    what: "A value.",
    ..Rule::CHECK
};
const SHIFT: Rule = Rule {
    code: "shift-past-width",
    severity: Severity::Warning,
    title: "a shift past the width",
    what: "A shift.",
    ..Rule::CHECK
};
const UNUSED: Rule = Rule {
    code: "unused-argument",
    severity: Severity::Note,
    title: "an argument is never used",
    what: "An argument.",
    ..Rule::CHECK
};
const RULES: &[&Rule] = &[&WRITE, &RACE, &UNINITIALISED, &SHIFT, &UNUSED];

/// Line 6 is indented with tabs and has characters of two bytes; line 7 is long.
const SOURCE: &str = "\
__kernel void add(__global const float *a, __global float *out, int größe) {
    __local float tile[64];
    int i = get_global_id(0);
    float x;
    tile[i % 64] = a[i];
\t\tout[i + 1] = /* Größe */ a[i] + tile[(i + 1) % 64];
    out[i] = x + 0.1f + 0.2f + 0.3f + 0.4f + 0.5f + 0.6f + 0.7f + 0.8f + 0.9f + 1.0f + 1.1f + 1.2f + 1.3f + 1.4f + 1.5f;
}
";

fn location(file: &str, line: u32, column: u32) -> Option<SourceLocation> {
    Some(SourceLocation { file: file.to_owned(), line, column })
}

fn item(id: u64) -> Option<WorkItem> {
    Some(WorkItem { global: [id, 0, 0], local: [id % 64, 0, 0], group: [id / 64, 0, 0] })
}

fn finding(rule: &'static Rule, message: &str, fix: &str) -> Finding {
    Finding {
        rule,
        kernel: "add".to_owned(),
        location: None,
        instruction: String::new(),
        message: message.to_owned(),
        fix: fix.to_owned(),
        count: 1,
        work_item: None,
        memory: None,
        related: Vec::new(),
    }
}

/// The column (in bytes, 1-based) at which `part` starts in a line (1-based) of [`SOURCE`].
fn column(line: usize, part: &str) -> u32 {
    SOURCE.lines().nth(line - 1).unwrap().find(part).unwrap() as u32 + 1
}

fn findings() -> Vec<Finding> {
    vec![
        Finding {
            location: location("kernels/add.cl", 6, column(6, "out")),
            instruction: "store %9, %12".to_owned(),
            count: 4096,
            work_item: item(127),
            memory: Some(AccessedMemory {
                object: "out".to_owned(),
                space: Space::Global,
                object_bytes: 512,
                offset: 512,
                bytes: 4,
            }),
            ..finding(
                &WRITE,
                "4 bytes are written behind the end of `out`",
                "Test `i + 1 < n` before the write.",
            )
        },
        Finding {
            location: location("kernels/add.cl", 6, column(6, "tile")),
            count: 2,
            work_item: item(0),
            memory: Some(AccessedMemory {
                object: "tile".to_owned(),
                space: Space::Local,
                object_bytes: 256,
                offset: 4,
                bytes: 4,
            }),
            related: vec![Related {
                message: "written here".to_owned(),
                location: location("kernels/add.cl", 5, column(5, "tile")),
                work_item: item(1),
            }],
            ..finding(
                &RACE,
                "`tile` is read while another work-item writes it",
                "Put barrier(CLK_LOCAL_MEM_FENCE) between them.",
            )
        },
        Finding {
            location: location("kernels/add.cl", 7, column(7, "+ 0.9f")),
            work_item: item(0),
            related: vec![
                Related {
                    message: "the value was born here".to_owned(),
                    location: location("kernels/add.cl", 4, 0),
                    work_item: None,
                },
                Related { message: "nobody wrote it in between".to_owned(), location: None, work_item: None },
            ],
            ..finding(
                &UNINITIALISED,
                "what is stored to `out` was never written",
                "Give `x` a value where it is declared.",
            )
        },
        Finding {
            location: location("include/shift.h", 12, 7),
            related: vec![Related {
                message: "the count comes from here".to_owned(),
                location: location("include/shift.h", 3, 0),
                work_item: None,
            }],
            ..finding(&SHIFT, "an int is shifted by 32", "Test the count.")
        },
        finding(&UNUSED, "the argument `größe` is never used", ""),
        Finding {
            instruction: "%7 = shl %5, %6".to_owned(),
            ..finding(&SHIFT, "an int is shifted by 33", "Test the count.")
        },
    ]
}

const LAUNCHES: &[Launch<'_>] =
    &[Launch { kernel: "add", global: [4096, 1, 1], local: [64, 1, 1], seconds: Some(0.25) }];

/// [`SOURCE`] with `lines` lines before it.
fn sources(lines: usize) -> BTreeMap<String, String> {
    BTreeMap::from([("kernels/add.cl".to_owned(), format!("{}{SOURCE}", "\n".repeat(lines)))])
}

fn report<'a>(
    findings: &'a [Finding],
    left_out: &'a [String],
    sources: &'a BTreeMap<String, String>,
) -> Report<'a> {
    Report { launches: LAUNCHES, rules: RULES, left_out, findings, sources }
}

#[test]
fn text_form() {
    let left_out = ["races between work-groups: the launch has more than 1,000,000 work-items".to_owned()];
    insta::assert_snapshot!(text(
        &report(&findings(), &left_out, &sources(0)),
        Canvas { width: 100, colour: false, ..Canvas::default() }
    ));
}

#[test]
fn text_form_of_nothing() {
    insta::assert_snapshot!(text(&report(&[], &[], &sources(0)), Canvas::default()));
}

#[test]
fn colours_only_where_asked_for() {
    let findings = findings();
    let plain =
        text(&report(&findings, &[], &sources(0)), Canvas { width: 100, colour: false, ..Canvas::default() });
    assert!(!plain.contains('\u{1b}'));
    let coloured =
        text(&report(&findings, &[], &sources(0)), Canvas { width: 100, colour: true, ..Canvas::default() });
    assert!(coloured.contains("\u{1b}["));
    // The same apart from the colours.
    assert_eq!(without_escapes(&coloured), plain);
}

/// A text without its colour codes: `ESC [ ... m`.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |out, part| out + part.split_once('m').unwrap().1)
}

#[test]
fn names_cannot_steer_the_terminal() {
    let mut hostile = findings().remove(1);
    let evil = "\u{1b}[2Jevil";
    hostile.kernel = evil.to_owned();
    hostile.message = evil.to_owned();
    hostile.fix = evil.to_owned();
    hostile.related[0].message = evil.to_owned();
    hostile.memory.as_mut().unwrap().object = evil.to_owned();
    hostile.location.as_mut().unwrap().file = evil.to_owned();
    let findings = [hostile];
    let said =
        text(&report(&findings, &[], &sources(0)), Canvas { width: 100, colour: false, ..Canvas::default() });
    assert!(said.matches("evil").count() >= 6 && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn json_form() {
    let left_out = ["races between work-groups".to_owned()];
    let line = Document::from(result(&report(&findings(), &left_out, &sources(0)))).to_string();
    assert!(!line.contains('\n'));
    let value: Value = serde_json::from_str(&line).unwrap();
    insta::assert_json_snapshot!(value);
}

#[test]
fn sarif_form() {
    let left_out = ["races between work-groups".to_owned()];
    let line = sarif(&report(&findings(), &left_out, &sources(0)));
    assert!(!line.contains('\n'));
    let mut value: Value = serde_json::from_str(&line).unwrap();
    sarif_shape::check(&value);
    let driver = &mut value["runs"][0]["tool"]["driver"];
    assert_eq!(driver["semanticVersion"], env!("CARGO_PKG_VERSION"));
    driver["semanticVersion"] = "0.0.0".into();
    insta::assert_json_snapshot!(value);
}

#[test]
fn sarif_of_nothing_is_a_run_without_results() {
    let value: Value = serde_json::from_str(&sarif(&report(&[], &[], &sources(0)))).unwrap();
    sarif_shape::check(&value);
    assert_eq!(value["runs"][0]["results"], Value::Array(Vec::new()));
    assert_eq!(value["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap().len(), RULES.len());
}

#[test]
fn fingerprints_survive_new_lines_above_and_distinguish_duplicates() {
    let fingerprints = |findings: &[Finding], lines: usize| -> Vec<String> {
        let value: Value = serde_json::from_str(&sarif(&report(findings, &[], &sources(lines)))).unwrap();
        let print =
            |result: &Value| result["partialFingerprints"]["tripipeFinding/v1"].as_str().unwrap().to_owned();
        value["runs"][0]["results"].as_array().unwrap().iter().map(print).collect()
    };
    let before = fingerprints(&findings(), 0);
    let mut moved = findings();
    for location in moved.iter_mut().filter_map(|finding| finding.location.as_mut()) {
        location.line += 3;
    }
    assert_eq!(fingerprints(&moved, 3), before);
    assert_eq!(before.iter().collect::<BTreeSet<_>>().len(), before.len());
    let twin = findings().remove(0);
    let [one, two] = fingerprints(&[twin.clone(), twin], 0).try_into().unwrap();
    assert_ne!(one, two);
}

#[test]
fn a_finding_of_another_rule_brings_it_along() {
    let findings = findings();
    let sources = sources(0);
    let report = Report { rules: &[&RACE], ..report(&findings, &[], &sources) };
    let value: Value = serde_json::from_str(&sarif(&report)).unwrap();
    let rules = value["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), RULES.len());
    for result in value["runs"][0]["results"].as_array().unwrap() {
        assert_eq!(rules[result["ruleIndex"].as_u64().unwrap() as usize]["id"], result["ruleId"]);
    }
}
