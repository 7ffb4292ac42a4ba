//! Rules as markdown.

use std::fmt::Write as _;

use tripipe_ir::diagnostic::Rule;

/// One rule: its code as the heading, severity and title, explanation.
pub fn markdown(rule: &Rule) -> String {
    format!("# {}\n\n{}\n\n{}", rule.code, what(rule), rule.explanation)
}

/// All rules on one page: a table, then each of them.
pub fn page(rules: &[&Rule]) -> String {
    let mut out = String::from(
        "# Checks\n\nWhat `tripipe check` looks for while a kernel runs, and behind it what `tripipe analyze` advises. An error is undefined by the specification: any \
         result may come out. A\nwarning is probably not meant, or right on some devices only. A note is worth knowing.\n\n\
         This page is what `tripipe explain --format markdown` prints; `tripipe explain CODE` prints one of them.\n\n\
         | code | severity | what it finds |\n|---|---|---|\n",
    );
    for rule in rules {
        let Rule { code, title, .. } = rule;
        let _ = writeln!(out, "| [{code}](#{code}) | {} | {title} |", rule.severity.name());
    }
    for rule in rules {
        let _ = write!(out, "\n## {}\n\n{}\n\n{}", rule.code, what(rule), lowered(rule.explanation));
    }
    out
}

fn what(rule: &Rule) -> String {
    let severity = rule.severity.name();
    format!("**{severity}**: {}.", rule.title)
}

/// The same with every heading one level lower.
fn lowered(markdown: &str) -> String {
    let mut code = false;
    markdown.lines().fold(String::new(), |mut out, line| {
        code ^= line.starts_with("```");
        let head = line.starts_with("## ") && !code;
        let _ = writeln!(out, "{}{line}", if head { "#" } else { "" });
        out
    })
}
