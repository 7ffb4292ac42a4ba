//! To be read: verdict, registers, cycles, loops, lines, accesses.

use std::fmt::Write as _;

use tripipe_analyze::{ASSUMED_TRIPS, Access, Analysis, Cycles, Polynomial, Stride, Trips};
use tripipe_device::Family;
use tripipe_ir::Space;

use super::{Priced, bound};
use crate::number::{bytes, grouped, percent, significant};
use crate::style::{Canvas, Tone, paragraph};
use crate::time;

/// Lines of the source that are shown.
const HOT_LINES: usize = 10;
/// Columns of a figure.
const FIGURE: usize = 14;

/// One GPU in full; several as a table, family by family.
pub fn text(priced: &Priced<'_>, canvas: Canvas) -> String {
    match priced.analyses {
        [one] => single(priced, one, canvas),
        several => table(several, canvas),
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
    loops(priced, analysis, canvas, &mut out);
    accesses(priced, analysis, canvas, &mut out);
    lines(priced, analysis, canvas, &mut out);
    if let Some(launch) = &analysis.launch {
        let busy: Vec<String> = analysis
            .columns
            .iter()
            .zip(&launch.busy)
            .map(|(column, busy)| format!("{} {}", column.head(gpu.family()), percent(*busy)))
            .collect();
        let _ = writeln!(
            out,
            "\nLaunch of {} work-items on {} cores at {} MHz: at least {}, {} cycles of arithmetic and memory.\nBusy meanwhile: {}; DRAM {} ({} once, at {} GB/s).",
            grouped(launch.items),
            gpu.configuration.cores.value,
            gpu.configuration.clock_mhz.value,
            time(launch.milliseconds * 1e-3),
            grouped(launch.cycles.ceil() as u64),
            busy.join(", "),
            percent(launch.dram_busy),
            bytes(launch.dram_bytes),
            significant(gpu.configuration.dram_gb_s_peak.value)
        );
    }
    advice(priced, analysis, canvas, &mut out);
    if !analysis.left_out.is_empty() {
        let _ = writeln!(out, "\nLeft out: {}.", analysis.left_out.join("; "));
    }
    out
}

fn advice(priced: &Priced<'_>, analysis: &Analysis, canvas: Canvas, out: &mut String) {
    if analysis.advice.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", canvas.paint(Tone::Heading, "Advice (`tripipe explain CODE` says more)"));
    for advice in &analysis.advice {
        let line = advice.place.map(|place| priced.line(place)).filter(|line| *line > 0);
        let place = line.map_or_else(String::new, |line| format!(" line {line}:"));
        let gain = advice
            .gain
            .map_or_else(String::new, |gain| format!(" {} of the cycles would go.", percent(gain)));
        let said = format!(
            "{}[{}]{place} {}. {}{gain}",
            advice.rule.severity.name(),
            advice.rule.code,
            advice.message,
            advice.cure
        );
        out.push_str(&paragraph(canvas, "", 2, &said));
    }
}

/// Bound by what, how far the next limit is, and what to change first.
pub(super) fn verdict(priced: &Priced<'_>, analysis: &Analysis) -> String {
    let family = analysis.gpu.family();
    let longest = &analysis.longest;
    let Some(first) = longest.bound.first() else {
        return "Costs nothing: nothing that the kernel computes is stored. Look at what folded away."
            .to_owned();
    };
    let weigh = |polynomial: &Polynomial| polynomial.evaluate(ASSUMED_TRIPS);
    let most = weigh(&longest.columns[*first]);
    let next = (0..longest.columns.len())
        .filter(|at| !longest.bound.contains(at) && !analysis.columns[*at].is_part(family))
        .max_by(|a, b| weigh(&longest.columns[*a]).total_cmp(&weigh(&longest.columns[*b])));
    let mut said = format!(
        "Bound by {}: {} cycles of a core for each work-item on its longest way",
        bound(analysis, &longest.bound),
        longest.columns[*first]
    );
    if longest.columns[*first].as_constant().is_none() {
        let _ = write!(said, " (what is not known taken as {ASSUMED_TRIPS})");
    }
    if let Some(next) = next {
        let _ = write!(
            said,
            "; next is {} at {} of that",
            analysis.columns[next].head(family),
            percent(weigh(&longest.columns[next]) / most)
        );
    }
    said.push('.');
    let registers = &analysis.registers;
    if registers.work.spill_bytes > 0 {
        let _ = write!(said, " {} bytes of registers spill to memory.", registers.work.spill_bytes);
    }
    if registers.threads < registers.most_threads {
        let _ = write!(
            said,
            " {} of {} threads are in flight{}.",
            registers.threads,
            registers.most_threads,
            registers.next_step.map_or_else(String::new, |(fewer, threads)| format!(
                "; {fewer} {} fewer: {threads}",
                if fewer == 1 { "register" } else { "registers" }
            ))
        );
    }
    if let Some(first) = analysis.advice.iter().find(|advice| advice.gain.is_some()) {
        let line = first.place.map(|place| priced.line(place)).filter(|line| *line > 0);
        let place = line.map_or_else(String::new, |line| format!(", line {line}"));
        let _ = write!(said, " First to change ({}{place}): {}", first.rule.code, first.cure);
    }
    said
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
    if let Some(line) = registers.peak.map(|place| priced.line(place)).filter(|line| *line > 0) {
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

/// What a family's compiler makes.
fn issued(family: Family) -> &'static str {
    match family {
        Family::Midgard => "Words",
        Family::Bifrost => "Tuples",
        _ => "Instructions",
    }
}

/// A cost with two digits behind the point, or as a sum with letters.
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
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    let mut heads: Vec<String> =
        analysis.columns.iter().map(|column| column.head(family).to_owned()).collect();
    heads.push("Bound".into());
    all.push((String::new(), heads));
    let emitted = analysis.columns.iter().map(|column| column.emitted(family, &analysis.emitted).to_string());
    all.push((format!("{} emitted", issued(family)), emitted.collect()));
    all.extend(rows.map(|(name, cycles)| (name.to_owned(), cells(cycles))));
    let widths: Vec<usize> = (0..=analysis.columns.len())
        .map(|column| {
            all.iter()
                .filter_map(|(_, cells)| cells.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
                .max(6)
        })
        .collect();
    for (row, (name, cells)) in all.iter().enumerate() {
        let mut line = format!("{name:<26}");
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(line, "  {cell:>width$}");
        }
        let tone = if row == 0 { Tone::Heading } else { Tone::Plain };
        let _ = writeln!(out, "{}", canvas.paint(tone, line.trim_end()));
    }
    let messages = &analysis.longest.messages;
    if analysis.gpu.core.warp_width.value > 1 {
        let _ = writeln!(
            out,
            "{}",
            canvas.paint(
                Tone::Faint,
                &format!(
                    "LS by the cache lines a warp touches, shared among its {} work-items; by messages, as malioc counts: {messages}",
                    analysis.gpu.core.warp_width.value
                )
            )
        );
    }
}

fn loops(priced: &Priced<'_>, analysis: &Analysis, canvas: Canvas, out: &mut String) {
    if analysis.loops.is_empty() {
        return;
    }
    let family = analysis.gpu.family();
    let _ = writeln!(out, "\n{}", canvas.paint(Tone::Heading, "Loops"));
    for each in &analysis.loops {
        let block = &priced.kernel.blocks[each.header];
        let places = block.insts.iter().filter_map(|inst| priced.kernel.insts[*inst].place);
        let line = places.map(|place| priced.line(place)).filter(|line| *line > 0).min();
        let place = line.map_or_else(|| each.header.to_string(), |line| format!("line {line}"));
        let indent = "  ".repeat(each.depth as usize);
        let beside = analysis.columns.iter().zip(&each.round).filter(|(column, _)| !column.is_part(family));
        let round: Vec<String> = beside
            .filter(|(_, cost)| cost.as_constant() != Some(0.0))
            .map(|(column, cost)| format!("{} {}", column.head(family), figure(cost)))
            .collect();
        let round = if round.is_empty() { "nothing".to_owned() } else { round.join(", ") };
        let times = match &each.trips {
            Trips::Known(trips) => format!("{trips} times"),
            Trips::Follows { name, factor, constant } => {
                let times =
                    Polynomial::constant(*factor).times_name(name).plus(&Polynomial::constant(*constant));
                format!("{times} times")
            }
            Trips::Unknown { letter, follows_from: Some(words) } => {
                format!("{letter} times ({letter} = {words})")
            }
            Trips::Unknown { letter, follows_from: None } => {
                format!("{letter} times (not known from the code)")
            }
        };
        let _ = writeln!(out, "{indent}{place}: back to its start {times}; a round costs {round}");
    }
}

fn accesses(priced: &Priced<'_>, analysis: &Analysis, canvas: Canvas, out: &mut String) {
    let seen: Vec<&Access> = analysis
        .accesses
        .iter()
        .filter(|access| {
            matches!(access.space, Space::Global | Space::Constant | Space::Local | Space::Generic)
        })
        .collect();
    if seen.is_empty() && analysis.images.is_empty() {
        return;
    }
    let warp = analysis.gpu.core.warp_width.value;
    let head = format!(
        "\n{:<6} {:<16} {:<6} {:>6} {:>13} {:>13} {:>6} {:>6} {:>6}  ",
        "Line", "Memory", "", "Bytes", "Next item", "Next round", "Lines", "Used", "Align"
    );
    let _ = writeln!(out, "{}", canvas.paint(Tone::Heading, head.trim_end()));
    // Equal rows of one line are one.
    let mut rows: Vec<(String, u32)> = Vec::new();
    for access in seen {
        let line = access.place.map_or(0, |place| priced.line(place));
        let stride = |stride: Stride| match stride {
            Stride::Bytes(0) => "same".to_owned(),
            Stride::Bytes(bytes) => format!("{bytes:+} bytes"),
            Stride::Runtime => "an argument".to_owned(),
            Stride::Unknown => "unknown".to_owned(),
        };
        let verdict = match (warp, access.is_coalesced(analysis.gpu)) {
            (1, _) => "",
            (_, true) => "coalesced",
            (_, false) => "scattered",
        };
        let row = format!(
            "{:<6} {:<16} {:<6} {:>6} {:>13} {:>13} {:>6} {:>6} {:>6}  {verdict}",
            if line == 0 { String::new() } else { line.to_string() },
            access.pointer,
            if access.writes { "write" } else { "read" },
            access.bytes,
            stride(access.stride),
            access.round.map_or_else(String::new, stride),
            format!("{}{}", access.lines, if access.lines_known { "" } else { "?" }),
            percent(access.used),
            format!("{}{}", access.align, if access.align < access.bytes.min(16) { "?" } else { "" }),
        );
        match rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, times)) => *times += 1,
            None => rows.push((row, 1)),
        }
    }
    for image in &analysis.images {
        let line = image.place.map_or(0, |place| priced.line(place));
        let row = format!(
            "{:<6} {:<16} {:<6}  image",
            if line == 0 { String::new() } else { line.to_string() },
            image.image,
            if image.writes { "write" } else { "read" }
        );
        match rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, times)) => *times += 1,
            None => rows.push((row, 1)),
        }
    }
    for (row, times) in rows {
        let times = if times > 1 { format!("  {times} times") } else { String::new() };
        let _ = writeln!(out, "{}{times}", row.trim_end());
    }
    let note = if warp > 1 {
        format!(
            "Lines: cache lines of {} bytes that a warp of {warp} touches.",
            analysis.gpu.memory.cache_line_bytes.value
        )
    } else {
        format!(
            "Lines: cache lines of {} bytes that a work-item touches; there are no warps.",
            analysis.gpu.memory.cache_line_bytes.value
        )
    };
    let note = format!("{note} Align: what the code promises, ? if less than the access is wide.");
    out.push_str(&paragraph(canvas, "", 0, &canvas.paint(Tone::Faint, &note)));
}

fn lines(priced: &Priced<'_>, analysis: &Analysis, canvas: Canvas, out: &mut String) {
    let family = analysis.gpu.family();
    let beside: Vec<usize> =
        (0..analysis.columns.len()).filter(|at| !analysis.columns[*at].is_part(family)).collect();
    let mut hot: Vec<_> = analysis.lines.iter().collect();
    let weight = |line: &tripipe_analyze::LineCost| {
        beside.iter().map(|at| line.columns[*at].evaluate(ASSUMED_TRIPS)).fold(0.0, f64::max)
    };
    hot.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    if hot.is_empty() {
        return;
    }
    let mut head = format!("\n{:<6}", "Line");
    for at in &beside {
        let _ = write!(head, " {:>FIGURE$}", analysis.columns[*at].head(family));
    }
    let _ = writeln!(out, "{}", canvas.paint(Tone::Heading, &head));
    for line in hot.iter().take(HOT_LINES) {
        let number = priced.line(line.place);
        let mut row = format!("{number:<6}");
        for at in &beside {
            let _ = write!(row, " {:>FIGURE$}", line.columns[*at].to_string());
        }
        let room = canvas.width.saturating_sub(row.chars().count() + 2);
        let code: String = priced.text_of(number).chars().take(room).collect();
        let _ = writeln!(out, "{row}  {}", canvas.paint(Tone::Faint, &code));
    }
    if hot.len() > HOT_LINES {
        let _ = writeln!(
            out,
            "{}",
            canvas.paint(Tone::Faint, &format!("... and {} more lines", hot.len() - HOT_LINES))
        );
    }
}

/// A table for each family: one row a GPU.
fn table(analyses: &[Analysis], canvas: Canvas) -> String {
    let mut out = String::new();
    if let Some(first) = analyses.first() {
        let _ = writeln!(out, "{}", canvas.paint(Tone::Heading, &first.kernel));
    }
    for cells in tables(analyses) {
        let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|at| {
                cells.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        out.push('\n');
        for (index, row) in cells.iter().enumerate() {
            let mut line = String::new();
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let _ =
                    if at == 0 { write!(line, "{cell:<width$}") } else { write!(line, "  {cell:>width$}") };
            }
            let tone = if index == 0 { Tone::Heading } else { Tone::Plain };
            let _ = writeln!(out, "{}", canvas.paint(tone, line.trim_end()));
        }
    }
    out.push_str("\nCycles of a core for each work-item on its longest way.\n");
    let mut left_out: Vec<&str> = Vec::new();
    for what in analyses.iter().flat_map(|analysis| &analysis.left_out) {
        if !left_out.contains(&what.as_str()) {
            left_out.push(what);
        }
    }
    if !left_out.is_empty() {
        let _ = writeln!(out, "Left out: {}.", left_out.join("; "));
    }
    out
}

/// For each family, in the order in which its first GPU comes: heads, and a row a GPU.
pub(super) fn tables(analyses: &[Analysis]) -> Vec<Vec<Vec<String>>> {
    let mut done: Vec<Family> = Vec::new();
    let mut tables = Vec::new();
    for analysis in analyses {
        let family = analysis.gpu.family();
        if done.contains(&family) {
            continue;
        }
        done.push(family);
        let rows: Vec<&Analysis> = analyses.iter().filter(|other| other.gpu.family() == family).collect();
        let mut heads = vec![family.to_string(), "registers".into(), "spilled".into(), "threads".into()];
        heads.extend(analysis.columns.iter().map(|column| column.head(family).to_owned()));
        heads.push("bound".into());
        if rows.iter().any(|row| row.launch.is_some()) {
            heads.push("time".into());
        }
        let mut cells = vec![heads];
        for row in rows {
            let registers = &row.registers;
            let spilled = registers.work.spill_bytes;
            let mut line = vec![
                row.gpu.name().to_owned(),
                registers.work.used.to_string(),
                if spilled == 0 { String::new() } else { format!("{spilled} B") },
                registers.threads.to_string(),
            ];
            line.extend(row.longest.columns.iter().map(|cell| match cell.as_constant() {
                Some(number) => format!("{number:.2}"),
                None => cell.to_string(),
            }));
            line.push(bound(row, &row.longest.bound));
            if let Some(launch) = &row.launch {
                line.push(time(launch.milliseconds * 1e-3));
            }
            cells.push(line);
        }
        tables.push(cells);
    }
    tables
}
