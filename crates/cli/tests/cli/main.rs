//! Runs the `tripipe` command as a user does, in a separate folder, and checks it from outside.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod advice;
#[path = "../../../icd/tests/it/support/agreeing.rs"]
mod agreeing;
mod analyze;
mod analyze_advice;
mod bad_input;
#[path = "../../../report/tests/it/browser/client.rs"]
mod browser;
mod check;
mod check_order;
mod counters;
mod decisions;
#[path = "../../../trace/tests/decoder/mod.rs"]
mod decoder;
mod devices;
mod drivers;
mod examples;
mod explain;
mod faults;
mod filter;
mod filter_formats;
mod fix;
mod gemm;
mod help;
mod histogram;
mod import;
mod improve;
mod interruption;
mod kernel;
mod ladder;
mod launch_options;
mod layer;
mod learn;
mod lsp;
mod man;
mod npy;
mod offered;
mod pipes;
mod readme;
mod run_kernel;
#[path = "../../../report/tests/it/sarif_shape/mod.rs"]
mod sarif_shape;
mod schedule;
mod simulate;
#[path = "../../../opencl/tests/it/support/stand_in.rs"]
mod stand_in;
mod template;
mod trace;
mod tune;
mod tune_kernel;
mod tune_machines;
mod validate;
mod verdict;
mod version;
mod view;
mod virtual_gpus;
mod web;
mod why;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder, and the command to run in it, without OpenCL unless a test provides it.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tripipe"));
        command.args(arguments).current_dir(self.path()).env("TRIPIPE_OPENCL", "none");
        // This machine's program cache and terminal must not have an influence.
        command.env("XDG_CACHE_HOME", self.path().join("cache-of-its-own")).env_remove("COLORTERM");
        command.env("XDG_DATA_HOME", self.path().join("cache-of-its-own"));
        command.env("LC_ALL", "C.UTF-8");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The standard output of a run that must succeed.
    fn succeed(&self, arguments: &[&str]) -> String {
        done(&self.run(arguments))
    }

    /// A run that must be refused: exit code 2, one line on standard error with all `words`, no file added or removed.
    fn refuse(&self, arguments: &[&str], words: &[&str]) {
        let before = self.files();
        refused(&self.run(arguments), words);
        assert_eq!(self.files(), before, "{arguments:?}");
    }

    /// A run that must be refused: exit code 2, and all `words` on standard error, with a compiler's messages.
    fn refuse_said(&self, arguments: &[&str], words: &[&str]) {
        let output = self.run(arguments);
        let err = complaint(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        for word in words {
            assert!(err.contains(word), "`{word}` is not in: {err}");
        }
    }

    /// The names in the folder, including hidden ones.
    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "cache-of-its-own")
            .collect();
        names.sort();
        names
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap()
    }
}

/// Standard error of a run, without the notes about compilation, because the duration of that depends on the machine, and
/// without what PoCL's compiler says of kernels with vectors that are wider than the processor's.
fn complaint(stderr: &[u8]) -> String {
    let said = String::from_utf8(stderr.to_vec()).unwrap();
    let compiles = |line: &str| {
        line.ends_with("; kernels that it has not compiled before take seconds\n")
            || line == "note: compiling the kernel\n"
            || line.ends_with(" warnings generated.\n")
            || line == "1 warning generated.\n"
    };
    said.split_inclusive('\n').filter(|line| !compiles(line)).collect()
}

fn done(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), complaint(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}\n{out}");
    // Progress is shown only on terminals.
    assert_eq!(err, "");
    out.into_owned()
}

fn refused(output: &Output, words: &[&str]) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), complaint(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{err}\n{out}");
    assert!(err.starts_with("error: ") && err.ends_with('\n'), "{err:?}");
    assert_eq!(err.lines().count(), 1, "{err}");
    for word in words {
        assert!(err.contains(word), "`{word}` is not in: {err}");
    }
}
