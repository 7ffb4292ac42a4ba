//! What the tests share: the library, installed, and programs that are compiled against it.
#![allow(unreachable_pub, dead_code, reason = "each test uses some of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Whether a program is there. With `TRIPIPE_REQUIRE_C`, which `scripts/test` sets, it must be.
pub fn has(program: &str) -> bool {
    let is_there =
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(is_there || std::env::var_os("TRIPIPE_REQUIRE_C").is_none(), "{program} is missing");
    is_there
}

/// What a command wrote; it must succeed.
pub fn run(command: &mut Command) -> Output {
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

/// The path of an example.
pub fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)
}

/// A library that cargo builds for tests, `tripipe_c` or `tripipe_icd`: beside them, or one folder up.
pub fn library(name: &str) -> PathBuf {
    let file = format!("lib{name}.so");
    let test = std::env::current_exe().unwrap();
    let folders = test.parent().unwrap().ancestors().take(2);
    let found = folders.map(|folder| folder.join(&file)).filter(|path| path.exists());
    found.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok()).expect(&file)
}

/// The library of this build, installed; `None` without the programs for it.
pub fn installed() -> Option<TempDir> {
    if !["gcc", "g++", "pkg-config", "valgrind"].into_iter().all(has) {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let library = library("tripipe_c");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/install-c");
    run(Command::new(script).arg(folder.path()).env("TRIPIPE_C_LIBRARY", library));
    Some(folder)
}

/// The flags that pkg-config gives for the installed library.
pub fn flags(prefix: &Path) -> Vec<String> {
    let path = prefix.join("lib/pkgconfig");
    let output =
        run(Command::new("pkg-config").args(["--cflags", "--libs", "tripipe"]).env("PKG_CONFIG_PATH", path));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(str::to_owned).collect()
}

/// The program that a compiler makes of a source, with all warnings as errors, beside the installed library.
pub fn compiled(compiler: &str, arguments: &[&str], source: PathBuf, prefix: &Path) -> PathBuf {
    let program = prefix.join(source.file_stem().unwrap());
    let mut command = Command::new(compiler);
    command.args(arguments).args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"]).arg(source);
    run(command.args(flags(prefix)).arg("-l:libOpenCL.so.1").arg("-o").arg(&program));
    program
}

/// The command of a program that finds the installed library.
pub fn with_library(program: impl AsRef<std::ffi::OsStr>, prefix: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", prefix.join("lib"));
    command
}
