//! Harmless changes of the kernels that lints are tested with: a lint that fires in one must fire in its variants, and one
//! that does not must not.
//!
//! Each lint is tried with two of the changes, in turn; with all if `TRIPIPE_ALL_VARIANTS` is set.

use std::collections::BTreeSet;
use std::fs;

use tripipe_analyze::{analyze, lints};
use tripipe_ir::Module;
use tripipe_ir::front::clang::{Build, Optimization, build_text};
use tripipe_ir::front::spirv;

use crate::lints::{Directions, file};

/// Types of variables that variants declare again.
const TYPES: [&str; 12] =
    ["float", "int", "uint", "uchar", "char", "short", "ushort", "size_t", "long", "ulong", "half", "double"];

/// A change of a source that keeps what its kernels do, line by line.
type Change = fn(&str) -> String;

const CHANGES: [(&str, Change); 5] = [
    ("names", rename),
    ("a split declaration", split),
    ("an unrolled loop", unroll),
    ("a hoisted id", hoist),
    ("constant arguments", fix_arguments),
];

/// Lints about loops that an unrolled one is no longer.
const OF_LOOPS: [&str; 4] = ["foldable-argument", "unhoisted-load", "unblocked-product", "private-table"];

/// The words of a text, and what is between them.
fn tokens(text: &str) -> Vec<&str> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|letter| is_word(letter) != is_word(first)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        all.push(token);
        rest = after;
    }
    all
}

/// Whether it is a type: `float`, `uchar16`.
fn is_type(word: &str) -> bool {
    TYPES.contains(&word.trim_end_matches(|letter: char| letter.is_ascii_digit()))
}

/// All variables and parameters have other names.
fn rename(text: &str) -> String {
    let all = tokens(text);
    let mut names = BTreeSet::new();
    for window in all.windows(3) {
        let [ty, between, name] = window else { continue };
        let starts = name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
        if is_type(ty) && starts && between.chars().all(|letter| " *".contains(letter)) {
            names.insert(*name);
        }
    }
    names.retain(|name| !["restrict", "global", "local", "const"].contains(name));
    // Members keep theirs: `p.velocity`.
    for window in all.windows(2) {
        if let [".", name] = window {
            names.remove(name);
        }
    }
    let renamed = |token: &&str| {
        if names.contains(token) { format!("{token}_v") } else { (*token).to_owned() }
    };
    all.iter().map(renamed).collect()
}

/// `int x = a;` becomes `int x; x = a;`.
fn split(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let code = line.split("//").next().unwrap_or(line).trim_end();
        let start = code.trim_start();
        let mut words = start.split(' ');
        let (ty, name, equals) = (words.next(), words.next(), words.next());
        let is_plain =
            code.ends_with(';') && code.matches(';').count() == 1 && code.matches('=').count() == 1;
        match (ty, name, equals) {
            (Some(ty), Some(name), Some("="))
                if is_type(ty) && is_plain && !start.contains('{') && !has_two(start) =>
            {
                line.replacen(&format!("{ty} {name} ="), &format!("{ty} {name}; {name} ="), 1)
            }
            _ => line.to_owned(),
        }
    });
    lines.map(|line| line + "\n").collect()
}

/// Whether a declaration has several variables: a comma outside of brackets.
fn has_two(code: &str) -> bool {
    let mut depth = 0;
    code.chars().any(|letter| {
        depth += i32::from("([".contains(letter)) - i32::from(")]".contains(letter));
        letter == ',' && depth == 0
    })
}

/// Loops with constant bounds are unrolled.
fn unroll(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let Some((ahead, head)) = line.split_once("for (") else { return line.to_owned() };
        let mut parts = head.split(';');
        let bound = parts.nth(1).and_then(|test| test.split('<').nth(1));
        let is_small = bound.is_some_and(|bound| bound.trim().parse::<u32>().is_ok_and(|bound| bound <= 16));
        if is_small && !line.trim_start().starts_with("//") {
            format!("{ahead}_Pragma(\"unroll\") for ({head}")
        } else {
            line.to_owned()
        }
    });
    lines.map(|line| line + "\n").collect()
}

/// The global id is a variable where it is asked for twice.
fn hoist(text: &str) -> String {
    let ask = "get_global_id(0)";
    let kernels: Vec<&str> = text.split("kernel ").collect();
    let changed = kernels.iter().map(|kernel| match kernel.split_once('{') {
        Some((head, body)) if body.matches(ask).count() > 1 && !head.contains("//") => {
            format!("{head}{{ const size_t hoisted = {ask};{}", body.replace(ask, "hoisted"))
        }
        _ => (*kernel).to_owned(),
    });
    changed.collect::<Vec<_>>().join("kernel ")
}

/// Arguments that the launch gives are constants instead.
fn fix_arguments(text: &str) -> String {
    let launches = text.lines().filter_map(|line| line.strip_prefix("// launch")?.split_once(": "));
    let given: Vec<(&str, &str, &str)> = launches
        .flat_map(|(kernel, launch)| {
            let pairs = launch.split_whitespace().filter_map(|entry| entry.split_once('='));
            pairs.map(move |(name, value)| (kernel.trim(), name, value))
        })
        .filter(|(_, name, _)| !["global", "local"].contains(name))
        .collect();
    let kernels: Vec<&str> = text.split("kernel ").collect();
    let changed = kernels.iter().map(|kernel| {
        let Some((head, body)) = kernel.split_once('{') else { return (*kernel).to_owned() };
        let own = |token: &str| {
            let mut of = given.iter().filter(|(of, name, _)| {
                *name == token && (of.is_empty() || head.contains(&format!(" {of}(")))
            });
            of.next_back().map(|(.., value)| *value)
        };
        let parameters = tokens(head);
        let body = tokens(body)
            .into_iter()
            .map(|token| own(token).filter(|_| parameters.contains(&token)).unwrap_or(token));
        format!("{head}{{{}", body.collect::<String>())
    });
    changed.collect::<Vec<_>>().join("kernel ")
}

/// The kernels in which a lint fires: on the GPUs of its file where it should, and where it should not.
fn fires(code: &str, text: &str, module: &Module) -> BTreeSet<String> {
    let directions = Directions::of(text);
    let mut found = BTreeSet::new();
    for kernel in &module.kernels {
        let gpus = directions.on.get(&kernel.name).or_else(|| directions.on.get(""));
        for gpu in gpus.into_iter().flatten().take(1) {
            let analysis = analyze(kernel, gpu, &directions.setup(kernel));
            if analysis.advice.iter().any(|advice| advice.rule.code == code) {
                found.insert(kernel.name.clone());
            }
        }
    }
    found
}

fn built(code: &str, text: &str) -> Option<Module> {
    let build = Build { optimization: Optimization::Driver, ..Build::default() };
    match build_text(&format!("{code}.cl"), text, file(code).parent(), &build) {
        Ok(built) => Some(spirv::load(&built.spirv, &spirv::Options::default()).unwrap()),
        Err(error) => {
            assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
            eprintln!("left out: {error}");
            None
        }
    }
}

#[test]
fn harmless_changes_keep_findings() {
    let all = std::env::var_os("TRIPIPE_ALL_VARIANTS").is_some();
    let mut wrong = Vec::new();
    for (index, rule) in lints::ALL.iter().enumerate() {
        let code = rule.code;
        let text = fs::read_to_string(file(code)).unwrap();
        let Some(module) = built(code, &text) else { return };
        let expected = fires(code, &text, &module);
        for (number, (what, change)) in CHANGES.iter().enumerate() {
            let is_turn = all || [index % 5, (index / 5 + index + 1) % 5].contains(&number);
            if !is_turn || *what == "an unrolled loop" && OF_LOOPS.contains(&code) {
                continue;
            }
            let changed = change(&text);
            if changed.trim_end() == text.trim_end() {
                continue;
            }
            let Some(module) = built(code, &changed) else {
                wrong.push(format!("{code}, {what}: does not compile"));
                continue;
            };
            let found = fires(code, &changed, &module);
            if found != expected {
                wrong.push(format!("{code}, {what}: fires in {found:?}, not in {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
