//! Runs every launch file of `tests/bugs` with all checks enabled. The findings must be exactly those in the comments
//! of its source. The folder's README describes the comments.
//!
//! Without a clang that writes line numbers everything is skipped, with a message; with `TRIPIPE_REQUIRE_CLANG` that
//! is a failure.

#![allow(clippy::print_stderr, reason = "tests say what they leave out")]

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use tripipe_ir::diagnostic::{Finding, Rule};
use tripipe_ir::front::clang::{self, Clang, Translator};
use tripipe_ir::front::spirv;
use tripipe_launch::Source;
use tripipe_launch_file::{self as file, Limits, NoFiles, Signature};
use tripipe_simulate::watch::{Checks, rules};
use tripipe_simulate::{Options, Simulator};

/// Rules whose findings have two locations, either of which may be marked.
const TWO_SIDED: [&Rule; 7] = [
    &rules::DATA_RACE,
    &rules::DATA_RACE_BETWEEN_GROUPS,
    &rules::SAME_VALUE_RACE,
    &rules::ATOMIC_MIXED,
    &rules::WRONG_FENCE,
    &rules::BARRIER_DIVERGENCE,
    &rules::COLLECTIVE_DIVERGENCE,
];

/// Step limit for endless loops: more than the longest clean kernel runs.
const STEPS: u64 = 2_000_000;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let found = Clang::find().ok().filter(|clang| clang.translator != Translator::BackEnd);
    if found.is_none() && std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none() {
        eprintln!("left out: no clang with llvm-spirv");
        return ExitCode::SUCCESS;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bugs");
    let mut trials = vec![
        Trial::test("comparison fails", comparison_fails),
        Trial::test("every rule has bugs", {
            let folder = folder.clone();
            move || every_rule_has_bugs(&folder)
        }),
    ];
    match launch_files(&folder) {
        Ok(paths) => trials.extend(paths.into_iter().map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Trial::test(name, move || check(&path))
        })),
        Err(error) => trials.push(Trial::test("launch files", || Err(error))),
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn launch_files(folder: &Path) -> Result<Vec<PathBuf>, Failed> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Runs one launch file and compares its findings with the marks.
fn check(path: &Path) -> Result<(), Failed> {
    let file = file::parse(&fs::read_to_string(path)?, &path.display().to_string())?;
    let source = path.with_file_name(file.source.path());
    let text = fs::read_to_string(&source)?;
    let marks = if is_clean(path) { Vec::new() } else { marks(&text)? };
    if marks.iter().all(|mark| mark.optional) != is_clean(path) {
        return Err(
            "a bug has a comment that says what must be found, and a clean launch file ends in _ok".into()
        );
    }

    let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut program = file.program(name.clone(), Source::OpenClC(text.clone().into()), str::to_owned);
    let defines = program.defines.iter().map(|(name, value)| format!("-D{name}={value}"));
    let options = defines.chain(program.options.iter().cloned()).collect();
    let build = clang::Build { options, ..clang::Build::default() };
    let module = clang::build_text(&name, &text, None, &build)?.spirv;
    let kernels: Vec<Signature> =
        spirv::load(&module, &spirv::Options::default())?.kernels.iter().map(Signature::of).collect();
    program.source = Source::SpirV(module.into());

    let mut simulator = Simulator::new(Options { steps: STEPS, ..Options::default() });
    let loaded = file.load(&kernels, &mut NoFiles, Limits::default())?;
    let kernel = loaded.kernel.clone();
    let staged = loaded.stage(&mut simulator, Arc::new(program))?;
    let mut checks = Checks::all();
    checks.set_elements(file.element_types());
    let checked = simulator.check(&staged.launch, &checks)?;

    let declared = declaration(&text, &kernel).ok_or("the kernel's name is nowhere declared")?;
    compare(&marks, &checked.findings, declared)
}

fn is_clean(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("_ok"))
}

/// A comment that names the finding expected at a line.
#[derive(Clone, Debug, PartialEq)]
struct Mark {
    line: u32,
    rule: &'static Rule,
    optional: bool,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} {}", self.line, self.rule.severity.name(), self.rule.code)
    }
}

/// All marks of a source.
fn marks(text: &str) -> Result<Vec<Mark>, Failed> {
    let mut marks = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let Some((_, comment)) = text.split_once("//~") else { continue };
        let wrong = |what: &str| format!("line {line}: {what} in `//~{comment}`");
        let (optional, rest) = match comment.strip_prefix('?') {
            Some(rest) => (true, rest),
            None => (false, comment),
        };
        let words = rest.trim_start_matches('^');
        let up = (rest.len() - words.len()) as u32;
        let (severity, code) =
            words.trim().split_once(' ').ok_or_else(|| wrong("severity and code wanted"))?;
        let rule = rules::find(code).ok_or_else(|| wrong("no such code"))?;
        if severity != rule.severity.name().to_uppercase() {
            return Err(wrong("another severity than the rule's").into());
        }
        let line = u32::checked_sub(line, up).filter(|line| *line > 0).ok_or_else(|| wrong("too many ^"))?;
        marks.push(Mark { line, rule, optional });
    }
    Ok(marks)
}

/// The line on which a kernel is declared.
fn declaration(text: &str, kernel: &str) -> Option<u32> {
    (1..)
        .zip(text.lines())
        .find(|(_, line)| line.contains(&format!("kernel void {kernel}(")))
        .map(|found| found.0)
}

/// Checks that every mark has a finding and every finding a mark. `declared` is the line of findings about the whole
/// kernel.
fn compare(marks: &[Mark], findings: &[Finding], declared: u32) -> Result<(), Failed> {
    let matches = |mark: &Mark, finding: &Finding| {
        let location = finding.location.as_ref().map_or(declared, |location| location.line);
        let two_sided = TWO_SIDED.contains(&finding.rule);
        let mut others = finding.related.iter().filter_map(|related| related.location.as_ref());
        mark.rule == finding.rule
            && (mark.line == location || two_sided && others.any(|location| location.line == mark.line))
    };
    let missing = marks
        .iter()
        .filter(|mark| !mark.optional && !findings.iter().any(|finding| matches(mark, finding)))
        .map(|mark| format!("not found: {mark}\n"));
    let surplus =
        findings.iter().filter(|finding| !marks.iter().any(|mark| matches(mark, finding))).map(|finding| {
            let line = finding.location.as_ref().map_or(declared, |location| location.line);
            format!("not expected: line {line}: {}: {}\n", finding.rule.code, finding.message)
        });
    let differences: String = missing.chain(surplus).collect();
    if differences.is_empty() { Ok(()) } else { Err(differences.into()) }
}

/// The comparison must be able to fail in each direction.
fn comparison_fails() -> Result<(), Failed> {
    let race = |location: Option<u32>, related: Option<u32>| finding(&rules::DATA_RACE, location, related);
    let read = finding(&rules::OUT_OF_BOUNDS_READ, Some(3), Some(4));
    let mark = |text: &str| marks(&format!("\n\na;{text}\n"));
    let (out, out_maybe) = (mark("//~ ERROR out-of-bounds-read")?, mark("//~? ERROR out-of-bounds-read")?);
    let (raced, above) = (mark("//~ ERROR data-race")?, mark("//~^ ERROR out-of-bounds-read")?);
    let same = [
        (&out, vec![read.clone()]),
        (&out, vec![read.clone(), read.clone()]),
        (&out_maybe, vec![]),
        (&out_maybe, vec![read.clone()]),
        (&raced, vec![race(Some(3), Some(9))]),
        (&raced, vec![race(Some(9), Some(3))]),
        (&raced, vec![race(None, None)]),
    ];
    let different = [
        (&out, vec![]),
        (&out, vec![race(Some(3), None)]),
        (&out, vec![finding(&rules::OUT_OF_BOUNDS_READ, Some(4), Some(3))]),
        (&out_maybe, vec![finding(&rules::OUT_OF_BOUNDS_READ, Some(4), None)]),
        (&above, vec![read.clone()]),
        (&raced, vec![race(Some(9), Some(8))]),
        (&raced, vec![race(Some(3), None), read]),
    ];
    for (marks, findings) in same {
        compare(marks, &findings, 3)?;
    }
    for (marks, findings) in different {
        if compare(marks, &findings, 3).is_ok() {
            return Err(format!("{marks:?} passes with {findings:?}").into());
        }
    }
    for wrong in ["//~ ERROR no-such-code", "//~ NOTE data-race", "//~ data-race", "//~^^^ ERROR data-race"] {
        if mark(wrong).is_ok() {
            return Err(format!("`{wrong}` passes").into());
        }
    }
    Ok(())
}

fn finding(rule: &'static Rule, location: Option<u32>, related: Option<u32>) -> Finding {
    let location_at =
        |line| tripipe_ir::diagnostic::SourceLocation { file: "k.cl".to_owned(), line, column: 0 };
    let related = related.map(|line| tripipe_ir::diagnostic::Related {
        message: String::new(),
        location: Some(location_at(line)),
        work_item: None,
    });
    Finding {
        rule,
        kernel: "k".to_owned(),
        location: location.map(location_at),
        instruction: String::new(),
        message: String::new(),
        fix: String::new(),
        count: 1,
        work_item: None,
        memory: None,
        related: related.into_iter().collect(),
    }
}

/// Each rule has at least two bugs, and each bug has a clean counterpart.
fn every_rule_has_bugs(folder: &Path) -> Result<(), Failed> {
    let mut bugs = Vec::new();
    for path in launch_files(folder)? {
        if is_clean(&path) {
            continue;
        }
        let file = file::parse(&fs::read_to_string(&path)?, &path.display().to_string())?;
        bugs.push(marks(&fs::read_to_string(path.with_file_name(file.source.path()))?)?);
        let twin = path.with_file_name(format!("{}_ok.toml", path.file_stem().unwrap_or_default().display()));
        if !twin.exists() {
            return Err(format!("{} is not there", twin.display()).into());
        }
    }
    for rule in rules::ALL {
        let count = bugs.iter().filter(|marks| marks.iter().any(|mark| mark.rule == *rule)).count();
        if count < 2 {
            return Err(format!("{count} bugs are {}", rule.code).into());
        }
    }
    Ok(())
}
