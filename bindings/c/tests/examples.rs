//! The examples, built with the system's compilers as an application would: installed, found by pkg-config and by `CMake`, and
//! run under valgrind.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Whether a program is there. With `TRIPIPE_REQUIRE_C`, which `scripts/test` sets, it must be.
fn has(program: &str) -> bool {
    let is_there =
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(is_there || std::env::var_os("TRIPIPE_REQUIRE_C").is_none(), "{program} is missing");
    is_there
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)
}

/// The library that cargo builds for tests: beside them, or one folder up.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folders = test.parent().unwrap().ancestors().take(2);
    let found = folders.map(|folder| folder.join("libtripipe_c.so")).filter(|path| path.exists());
    found.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok()).expect("libtripipe_c.so")
}

/// The library of this build, installed; `None` without the programs for it.
fn installed() -> Option<TempDir> {
    if !["gcc", "g++", "pkg-config", "valgrind"].into_iter().all(has) {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let library = library();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/install-c");
    run(Command::new(script).arg(folder.path()).env("TRIPIPE_C_LIBRARY", library));
    Some(folder)
}

/// The flags that pkg-config gives for the installed library.
fn flags(prefix: &Path) -> Vec<String> {
    let path = prefix.join("lib/pkgconfig");
    let output =
        run(Command::new("pkg-config").args(["--cflags", "--libs", "tripipe"]).env("PKG_CONFIG_PATH", path));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(str::to_owned).collect()
}

fn compiled(compiler: &str, arguments: &[&str], source: &str, prefix: &Path) -> PathBuf {
    let program = prefix.join(source.replace('.', "-"));
    let mut command = Command::new(compiler);
    command.args(arguments).args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"]).arg(example(source));
    run(command.args(flags(prefix)).arg("-l:libOpenCL.so.1").arg("-o").arg(&program));
    program
}

fn with_library(program: impl AsRef<std::ffi::OsStr>, prefix: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", prefix.join("lib"));
    command
}

#[test]
fn the_c_example_is_right_under_valgrind() {
    let Some(prefix) = installed() else { return };
    let program = compiled("gcc", &["-std=c11"], "edges.c", prefix.path());
    let mut command = with_library("valgrind", prefix.path());
    command.args(["--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite", "-q"]);
    let suppressions = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/valgrind.supp");
    command.arg(format!("--suppressions={}", suppressions.display()));
    // Valgrind 3.19 has no AVX-512.
    let output = run(command.arg(&program).arg("cpu").env("TRIPIPE_CPU_VECTORS", "avx2"));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("pixels are on an edge") && said.contains("the product is right"), "{said}");
    assert!(said.contains("  why  ") && said.contains(" on CPU path "), "{said}");

    // A picture of the user, and errors.
    let picture = prefix.path().join("in.ppm");
    let mut bytes = b"P6 4 3 255\n".to_vec();
    bytes.extend([9; 36]);
    std::fs::write(&picture, bytes).unwrap();
    let result = prefix.path().join("out.pgm");
    run(with_library(&program, prefix.path()).arg("cpu").arg(&picture).arg(&result));
    assert_eq!(std::fs::read(&result).unwrap(), [&b"P5\n4 3\n255\n"[..], &[0; 12]].concat());
    let refused = with_library(&program, prefix.path()).arg("gpu0").output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(
        message.starts_with("the device: unknown device `gpu0`: expected auto, cpu, opencl"),
        "{message}"
    );
}

#[test]
fn the_cpp_example_is_right_on_an_opencl_device() {
    let Some(prefix) = installed() else { return };
    let program = compiled("g++", &["-std=c++17"], "beside.cpp", prefix.path());
    let mut command = with_library(&program, prefix.path());
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("clGetPlatformIDs") && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none() {
        eprintln!("skipped: {errors}");
        return;
    }
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.contains("sgemm: 0 of ") && said.contains("median: 0 of "), "{said}");
    assert!(said.contains("refused: a_ld is 44, less than 45"), "{said}");
}

#[test]
fn cmake_finds_the_library() {
    let Some(prefix) = installed() else { return };
    if !has("cmake") {
        return;
    }
    let project = prefix.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let text = format!(
        "cmake_minimum_required(VERSION 3.16)\nproject(edges C)\nfind_package(tripipe 0.1 REQUIRED)\nadd_executable(edges {:?})\n\
         target_link_libraries(edges PRIVATE tripipe::tripipe)\n",
        example("edges.c")
    );
    std::fs::write(project.join("CMakeLists.txt"), text).unwrap();
    let build = project.join("build");
    let prefixes = format!("-DCMAKE_PREFIX_PATH={}", prefix.path().display());
    run(Command::new("cmake").arg("-S").arg(&project).arg("-B").arg(&build).arg(prefixes));
    run(Command::new("cmake").arg("--build").arg(&build));
    run(Command::new(build.join("edges")).arg("cpu"));
}
