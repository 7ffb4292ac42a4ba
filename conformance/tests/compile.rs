//! A second compiler: every kernel compiles with clang to valid SPIR-V, both as planned for phones and alone with its
//! defaults.
//!
//! Half-precision kernels, and those that use one of Arm's extensions, are covered by no other test here. Without clang
//! the tests are skipped with a message; with `TRIPIPE_REQUIRE_OPENCL=1` that is a failure.

#![allow(
    clippy::print_stderr,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests say what they leave out, and panic"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use tripipe_conformance::programs::ladder_programs;
use tripipe_launch::Source;

const CLANG: &str = "clang-15";
const TRANSLATOR: &str = "llvm-spirv-15";
const VALIDATOR: &str = "spirv-val";

fn tools_are_there() -> bool {
    let missing: Vec<_> = [CLANG, TRANSLATOR, VALIDATOR]
        .into_iter()
        .filter(|tool| Command::new(tool).arg("--version").output().is_err())
        .collect();
    if missing.is_empty() {
        return true;
    }
    assert!(std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none(), "{missing:?}: scripts/setup installs them");
    eprintln!("left out: no {missing:?}");
    false
}

/// Compiles to SPIR-V and validates it; returns the compiler's error. Without optimisation: for optimised loops, the
/// translator of clang 15 puts an instruction at a position that SPIR-V does not allow.
fn compile(source: &Path, options: &[String], folder: &Path) -> Result<(), String> {
    let (bitcode, module) = (folder.join("kernel.bc"), folder.join("kernel.spv"));
    run(Command::new(CLANG)
        .args(["-c", "-x", "cl", "-target", "spir64-unknown-unknown", "-Xclang", "-finclude-default-header"])
        .args(["-emit-llvm", "-O0", "-Wall", "-Werror"])
        .args(options)
        .arg("-o")
        .arg(&bitcode)
        .arg(source))?;
    run(Command::new(TRANSLATOR)
        .args(["--spirv-max-version=1.2", "--spirv-ext=+all"])
        .arg(&bitcode)
        .arg("-o")
        .arg(&module))?;
    run(Command::new(VALIDATOR).args(["--target-env", "opencl2.2"]).arg(&module))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn every_planned_kernel_compiles() {
    if !tools_are_there() {
        return;
    }
    let programs = ladder_programs().unwrap();
    assert!(programs.len() > 10, "{} programs", programs.len());
    let folder = tempfile::tempdir().unwrap();
    for program in programs {
        let Source::OpenClC(text) = &program.source else { continue };
        let source = folder.path().join("kernel.cl");
        std::fs::write(&source, text.as_bytes()).unwrap();
        let defines = program.defines.iter().map(|(name, value)| format!("-D{name}={value}"));
        // Arm's option tells its driver that the last work-group may be smaller; the language stays 1.2 otherwise.
        let known = program.options.iter().filter(|option| !option.starts_with("-cl-arm-")).cloned();
        let mut options: Vec<String> = defines.chain(known).collect();
        if !options.iter().any(|option| option.starts_with("-cl-std")) {
            options.push("-cl-std=CL1.2".to_owned());
        }
        compile(&source, &options, folder.path())
            .unwrap_or_else(|complaint| panic!("{} {options:?}:\n{complaint}", program.name));
    }
}

#[test]
fn every_source_compiles_alone() {
    if !tools_are_there() {
        return;
    }
    let mut sources = Vec::new();
    for folder in ["../crates/kernels/src", "../crates/ladders/src"] {
        find_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut sources);
    }
    assert!(sources.len() > 8, "{} sources", sources.len());
    let folder = tempfile::tempdir().unwrap();
    for source in sources {
        compile(&source, &["-cl-std=CL1.2".to_owned()], folder.path())
            .unwrap_or_else(|complaint| panic!("{}:\n{complaint}", source.display()));
    }
}

fn find_sources(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "cl") {
            sources.push(path);
        }
    }
}
