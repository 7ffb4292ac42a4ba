//! Rules as text.

use std::fmt::Write as _;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use tripipe_ir::diagnostic::{Rule, Severity};

use super::sections;
use crate::style::{Canvas, Tone, paragraph};

/// Characters before paragraphs.
const INDENT: usize = 2;
/// Characters before code.
const CODE: usize = 6;

/// One rule: severity, code and title, then its explanation with headings, wrapped paragraphs, and unchanged code.
pub fn text(rule: &Rule, canvas: Canvas) -> String {
    canvas.shown(drawn(rule, canvas))
}

fn drawn(rule: &Rule, canvas: Canvas) -> String {
    let head = format!("{}[{}]", rule.severity.name(), rule.code);
    let mut out = format!("{}: {}\n", canvas.paint(tone(rule.severity), &head), rule.title);
    let mut pending = String::new();
    let (mut code, mut item) = (false, false);
    for event in Parser::new(&sections(rule, "##")) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => {
                code = true;
                out.push('\n');
            }
            Event::End(TagEnd::CodeBlock) => code = false,
            Event::Text(text) if code => {
                for line in text.lines() {
                    let line = format!("{}{line}", " ".repeat(CODE));
                    let _ = writeln!(out, "{}", line.trim_end());
                }
            }
            // Text arrives in pieces, and a paragraph is wrapped as a whole.
            Event::Text(text) => pending.push_str(&text),
            Event::Code(text) => {
                let _ = write!(pending, "`{text}`");
            }
            // Lines are wrapped again, to the width of the canvas.
            Event::SoftBreak | Event::HardBreak => pending.push(' '),
            Event::End(TagEnd::Heading(_)) => {
                let _ = writeln!(out, "\n{}", canvas.paint(Tone::Heading, &std::mem::take(&mut pending)));
            }
            Event::Start(Tag::Item) => item = true,
            Event::End(TagEnd::Paragraph | TagEnd::Item) => {
                let (first, indent) = if item { ("  - ", INDENT + 2) } else { ("  ", INDENT) };
                out.push_str(&paragraph(canvas, first, indent, &std::mem::take(&mut pending)));
                item = false;
            }
            Event::Start(Tag::Paragraph | Tag::List(_)) => out.push('\n'),
            _ => {}
        }
    }
    out
}

/// The rules, one per line.
pub fn list(rules: &[&Rule], canvas: Canvas) -> String {
    canvas.shown(listed(rules, canvas))
}

fn listed(rules: &[&Rule], canvas: Canvas) -> String {
    let width = rules.iter().map(|rule| rule.code.len()).max().unwrap_or(0);
    let mut out = String::new();
    for rule in rules {
        let severity = canvas.paint(tone(rule.severity), &format!("{:<7}", rule.severity.name()));
        let first = format!("  {:<width$}  {severity}  ", rule.code);
        out.push_str(&paragraph(canvas, &first, width + 13, rule.title));
    }
    out
}

fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Heading,
        Severity::Note => Tone::Plain,
    }
}
