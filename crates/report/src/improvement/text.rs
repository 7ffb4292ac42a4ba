//! Text: a table for each GPU, then what each step changes.

use std::fmt::Write as _;

use tripipe_results::{Improved, ImprovementStep, RefusedRewrite};

use crate::number::{counted, significant, time};
use crate::simulation::band;
use crate::style::{Canvas, Tone, bar, paragraph};
use crate::table::Columns;

/// Refused rewrites that are shown if not all are wanted.
const REFUSED: usize = 6;
/// Characters of the longest bar.
const BAR: usize = 10;

/// The ladder of a kernel. All refused rewrites are listed if `all`, else the first ones.
pub fn text(improved: &Improved, all: bool, canvas: Canvas) -> String {
    let mut out = String::new();
    let title = format!("{} of {}, {}", improved.kernel, improved.program, extent(improved));
    let _ = writeln!(out, "{}\n", canvas.paint(Tone::Heading, &title));
    table(improved, canvas, &mut out);
    out.push('\n');
    if improved.is_rough {
        out.push_str(&paragraph(canvas, "", 0, ROUGH));
        out.push('\n');
    }
    for note in &improved.notes {
        out.push_str(&paragraph(canvas, "", 0, note));
    }
    steps(improved, canvas, &mut out);
    list("Holds if:", &improved.conditions, canvas, &mut out);
    list("In the host's code:", &improved.host, canvas, &mut out);
    refused(improved, all, canvas, &mut out);
    canvas.shown(out)
}

/// How much is launched.
pub(crate) fn extent(improved: &Improved) -> String {
    if improved.launches != 1 {
        return counted(improved.launches, "launch");
    }
    let extents: Vec<String> = improved.global.iter().map(u64::to_string).collect();
    format!("{} work-items", extents.join(" x "))
}

/// What is said of times that are not those of `simulate`.
pub(crate) const ROUGH: &str = "These times are rough: the time limit left none to predict them as `tripipe simulate` does; a larger `--limit` does.";

fn table(improved: &Improved, canvas: Canvas, out: &mut String) {
    let heads =
        ["step", "GPU", "time", "expected", "x first", "registers", "words", "limited by", "groups of"];
    let row = |step: &ImprovementStep| {
        let spills = if step.spill_bytes == 0 { String::new() } else { format!(" +{} B", step.spill_bytes) };
        let last = step.local.iter().rposition(|side| *side > 1).unwrap_or(0);
        let sides: Vec<String> = step.local[..=last].iter().map(u64::to_string).collect();
        vec![
            step.name.clone(),
            step.gpu.clone(),
            time(step.seconds),
            step.error_band.map_or_else(|| "-".to_owned(), band),
            significant(step.speedup),
            format!("{}{spills}", step.registers),
            step.words.to_string(),
            step.limiter.clone(),
            sides.join("x"),
        ]
    };
    let rows = improved.steps.iter().map(row).collect();
    let table = Columns { heads: heads.map(str::to_owned).to_vec(), rows, left: vec![0, 1, 7, 8], keys: 2 };
    out.push_str(&table.draw(canvas));
    if improved.steps.iter().any(|step| step.error_band.is_none()) {
        let why = if improved.is_rough {
            "too little of the launch was played, or no measurements of the GPU's family are published"
        } else {
            "no measurements of the GPU's family are published that predictions could be compared with"
        };
        let said =
            format!("Expected, -: {why}: how far a measurement may be from the predicted time is not known.");
        out.push_str(&paragraph(canvas, "", 0, &said));
    }
}

fn steps(improved: &Improved, canvas: Canvas, out: &mut String) {
    let [gpu, ..] = &improved.gpus[..] else { return };
    let own: Vec<&ImprovementStep> = improved.steps_on(gpu).collect();
    if own.len() < 2 && improved.tried < 2 && improved.out_of_time {
        let said = "The time was over before anything was tried; a larger `--limit` gives it some.";
        out.push_str(&paragraph(canvas, "", 0, said));
        return;
    }
    if own.len() < 2 && improved.tried < 2 {
        out.push_str(&paragraph(canvas, "", 0, "Nothing to try: no rewrite applies to this kernel."));
        return;
    }
    if own.len() < 2 {
        let ended = if improved.out_of_time { "in the time that was given" } else { "by 3 % or more" };
        let said =
            format!("Nothing gains {ended}: {}.", counted(improved.tried.saturating_sub(1), "rewrite"));
        out.push_str(&paragraph(canvas, "", 0, &said.replace(": ", ", of ")));
        return;
    }
    let _ =
        writeln!(out, "{}", canvas.paint(Tone::Heading, "What each step changes, and the least speed-up"));
    let width = own.iter().map(|step| step.name.chars().count()).max().unwrap_or(0);
    let count = own.len();
    // A step has to be worth it on every GPU, so the worst counts.
    let least = |index: usize| {
        let of = improved.gpus.iter().filter_map(|gpu| improved.steps_on(gpu).nth(index));
        of.map(|step| step.speedup).fold(f64::INFINITY, f64::min)
    };
    let most = (0..count).map(least).fold(1.0, f64::max);
    for (index, step) in own.into_iter().enumerate() {
        let speedup = least(index);
        let factor = format!("{speedup:.2}x");
        let drawn = bar(speedup / most, BAR);
        let room = " ".repeat(BAR.saturating_sub(drawn.chars().count()));
        let first = format!("  {:<width$} {factor:>6} {drawn}{room} ", step.name);
        let indent = first.chars().count();
        let said = if step.title.is_empty() {
            "as written".to_owned()
        } else {
            format!("{}: {}. Verified: {}", step.title, step.why.trim_end_matches('.'), proof(step))
        };
        out.push_str(&paragraph(canvas, &first, indent, &said));
    }
}

/// How a step was verified.
pub(crate) fn proof(step: &ImprovementStep) -> String {
    let same = if step.relative_error > 0.0 {
        format!("within {:e} of them, relative to the value and to the mean magnitude", step.relative_error)
    } else {
        "the same".to_owned()
    };
    let whole =
        if step.given_launch { ", the given one among them" } else { ", all smaller than the given one" };
    format!("{} {same} on {}{whole}.", counted(step.values, "value"), counted(step.launches, "launch"))
}

fn list(title: &str, sentences: &[String], canvas: Canvas, out: &mut String) {
    if !sentences.is_empty() {
        let _ = writeln!(out, "\n{}", canvas.paint(Tone::Heading, title));
        for sentence in sentences {
            out.push_str(&paragraph(canvas, "  - ", 4, &format!("{sentence}.")));
        }
    }
}

fn refused(improved: &Improved, all: bool, canvas: Canvas, out: &mut String) {
    if improved.refused.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", canvas.paint(Tone::Heading, "Tried and not applied"));
    // A rewrite that is wrong says most, then one that an option allows.
    let mut sorted: Vec<_> = improved.refused.iter().collect();
    sorted.sort_by_key(|refused| match refused.kind.as_str() {
        "wrong" => 0,
        "rounding" => 1,
        "impossible" => 2,
        _ => 3,
    });
    // Variants of one rewrite that failed alike are one line.
    let mut alike: Vec<(&RefusedRewrite, usize)> = Vec::new();
    for refused in sorted {
        let is_alike = |it: &RefusedRewrite| it.name == refused.name && it.kind == refused.kind;
        match alike.iter_mut().find(|(first, _)| !all && is_alike(first)) {
            Some((_, others)) => *others += 1,
            None => alike.push((refused, 0)),
        }
    }
    let shown = if all { alike.len() } else { REFUSED.min(alike.len()) };
    for (refused, others) in &alike[..shown] {
        let after = if refused.depth == 0 { String::new() } else { format!(" after step {}", refused.depth) };
        let kind = match refused.kind.as_str() {
            // What is not slower gains too little.
            "slower" => "no gain",
            "rounding" => "needs --allow-rounding",
            kind => kind,
        };
        let more = match others {
            0 => String::new(),
            1 => " (and a variant of it)".to_owned(),
            others => format!(" (and {others} variants of it)"),
        };
        let said = format!("{}, {}{after}: {kind}: {}{more}.", refused.name, refused.title, refused.reason);
        out.push_str(&paragraph(canvas, "  - ", 4, &said));
    }
    if shown < alike.len() || alike.iter().any(|(_, others)| *others > 0) {
        let left: usize = alike[shown..].iter().map(|(_, others)| others + 1).sum();
        let said = if left > 0 {
            format!("and {left} more (--verbose lists all)")
        } else {
            "--verbose lists all".to_owned()
        };
        let _ = writeln!(out, "  {said}");
    }
}
