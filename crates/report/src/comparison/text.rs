//! Text: a summary, the rows with a prediction, and the others with the reason.

use std::fmt::Write as _;

use super::{NEAR, Report};
use crate::counters::{value, whose};
use crate::number::{grouped, significant, time};
use crate::simulation::{band, not_compared};
use crate::style::{Canvas, Tone, paragraph};
use crate::table::Columns;

/// Rows that the summary names.
const NAMED: usize = 3;

/// A capture beside the prediction.
pub fn text(report: &Report<'_>, canvas: Canvas) -> String {
    let mut out = String::new();
    let (gpu, prediction) = (report.gpu, report.prediction);
    let title = format!("{} beside {} on {}", report.capture, report.kernel, gpu.name());
    let _ = writeln!(out, "{}", canvas.paint(Tone::Heading, &title));
    let launches = match report.launches {
        1 => "one launch".to_owned(),
        launches => format!("each of {} launches", grouped(launches)),
    };
    let said = format!(
        "The prediction is for {launches}: {}{}. Counters: {}",
        time(prediction.seconds),
        prediction.error_band.map_or_else(String::new, |ends| format!(" ({} expected)", band(ends))),
        whose(&report.comparison.counters)
    );
    out.push_str(&paragraph(canvas, "", 0, &said));
    if prediction.error_band.is_none() {
        out.push_str(&paragraph(canvas, "", 0, &not_compared(gpu)));
    }
    out.push_str(&paragraph(canvas, "", 0, &summary(report)));
    let matched: Vec<Vec<String>> = report
        .comparison
        .rows
        .iter()
        .filter_map(|row| {
            let counter = row.predicted.as_ref().ok()?;
            Some(vec![
                row.name.clone(),
                value(row.measured),
                value(counter.value),
                row.ratio().map_or_else(|| "-".to_owned(), factor),
                counter.unit.to_owned(),
                format!("{}: {}", counter.basis.name(), counter.derived),
            ])
        })
        .collect();
    if !matched.is_empty() {
        out.push('\n');
        let heads = ["row", "measured", "predicted", "ratio", "unit", "derived"].map(str::to_owned).to_vec();
        out.push_str(&Columns { heads, rows: matched, left: vec![0, 4, 5], keys: 1 }.draw(canvas));
    }
    // Many rows share a reason, which is then given once.
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in &report.comparison.rows {
        if let Err(reason) = &row.predicted {
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, names)) => names.push(&row.name),
                None => reasons.push((reason, vec![&row.name])),
            }
        }
    }
    if !reasons.is_empty() {
        let _ = writeln!(out, "\n{}", canvas.paint(Tone::Heading, "Rows without a prediction"));
        for (reason, names) in reasons {
            out.push_str(&paragraph(canvas, "", 2, &format!("{reason}: {}.", names.join(", "))));
        }
    }
    if report.guessed {
        let said = "Memory is guessed from the kernel and the global size: a launch file as measured makes the \
            comparison fair (`tripipe template`).";
        out.push('\n');
        out.push_str(&paragraph(canvas, "", 0, said));
    }
    canvas.shown(out)
}

/// A ratio: small ones with their exponent.
fn factor(ratio: f64) -> String {
    if ratio < 0.01 { format!("{ratio:.1e}") } else { significant(ratio) }
}

/// How many rows are near, and the ones that are furthest off.
fn summary(report: &Report<'_>) -> String {
    let worst = report.comparison.worst();
    if worst.is_empty() {
        return "No row of the capture can be compared: it has no predicted counter, or one of both is 0."
            .to_owned();
    }
    let near = |ratio: f64| (1.0 / NEAR..=NEAR).contains(&ratio);
    let count = worst.iter().filter(|row| row.ratio().is_some_and(near)).count();
    let mut said = format!(
        "{} of {} compared rows are within a factor of {NEAR} of the prediction.",
        count,
        worst.len()
    );
    let far: Vec<String> = worst
        .iter()
        .filter_map(|row| Some((row, row.ratio().filter(|ratio| !near(*ratio))?)))
        .take(NAMED)
        .map(|(row, ratio)| format!("{} ({})", row.name, factor(ratio)))
        .collect();
    if !far.is_empty() {
        let _ = write!(said, " Furthest off, as measured / predicted: {}.", far.join(", "));
    }
    said
}
