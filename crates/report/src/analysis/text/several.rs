//! Several GPUs: a table for each family.

use std::fmt::Write as _;

use tripipe_analyze::{Advice, Analysis};
use tripipe_device::Family;

use super::{cell, roughly};
use crate::analysis::{Priced, bound};
use crate::number::percent;
use crate::simulation::Predicted;
use crate::style::{Canvas, Tone, paragraph};
use crate::table::Columns;
use crate::time;

/// Most advice that is shown.
const MOST_ADVICE: usize = 6;

/// A table for each family: one row per GPU.
pub(super) fn table(priced: &Priced<'_>, canvas: Canvas) -> String {
    let (analyses, predictions) = (priced.analyses, priced.predictions);
    let mut out = String::new();
    if let Some(first) = analyses.first() {
        let _ = writeln!(out, "{}", canvas.paint(Tone::Heading, &first.kernel));
    }
    let mut is_rough = false;
    for cells in tables(analyses, predictions) {
        is_rough |= cells.iter().flatten().any(|cell| cell.starts_with('~'));
        let mut cells = cells.into_iter();
        let heads = cells.next().unwrap_or_default();
        out.push('\n');
        out.push_str(&Columns { heads, rows: cells.collect(), left: vec![0], keys: 1 }.draw(canvas));
    }
    out.push_str("\nCycles of one core per work-item on the longest path.\n");
    if is_rough {
        out.push_str(&paragraph(canvas, "", 0, &roughly()));
    }
    // GPUs that lack a time mostly lack it for the same reason.
    let mut missing: Vec<&str> = Vec::new();
    for reason in predictions.iter().filter_map(|prediction| prediction.as_ref().err()) {
        if !missing.contains(&reason.as_str()) {
            missing.push(reason);
        }
    }
    for reason in missing {
        out.push_str(&paragraph(canvas, "", 0, &format!("No predicted time: {reason}.")));
    }
    advice(priced, canvas, &mut out);
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

/// The advice with the largest gains, each with the GPUs that it is for.
fn advice(priced: &Priced<'_>, canvas: Canvas, out: &mut String) {
    let mut groups: Vec<(&Advice, Vec<(&str, &Advice)>)> = Vec::new();
    for (analysis, advice) in priced
        .analyses
        .iter()
        .flat_map(|analysis| analysis.advice.iter().map(move |advice| (analysis, advice)))
    {
        let same = |known: &Advice| {
            (known.rule.code, priced.at(known.location)) == (advice.rule.code, priced.at(advice.location))
        };
        let gpu = (analysis.gpu.name(), advice);
        match groups.iter_mut().find(|(known, _)| same(known)) {
            // A line may have the same advice twice on one GPU.
            Some((_, gpus)) if gpus.iter().any(|known| known.0 == gpu.0) => {}
            Some((_, gpus)) => gpus.push(gpu),
            None => groups.push((advice, vec![gpu])),
        }
    }
    if groups.is_empty() {
        return;
    }
    let share = |advice: &Advice| advice.share().unwrap_or(0.0);
    for (_, gpus) in &mut groups {
        gpus.sort_by(|a, b| share(b.1).total_cmp(&share(a.1)));
    }
    // Each group has at least the GPU that began it.
    groups.sort_by(|a, b| share(b.1[0].1).total_cmp(&share(a.1[0].1)));
    let heading = "Advice (details: -g ONE, `tripipe explain CODE`)";
    let _ = writeln!(out, "\n{}", canvas.paint(Tone::Heading, heading));
    for (advice, gpus) in groups.iter().take(MOST_ADVICE) {
        let line = priced.at(advice.location).map_or_else(String::new, |line| format!(" line {line}"));
        let (gpu, first) = gpus[0];
        let is_time = first.gain.as_ref().is_some_and(|gain| gain.seconds.is_some());
        let of = if is_time { "time" } else { "cycles" };
        let saves = first.share().map(|saves| format!(", saves {} of the {of}", percent(saves)));
        let saves = saves.unwrap_or_default();
        let others = match gpus.len() {
            1 => String::new(),
            count => format!(", and {} more of {} GPUs", count - 1, priced.analyses.len()),
        };
        let said = format!(
            "{}[{}]{line} ({gpu}{saves}{others}): {}",
            advice.rule.severity.name(),
            advice.rule.code,
            advice.fix
        );
        out.push_str(&paragraph(canvas, "", 2, &said));
    }
    if let Some(more) = groups.len().checked_sub(MOST_ADVICE + 1) {
        let _ = writeln!(out, "... and {} more", more + 1);
    }
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
                registers.occupancy.threads.to_string(),
            ];
            line.extend(row.longest.columns.iter().map(cell));
            line.push(bound(row, &row.longest.bound));
            if let Some(predicted) = predicted(at) {
                line.push(time(predicted.prediction.seconds));
            }
            cells.push(line);
        }
        tables.push(cells);
    }
    tables
}
