//! Findings of a check.

use tripipe_results::{CheckReport, Finding, Location, Memory};

use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::named::Named;
use crate::number::counted;

/// The severities, the worst first.
const SEVERITIES: [&str; 3] = ["error", "warning", "note"];

fn joined(sizes: &[u64], between: &str) -> String {
    sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(between)
}

fn verdict(check: &CheckReport) -> String {
    let kernels: Vec<&str> = check.launches.iter().map(|launch| launch.kernel.as_str()).collect();
    let kernels = kernels.join(", ");
    if check.findings.is_empty() {
        return format!("{kernels}: none of {} checks found anything.", check.checks.len());
    }
    format!(
        "{kernels}: {}, {} and {}.",
        counted(check.errors, "error"),
        counted(check.warnings, "warning"),
        counted(check.notes, "note")
    )
}

/// One or several checks.
pub(super) fn section(all: &[Named<'_, CheckReport>], ids: &Ids) -> Section {
    let body: Markup = all.iter().map(|named| one(named, all.len() > 1, ids)).collect();
    Section { id: ids.next("check"), title: "Findings".to_owned(), body }
}

fn one(named: &Named<'_, CheckReport>, several: bool, ids: &Ids) -> Markup {
    let check = named.content;
    let class = if check.errors + check.warnings > 0 { "verdict worse" } else { "verdict better" };
    let launches: Markup = check
        .launches
        .iter()
        .map(|launch| {
            let said = format!(
                "{}: {} work-items in work-groups of {}",
                launch.kernel,
                joined(&launch.global, " x "),
                joined(&launch.local, " x ")
            );
            markup! { li : said; }
        })
        .collect();
    let group = ids.next("filter");
    let buttons: Markup = SEVERITIES
        .into_iter()
        .map(|severity| {
            (severity, check.findings.iter().filter(|finding| finding.severity == severity).count())
        })
        .filter(|(_, count)| *count > 0)
        .map(|(severity, count)| {
            let label = format!("{severity} ({count})");
            markup! { label { input(type = "checkbox", value = severity, checked); span : label; } }
        })
        .collect();
    let findings: Markup = check.findings.iter().map(|finding| card(finding, &group)).collect();
    let left_out: Markup = check.left_out.iter().map(|sentence| markup! { li : sentence; }).collect();
    let codes: Markup = check
        .checks
        .iter()
        .map(|code| {
            let found = check.findings.iter().any(|finding| finding.code == *code);
            let class = found.then_some("found");
            markup! { li { code(class? = class) : code; } }
        })
        .collect();
    let verdict = verdict(check);
    let summary = counted(check.checks.len() as u64, "check");
    let file = several.then_some(named.file);
    markup! {
        @ if let Some(file) = file { h3 : file; }
        p(class = class) : verdict;
        ul(class = "about") : &launches;
        @ if check.findings.len() > 1 {
            // The script shows it: without scripts, the filter would do nothing.
            fieldset(class = "filter", id = &group, hidden) { legend : "Severity"; : &buttons; }
        }
        div(class = "findings") : &findings;
        @ if !left_out.is_empty() { h3 : "Not checked"; ul : &left_out; }
        details { summary : &summary; ul(class = "codes") : &codes; }
    }
}

/// A finding with its source.
fn card(finding: &Finding, group: &str) -> Markup {
    let class = format!("severity {}", finding.severity);
    let mut facts = vec![counted(finding.count, "time"), format!("in kernel {}", finding.kernel)];
    if let Some(item) = &finding.work_item {
        facts.push(format!(
            "first in work-item ({}) of group ({})",
            joined(&item.global, ", "),
            joined(&item.group, ", ")
        ));
    }
    if let Some(memory) = &finding.memory {
        facts.push(memory_of(memory));
    }
    let facts = facts.join("; ");
    let related: Markup = finding
        .related
        .iter()
        .map(|related| {
            let excerpt = related.location.as_ref().map_or_else(Markup::default, excerpt);
            markup! { li { : &related.message; : &excerpt; } }
        })
        .collect();
    let source = finding.location.as_ref().map_or_else(Markup::default, excerpt);
    markup! {
        article(class = "finding", data-filter = group, data-value = &finding.severity) {
            h3 { span(class = &class) : &finding.severity; : " "; : &finding.code; }
            p : &finding.message;
            : &source;
            @ if !related.is_empty() { ul : &related; }
            @ if !finding.fix.is_empty() { p { strong : "Fix: "; : &finding.fix; } }
            p(class = "about") : facts;
        }
    }
}

fn memory_of(memory: &Memory) -> String {
    let Memory { object, space, object_bytes, offset, bytes } = memory;
    let [bytes, all] = [*bytes, *object_bytes].map(|bytes| counted(bytes, "byte"));
    format!("{object} in {space} memory, {bytes} at offset {offset} of {all}")
}

/// A line of source between its neighbours, with its location; the word at the column is marked.
fn excerpt(location: &Location) -> Markup {
    let column = location.column.map_or_else(String::new, |column| format!(":{column}"));
    let at = format!("{}:{}{column}", location.file, location.line);
    let Some(text) = &location.text else {
        return markup! { p { code : at; } };
    };
    // Columns are bytes, from 1.
    let offset = location.column.map_or(0, |column| column.saturating_sub(1) as usize).min(text.len());
    let offset = (0..=offset).rev().find(|offset| text.is_char_boundary(*offset)).unwrap_or(0);
    let (before, rest) = text.split_at(offset);
    // At least one character, for a column that is not at a word.
    let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len()).max(1);
    let word = (word..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
    let (marked, after) = rest.split_at(word.min(rest.len()));
    let own = markup! { : before; mark : marked; : after; };
    let alone = vec![text.clone()];
    let (first, lines) = match location.first_line {
        Some(first) if !location.lines.is_empty() => (first, &location.lines),
        _ => (location.line, &alone),
    };
    let last = first + lines.len() as u32 - 1;
    let width = last.to_string().len();
    let numbered = (first..).zip(lines).map(|(number, line)| {
        let shown = format!("\n{number:width$} ");
        let class = if number == location.line { "here" } else { "near" };
        let is_own = number == location.line;
        markup! {
            span(class = class) {
                span(class = "at") : &shown;
                @ if is_own { : &own; } else { : line; }
            }
        }
    });
    let lines: Markup = numbered.collect();
    markup! {
        pre(class = "excerpt", tabindex = "0", role = "group", aria-label = &at) {
            span(class = "at") : &at;
            : &lines;
        }
    }
}
