//! `tripipe man` and `tripipe completions`, held against the help text and a real shell.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::Bench;

/// The subcommands that the help lists.
fn subcommands(bench: &Bench) -> BTreeSet<String> {
    let help = bench.succeed(&["--help"]);
    let commands = help.split("Your kernel:").nth(1).unwrap().split("Options:").next().unwrap();
    let names =
        commands.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The long options that a text names.
fn options(text: &str) -> BTreeSet<String> {
    let text = text.replace("\\-", "-");
    let names = text.split("--").skip(1).map(|rest| {
        let end = rest.find(|letter: char| !(letter.is_ascii_lowercase() || letter == '-'));
        rest[..end.unwrap_or(rest.len())].trim_end_matches('-').to_owned()
    });
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_command_has_a_manual_page_with_the_options_of_its_help() {
    let bench = Bench::new();
    bench.succeed(&["man", "--folder", "."]);
    let names = subcommands(&bench);
    assert!(names.contains("ladder") && names.contains("run-kernel"), "{names:?}");
    let pages: BTreeSet<String> = fs::read_dir(bench.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".1"))
        .collect();
    let wanted: BTreeSet<String> =
        names.iter().map(|name| format!("tripipe-{name}.1")).chain(["tripipe.1".to_owned()]).collect();
    assert_eq!(pages, wanted);
    for name in names {
        let page = fs::read_to_string(bench.path().join(format!("tripipe-{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH tripipe-{name} 1")), "{name}");
        assert_eq!(bench.succeed(&["man", &name]), page, "{name}");
        let missing: Vec<String> =
            options(&bench.succeed(&[&name, "--help"])).difference(&options(&page)).cloned().collect();
        assert!(missing.is_empty(), "the page of {name} has no {missing:?}");
    }
}

#[test]
fn impossible_manual_pages_are_refused() {
    let bench = Bench::new();
    let output = bench.command(&["man", "laddr"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: no command 'laddr'; did you mean 'ladder'? (tripipe --help lists them)\n"
    );
    let output = bench.command(&["man", "--folder", "missing"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("missing"), "{output:?}");
}

/// What bash offers for a command line that ends at the cursor: what replaces the part of the last word that follows `:`,
/// `=` or a space.
fn offered(bench: &Bench, line: &str) -> Vec<String> {
    let script = bench.succeed(&["completions", "bash"]);
    let command = bench.command(&[]);
    let folder = Path::new(command.get_program()).parent().unwrap().to_owned();
    let run = format!(
        "PATH={}:$PATH\n{script}\nCOMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; _tripipe tripipe; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        folder.display()
    );
    let output = Command::new("bash").args(["--norc", "-c", &run]).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn bash_completes_commands_options_gpus_devices_and_changes() {
    let bench = Bench::new();
    for (line, wanted) in [
        ("tripipe sim", &["simulate"][..]),
        ("tripipe simulate --what", &["--what-if"]),
        ("tripipe simulate -g mali-g77", &["mali-g77"]),
        ("tripipe simulate -g mali-g52,mali-g77", &["mali-g52,mali-g77"]),
        ("tripipe ladder --device virtual:adreno-65", &["adreno-650"]),
        ("tripipe tune gemm --device cpu,virtual:adreno-65", &["adreno-650"]),
        ("tripipe explain data-race-b", &["data-race-between-groups"]),
        ("tripipe ladder vector-a", &["vector-add"]),
        ("tripipe simulate --what-if cl", &["clock="]),
        ("tripipe simulate --what-if clock=800,co", &["800,cores="]),
        ("tripipe tune wor", &[]),
    ] {
        assert_eq!(offered(&bench, line), wanted, "{line}");
    }
    let tune = offered(&bench, "tripipe tune ");
    assert!(tune.contains(&"gemm".to_owned()) && !tune.contains(&"worker".to_owned()), "{tune:?}");
}

/// A synopsis names what an option takes.
#[test]
fn synopses_have_value_names() {
    let bench = Bench::new();
    let page = bench.succeed(&["man", "simulate"]).replace('\\', "");
    let synopsis = page.split(".SH SYNOPSIS").nth(1).unwrap().split(".SH").next().unwrap();
    for words in
        ["[-k|--kernel NAME]", "[--global N[,N[,N]]]", "[-D NAME[=VALUE]]", "[--exact]", "FILE.cl|FILE.spv"]
    {
        assert!(synopsis.contains(words), "{words}: {synopsis}");
    }
}

#[test]
fn every_shell_has_a_script() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = bench.succeed(&["completions", shell]);
        assert!(script.contains("tripipe"), "{shell}");
    }
    let output = bench.command(&["completions", "csh"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
