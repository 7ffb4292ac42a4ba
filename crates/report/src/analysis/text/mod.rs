//! Text: verdict, registers, cycles, launch, advice; [`locations`] adds loops, accesses and lines.

mod locations;
mod several;
mod verdict;

use std::fmt::Write as _;
use std::iter;

use tripipe_analyze::{ASSUMED_TRIPS, Analysis, Cycles, Polynomial};
use tripipe_device::Family;

pub(super) use self::several::tables;
pub(super) use self::verdict::verdict;
use super::{Priced, bound, gain, unverified};
use crate::number::{bytes, grouped, percent};
use crate::simulation::{self, Predicted};
use crate::style::{Canvas, Tone, paragraph};
use crate::table::Columns;
use crate::time;

/// One GPU in full; several as a table, family by family.
pub fn text(priced: &Priced<'_>, canvas: Canvas) -> String {
    canvas.shown(drawn(priced, canvas))
}

fn drawn(priced: &Priced<'_>, canvas: Canvas) -> String {
    match priced.analyses {
        [one] => single(priced, one, canvas),
        _ => several::table(priced, canvas),
    }
}

fn single(priced: &Priced<'_>, analysis: &Analysis, canvas: Canvas) -> String {
    let mut out = String::new();
    let gpu = analysis.gpu;
    let title = format!("{} on {} ({})", analysis.kernel, gpu.name(), gpu.identity.generation);
    let _ = writeln!(out, "{}", canvas.paint(Tone::Heading, &title));
    out.push_str(&paragraph(canvas, "", 0, &verdict(priced, analysis)));
    out.push('\n');
    registers(priced, analysis, canvas, &mut out);
    out.push('\n');
    cycles(analysis, canvas, &mut out);
    locations::loops(priced, analysis, canvas, &mut out);
    locations::accesses(priced, analysis, canvas, &mut out);
    locations::lines(priced, analysis, canvas, &mut out);
    launch(analysis, priced.predictions.first(), canvas, &mut out);
    advice(priced, analysis, canvas, &mut out);
    if !analysis.left_out.is_empty() {
        out.push('\n');
        out.push_str(&paragraph(canvas, "", 0, &format!("Left out: {}.", analysis.left_out.join("; "))));
    }
    out
}

/// What the launch has to do, and its predicted time.
fn launch(
    analysis: &Analysis,
    prediction: Option<&Result<Predicted, String>>,
    canvas: Canvas,
    out: &mut String,
) {
    let gpu = analysis.gpu;
    let mut said: Vec<String> = Vec::new();
    said.extend(analysis.launch.as_ref().map(|launch| {
        format!(
            "Launch of {} work-items on {} cores at {} MHz; at least {} to and from buffers, each byte once in each direction{}.",
            grouped(launch.items),
            gpu.configuration.cores.value,
            gpu.configuration.clock_mhz.value,
            bytes(launch.dram_bytes),
            if launch.images { "; images are not counted" } else { "" },
        )
    }));
    said.extend(prediction.map(|prediction| match prediction {
        Ok(predicted) => simulation::sentence(predicted, gpu),
        Err(missing) => format!("No predicted time: {missing}."),
    }));
    said.extend(prediction.and_then(|prediction| prediction.as_ref().ok()).map(|predicted| {
        let prediction = &predicted.prediction;
        let shares = simulation::shares(prediction, gpu);
        let busy: Vec<String> =
            shares.iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect();
        format!(
            "Busy: {}; {} by this model if nothing waited.",
            busy.join(", "),
            time(prediction.least_seconds())
        )
    }));
    if !said.is_empty() {
        out.push('\n');
    }
    for paragraph_text in said {
        out.push_str(&paragraph(canvas, "", 0, &paragraph_text));
    }
}

fn advice(priced: &Priced<'_>, analysis: &Analysis, canvas: Canvas, out: &mut String) {
    if analysis.advice.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", canvas.paint(Tone::Heading, "Advice (details: `tripipe explain CODE`)"));
    for advice in &analysis.advice {
        let line = priced.at(advice.location);
        let location =
            line.map_or_else(String::new, |line| format!(" line {line}{}:", priced.called(advice.location)));
        let gain = gain(advice);
        let said = format!(
            "{}[{}]{location} {}. {}{gain}",
            advice.rule.severity.name(),
            advice.rule.code,
            advice.message,
            advice.fix
        );
        out.push_str(&paragraph(canvas, "", 2, &said));
    }
    if let Some(said) = unverified(analysis) {
        out.push_str(&faint(canvas, said));
    }
}

fn registers(priced: &Priced<'_>, analysis: &Analysis, canvas: Canvas, out: &mut String) {
    let registers = &analysis.registers;
    let gpu = analysis.gpu;
    let share = f64::from(registers.work.used) / f64::from(gpu.registers.max.value.max(1));
    let mut facts = vec![
        (
            "Work registers",
            format!(
                "{} of {} bits ({} used at {} occupancy)",
                registers.work.used,
                gpu.registers.width_bits.value,
                percent(share),
                percent(registers.occupancy.share())
            ),
        ),
        ("Uniform registers", registers.uniform.to_string()),
        (
            "Stack",
            match (analysis.stack_bytes, registers.work.spill_bytes) {
                (0, _) => "none".to_owned(),
                (all, 0) => format!("{all} bytes"),
                (all, spill) => format!("{all} bytes, {spill} of them spilled registers"),
            },
        ),
        (
            "Local memory",
            if analysis.local_bytes == 0 {
                "none declared".into()
            } else {
                format!("{} bytes", analysis.local_bytes)
            },
        ),
        ("16-bit arithmetic", analysis.narrow_arithmetic.map_or_else(|| "none".into(), percent)),
        ("Idle lanes", analysis.idle_lanes.map_or_else(|| "none".into(), percent)),
    ];
    if let Some(line) = priced.at(registers.peak) {
        let _ = write!(facts[0].1, ", most at line {line}");
    }
    if analysis.hoisted > 0 {
        let plural = if analysis.hoisted == 1 { "" } else { "s" };
        facts.push((
            "Uniform work",
            format!("{} instruction{plural} once for the whole launch", analysis.hoisted),
        ));
    }
    for (name, fact) in facts {
        let _ = writeln!(out, "{} {fact}", canvas.paint(Tone::Faint, &format!("{name:<20}")));
    }
}

/// The units that a family's compiler issues.
fn issued(family: Family) -> &'static str {
    match family {
        Family::Midgard => "Words",
        Family::Bifrost => "Tuples",
        _ => "Instructions",
    }
}

/// Characters of the widest symbolic cost in a table.
const WIDEST: usize = 24;

/// What `~` means.
fn roughly() -> String {
    format!("~: with {ASSUMED_TRIPS} for each unknown count; --format json has the whole sum.")
}

/// The same for a table: a long symbolic cost is evaluated.
pub(super) fn cell(cost: &Polynomial) -> String {
    let said = figure(cost);
    if said.chars().count() <= WIDEST {
        return said;
    }
    format!("~{:.2}", cost.evaluate(ASSUMED_TRIPS))
}

/// A cost with two decimals, or a symbolic cost.
fn figure(cost: &Polynomial) -> String {
    cost.as_constant().map_or_else(|| cost.to_string(), |number| format!("{number:.2}"))
}

fn cycles(analysis: &Analysis, canvas: Canvas, out: &mut String) {
    let family = analysis.gpu.family();
    let rows = [
        ("Total instruction cycles", &analysis.total),
        ("Shortest path cycles", &analysis.shortest),
        ("Longest path cycles", &analysis.longest),
    ];
    let cells = |cycles: &Cycles| {
        let mut cells: Vec<String> = cycles.columns.iter().map(cell).collect();
        cells.push(bound(analysis, &cycles.bound));
        cells
    };
    let mut heads = vec![String::new()];
    heads.extend(analysis.columns.iter().map(|column| format!("{:>6}", column.head(family))));
    heads.push("Bound".into());
    let mut emitted = vec![format!("{} emitted", issued(family))];
    emitted
        .extend(analysis.columns.iter().map(|column| column.emitted(family, &analysis.emitted).to_string()));
    let mut paths = rows.map(|(name, cycles)| [vec![name.to_owned()], cells(cycles)].concat()).to_vec();
    // Where both ends of the range are equal, this row would repeat the one above.
    if analysis.longest_at_most != analysis.longest.columns {
        let cells = analysis.longest_at_most.iter().map(cell);
        paths.push(iter::once("  at most".to_owned()).chain(cells).chain([String::new()]).collect());
    }
    let table = Columns { heads, rows: [vec![emitted], paths].concat(), left: vec![0], keys: 1 };
    out.push_str(&table.draw(canvas));
    if table.rows.iter().flatten().any(|cell| cell.starts_with('~')) {
        out.push_str(&faint(canvas, &roughly()));
    }
    let messages = &analysis.longest.messages;
    if analysis.gpu.core.warp_width.value > 1 {
        let note = format!(
            "LS counts the cache lines that a warp touches, shared among its {} work-items; in messages, as \
            malioc counts: {messages}",
            analysis.gpu.core.warp_width.value
        );
        out.push_str(&faint(canvas, &note));
    }
}

/// A faint paragraph, coloured line by line.
fn faint(canvas: Canvas, text: &str) -> String {
    // Wrapped first, because escapes would count as characters.
    let lines = paragraph(canvas, "", 0, text);
    let mut text = String::new();
    for line in lines.lines() {
        text.push_str(&canvas.paint(Tone::Faint, line));
        text.push('\n');
    }
    text
}
