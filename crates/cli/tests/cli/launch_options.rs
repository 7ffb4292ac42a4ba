//! The options of a launch in the commands that take a kernel: a guessed launch, and a launch file with other values.

use std::io::Write;
use std::process::Stdio;

use crate::check::{SCALE, bench, said, scale};
use crate::complaint;
use crate::run_kernel::compiles;

/// Without a launch file, the launch is a template's, with what the command line says.
#[test]
fn a_program_is_checked_with_a_guessed_launch() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let output = bench.run(&["check", "scale.cl", "--global", "96", "--local", "32", "--arg", "factor=2.5"]);
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), complaint(&output.stderr));
    let checked = "checked: `scale`, 96 x 1 x 1 work-items in work-groups of 32 x 1 x 1\nno findings";
    assert!(out.starts_with(checked), "{out}");
    assert_eq!(output.status.code(), Some(0));
    assert!(err.starts_with("note: the launch of `scale` is guessed") && err.lines().count() == 1, "{err}");
    assert!(err.contains("`tripipe template scale.cl -o LAUNCH.toml`"), "{err}");
    // The same program from standard input, and a launch file from there.
    let from_pipe = |text: &str| {
        let mut child = bench.command(&["check", "-"]);
        let mut child =
            child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    assert!(from_pipe(SCALE).contains("`scale`, 1,024 x 1 x 1 work-items"));
    assert!(from_pipe(&scale(4)).contains("`scale`, 4 x 1 x 1 work-items"));
    let refuse = |arguments: &[&str], words: &[&str]| {
        bench.refuse(&[&["check", "scale.cl"], arguments].concat(), words);
    };
    refuse(&["--arg", "facto=1"], &["--arg facto", "`scale` has no such argument", "did you mean `factor`?"]);
    refuse(&["--arg", "in=1"], &["--arg in", "not a number"]);
    refuse(&["-k", "scales"], &["no kernel `scales`", "did you mean `scale`?"]);
}

/// The command line takes precedence over a launch file, in every command that has one.
#[test]
fn launch_options_change_a_launch_file() {
    if !compiles() {
        return;
    }
    let bench = bench();
    bench.write("clean.toml", scale(4).replace("count = 4", "count = 4\ndump = true"));
    let text = said(bench.run(&["check", "clean.toml", "--global", "2", "--local", "1"]), 0);
    assert!(text.contains("2 x 1 x 1 work-items in work-groups of 1 x 1 x 1"), "{text}");
    let run = |arguments: &[&str]| bench.succeed(&[&["run-kernel", "clean.toml"], arguments].concat());
    assert!(run(&["--arg", "factor=2"]).contains("out[2] = 6.0\n"));
    assert!(run(&["--arg", "factor=0.25", "--global", "1", "--local", "1"]).contains("out[0] = 0.25\n"));
    bench.refuse(&["run-kernel", "clean.toml", "--arg", "f=2"], &["--arg f", "it has in, out, factor"]);
    bench.refuse(&["run-kernel", "clean.toml", "-k", "scal"], &["no kernel `scal`", "did you mean `scale`?"]);
    // An argument that is not a whole number, in the commands that price.
    for command in ["analyze", "simulate"] {
        bench.succeed(&[command, "scale.cl", "-g", "g77", "--global", "64", "--arg", "factor=0.5"]);
        bench.refuse(
            &[command, "scale.cl", "-g", "g77", "--global", "64", "--arg", "fact=0.5"],
            &["`factor`"],
        );
    }
}
