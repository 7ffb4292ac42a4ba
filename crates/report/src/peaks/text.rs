//! Measured ceilings as text.

use std::fmt::Write as _;

use tripipe_ladders::peaks::{Peak, Unit};
use tripipe_results::TransferRate;

use super::Report;
use crate::number::{bytes, giga, significant, time};
use crate::style::{Canvas, Tone, paragraph};
use crate::table::{Cell, Group, Row, draw};

/// The ceilings of one device: a table of rates by vector width for each unit, then times, then transfers.
pub fn text(report: &Report<'_>, canvas: Canvas) -> String {
    canvas.shown(drawn(report, canvas))
}

fn drawn(report: &Report<'_>, canvas: Canvas) -> String {
    let mut out = format!("{}\n", canvas.paint(Tone::Heading, report.device));
    out.push_str(&paragraph(canvas, "  ", 2, report.what));
    let sections = [
        (
            Unit::OperationsPerSecond,
            "10^9 operations per second, a multiply-add counting as two; xN: vectors of N",
        ),
        (Unit::BytesPerSecond, "10^9 bytes per second, a copied byte counting as two; xN: vectors of N"),
    ];
    for (unit, title) in sections {
        let rows: Vec<&Peak> = report.peaks.rows.iter().filter(|peak| peak.unit == unit).collect();
        if !rows.is_empty() {
            out.push('\n');
            rates(&rows, title, canvas, &mut out);
        }
    }
    let times: Vec<&Peak> = report.peaks.rows.iter().filter(|peak| peak.unit == Unit::Seconds).collect();
    if !times.is_empty() {
        out.push('\n');
    }
    let width = times.iter().map(|peak| peak.name.chars().count()).max().unwrap_or(0);
    for peak in times {
        let value = match &peak.value {
            Ok(seconds) => time(*seconds),
            Err(reason) => canvas.paint(Tone::Faint, &reason.to_string()),
        };
        let _ = writeln!(out, "  {:<width$}  {value}", peak.name);
    }
    if let Some(transfers) = report.transfers {
        out.push('\n');
        transfer_table(transfers, canvas, &mut out);
    }
    out
}

/// One row for each name, one column for each vector width.
fn rates(peaks: &[&Peak], title: &str, canvas: Canvas, out: &mut String) {
    let mut names: Vec<&str> = Vec::new();
    let mut widths: Vec<Option<usize>> = Vec::new();
    for peak in peaks {
        if !names.contains(&peak.name) {
            names.push(peak.name);
        }
        if !widths.contains(&peak.width) {
            widths.push(peak.width);
        }
    }
    widths.sort_unstable();
    let columns =
        widths.iter().map(|width| width.map_or_else(|| "rate".to_owned(), |width| format!("x{width}")));
    let rows = names
        .iter()
        .map(|name| {
            let own: Vec<&&Peak> = peaks.iter().filter(|peak| peak.name == *name).collect();
            let best = own
                .iter()
                .filter_map(|peak| peak.value.as_ref().ok())
                .copied()
                .fold(f64::NEG_INFINITY, f64::max);
            // No width has a rate. The reason is below the table.
            if !best.is_finite() {
                return Row::Across(Cell::toned("–", Tone::Faint));
            }
            let cells = widths.iter().map(|width| {
                match own.iter().find(|peak| peak.width == *width).map(|peak| &peak.value) {
                    Some(Ok(value)) => {
                        let tone = if *value >= best { Tone::Best } else { Tone::Plain };
                        Cell::toned(significant(value * 1e-9), tone)
                    }
                    Some(Err(_)) => Cell::toned("–", Tone::Faint),
                    None => Cell::new(""),
                }
            });
            Row::Cells(cells.collect())
        })
        .collect();
    let cells: Vec<Cell> = names.iter().map(|name| Cell::new(*name)).collect();
    let _ = writeln!(out, "  {}", canvas.paint(Tone::Faint, title));
    let group = Group { title: String::new(), columns: columns.collect(), rows };
    out.push_str(&draw(canvas, "", &cells, &[group], 0));
    // The reason for a gap, once for each name.
    for name in names {
        let missing =
            peaks.iter().filter(|peak| peak.name == name).find_map(|peak| peak.value.as_ref().err());
        if let Some(reason) = missing {
            out.push_str(&paragraph(canvas, "  ", 4, &format!("{name}: {reason}")));
        }
    }
}

fn transfer_table(transfers: &[TransferRate], canvas: Canvas, out: &mut String) {
    let best = |rate: &dyn Fn(&TransferRate) -> Option<f64>| {
        transfers.iter().filter_map(rate).fold(f64::NEG_INFINITY, f64::max)
    };
    let best_to_device = best(&|transfer| transfer.to_device_bytes_per_second);
    let best_to_host = best(&|transfer| transfer.to_host_bytes_per_second);
    let size = transfers.first().map_or(0, |transfer| transfer.bytes);
    let title =
        format!("Transfers of {}, 10^9 bytes per second; the fastest mode is marked", bytes(size as u64));
    let _ = writeln!(out, "  {}", canvas.paint(Tone::Faint, &title));
    let width = transfers.iter().map(|transfer| transfer.name.chars().count()).max().unwrap_or(0);
    for transfer in transfers {
        let rates = transfer.to_device_bytes_per_second.zip(transfer.to_host_bytes_per_second);
        let text = match rates {
            Some((to_device, to_host)) => {
                let shown = |rate: f64, best: f64| {
                    let text = format!("{:>12}", giga(rate, "B"));
                    if rate >= best {
                        canvas.paint(Tone::Best, &format!("{text} *"))
                    } else {
                        format!("{text}  ")
                    }
                };
                let (there, back) = (shown(to_device, best_to_device), shown(to_host, best_to_host));
                format!("to the device {there}  to the host {back}")
            }
            None => canvas.paint(Tone::Faint, transfer.reason.as_deref().unwrap_or("")),
        };
        let line = format!("  {:<width$}  {text}", transfer.name);
        let _ = writeln!(out, "{}", line.trim_end());
    }
}
