//! `tripipe explain`, and the page generated from it.

use std::path::Path;

use serde_json::Value;

use crate::Bench;

#[test]
fn without_a_code_they_are_listed() {
    let said = Bench::new().succeed(&["explain"]);
    for (code, severity) in
        [("out-of-bounds-write", "error"), ("same-value-race", "warning"), ("half-underflow", "note")]
    {
        let line = said.lines().find(|line| line.trim_start().starts_with(code)).unwrap();
        assert!(line.contains(severity), "{line}");
    }
}

#[test]
fn a_code_is_explained() {
    let bench = Bench::new();
    let said = bench.succeed(&["explain", "data-race"]);
    assert!(said.starts_with("error[data-race]: "), "{said}");
    for head in ["What it finds", "Why it matters", "Example", "Instead", "When it is wrong", "Source"] {
        assert!(said.lines().any(|line| line == head), "{head}: {said}");
    }
    assert!(
        said.lines()
            .any(|line| line
                == "      __kernel void neighbour(__global const float *in, __global float *out) {")
    );
    // No markup except for code; no wider than a pipe allows; no colours.
    assert!(!said.contains("##") && !said.contains("```") && !said.contains('\u{1b}'), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 120), "{said}");
    // As copied from a finding.
    assert_eq!(bench.succeed(&["explain", "error[data-race]"]), said);
    assert_eq!(bench.succeed(&["explain", "Data-Race"]), said);
}

#[test]
fn every_listed_code_is_explained_in_every_form() {
    let bench = Bench::new();
    let all: Value = serde_json::from_str(&bench.succeed(&["explain", "--format", "json"])).unwrap();
    let rules = all["rules"].as_array().unwrap();
    assert!(rules.len() > 30);
    for rule in rules {
        let code = rule["code"].as_str().unwrap();
        assert!(bench.succeed(&["explain", code]).contains(code));
        let one: Value =
            serde_json::from_str(&bench.succeed(&["explain", code, "--format", "json"])).unwrap();
        assert_eq!(one["rules"], Value::Array(vec![rule.clone()]));
        let page = bench.succeed(&["explain", code, "--format", "markdown"]);
        assert!(page.starts_with(&format!("# {code}\n")) && page.contains("\n## Source\n"), "{page}");
    }
}

#[test]
fn unknown_codes_are_refused() {
    let bench = Bench::new();
    let cases: [(&[&str], &[&str]); 4] = [
        (&["explain", "out-of-bound-write"], &["out-of-bound-write", "did you mean out-of-bounds-write?"]),
        (&["explain", "zzz"], &["`zzz`", "`tripipe explain` lists them"]),
        (&["explain", ""], &["``", "lists them"]),
        (&["explain", "data-race", "--format", "sarif"], &["sarif", "markdown"]),
    ];
    for (arguments, words) in cases {
        bench.refuse(arguments, words);
    }
}

/// `docs/checks.md` is the table at the start of the command's page, without links to the explanations; `BLESS=1`
/// updates it.
#[test]
fn the_page_of_checks_is_up_to_date() {
    let page = Bench::new().succeed(&["explain", "--format", "markdown"]);
    let (table, _) = page.split_once("\n## ").unwrap();
    let plain = |row: &str| match row.strip_prefix("| [").and_then(|row| row.split_once("](")) {
        Some((code, rest)) => format!("| `{code}`{}\n", &rest[rest.find(')').unwrap() + 1..]),
        None => format!("{row}\n"),
    };
    let page: String = table.lines().map(plain).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/checks.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page).unwrap();
    } else {
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == page, "{} is old (BLESS=1 rewrites it)", path.display());
    }
}

#[test]
fn limits_are_explained() {
    let bench = Bench::new();
    for (name, words) in [
        ("latency", "More threads in flight"),
        ("launch", "the host needs longer"),
        ("dram", "fewer bytes"),
        ("FMA", "fewer operations"),
        ("EFU", "special functions"),
        ("port", "L2 to a core"),
    ] {
        let said = bench.succeed(&["explain", name]).replace('\n', " ");
        assert!(said.starts_with("What limits a launch: ") && said.contains(words), "{said}");
    }
    bench.refuse(&["explain", "latencies"], &["no finding has the code"]);
}
