//! The output of `--help`, and the output if the locale supports only ASCII.

use crate::{Bench, done};

const COMMANDS: [&str; 23] = [
    "analyze",
    "check",
    "compare",
    "devices",
    "explain",
    "filter",
    "gemm",
    "histogram",
    "import",
    "improve",
    "kernel",
    "ladder",
    "learn",
    "lsp",
    "peaks",
    "run-kernel",
    "simulate",
    "template",
    "tune",
    "validate",
    "verdict",
    "view",
    "why",
];

/// Characters per line if there is no terminal.
const WIDTH: usize = 100;

#[test]
fn lines_of_the_help_are_full() {
    let bench = Bench::new();
    for command in COMMANDS {
        let help = bench.succeed(&[command, "--help"]);
        let lines: Vec<&str> = help.lines().collect();
        for pair in lines.windows(2) {
            let text = |line: &str| line.trim_start().starts_with(|first: char| first.is_alphanumeric());
            let indent = |line: &str| line.len() - line.trim_start().len();
            // Examples and lists have separate lines, indented by two; the text of an option is indented further.
            let flows = text(pair[0]) && text(pair[1]) && indent(pair[0]) == indent(pair[1]);
            if flows && indent(pair[0]) != 2 {
                let next = pair[1].split_whitespace().next().unwrap_or_default();
                let room = WIDTH.saturating_sub(pair[0].chars().count() + 1);
                assert!(
                    next.chars().count() > room,
                    "tripipe {command} --help breaks early:\n{}\n{}",
                    pair[0],
                    pair[1]
                );
            }
        }
    }
}

/// `docs/filters.md` has every filter and way to resize, with its numbers.
#[test]
fn the_page_on_filters_names_all_of_them() {
    let help = Bench::new().succeed(&["filter", "--help"]);
    let (_, list) = help.split_once("\nFilters:\n").unwrap();
    let stages: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(stages.len() > 30 && stages.contains(&"copy"), "{stages:?}");
    let (_, ways) = list.split_once("HOW: ").unwrap();
    let (ways, _) = ways.split_once(';').unwrap();
    let ways = ways.split([',', ' ']).filter(|word| !["", "or"].contains(word));
    let page = include_str!("../../../../docs/filters.md");
    for name in stages.into_iter().chain(ways) {
        assert!(page.contains(&format!("`{name}`")), "docs/filters.md says nothing about `{name}`");
    }
}

#[test]
fn the_option_g_always_means_gpu() {
    let bench = Bench::new();
    for command in COMMANDS {
        let help = bench.succeed(&[command, "--help"]);
        for line in help.lines().filter(|line| line.trim_start().starts_with("-g")) {
            assert!(line.contains("-g, --gpu"), "{command}: {line}");
        }
    }
}

#[test]
fn an_ascii_locale_gets_ascii_output() {
    let bench = Bench::new();
    let all: [&[&str]; 5] = [
        &["ladder", "vector-add", "--device", "cpu", "--sizes", "64", "--runs", "1", "--warmup", "0"],
        &["ladder"],
        &["devices"],
        &["explain", "data-race"],
        &["ladder", "--help"],
    ];
    for arguments in all {
        for locale in ["C", "POSIX"] {
            let text = done(&bench.command(arguments).env("LC_ALL", locale).output().unwrap());
            assert!(text.is_ascii(), "{arguments:?}: {text}");
        }
    }
    let drawn = bench.succeed(all[0]);
    assert!(drawn.contains('│') && drawn.contains('×'), "{drawn}");
}

#[test]
fn invalid_numbers_are_rejected_with_a_message() {
    let bench = Bench::new();
    bench.refuse(&["analyze", "k.cl", "--global", "many"], &["many", "not a whole number"]);
    bench.refuse(&["analyze", "k.cl", "--local", "99999999999999999999"], &["too large"]);
    bench.refuse(&["gemm", "a.npy", "b.npy", "-o", "c.npy", "--alpha", "x"], &["x", "not a number"]);
    bench.refuse(&["gemm", "a.npy", "b.npy", "-o", "c.npy", "--alpha", "1e400"], &["want a finite number"]);
    bench.refuse(&["simulate", "k.cl", "--budget", "time<=-1ms"], &["time<=-1ms", "is not a limit"]);
}
