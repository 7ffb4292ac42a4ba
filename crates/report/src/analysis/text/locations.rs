//! Costs at locations of the source: loops, accesses, lines.

use std::fmt::Write as _;

use tripipe_analyze::{ASSUMED_TRIPS, Analysis, Polynomial, Stride, Trips, WarpAccess};
use tripipe_ir::Space;

use super::{cell, faint, figure};
use crate::analysis::Priced;
use crate::number::percent;
use crate::style::{Canvas, Tone, paragraph};
use crate::table::Columns;

/// Maximum number of source lines to show.
const HOT_LINES: usize = 10;
/// Width of a figure in characters.
const FIGURE: usize = 14;

pub(super) fn loops(priced: &Priced<'_>, analysis: &Analysis, canvas: Canvas, out: &mut String) {
    if analysis.loops.is_empty() {
        return;
    }
    let family = analysis.gpu.family();
    let _ = writeln!(out, "\n{}", canvas.paint(Tone::Heading, "Loops"));
    for each in &analysis.loops {
        let block = &priced.kernel.blocks[each.header];
        let locations = block.insts.iter().filter_map(|inst| priced.kernel.insts[*inst].location);
        let first = locations
            .filter(|location| priced.line(*location) > 0)
            .min_by_key(|location| priced.line(*location));
        let location = match priced.at(first) {
            Some(line) => format!("line {line}{}", priced.called(first)),
            None => "a loop at an unknown line".to_owned(),
        };
        let indent = "  ".repeat(each.depth as usize);
        // A part of another column would count twice.
        let beside =
            analysis.columns.iter().zip(&each.iteration).filter(|(column, _)| !column.is_part(family));
        let iteration: Vec<String> = beside
            .filter(|(_, cost)| cost.as_constant() != Some(0.0))
            .map(|(column, cost)| format!("{} {}", column.head(family), figure(cost)))
            .collect();
        let iteration = if iteration.is_empty() { "nothing".to_owned() } else { iteration.join(", ") };
        let times = match &each.trips {
            Trips::Known(trips) => format!("{trips} times"),
            Trips::Between { least, most } => format!("{least} to {most} times"),
            Trips::Follows { name, factor, constant } => {
                let times =
                    Polynomial::constant(*factor).times_name(name).plus(&Polynomial::constant(*constant));
                format!("{times} times")
            }
            Trips::Unknown { symbol, follows_from: Some(words) } => {
                format!("{symbol} times ({symbol} = {words})")
            }
            Trips::Unknown { symbol, follows_from: None } => {
                format!("{symbol} times (not known from the code)")
            }
        };
        let said = format!("{location}: repeats {times}; an iteration costs {iteration}");
        out.push_str(&paragraph(canvas, &indent, indent.len() + 2, &said));
    }
}

pub(super) fn accesses(priced: &Priced<'_>, analysis: &Analysis, canvas: Canvas, out: &mut String) {
    let seen: Vec<&WarpAccess> = analysis
        .accesses
        .iter()
        .filter(|access| {
            matches!(access.space, Space::Global | Space::Constant | Space::Local | Space::Generic)
        })
        .collect();
    if seen.is_empty() && analysis.images.is_empty() {
        return;
    }
    let warp = analysis.gpu.core.warp_width.value;
    let heads =
        ["Line", "Memory", "", "Bytes", "Next item", "Next iteration", "Lines", "Used", "Align", "", ""];
    // Identical rows of one line are merged.
    let mut rows: Vec<(Vec<String>, u32)> = Vec::new();
    let mut add = |row: Vec<String>| match rows.iter_mut().find(|(known, _)| *known == row) {
        Some((_, times)) => *times += 1,
        None => rows.push((row, 1)),
    };
    let way = |writes: bool| if writes { "write" } else { "read" }.to_owned();
    for access in seen {
        let stride = |stride: Stride| match stride {
            Stride::Bytes(0) => "same".to_owned(),
            Stride::Bytes(bytes) => format!("{bytes:+} bytes"),
            Stride::Runtime => "an argument".to_owned(),
            Stride::Unknown => "unknown".to_owned(),
        };
        let next = match &access.times {
            Some(times) => format!("{} {} bytes", times.bytes, times.argument),
            None => stride(access.stride),
        };
        let verdict = match (warp, access.is_coalesced(analysis.gpu), &access.times) {
            // Without warps there is nothing to coalesce.
            (1, ..) => String::new(),
            (_, true, _) => "coalesced".to_owned(),
            (_, false, Some(times)) if times.lines < access.lines => {
                format!("scattered unless {} is 1", times.argument)
            }
            (_, false, _) => "scattered".to_owned(),
        };
        add(vec![
            priced.at(access.location).unwrap_or_default(),
            access.pointer.clone(),
            way(access.writes),
            access.bytes.to_string(),
            next,
            access.iteration.map_or_else(String::new, stride),
            match &access.times {
                Some(times) if times.lines < access.lines => format!("{}-{}", times.lines, access.lines),
                _ => format!("{}{}", access.lines, if access.lines_known { "" } else { "?" }),
            },
            percent(access.used),
            // Wider accesses are split into pieces of 16 bytes, so they need no more alignment than that.
            format!("{}{}", access.align, if access.align < access.bytes.min(16) { "?" } else { "" }),
            verdict,
        ]);
    }
    for image in &analysis.images {
        let mut row = vec![String::new(); 10];
        row[0] = priced.at(image.location).unwrap_or_default();
        (row[1], row[2], row[9]) = (image.image.clone(), way(image.writes), "image".to_owned());
        add(row);
    }
    let times = |times: u32| if times > 1 { format!("{times} times") } else { String::new() };
    let rows = rows.into_iter().map(|(mut row, count)| {
        row.push(times(count));
        row
    });
    let table = Columns {
        heads: heads.map(str::to_owned).to_vec(),
        rows: rows.collect(),
        left: vec![0, 1, 2, 9, 10],
        keys: 3,
    };
    out.push('\n');
    out.push_str(&table.draw(canvas));
    let note = if warp > 1 {
        format!(
            "Lines: cache lines of {} bytes that a warp of {warp} touches.",
            analysis.gpu.memory.cache_line_bytes.value
        )
    } else {
        format!(
            "Lines: cache lines of {} bytes that a work-item touches; there are no warps.",
            analysis.gpu.memory.cache_line_bytes.value
        )
    };
    let note = format!(
        "{note} Align: the alignment that the code guarantees, ? if it is less than the \
        width of the access."
    );
    out.push_str(&faint(canvas, &note));
}

pub(super) fn lines(priced: &Priced<'_>, analysis: &Analysis, canvas: Canvas, out: &mut String) {
    let family = analysis.gpu.family();
    let beside: Vec<usize> =
        (0..analysis.columns.len()).filter(|at| !analysis.columns[*at].is_part(family)).collect();
    let mut hot: Vec<_> = analysis.lines.iter().collect();
    // Columns work side by side, so the largest decides.
    let weight = |line: &tripipe_analyze::LineCost| {
        beside.iter().map(|at| line.columns[*at].evaluate(ASSUMED_TRIPS)).fold(0.0, f64::max)
    };
    hot.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    if hot.is_empty() {
        return;
    }
    let mut head = format!("\n{:<6}", "Line");
    for at in &beside {
        let _ = write!(head, " {:>FIGURE$}", analysis.columns[*at].head(family));
    }
    let _ = writeln!(out, "{}", canvas.paint(Tone::Heading, &head));
    for line in hot.iter().take(HOT_LINES) {
        let mut row = format!("{:<6}", priced.at(Some(line.location)).unwrap_or_default());
        for at in &beside {
            let _ = write!(row, " {:>FIGURE$}", cell(&line.columns[*at]));
        }
        let room = canvas.width.saturating_sub(row.chars().count() + 2);
        let code: String = priced.text_of(line.location).chars().take(room).collect();
        let _ = writeln!(out, "{row}  {}", canvas.paint(Tone::Faint, &code));
    }
    if hot.len() > HOT_LINES {
        let _ = writeln!(
            out,
            "{}",
            canvas.paint(Tone::Faint, &format!("... and {} more lines", hot.len() - HOT_LINES))
        );
    }
}
