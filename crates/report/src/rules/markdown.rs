//! Rules as markdown.

use std::fmt::Write as _;

use tripipe_ir::diagnostic::{Rule, RuleKind};

/// One rule: its code as the heading, severity and title, sections.
pub fn markdown(rule: &Rule) -> String {
    format!("# {}\n\n{}\n\n{}", rule.code, what(rule), sections(rule, "##"))
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
        let _ = write!(out, "\n## {}\n\n{}\n\n{}", rule.code, what(rule), sections(rule, "###"));
    }
    out
}

fn what(rule: &Rule) -> String {
    let severity = rule.severity.name();
    format!("**{severity}**: {}.", rule.title)
}

/// The sections of a rule under headings of a level: `##`.
pub(crate) fn sections(rule: &Rule, level: &str) -> String {
    let code = |text: &str| match text.trim_matches('\n') {
        "" => String::new(),
        text => format!("```c\n{text}\n```"),
    };
    let instead = [rule.advice.trim().to_owned(), code(rule.instead), rule.remark.trim().to_owned()];
    let texts = [
        rule.what.to_owned(),
        rule.why.to_owned(),
        code(rule.example),
        instead.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n"),
        rule.exceptions.to_owned(),
        rule.source.to_owned(),
    ];
    let sections = headings(rule.kind).into_iter().zip(texts).filter(|(_, text)| !text.is_empty());
    let sections = sections.map(|(heading, text)| format!("{level} {heading}\n\n{}\n", text.trim()));
    sections.collect::<Vec<_>>().join("\n")
}

fn headings(kind: RuleKind) -> [&'static str; 6] {
    match kind {
        RuleKind::Check => {
            ["What it finds", "Why it matters", "Example", "Instead", "When it is wrong", "Source"]
        }
        RuleKind::Lint => {
            ["What it finds", "Why it costs", "Example", "Instead", "When it is wrong", "Source"]
        }
        RuleKind::Rewrite => ["What it does", "Why", "Example", "Instead", "When not", "Source"],
        RuleKind::Verdict => {
            ["What it finds", "Why it matters", "Example", "What to do instead", "When it is wrong", "Source"]
        }
    }
}
