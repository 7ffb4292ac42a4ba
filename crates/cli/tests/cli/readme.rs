//! The workbench's example in the README.

use crate::Bench;
use crate::run_kernel::compiles;

const README: &str = include_str!("../../../../README.md");

/// The first block of a language after a heading.
fn block<'t>(heading: &str, language: &str) -> &'t str {
    let (_, section) = README.split_once(heading).unwrap();
    let (_, block) = section.split_once(&format!("```{language}\n")).unwrap();
    block.split_once("```").unwrap().0
}

#[test]
fn the_commands_of_the_readme_say_what_it_says() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("blur.cl", block("## The workbench", "c"));
    let mut commands = Vec::new();
    for line in block("## The workbench", "sh").lines() {
        let (command, _) = line.split_once('#').unwrap();
        let (command, into) = command.split_once('>').unwrap_or((command, ""));
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let output = bench.run(&words);
        if !into.is_empty() {
            bench.write(into.trim(), &output.stdout);
        }
        let text = String::from_utf8(output.stdout).unwrap();
        let said = match words[0] {
            "simulate" => "limited by",
            "analyze" => "Predicted time",
            "template" => "source = \"blur.cl\"",
            _ => "out-of-bounds-read",
        };
        assert!(text.contains(said), "{line}: {text}");
        assert_eq!(output.status.code(), Some(i32::from(words[0] == "check")), "{line}");
        commands.push(words[0]);
    }
    assert_eq!(commands, ["simulate", "analyze", "template", "check"]);
}
