//! Several GPUs: a table for each family.

use std::fmt::Write as _;

use tripipe_analyze::Analysis;
use tripipe_device::Family;

use crate::analysis::bound;
use crate::simulation::Predicted;
use crate::style::{Canvas, Tone, paragraph};
use crate::table::Columns;
use crate::time;

/// A table for each family: one row per GPU.
pub(super) fn table(
    analyses: &[Analysis],
    predictions: &[Result<Predicted, String>],
    canvas: Canvas,
) -> String {
    let mut out = String::new();
    if let Some(first) = analyses.first() {
        let _ = writeln!(out, "{}", canvas.paint(Tone::Heading, &first.kernel));
    }
    for cells in tables(analyses, predictions) {
        let mut cells = cells.into_iter();
        let heads = cells.next().unwrap_or_default();
        out.push('\n');
        out.push_str(&Columns { heads, rows: cells.collect(), left: vec![0], keys: 1 }.draw(canvas));
    }
    out.push_str("\nCycles of one core per work-item on the longest path.\n");
    let mut missing: Vec<&str> = Vec::new();
    for reason in predictions.iter().filter_map(|prediction| prediction.as_ref().err()) {
        if !missing.contains(&reason.as_str()) {
            missing.push(reason);
        }
    }
    for reason in missing {
        out.push_str(&paragraph(canvas, "", 0, &format!("No predicted time: {reason}.")));
    }
    let mut left_out: Vec<&str> = Vec::new();
    for what in analyses.iter().flat_map(|analysis| &analysis.left_out) {
        if !left_out.contains(&what.as_str()) {
            left_out.push(what);
        }
    }
    if !left_out.is_empty() {
        out.push_str(&paragraph(canvas, "", 0, &format!("Left out: {}.", left_out.join("; "))));
    }
    out
}

/// For each family, in the order of its first GPU: headings, and one row per GPU.
pub(in crate::analysis) fn tables(
    analyses: &[Analysis],
    predictions: &[Result<Predicted, String>],
) -> Vec<Vec<Vec<String>>> {
    let predicted = |at: usize| predictions.get(at).and_then(|prediction| prediction.as_ref().ok());
    let mut done: Vec<Family> = Vec::new();
    let mut tables = Vec::new();
    for analysis in analyses {
        let family = analysis.gpu.family();
        if done.contains(&family) {
            continue;
        }
        done.push(family);
        let rows: Vec<(usize, &Analysis)> =
            analyses.iter().enumerate().filter(|(_, other)| other.gpu.family() == family).collect();
        let mut heads = vec![family.to_string(), "registers".into(), "spilled".into(), "threads".into()];
        heads.extend(analysis.columns.iter().map(|column| column.head(family).to_owned()));
        heads.push("bound".into());
        let has_launch = rows.iter().any(|(_, row)| row.launch.is_some());
        if has_launch {
            heads.push("at least".into());
        }
        if rows.iter().any(|(at, _)| predicted(*at).is_some()) {
            heads.push("predicted".into());
        }
        let mut cells = vec![heads];
        for (at, row) in rows {
            let registers = &row.registers;
            let spilled = registers.work.spill_bytes;
            let mut line = vec![
                row.gpu.name().to_owned(),
                registers.work.used.to_string(),
                if spilled == 0 { String::new() } else { format!("{spilled} B") },
                registers.threads.to_string(),
            ];
            line.extend(row.longest.columns.iter().map(|cell| match cell.as_constant() {
                Some(number) => format!("{number:.2}"),
                None => cell.to_string(),
            }));
            line.push(bound(row, &row.longest.bound));
            if has_launch {
                let bound = row.launch.as_ref();
                line.push(bound.map_or_else(String::new, |launch| time(launch.milliseconds * 1e-3)));
            }
            if let Some(predicted) = predicted(at) {
                line.push(time(predicted.prediction.seconds));
            }
            cells.push(line);
        }
        tables.push(cells);
    }
    tables
}
