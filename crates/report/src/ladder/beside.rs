//! The core beside the GPU of a board.

use std::fmt::Write as _;

use tripipe_results::{Crossover, LadderCore};

use super::Report;
use crate::number::{significant, time};
use crate::style::{Canvas, Tone, paragraph};
use crate::table::{Cell, Group, Row, draw};

/// What the columns of a crossover are.
pub(crate) const CROSSOVER: &str = "GPU: the host's launch and the kernel. With transfers: besides that three maps, \
    copies of the three matrices by the core, and the packing of operands.";

/// The core's times, and where the GPU overtakes it; empty if the device is no board.
pub(super) fn text(report: &Report<'_>, canvas: Canvas) -> String {
    let Some(core) = report.core else { return String::new() };
    let sizes: Vec<String> = report.climb.sizes.iter().map(ToString::to_string).collect();
    let mut out = format!("\n{}", paragraph(canvas, "  ", 2, &times(core, &sizes)));
    if let Some(crossover) = report.crossover {
        out.push('\n');
        let cells = |point: &tripipe_results::CrossoverPoint| {
            let seconds =
                [point.gpu_seconds, point.with_transfers_seconds, point.serial_seconds, point.neon_seconds];
            let best = seconds.into_iter().fold(f64::INFINITY, f64::min);
            let time = |seconds: f64| {
                let tone = if seconds <= best { Tone::Best } else { Tone::Plain };
                Cell::toned(significant(seconds * 1e3), tone)
            };
            let mut cells: Vec<Cell> = seconds.into_iter().map(time).collect();
            // Both gains are over the serial core, as the published one is.
            for gpu in [point.gpu_seconds, point.with_transfers_seconds] {
                cells.push(Cell::new(significant(point.serial_seconds / gpu)));
            }
            Row::Cells(cells)
        };
        let group = Group {
            title: format!("n x n x n on {} and its GPU ({}), ms", core.board, crossover.step),
            columns: ["GPU", "with transfers", "serial", "NEON", "serial/GPU", "with transfers"]
                .map(ToOwned::to_owned)
                .to_vec(),
            rows: crossover.points.iter().map(cells).collect(),
        };
        let names: Vec<Cell> = crossover.points.iter().map(|point| Cell::new(point.n.to_string())).collect();
        out.push_str(&draw(canvas, "n", &names, &[group], 0));
        out.push_str(&paragraph(canvas, "  ", 2, CROSSOVER));
        out.push_str(&paragraph(canvas, "  ", 2, &verdict(core, crossover)));
    }
    out
}

/// The times of a core at the sizes of the ladder, in a paragraph.
pub(crate) fn times(core: &LadderCore, sizes: &[String]) -> String {
    let each = |seconds: &[f64]| {
        let each = sizes.iter().zip(seconds).map(|(size, seconds)| format!("{} at {size}", time(*seconds)));
        each.collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "The first step's kernel on one {} at {:.0} MHz ({}), predicted: {}; in NEON: {}.",
        core.name,
        core.clock_mhz,
        core.board,
        each(&core.serial_seconds),
        each(&core.neon_seconds)
    );
    if let Some(host) = core.host_seconds {
        let _ = write!(
            text,
            " Beside published times, {} are added at every size, fitted to the smallest and the largest; the error in \
             this row is that of the time.",
            time(host)
        );
    }
    text
}

/// Where the GPU overtakes the core, and what the gain levels off at.
pub(crate) fn verdict(core: &LadderCore, crossover: &Crossover) -> String {
    let from = |n: Option<usize>| match n {
        Some(n) => format!("from n = {n} on"),
        None => "at none of these sizes".to_owned(),
    };
    let mut text = format!(
        "With transfers the GPU is faster than the serial {} {}, and faster than NEON {}. Without them it levels \
         off at {} times the serial core",
        core.name,
        from(crossover.over_serial),
        from(crossover.over_neon),
        significant(crossover.plateau)
    );
    if let Some(published) = crossover.published_plateau {
        let _ = write!(
            text,
            " (published: {}, {:+.0}%)",
            significant(published),
            100.0 * (crossover.plateau / published - 1.0)
        );
    }
    text.push('.');
    text
}
