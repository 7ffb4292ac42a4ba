//! A climbed ladder as a text table.

use std::fmt::Write as _;

use tripipe_ladders::ladder::{ClimbedStep, Options, Outcome, Progress, Seconds, StepResult};
use tripipe_ladders::problem::Work;
use tripipe_launch::TimeSource;

use super::{Figures, Report, beside, published, rate_unit};
use crate::number::{giga, percent, significant, time};
use crate::style::{Canvas, Tone, bar, paragraph};
use crate::table::{Cell, Group, Row, draw};

/// Maximum length of the bar after a step, in characters.
const BAR: usize = 10;
/// Sizes faster than this many seconds are shown in microseconds.
const MICROSECONDS_BELOW: f64 = 1e-4;

/// The table of one device: its description, every step at every size, and what each step changes.
pub fn text(report: &Report<'_>, canvas: Canvas) -> String {
    canvas.shown(drawn(report, canvas))
}

fn drawn(report: &Report<'_>, canvas: Canvas) -> String {
    let climb = report.climb;
    let mut out = format!("{}\n", canvas.paint(Tone::Heading, &climb.device));
    out.push_str(&paragraph(canvas, "  ", 2, report.what));
    if let Some(ceilings) = &climb.ceilings {
        let _ = writeln!(
            out,
            "  ceilings {}: {} copied, {} multiply-added",
            if climb.time_source.is_predicted() { "predicted" } else { "measured just after" },
            giga(ceilings.bytes_per_second, "B"),
            giga(ceilings.operations_per_second, "FLOP")
        );
        let bounds: Vec<(String, &str)> = climb
            .sizes
            .iter()
            .zip(&climb.work)
            .map(|(size, work)| {
                // Without operations, the floor is that of copying alone.
                let copying = Work { operations: 0.0, ..*work }.floor_seconds(ceilings);
                let bound = if copying >= work.floor_seconds(ceilings) {
                    "share of the copy rate"
                } else {
                    "share of the arithmetic rate"
                };
                (size.to_string(), bound)
            })
            .collect();
        for line in merged(&bounds, climb.sizes.len()) {
            out.push_str(&paragraph(canvas, "  peak ", 7, &line));
        }
    }
    out.push('\n');
    let mut names = Vec::new();
    if !climb.serial.is_empty() {
        names.push(Cell::toned("serial CPU", Tone::Faint));
    }
    names.extend(climb.steps.iter().map(|step| Cell::new(step.name.as_str())));
    // One sentence instead of a table without a single time.
    if let Some(reason) = never_offered(report) {
        out.push_str(&paragraph(canvas, "  ", 2, &format!("No step runs on this device: {reason}")));
        return out;
    }
    let groups: Vec<Group> = (0..climb.sizes.len()).map(|size| group(report, size)).collect();
    out.push_str(&draw(canvas, "step", &names, &groups, usize::from(!climb.serial.is_empty())));
    out.push('\n');
    notes(report, canvas, &mut out);
    for said in report.balance() {
        out.push_str(&paragraph(canvas, "  ", 2, &said));
    }
    if let Some(basis) = report.energy_basis() {
        out.push('\n');
        out.push_str(&paragraph(canvas, "  ", 2, &basis));
    }
    if let Some(figures) = report.published {
        out.push('\n');
        out.push_str(&published::text(report, figures, canvas));
    }
    out.push_str(&beside::text(report, canvas));
    out
}

/// One row as soon as it is known: the size, the step, its duration, and its rate.
pub fn row(progress: &Progress<'_>) -> Option<String> {
    let size = progress.size.to_string();
    let found = match progress.found? {
        StepResult::Took { median_seconds, work } => {
            let rate = significant(work.rate(median_seconds));
            format!("{:>8}  {rate:>6} {}", time(median_seconds), rate_unit(work.quoted))
        }
        StepResult::NotOffered => "not offered".to_owned(),
        StepResult::Failed => "FAILED".to_owned(),
    };
    Some(format!("  {size:<12} {:<20} {found}", progress.doing))
}

/// The meaning of the columns of these tables; printed once, after them.
pub fn legend(options: Options, sources: &[TimeSource], canvas: Canvas) -> String {
    canvas.shown(explained(options, sources, canvas))
}

fn explained(options: Options, sources: &[TimeSource], canvas: Canvas) -> String {
    let Options { runs, warmup } = options;
    let measured = sources.iter().any(|source| !source.is_predicted());
    let predicted = sources.iter().any(|source| source.is_predicted());
    let columns = [
        (
            "time",
            "predicted by the timing model, from the start of a step's first launch to the end of its last"
                .to_owned(),
        ),
        (
            "med mean",
            format!(
                "median and mean of {runs} runs after {warmup} warm-ups, from the start of a step's first launch to \
                 the end of its last by the device's own clock (CPU path: wall time)"
            ),
        ),
        ("×1st", "speed-up over the first step".to_owned()),
        ("×cpu", "speed-up over the serial version on one CPU core".to_owned()),
        (
            "GB/s GFLOP/s",
            "10^9 per second: bytes, each input read once and each output written once; operations, a \
            multiply-add counting as two"
                .to_owned(),
        ),
        (
            "peak",
            "share of the ceiling that bounds the problem: the time that copying its bytes or doing its \
            arithmetic would take, whichever is longer, divided by the time of the step. Above 100% the \
            data stayed in a cache, or the ceiling was measured too low"
                .to_owned(),
        ),
        (
            "cores",
            "cores of the host's CPU that were busy meanwhile, in the mean: all threads of the process; where times \
            are predicted, the part of the time in which the host prepares the launch"
                .to_owned(),
        ),
    ];
    columns
        .iter()
        .filter(|(name, _)| match *name {
            "time" => predicted,
            "med mean" | "×cpu" => measured,
            _ => true,
        })
        .map(|(name, meaning)| {
            paragraph(canvas, &canvas.paint(Tone::Faint, &format!("{name:<14}")), 14, meaning)
        })
        .collect()
}

/// The reason why no step is offered at any size, if it is the same for all.
fn never_offered<'a>(report: &Report<'a>) -> Option<&'a str> {
    let mut outcomes = report.climb.steps.iter().flat_map(|step| &step.outcomes);
    let Some(Outcome::NotOffered { reason: first }) = outcomes.next() else { return None };
    let same = |outcome: &Outcome| matches!(outcome, Outcome::NotOffered { reason } if reason == first);
    outcomes.all(same).then_some(first.as_str())
}

fn group(report: &Report<'_>, size: usize) -> Group {
    let climb = report.climb;
    let figures: Vec<Option<Figures<'_>>> =
        climb.steps.iter().map(|step| Figures::of(report, step, size)).collect();
    let best = figures.iter().flatten().map(|figures| figures.median).fold(f64::INFINITY, f64::min);
    // One unit for all steps of a size, so that they can be compared at a glance. The fastest needs the finest.
    let (scale, unit) = if best < MICROSECONDS_BELOW { (1e6, "µs") } else { (1e3, "ms") };
    let quoted = climb.work.get(size).map_or("GB/s", |work| rate_unit(work.quoted));
    let with_peak = climb.ceilings.is_some();
    let predicted = climb.time_source.is_predicted();
    let mut columns =
        if predicted { vec!["time", "×1st", quoted] } else { vec!["med", "mean", "×1st", "×cpu", quoted] };
    if with_peak {
        columns.push("peak");
    }
    columns.push("cores");
    let floats = report.has_floats();
    if report.has_energy() {
        columns.push("mJ");
        columns.extend(floats.then_some("GFLOP/s per W"));
    }
    let cores = |seconds: &Seconds| {
        seconds.cpu_load().map_or_else(|| "–".to_owned(), |load| format!("{:.2}", load.cores))
    };

    let mut rows = Vec::new();
    if let Some(serial) = climb.serial.get(size) {
        let rate =
            climb.work.get(size).map(|work| significant(work.rate(serial.median()))).unwrap_or_default();
        let mut texts = vec![
            significant(serial.median() * scale),
            significant(serial.mean() * scale),
            String::new(),
            "1.00".to_owned(),
            rate,
        ];
        if with_peak {
            texts.push(String::new());
        }
        texts.push(cores(serial));
        texts.resize(columns.len(), String::new());
        rows.push(Row::Cells(texts.into_iter().map(|text| Cell::toned(text, Tone::Faint)).collect()));
    }
    for (step, figures) in climb.steps.iter().zip(&figures) {
        rows.push(match figures {
            Some(figures) => {
                let tone = if figures.median <= best { Tone::Best } else { Tone::Plain };
                let factor = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), significant);
                let mut cells = vec![Cell::toned(significant(figures.median * scale), tone)];
                if !predicted {
                    cells.push(Cell::new(significant(figures.mean * scale)));
                }
                cells.push(Cell::toned(factor(figures.speedup), tone));
                if !predicted {
                    cells.push(Cell::new(factor(figures.serial_speedup)));
                }
                cells.push(Cell::new(factor(figures.rate)));
                if with_peak {
                    cells.push(Cell::new(figures.ceiling_share.map_or_else(|| "–".to_owned(), percent)));
                }
                cells.push(Cell::new(cores(&figures.measured.seconds)));
                if report.has_energy() {
                    cells.push(Cell::new(factor(figures.measured.joules.map(|joules| joules * 1e3))));
                    cells.extend(floats.then(|| Cell::new(factor(figures.gflops_per_watt))));
                }
                Row::Cells(cells)
            }
            None if step.outcomes.get(size).is_some_and(Outcome::failed) => {
                Row::Across(Cell::toned("FAILED", Tone::Bad))
            }
            None => Row::Across(Cell::toned("not offered", Tone::Faint)),
        });
    }
    let title = format!("{}, {unit}", climb.sizes[size]);
    Group { title, columns: columns.into_iter().map(ToOwned::to_owned).collect(), rows }
}

/// Below the table: each step with a bar of its speed-up, its change, its choice, and its errors.
fn notes(report: &Report<'_>, canvas: Canvas, out: &mut String) {
    let climb = report.climb;
    let Some(last) = climb.sizes.len().checked_sub(1) else { return };
    let speedups: Vec<Option<f64>> =
        climb.steps.iter().map(|step| climb.speedups(step).get(last).copied().flatten()).collect();
    let most = speedups.iter().flatten().copied().fold(1.0, f64::max);
    let name_width = climb.steps.iter().map(|step| step.name.chars().count()).max().unwrap_or(0);
    let title = format!("What each step changes, and its speed at {}:", climb.sizes[last]);
    let _ = writeln!(out, "  {}", canvas.paint(Tone::Heading, &title));
    for (step, speedup) in climb.steps.iter().zip(speedups) {
        let bar = match speedup {
            Some(speedup) => format!("{:>5}x {}", significant(speedup), bar(speedup / most, BAR)),
            None => String::new(),
        };
        let first = format!("  {:<name_width$}  {bar:<width$} ", step.name, width = BAR + 7);
        let indent = first.chars().count();
        out.push_str(&paragraph(canvas, &first, indent, &step.about));
        let spaces = " ".repeat(indent);
        for (tone, line) in remarks(report, step) {
            for line in crate::style::wrap(&line, canvas.width.saturating_sub(indent).max(30)) {
                let _ = writeln!(out, "{spaces}{}", canvas.paint(tone, &line));
            }
        }
    }
}

/// The choices of a step at each size, its preparation, and why it failed or was not offered.
fn remarks(report: &Report<'_>, step: &ClimbedStep) -> Vec<(Tone, String)> {
    let sizes = &report.climb.sizes;
    let mut remarks = Vec::new();
    let sized = || sizes.iter().zip(&step.outcomes);
    let failed: Vec<(String, &str)> = sized()
        .filter_map(|(size, outcome)| match outcome {
            Outcome::Failed { reason } => Some((size.to_string(), reason.as_str())),
            _ => None,
        })
        .collect();
    remarks.extend(merged(&failed, sizes.len()).map(|text| (Tone::Bad, format!("FAILED {text}"))));
    let missing: Vec<(String, &str)> = sized()
        .filter_map(|(size, outcome)| match outcome {
            Outcome::NotOffered { reason } => Some((size.to_string(), reason.as_str())),
            _ => None,
        })
        .collect();
    remarks.extend(merged(&missing, sizes.len()).map(|text| (Tone::Faint, format!("not offered {text}"))));
    let chosen: Vec<(String, &str)> = sized()
        .filter_map(|(size, outcome)| Some((size.to_string(), outcome.measured()?.choice.as_deref()?)))
        .collect();
    let ways = sized().filter_map(|(_, outcome)| Some(outcome.measured()?.sweep.len())).max().unwrap_or(0);
    remarks.extend(
        merged(&chosen, sizes.len()).map(|text| (Tone::Faint, format!("best of {ways} variants {text}"))),
    );
    let preparation: Vec<String> = sized()
        .filter_map(|(size, outcome)| {
            Some(format!("{} at {size}", time(outcome.measured()?.preparation_seconds?)))
        })
        .collect();
    if !preparation.is_empty() {
        let text = format!("packing before it, not included above: {}", preparation.join(", "));
        remarks.push((Tone::Faint, text));
    }
    remarks
}

/// `at SIZE, SIZE: text` for each distinct text in the order of its first size; without the sizes where the text
/// applies to all of them.
fn merged(texts: &[(String, &str)], all: usize) -> impl Iterator<Item = String> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (size, text) in texts {
        match groups.iter_mut().find(|(known, _)| known == text) {
            Some((_, sizes)) => sizes.push(size),
            None => groups.push((text, vec![size])),
        }
    }
    let lines: Vec<String> = groups
        .into_iter()
        .map(|(text, sizes)| {
            if sizes.len() == all {
                format!("at every size: {text}")
            } else {
                format!("at {}: {text}", sizes.join(", "))
            }
        })
        .collect();
    lines.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_show_the_outcome_of_a_step() {
        let work = Work { operations: 0.0, bytes: 3e6, quoted: tripipe_ladders::problem::Quoted::Bandwidth };
        let size = tripipe_ladders::Size::Image { width: 1000, height: 500 };
        let at = |found| row(&Progress { size, doing: "scalar", done: 1, all: 9, found });
        assert_eq!(at(None), None, "nothing is known before a step");
        let took = at(Some(StepResult::Took { median_seconds: 2e-3, work })).unwrap();
        let words: Vec<&str> = took.split_whitespace().collect();
        assert_eq!(words, ["1000x500", "scalar", "2.00", "ms", "1.50", "GB/s"]);
        assert!(at(Some(StepResult::Failed)).unwrap().ends_with("FAILED"));
        assert!(at(Some(StepResult::NotOffered)).unwrap().ends_with("not offered"));
    }

    #[test]
    fn equal_texts_are_printed_once() {
        let texts = [("1x1".to_owned(), "a"), ("2x2".to_owned(), "b"), ("3x3".to_owned(), "a")];
        assert_eq!(merged(&texts, 3).collect::<Vec<_>>(), ["at 1x1, 3x3: a", "at 2x2: b"]);
        assert_eq!(merged(&texts[..1], 1).collect::<Vec<_>>(), ["at every size: a"]);
    }
}
