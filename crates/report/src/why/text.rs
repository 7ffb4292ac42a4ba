//! The ranking as text.

use std::fmt::Write as _;

use super::{RankedLaunch, Why};
use crate::number::{counted, percent, significant, time};
use crate::style::{Canvas, paragraph};

/// A line for each row, with its advice below.
pub fn text(why: &Why, canvas: Canvas) -> String {
    let all = why.seconds();
    let launches: usize = why.rows.iter().map(RankedLaunch::count).sum();
    let mut out = format!("{}, {}", counted(launches as u64, "launch"), time(all));
    if why.rows.iter().any(|row| row.predicted.is_some()) {
        let _ = write!(out, "; predictions for {}", why.gpu.name());
    }
    out.push_str("\n\n");
    let heads = [
        "time",
        "share",
        "launches",
        "each",
        "limited by",
        "of ceiling",
        "at ceiling",
        "gain",
        "if free",
        "kernel",
    ];
    let mut rows: Vec<[String; 10]> = vec![heads.map(str::to_owned)];
    rows.extend(why.rows.iter().map(|row| cells(why, row, all)));
    let left = [false, false, false, false, true, false, false, false, false, true];
    for (index, line) in aligned(&rows, &left).lines().enumerate() {
        let _ = writeln!(out, "{line}");
        let Some(row) = index.checked_sub(1).and_then(|row| why.rows.get(row)) else { continue };
        if let Some(energy) = row.energy() {
            let text = format!(
                "Energy: {} mJ a launch, {} mJ in all; {} W while it runs",
                significant(energy.joules * 1e3),
                significant(energy.joules * 1e3 * row.count() as f64),
                significant(energy.watts)
            );
            out.push_str(&paragraph(canvas, "    ", 4, &text));
        }
        if let Some((advice, saves)) = &row.advice {
            let saves = saves.map_or(String::new(), |saves| format!(" (saves {})", percent(saves)));
            let text = format!("{advice}{saves}");
            out.push_str(&paragraph(canvas, "    ", 4, &text));
        }
    }
    out.push('\n');
    let ceiling = "A ceiling is that of these instructions and accesses: at 100% of it this code cannot run faster, other code may.";
    out.push_str(&paragraph(canvas, "", 0, ceiling));
    let gain = "gain: how many times as fast the application is with this kernel at its ceiling and the others as they are; if \
        free: with a kernel that takes no time, which no change of it can exceed.";
    out.push_str(&paragraph(canvas, "", 0, gain));
    if let Some(basis) = why.energy_basis() {
        out.push_str(&paragraph(canvas, "", 0, &basis));
    }
    for note in &why.notes {
        let _ = writeln!(out, "note: {note}");
    }
    canvas.shown(out)
}

/// Rows of cells as lines; the cells of columns that are not `left` end at the same place.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]], left: &[bool; N]) -> String {
    let widths: Vec<usize> =
        (0..N).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).zip(left);
        let cells = cells.map(
            |((cell, width), left)| {
                if *left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            },
        );
        let cells: Vec<String> = cells.collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// The kernel and its global size: `blur 512x512`.
pub(crate) fn name(row: &RankedLaunch) -> String {
    let size = row.global.map_or(String::new(), |global| {
        let used = 3 - global.iter().rev().take_while(|extent| **extent == 1).count().min(2);
        let shown: Vec<String> = global[..used].iter().map(ToString::to_string).collect();
        format!(" {}", shown.join("x"))
    });
    format!("{}{size}", row.kernel)
}

/// `1.30x`
fn times(factor: f64) -> String {
    format!("{}x", significant(factor))
}

fn cells(why: &Why, row: &RankedLaunch, all: f64) -> [String; 10] {
    let dash = || "-".to_owned();
    let predicted = row.predicted.as_ref();
    let each = match (&row.measured, predicted) {
        (Some(measured), _) => time(measured.seconds / measured.launches.max(1) as f64),
        (None, Some(predicted)) => time(predicted.seconds),
        (None, None) => dash(),
    };
    [
        row.seconds().map_or_else(dash, time),
        row.seconds().filter(|_| all > 0.0).map_or_else(dash, |seconds| percent(seconds / all)),
        row.count().to_string(),
        each,
        predicted.map_or_else(dash, |predicted| predicted.limiter.clone()),
        predicted.map_or_else(dash, |predicted| {
            format!("{} of {}", percent(predicted.ceiling.1), predicted.ceiling.0)
        }),
        row.at_ceiling().map_or_else(dash, time),
        why.gain_at_ceiling(row).map_or_else(dash, times),
        why.gain(row, 0.0).map_or_else(dash, times),
        name(row),
    ]
}
