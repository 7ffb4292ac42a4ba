//! `tripipe tune` with drivers that crash and hang, and on other machines.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use crate::faults::device_of_this_machine;
use crate::stand_in::stand_in;
use crate::{Bench, complaint, done, refused};

const TWO: [&str; 7] =
    ["--strategy", "exhaustive", "--only", "--also", "tile 4x4 group=1x1", "--also", "tile 3x4 group=1x1"];

/// A search of two candidates on the stand-in driver, which fails in this way for tiles of three rows. It does not know
/// the arguments of other kernels, so no candidate is measured.
fn stand_in_tunes(bench: &Bench, fault: &str, more: &[&str]) -> Output {
    let arguments = ["tune", "gemm", "--sizes", "8", "--device", "opencl", "--log", "log.jsonl"];
    let mut command = bench.command(&[&arguments[..], &TWO, more].concat());
    command.env("TRIPIPE_OPENCL", stand_in()).env("TRIPIPE_STAND_IN", fault);
    command.env("TRIPIPE_STAND_IN_OPTIONS", "-D ROWS=3").output().unwrap()
}

/// The text of a search without a correct result.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}\n{}", complaint(&output.stderr));
    text
}

#[test]
#[cfg(unix)]
fn a_driver_that_aborts_costs_one_candidate_and_is_remembered() {
    let bench = Bench::new();
    let text = said(&stand_in_tunes(&bench, "build-aborts", &[]));
    assert!(text.contains("tile 3x4 group=1x1: crashed: SIGABRT"), "{text}");
    assert!(text.contains("stand-in: cannot select while building the kernel"), "{text}");
    assert!(text.contains("tile 4x4 group=1x1: kernel"), "{text}");
    let log = String::from_utf8(bench.read("log.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 4, "{log}");
    let text = said(&stand_in_tunes(&bench, "build-aborts", &["--again"]));
    assert!(!text.contains("tile 3x4"), "it is tried again: {text}");
    // In this process, the same candidate ends the search; the log says which one it was.
    let bench = Bench::new();
    let output = stand_in_tunes(&bench, "build-aborts", &["--in-process"]);
    assert_eq!(output.status.code(), None);
    let log = String::from_utf8(bench.read("log.jsonl")).unwrap();
    assert!(
        log.lines().last().is_some_and(|line| line.contains("started") && line.contains("tile 3x4")),
        "{log}"
    );
    let text = said(&stand_in_tunes(&bench, "build-aborts", &["--in-process"]));
    assert!(!text.contains("tile 3x4"), "it is tried again: {text}");
}

#[test]
#[cfg(unix)]
fn a_driver_that_hangs_costs_one_candidate() {
    let bench = Bench::new();
    let text = said(&stand_in_tunes(&bench, "build-hangs", &["--build-limit", "3"]));
    assert!(text.contains("tile 3x4 group=1x1: stopped after 3 s of building the kernel"), "{text}");
    assert!(text.contains("tile 4x4 group=1x1: kernel"), "{text}");
}

#[test]
fn a_device_that_is_always_lost_ends_the_search() {
    let bench = Bench::new();
    let arguments =
        ["tune", "filter", "laplace", "--size", "16x16", "--device", "opencl", "--log", "log.jsonl"];
    let mut command = bench.command(&arguments);
    command.env("TRIPIPE_OPENCL", stand_in()).env("TRIPIPE_STAND_IN", "device-lost");
    // The reference kernel loses it already, so that no candidate is to blame.
    refused(
        &command.output().unwrap(),
        &["filter laplace", "the device cannot be used", "stopped answering"],
    );
    let shown = bench.succeed(&["tune", "show", "log.jsonl"]);
    assert!(!shown.contains("not tried again"), "{shown}");
}

/// `env` stands for `ssh board`: it runs the command that follows it.
#[test]
#[cfg(unix)]
fn other_machines_are_tuned_over_standard_input_and_output() {
    let bench = Bench::new();
    if !device_of_this_machine(&bench) {
        return;
    }
    let tune = |remotes: &[&str]| {
        let arguments =
            ["tune", "gemm", "--sizes", "16", "--runs", "6", "--device", "opencl", "--log", "log.jsonl"];
        let mut command = bench.command(&[&arguments[..], &TWO].concat());
        command.env_remove("TRIPIPE_OPENCL").args(["--remote-program", env!("CARGO_BIN_EXE_tripipe")]);
        for remote in remotes {
            command.args(["--remote", remote]);
        }
        command.output().unwrap()
    };
    let text = done(&tune(&["env", "nice -n 1"]));
    assert!(text.contains("2 searches on 2 devices"), "{text}");
    assert!(text.contains("f32 16x16x16 on env (opencl)"), "{text}");
    assert!(text.contains("f32 16x16x16 on nice -n 1 (opencl)"), "{text}");
    let log = String::from_utf8(bench.read("log.jsonl")).unwrap();
    for line in log.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    assert!(log.lines().filter(|line| line.contains("measured")).count() >= 4, "{log}");
    // One that cannot be reached does not end the other.
    let output = tune(&["echo no such board; false", "env"]);
    let text = said(&output);
    assert!(text.contains("FAILED: ") && text.contains("no such board"), "{text}");
    assert!(text.contains("f32 16x16x16 on env (opencl)"), "{text}");
}

#[test]
fn machines_that_cannot_be_used_are_refused() {
    let bench = Bench::new();
    let gemm = ["tune", "gemm", "--sizes", "16", "--log", "none"];
    let refuse = |more: &[&str], words: &[&str]| bench.refuse(&[&gemm[..], more].concat(), words);
    refuse(&["--remote", " "], &["--remote", "ssh board"]);
    refuse(&["--remote", "env", "--in-process"], &["--remote", "--in-process"]);
    refuse(&["--remote-program", "tripipe"], &["--remote"]);
    refuse(&["--run-limit", "0"], &["--run-limit", "above 0"]);
    refuse(&["--build-limit", "x"], &["--build-limit", "above 0"]);
    refuse(&["--memory-limit", "0"], &["--memory-limit"]);
    #[cfg(unix)]
    {
        refuse(&["--remote", "echo hello; exit 3; :"], &["exit code 3: hello"]);
        let newer = r#"echo 'tripipe-worker:{"hello":{"protocol":9,"version":"8.0"}}'; :"#;
        refuse(&["--remote", newer], &["tripipe 8.0", "version 9", "same version of tripipe on both sides"]);
    }
}

/// What a worker answers to lines that are not requests, and that it ends with its input.
#[test]
fn workers_answer_every_line() {
    let bench = Bench::new();
    let mut command: Command = bench.command(&["tune", "worker", "--device", "virtual:mali-g77"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut worker = command.spawn().unwrap();
    let mut input = worker.stdin.take().unwrap();
    let request = |problem: &str| {
        format!(
            "tripipe-worker:{{\"measure\":{{\"problem\":\"{problem}\",\"parameters\":[\"tile 4x4\"],\"effort\":{{\"runs\":1,\
             \"seconds\":0.0,\"fastest\":null,\"rival\":null,\"precision\":0.1,\"reference\":false}}}}}}\n"
        )
    };
    input.write_all(b"hello?\n").unwrap();
    input.write_all(request("conv 3x3").as_bytes()).unwrap();
    input.write_all(b"tripipe-worker:{\"measure\":").unwrap();
    drop(input);
    let output = worker.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("tripipe-worker:")).collect();
    assert!(lines[0].contains("\"hello\":{\"protocol\":2,") && lines[0].contains("Mali-G77"), "{text}");
    assert!(lines[1].contains("refused") && lines[1].contains("not a request: hello?"), "{text}");
    assert!(lines[2].contains("`conv` is not a family"), "{text}");
    assert!(lines[3].contains("not a request"), "{text}");
    assert_eq!(lines.len(), 4, "{text}");
    // The CPU path has nothing to tune.
    bench.refuse(&["tune", "worker", "--device", "cpu"], &["the CPU path has one candidate"]);
}
