//! Text: verdict, registers, cycles, launch, advice; [`locations`] adds loops, accesses and lines.

mod locations;
mod several;
mod verdict;

use std::fmt::Write as _;
use std::iter;

use tripipe_analyze::{Analysis, Cycles, Polynomial};
use tripipe_device::Family;

pub(super) use self::several::tables;
pub(super) use self::verdict::verdict;
use super::{Priced, bound, gain};
use crate::number::{bytes, grouped, percent, significant};
use crate::simulation;
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
        several => several::table(several, priced.predictions, canvas),
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
    if let Some(launch) = &analysis.launch {
        let busy: Vec<String> = analysis
            .columns
            .iter()
            .zip(&launch.busy)
            .map(|(column, busy)| format!("{} {}", column.head(gpu.family()), percent(*busy)))
            .collect();
        let launched = format!(
            "Launch of {} work-items on {} cores at {} MHz: at least {}, {} cycles of arithmetic and memory.",
            grouped(launch.items),
            gpu.configuration.cores.value,
            gpu.configuration.clock_mhz.value,
            time(launch.milliseconds * 1e-3),
            grouped(launch.cycles.ceil() as u64),
        );
        let busy = format!(
            "Utilisation: {}; DRAM {} ({} once, at {} GB/s).",
            busy.join(", "),
            percent(launch.dram_busy),
            bytes(launch.dram_bytes),
            significant(gpu.configuration.dram_gb_s_peak.value)
        );
        out.push('\n');
        out.push_str(&paragraph(canvas, "", 0, &launched));
        out.push_str(&paragraph(canvas, "", 0, &busy));
    }
    match priced.predictions.first() {
        Some(Ok(predicted)) => {
            out.push_str(&paragraph(canvas, "", 0, &simulation::sentence(predicted, gpu)));
        }
        Some(Err(missing)) => {
            let space = if analysis.launch.is_some() { "" } else { "\n" };
            out.push_str(space);
            out.push_str(&paragraph(canvas, "", 0, &format!("No predicted time: {missing}.")));
        }
        None => {}
    }
    advice(priced, analysis, canvas, &mut out);
    if !analysis.left_out.is_empty() {
        out.push('\n');
        out.push_str(&paragraph(canvas, "", 0, &format!("Left out: {}.", analysis.left_out.join("; "))));
    }
    out
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
}

fn registers(priced: &Priced<'_>, analysis: &Analysis, canvas: Canvas, out: &mut String) {
    let registers = &analysis.registers;
    let gpu = analysis.gpu;
    let occupancy = f64::from(registers.threads) / f64::from(registers.most_threads.max(1));
    let share = f64::from(registers.work.used) / f64::from(gpu.registers.max.value.max(1));
    let mut facts = vec![
        (
            "Work registers",
            format!(
                "{} of {} bits ({} used at {} occupancy)",
                registers.work.used,
                gpu.registers.width_bits.value,
                percent(share),
                percent(occupancy)
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
        let mut cells: Vec<String> = cycles.columns.iter().map(figure).collect();
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
    if analysis.longest_at_most != analysis.longest.columns {
        let cells = analysis.longest_at_most.iter().map(figure);
        paths.push(iter::once("  at most".to_owned()).chain(cells).chain([String::new()]).collect());
    }
    let table = Columns { heads, rows: [vec![emitted], paths].concat(), left: vec![0], keys: 1 };
    out.push_str(&table.draw(canvas));
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
    let lines = paragraph(canvas, "", 0, text);
    let mut text = String::new();
    for line in lines.lines() {
        text.push_str(&canvas.paint(Tone::Faint, line));
        text.push('\n');
    }
    text
}
