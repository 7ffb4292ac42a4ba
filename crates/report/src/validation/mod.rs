//! Predictions beside measurements, as the result of the command and as text.

use std::fmt::Write as _;

use tripipe_results::{ErrorSummary, ValidatedRow, Validation};
use tripipe_timing::errors;
use tripipe_timing::measured::{Outcome, Row, Summary};

use crate::number::significant;
use crate::style::{Canvas, Tone};
use crate::table::Columns;

/// A row and its prediction, or why there is none.
pub type Validated<'r> = (&'r Row, &'r Result<Outcome, String>);

/// The rows, and the errors of each family and of all.
pub fn result(file: &str, rows: &[Validated<'_>]) -> Validation {
    let mut families: Vec<Option<&'static str>> = Vec::new();
    for (row, _) in rows {
        let family = Some(errors::family(row.gpu));
        if !families.contains(&family) {
            families.push(family);
        }
    }
    // `None` stands for all families together.
    families.push(None);
    let mut summaries = Vec::new();
    // Rows that are held out are summed up apart, because no figure of the model was fitted to them.
    for held_out in [false, true] {
        for family in &families {
            let own = rows.iter().filter(|(row, _)| {
                row.held_out == held_out && family.is_none_or(|family| errors::family(row.gpu) == family)
            });
            let summary = Summary::of(own.map(|(_, outcome)| outcome.as_ref().ok()));
            let Summary { count, refused, median, in_band, without_band, width } = summary;
            if count + refused > 0 {
                summaries.push(ErrorSummary {
                    family: family.map(str::to_owned),
                    held_out,
                    count,
                    refused,
                    median_error: Some(median).filter(|_| count > 0),
                    in_band,
                    without_band,
                    share_in_band: summary.share_in_band(),
                    median_band_width: Some(width).filter(|_| count > without_band),
                });
            }
        }
    }
    Validation { file: file.to_owned(), rows: rows.iter().map(validated).collect(), summaries }
}

fn validated((row, outcome): &Validated<'_>) -> ValidatedRow {
    let found = outcome.as_ref().ok();
    ValidatedRow {
        line: row.line,
        device: row.device.clone(),
        gpu: row.gpu.name().to_owned(),
        what_if: row.changes.iter().map(ToString::to_string).collect(),
        kernel: row.kernel.clone(),
        source: row.source.clone(),
        unit: row.unit.name().to_owned(),
        measured: row.measured,
        predicted: found.map(|outcome| outcome.predicted),
        band: found.and_then(|outcome| outcome.band),
        error: found.map(|outcome| outcome.error),
        in_band: found.and_then(|outcome| outcome.in_band),
        held_out: row.held_out,
        reason: outcome.as_ref().err().cloned(),
    }
}

/// The table of rows, then that of errors.
pub fn text(validation: &Validation, canvas: Canvas) -> String {
    let mut out = format!("{}\n\n", canvas.paint(Tone::Heading, &validation.file));
    let heads = |heads: &[&str]| heads.iter().map(|head| (*head).to_owned()).collect();
    let percent = |share: f64| format!("{:+.0}%", 100.0 * share);
    let dash = || "-".to_owned();
    let rows = validation.rows.iter().map(|row| {
        let mut cells =
            vec![row.device.clone(), row.kernel.clone(), row.unit.clone(), significant(row.measured)];
        match (row.predicted, row.error) {
            (Some(predicted), Some(error)) => cells.extend([
                significant(predicted),
                row.band.map_or_else(dash, |[low, high]| {
                    format!("{} to {}", significant(low), significant(high))
                }),
                percent(error),
                row.in_band.map_or_else(dash, |is| if is { "yes" } else { "no" }.to_owned()),
            ]),
            _ => cells.push("refused".to_owned()),
        }
        if row.held_out {
            cells.push("held out".to_owned());
        }
        cells
    });
    let table = Columns {
        heads: heads(&[
            "Device",
            "Kernel",
            "Unit",
            "Measured",
            "Predicted",
            "Expected",
            "Error",
            "In band",
            "",
        ]),
        rows: rows.collect(),
        left: vec![0, 1, 2, 8],
        keys: 2,
    };
    out.push_str(&table.draw(canvas));
    out.push('\n');
    let rows = validation.summaries.iter().map(|summary| {
        let ErrorSummary { family, held_out, count, refused, median_error, .. } = summary;
        let family = family.as_deref().unwrap_or("all");
        vec![
            if *held_out { format!("{family}, held out") } else { family.to_owned() },
            count.to_string(),
            refused.to_string(),
            median_error.map_or_else(dash, |error| format!("{:.0}%", 100.0 * error)),
            summary.share_in_band.map_or_else(dash, |share| format!("{:.0}%", 100.0 * share)),
            summary.median_band_width.map_or_else(dash, |width| format!("{width:.2}x")),
        ]
    });
    let table = Columns {
        heads: heads(&["Family", "Rows", "Refused", "Median error", "In band", "Median band"]),
        rows: rows.collect(),
        left: vec![0],
        keys: 1,
    };
    out.push_str(&table.draw(canvas));
    let _ = writeln!(
        out,
        "\nErrors are those of the time: above 0, the prediction is too slow. Refused rows are in no band; -: no \
        measurement of the family is published, so that there is no band."
    );
    canvas.shown(out)
}
