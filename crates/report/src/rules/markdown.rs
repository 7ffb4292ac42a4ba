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
        "# Checks\n\nWhat `tripipe check` detects while a kernel runs, the advice of `tripipe analyze`, \
        and the rewrites of `tripipe improve`. An error is undefined by the specification: any result is possible. A\nwarning is \
        probably unintended, or correct on some devices only. A note is worth knowing.\n\n`tripipe explain \
        CODE` says what one means, why it matters and what to write instead; `tripipe explain\n--format markdown` \
        prints all of that as one page.\n\n| code | severity \
        | what it finds |\n|---|---|---|\n",
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
