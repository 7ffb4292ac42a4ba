//! Other people's measurements, row by row: docs/measured.md, which `BLESS=1` rewrites.

use std::fmt::Write as _;

use tripipe_timing::errors;
use tripipe_timing::measured::{OPEN, Outcome, Row, Rows, Summary, each};

use crate::published::{Compared, keep_part, percent};

#[test]
fn predictions_are_laid_beside_measurements() {
    let Rows(rows) = Rows::parse(OPEN.1, OPEN.0).unwrap();
    let outcomes: Vec<Result<Outcome, String>> = each(&rows, |row| match row.predict() {
        Ok(predicted) => Ok(Outcome::new(row, &predicted)),
        Err(error) => Err(error.to_string()),
    });
    let mut table = String::from(
        "| device | kernel | unit | measured | predicted | expected | error of the time | in band |\n\
        |---|---|---|--:|--:|--:|--:|---|\n",
    );
    for (row, outcome) in rows.iter().zip(&outcomes) {
        let _ = write!(table, "| {} | {} | {} | {} |", row.device, row.kernel, row.unit.name(), row.measured);
        let _ = match outcome {
            Ok(Outcome { predicted, band, error, in_band }) => writeln!(
                table,
                " {predicted:.1} | {} | {} | {} |",
                band.map_or_else(String::new, |[low, high]| format!("{low:.1} to {high:.1}")),
                percent(*error),
                in_band.map_or("", |is| if is { "yes" } else { "no" }),
            ),
            Err(reason) => writeln!(table, " {reason} | | | no |"),
        };
    }
    let families = ["midgard", "bifrost", "valhall", "adreno"];
    let of = |family: &str, held_out: bool| {
        let each = rows.iter().zip(&outcomes).filter(move |(row, _)| {
            row.held_out == held_out && (family.is_empty() || errors::family(row.gpu) == family)
        });
        Summary::of(each.map(|(_, outcome)| outcome.as_ref().ok()))
    };
    let mut summary = String::from(
        "| family | rows | median error | in band | median width of the band | refused |\n|---|--:|--:|--:|--:|--:|\n",
    );
    for held_out in [false, true] {
        for family in families.iter().chain([&""]) {
            let own = of(family, held_out);
            let Summary { count, refused, median, width, .. } = own;
            if count + refused == 0 {
                continue;
            }
            let _ = writeln!(
                summary,
                "| {}{} | {count} | {:.0} % | {} | {} | {refused} |",
                if family.is_empty() { "all" } else { family },
                if held_out { ", held out" } else { "" },
                100.0 * median,
                own.share_in_band().map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share)),
                if width > 0.0 { format!("{width:.2}") } else { String::new() },
            );
        }
    }
    // Of each source: the rows that something was fitted to, and the others, which the bands come from.
    let key = |row: &Row| (errors::family(row.gpu), row.source.clone(), row.fitted);
    let mut sources: Vec<(&Row, Vec<f64>)> = Vec::new();
    for (row, outcome) in rows.iter().zip(&outcomes) {
        let Ok(Outcome { error, .. }) = outcome else { continue };
        match sources.iter_mut().find(|(of, _)| key(of) == key(row)) {
            Some((_, errors)) => errors.push(*error),
            None => sources.push((row, vec![*error])),
        }
    }
    for (Row { gpu, source, fitted, .. }, errors) in sources {
        let family = errors::family(gpu);
        let is_of_several = rows.iter().any(|row| row.source == *source && errors::family(row.gpu) != family);
        let family = if is_of_several { format!("-{family}") } else { String::new() };
        let name = &format!("measured-{source}{family}{}", if *fitted { "-fitted" } else { "" });
        let what = "rates and times of docs/measured.md";
        Compared { name, gpu: gpu.name(), what, source, fitted: *fitted, errors }.keep();
    }
    keep_part("../../docs/measured.md", "<!-- rows -->\n", "<!-- end of rows -->\n", &table);
    keep_part("../../docs/measured.md", "<!-- summary -->\n", "<!-- end of summary -->\n", &summary);
}
