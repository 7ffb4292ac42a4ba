//! Text: verdict, registers, cycles, loops, lines, accesses.

use std::fmt::Write as _;

use tripipe_analyze::lints::WORTH;
use tripipe_analyze::{ASSUMED_TRIPS, Access, Advice, Analysis, Cycles, Polynomial, Stride, Trips};
use tripipe_device::Family;
use tripipe_ir::Space;
use tripipe_ir::diagnostic::Severity;

use super::{Priced, bound};
use crate::number::{bytes, grouped, percent, significant};
use crate::style::{Canvas, Tone, paragraph};
use crate::table::Columns;
use crate::time;

/// Maximum number of source lines to show.
const HOT_LINES: usize = 10;
/// The least share of the bound at which the next pipe is mentioned.
const LEAST_SHARE: f64 = 0.0005;
/// Width of a figure in characters.
const FIGURE: usize = 14;

/// One GPU in full; several as a table, family by family.
pub fn text(priced: &Priced<'_>, canvas: Canvas) -> String {
    canvas.shown(drawn(priced, canvas))
}

fn drawn(priced: &Priced<'_>, canvas: Canvas) -> String {
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
        let line = priced.at(advice.place);
        let place =
            line.map_or_else(String::new, |line| format!(" line {line}{}:", priced.called(advice.place)));
        let gain = advice
            .gain
            .map_or_else(String::new, |gain| format!(" {} of the cycles would be saved.", percent(gain)));
        let said = format!(
            "{}[{}]{place} {}. {}{gain}",
            advice.rule.severity.name(),
            advice.rule.code,
            advice.message,
            advice.fix
        );
        out.push_str(&paragraph(canvas, "", 2, &said));
    }
}

/// Which pipe bounds, how far the next limit is, and what to change first.
pub(super) fn verdict(priced: &Priced<'_>, analysis: &Analysis) -> String {
    let family = analysis.gpu.family();
    let longest = &analysis.longest;
    let Some(first) = longest.bound.first() else {
        return "Costs nothing: the kernel stores no result. Check what was optimised away.".to_owned();
    };
    let weigh = |polynomial: &Polynomial| polynomial.evaluate(ASSUMED_TRIPS);
    let most = weigh(&longest.columns[*first]);
    let next = (0..longest.columns.len())
        .filter(|at| !longest.bound.contains(at) && !analysis.columns[*at].is_part(family))
        .max_by(|a, b| weigh(&longest.columns[*a]).total_cmp(&weigh(&longest.columns[*b])));
    let mut said = format!(
        "Bound by {}: {} cycles of one core per work-item on the longest path",
        bound(analysis, &longest.bound),
        longest.columns[*first]
    );
    if longest.columns[*first].as_constant().is_none() {
        let _ = write!(said, " (unknown counts taken as {ASSUMED_TRIPS})");
    }
    let share = |at: usize| weigh(&longest.columns[at]) / most;
    match next {
        Some(next) if share(next) >= LEAST_SHARE => {
            let head = analysis.columns[next].head(family);
            let _ = write!(said, "; next is {head} at {} of that", percent(share(next)));
        }
        Some(_) => said.push_str("; the other pipes are almost idle"),
        None => {}
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
    let worth = |advice: &&Advice| {
        advice.rule.severity == Severity::Error || advice.gain.is_some_and(|gain| gain >= WORTH)
    };
    if let Some(first) = analysis.advice.iter().find(worth) {
        let place = priced.at(first.place).map_or_else(String::new, |line| format!(", line {line}"));
        let _ = write!(said, " Change first ({}{place}): {}", first.rule.code, first.fix);
    } else if !analysis.advice.is_empty() {
        let _ = write!(said, " No advice is estimated to save {:.0}% of the cycles.", 100.0 * WORTH);
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
    let paths = rows.map(|(name, cycles)| [vec![name.to_owned()], cells(cycles)].concat());
    let table = Columns { heads, rows: [vec![emitted], paths.to_vec()].concat(), left: vec![0], keys: 1 };
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

fn loops(priced: &Priced<'_>, analysis: &Analysis, canvas: Canvas, out: &mut String) {
    if analysis.loops.is_empty() {
        return;
    }
    let family = analysis.gpu.family();
    let _ = writeln!(out, "\n{}", canvas.paint(Tone::Heading, "Loops"));
    for each in &analysis.loops {
        let block = &priced.kernel.blocks[each.header];
        let places = block.insts.iter().filter_map(|inst| priced.kernel.insts[*inst].place);
        let first = places.filter(|place| priced.line(*place) > 0).min_by_key(|place| priced.line(*place));
        let place = match priced.at(first) {
            Some(line) => format!("line {line}{}", priced.called(first)),
            None => "a loop at an unknown line".to_owned(),
        };
        let indent = "  ".repeat(each.depth as usize);
        let beside =
            analysis.columns.iter().zip(&each.iteration).filter(|(column, _)| !column.is_part(family));
        let iteration: Vec<String> = beside
            .filter(|(_, cost)| cost.as_constant() != Some(0.0))
            .map(|(column, cost)| format!("{} {}", column.head(family), figure(cost)))
            .collect();
        let iteration = if iteration.is_empty() { "nothing".to_owned() } else { iteration.join(", ") };
        let times = match &each.trips {
            Trips::Known(trips) => format!("{trips} times"),
            Trips::Follows { name, factor, constant } => {
                let times =
                    Polynomial::constant(*factor).times_name(name).plus(&Polynomial::constant(*constant));
                format!("{times} times")
            }
            Trips::Unknown { symbol, follows_from: Some(words) } => {
                format!("{symbol} times ({symbol} = {words})")
            }
            Trips::Unknown { symbol, follows_from: None } => {
                format!("{symbol} times (not known from the code)")
            }
        };
        let said = format!("{place}: repeats {times}; an iteration costs {iteration}");
        out.push_str(&paragraph(canvas, &indent, indent.len() + 2, &said));
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
    let heads =
        ["Line", "Memory", "", "Bytes", "Next item", "Next iteration", "Lines", "Used", "Align", "", ""];
    // Identical rows of one line are merged.
    let mut rows: Vec<(Vec<String>, u32)> = Vec::new();
    let mut add = |row: Vec<String>| match rows.iter_mut().find(|(known, _)| *known == row) {
        Some((_, times)) => *times += 1,
        None => rows.push((row, 1)),
    };
    let way = |writes: bool| if writes { "write" } else { "read" }.to_owned();
    for access in seen {
        let stride = |stride: Stride| match stride {
            Stride::Bytes(0) => "same".to_owned(),
            Stride::Bytes(bytes) => format!("{bytes:+} bytes"),
            Stride::Runtime => "an argument".to_owned(),
            Stride::Unknown => "unknown".to_owned(),
        };
        let next = match &access.times {
            Some(times) => format!("{} {} bytes", times.bytes, times.argument),
            None => stride(access.stride),
        };
        let verdict = match (warp, access.is_coalesced(analysis.gpu), &access.times) {
            (1, ..) => String::new(),
            (_, true, _) => "coalesced".to_owned(),
            (_, false, Some(times)) if times.lines < access.lines => {
                format!("scattered unless {} is 1", times.argument)
            }
            (_, false, _) => "scattered".to_owned(),
        };
        add(vec![
            priced.at(access.place).unwrap_or_default(),
            access.pointer.clone(),
            way(access.writes),
            access.bytes.to_string(),
            next,
            access.iteration.map_or_else(String::new, stride),
            match &access.times {
                Some(times) if times.lines < access.lines => format!("{}-{}", times.lines, access.lines),
                _ => format!("{}{}", access.lines, if access.lines_known { "" } else { "?" }),
            },
            percent(access.used),
            format!("{}{}", access.align, if access.align < access.bytes.min(16) { "?" } else { "" }),
            verdict,
        ]);
    }
    for image in &analysis.images {
        let mut row = vec![String::new(); 10];
        row[0] = priced.at(image.place).unwrap_or_default();
        (row[1], row[2], row[9]) = (image.image.clone(), way(image.writes), "image".to_owned());
        add(row);
    }
    let times = |times: u32| if times > 1 { format!("{times} times") } else { String::new() };
    let rows = rows.into_iter().map(|(mut row, count)| {
        row.push(times(count));
        row
    });
    let table = Columns {
        heads: heads.map(str::to_owned).to_vec(),
        rows: rows.collect(),
        left: vec![0, 1, 2, 9, 10],
        keys: 3,
    };
    out.push('\n');
    out.push_str(&table.draw(canvas));
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
    let note = format!(
        "{note} Align: the alignment that the code guarantees, ? if it is less than the \
        width of the access."
    );
    out.push_str(&faint(canvas, &note));
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
        let mut row = format!("{:<6}", priced.at(Some(line.place)).unwrap_or_default());
        for at in &beside {
            let _ = write!(row, " {:>FIGURE$}", line.columns[*at].to_string());
        }
        let room = canvas.width.saturating_sub(row.chars().count() + 2);
        let code: String = priced.text_of(line.place).chars().take(room).collect();
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

/// A table for each family: one row per GPU.
fn table(analyses: &[Analysis], canvas: Canvas) -> String {
    let mut out = String::new();
    if let Some(first) = analyses.first() {
        let _ = writeln!(out, "{}", canvas.paint(Tone::Heading, &first.kernel));
    }
    for cells in tables(analyses) {
        let mut cells = cells.into_iter();
        let heads = cells.next().unwrap_or_default();
        out.push('\n');
        out.push_str(&Columns { heads, rows: cells.collect(), left: vec![0], keys: 1 }.draw(canvas));
    }
    out.push_str("\nCycles of one core per work-item on the longest path.\n");
    let mut left_out: Vec<&str> = Vec::new();
    for what in analyses.iter().flat_map(|analysis| &analysis.left_out) {
        if !left_out.contains(&what.as_str()) {
            left_out.push(what);
        }
    }
    if !left_out.is_empty() {
        out.push_str(&paragraph(canvas, "", 0, &format!("Left out: {}.", left_out.join("; "))));
    }
    out
}

/// For each family, in the order of its first GPU: headings, and one row per GPU.
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
