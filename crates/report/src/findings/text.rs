//! Findings as text.

use std::fmt::Write as _;

use annotate_snippets::{
    AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str,
};
use tripipe_ir::diagnostic::{AccessedMemory, Finding, Related, Severity, SourceLocation, WorkItem};

use super::source::Line;
use super::{Launch, Report};
use crate::number::{counted, grouped};
use crate::style::{Canvas, Tone, paragraph};

/// Each finding in the style of compilers: location, line and caret, facts, further locations, fix; at the end what
/// was checked and the number of findings.
pub fn text(report: &Report<'_>, canvas: Canvas) -> String {
    canvas.shown(drawn(report, canvas))
}

fn drawn(report: &Report<'_>, canvas: Canvas) -> String {
    let renderer =
        if canvas.colour { Renderer::styled() } else { Renderer::plain() }.term_width(canvas.width);
    let mut out = String::new();
    for finding in report.findings {
        let _ = writeln!(out, "{}\n", renderer.render(&groups(report, finding)));
    }
    summary(report, canvas, &mut out);
    out
}

fn groups<'a>(report: &Report<'a>, finding: &'a Finding) -> Vec<Group<'a>> {
    let level = match finding.rule.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut first = level
        .primary_title(finding.message.as_str())
        .id(finding.rule.code)
        .elements(finding.location.as_ref().map(|location| shown(report, location)));
    for (name, fact) in facts(finding) {
        // Names come from the source. Control characters in them must not reach the terminal.
        first = first.element(Level::NOTE.with_name(name).message(normalize_untrusted_str(&fact)));
    }
    let mut groups = vec![first];
    for related in &finding.related {
        let title = Level::NOTE.secondary_title(normalize_untrusted_str(&related_title(related)));
        groups.push(title.elements(related.location.as_ref().map(|location| shown(report, location))));
    }
    let mut last = |level: Level<'a>, text: &str| {
        groups.push(Group::with_title(level.secondary_title(normalize_untrusted_str(text))));
    };
    if !finding.fix.is_empty() {
        last(Level::HELP, &finding.fix);
    }
    last(Level::HELP.with_name("explain"), &format!("tripipe explain {}", finding.rule.code));
    groups
}

/// The line of a location with a caret under it; only file, line and column where the text is not available.
fn shown<'a>(report: &Report<'a>, location: &SourceLocation) -> Element<'a> {
    let file = normalize_untrusted_str(&location.file);
    let Some(Line { text, offset }) = report.line(location) else {
        let origin = Origin::path(file).line(location.line as usize);
        return match report.column(location) {
            Some(column) => origin.char_column(column).into(),
            None => origin.into(),
        };
    };
    let span = match offset {
        Some(offset) => offset..offset + text[offset..].chars().next().map_or(0, char::len_utf8),
        // Unknown column: the whole line.
        None => text.len() - text.trim_start().len()..text.len(),
    };
    Snippet::source(text)
        .path(file)
        .line_start(location.line as usize)
        .annotation(AnnotationKind::Primary.span(span))
        .into()
}

/// The known facts besides the location, each with its name.
fn facts(finding: &Finding) -> Vec<(&'static str, String)> {
    let mut facts = vec![("kernel", finding.kernel.clone())];
    // Beside a line of source, the instruction says little.
    if finding.location.is_none() && !finding.instruction.is_empty() {
        facts.push(("instruction", finding.instruction.clone()));
    }
    if let Some(item) = &finding.work_item {
        facts.push(("work-item", work_item(item)));
    }
    if let Some(memory) = &finding.memory {
        facts.push(("memory", accessed(memory)));
    }
    if finding.count > 1 {
        let more = finding.count - 1;
        facts.push((
            "count",
            format!("and {} more {}", grouped(more), if more == 1 { "time" } else { "times" }),
        ));
    }
    facts
}

fn work_item(item: &WorkItem) -> String {
    let id = |[x, y, z]: [u64; 3]| format!("({x}, {y}, {z})");
    format!("global {}, local {}, group {}", id(item.global), id(item.local), id(item.group))
}

fn related_title(related: &Related) -> String {
    match &related.work_item {
        Some(item) => format!("{}, by work-item {}", related.message, work_item(item)),
        None => related.message.clone(),
    }
}

/// The accessed bytes of an object, and how far outside they are.
fn accessed(memory: &AccessedMemory) -> String {
    let AccessedMemory { object, space, object_bytes, offset, bytes } = memory;
    // A kernel may compute any offset, so sums need more than 64 bits.
    let (start, size, length) = (i128::from(*offset), i128::from(*object_bytes), i128::from(*bytes));
    let end = start + length;
    let range = match length {
        0 | 1 => format!("byte {start}"),
        _ => format!("bytes {start} to {}", end - 1),
    };
    let many = |count: i128| counted(u64::try_from(count).unwrap_or(u64::MAX), "byte");
    let outside = if start < 0 && end <= 0 {
        format!(", {} before its start", many(-start))
    } else if start < 0 {
        format!(", of which {} before its start", many(-start))
    } else if start >= size && length > 0 {
        match start - size {
            0 => ", directly after its end".to_owned(),
            gap => format!(", {} after its end", many(gap)),
        }
    } else if end > size {
        format!(", of which {} after its end", many(end - size))
    } else {
        String::new()
    };
    format!("{range} of `{object}` ({}, {}){outside}", space.name(), counted(*object_bytes, "byte"))
}

fn summary(report: &Report<'_>, canvas: Canvas, out: &mut String) {
    for Launch { kernel, global, local, .. } in report.launches {
        let size = |[x, y, z]: &[u64; 3]| format!("{} x {} x {}", grouped(*x), grouped(*y), grouped(*z));
        let kernel = normalize_untrusted_str(kernel);
        let what = format!("`{kernel}`, {} work-items in work-groups of {}", size(global), size(local));
        out.push_str(&paragraph(canvas, "checked: ", 9, &what));
    }
    for reason in report.left_out {
        out.push_str(&paragraph(canvas, "not checked: ", 13, &normalize_untrusted_str(reason)));
    }
    let counts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|severity| (report.count(severity), severity))
        .filter(|(count, _)| *count > 0)
        .map(|(count, severity)| counted(count, severity.name()))
        .collect();
    let checks = counted(report.rules.len() as u64, "check");
    if counts.is_empty() {
        let _ = writeln!(out, "{} ({checks})", canvas.paint(Tone::Best, "no findings"));
    } else {
        let tone = if report.count(Severity::Error) > 0 { Tone::Bad } else { Tone::Heading };
        let _ = writeln!(out, "{} ({checks})", canvas.paint(tone, &counts.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use tripipe_ir::Space;

    use super::*;

    #[test]
    fn memory_descriptions_locate_the_access() {
        let said = |offset, bytes| {
            let object = "out".to_owned();
            accessed(&AccessedMemory { object, space: Space::Global, object_bytes: 256, offset, bytes })
        };
        assert_eq!(said(252, 4), "bytes 252 to 255 of `out` (global, 256 bytes)");
        assert_eq!(said(7, 1), "byte 7 of `out` (global, 256 bytes)");
        assert_eq!(
            said(254, 4),
            "bytes 254 to 257 of `out` (global, 256 bytes), of which 2 bytes after its end"
        );
        assert_eq!(said(256, 4), "bytes 256 to 259 of `out` (global, 256 bytes), directly after its end");
        assert_eq!(said(257, 4), "bytes 257 to 260 of `out` (global, 256 bytes), 1 byte after its end");
        assert_eq!(said(-4, 4), "bytes -4 to -1 of `out` (global, 256 bytes), 4 bytes before its start");
        assert_eq!(
            said(-2, 4),
            "bytes -2 to 1 of `out` (global, 256 bytes), of which 2 bytes before its start"
        );
        // Nothing overflows.
        assert!(said(i64::MIN, u64::MAX).starts_with("bytes -9223372036854775808 to 9223372036854775806"));
        assert!(said(i64::MAX, u64::MAX).ends_with(", 9,223,372,036,854,775,551 bytes after its end"));
    }
}
