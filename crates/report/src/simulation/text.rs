//! Text: one GPU in full, several side by side.

use std::fmt::Write as _;

use tripipe_device::Gpu;
use tripipe_timing::{Limiter, Prediction, Resource, errors};

use super::limits::{exists, head, limiter, verdict, what};
use super::{LocalBy, Predicted, Simulated, Simulation, gain, other_results};
use crate::number::{bytes, counted, grouped, percent, significant, time};
use crate::style::{Canvas, Tone, bar, paragraph};
use crate::table::Columns;

/// Characters before a bar.
const AHEAD: usize = 34;
/// Characters of the longest bar.
const BAR: usize = 46;
/// Characters of the name of a fact.
const NAME: usize = 12;
/// Changes of the time below this are shown as none.
const SAME: f64 = 0.005;

/// A kernel on one GPU, or a table of several, the fastest first.
pub fn text(simulation: &Simulation<'_>, canvas: Canvas) -> String {
    let mut out = String::new();
    match simulation.gpus {
        [Simulated { gpu: _, outcome: Ok(predicted) }] => {
            single(simulation, &simulation.gpus[0], predicted, canvas, &mut out);
        }
        gpus => several(simulation, gpus, canvas, &mut out),
    }
    for each in simulation.gpus {
        if let Ok(Predicted { counters: Some(counters), .. }) = &each.outcome {
            out.push('\n');
            out.push_str(&crate::counters::text(counters, each.gpu.name(), canvas));
        }
    }
    for each in simulation.gpus {
        if let Ok(Predicted { energy: Some(energy), .. }) = &each.outcome {
            out.push('\n');
            out.push_str(&paragraph(canvas, "", 0, &super::energy::sentence(energy, each.gpu.name())));
        }
    }
    if simulation.guessed {
        let said = "Memory is guessed from the kernel and the global size, and so are arguments that are not given \
            (--arg). `tripipe template` writes a launch file to correct.";
        out.push('\n');
        out.push_str(&paragraph(canvas, "", 0, said));
    }
    if !simulation.left_out.is_empty() {
        out.push('\n');
        let said = format!("Left out: {}.", simulation.left_out.join("; "));
        out.push_str(&paragraph(canvas, "", 0, &said));
    }
    canvas.shown(out)
}

fn single(
    simulation: &Simulation<'_>,
    each: &Simulated,
    predicted: &Predicted,
    canvas: Canvas,
    out: &mut String,
) {
    let (gpu, prediction) = (each.gpu, &predicted.prediction);
    let title = format!("{} on {}: {}", simulation.kernel, gpu.name(), time(prediction.seconds));
    let _ = writeln!(out, "{}", canvas.paint(Tone::Heading, &title));
    out.push_str(&paragraph(canvas, "", 0, &trust(each, prediction)));
    let verdict = verdict(prediction, gpu) + &warnings(prediction);
    out.push_str(&paragraph(canvas, "", 0, &verdict));
    out.push('\n');
    facts(prediction, predicted, each, canvas, out);
    out.push('\n');
    bars(prediction, each, canvas, out);
    what_if(each, predicted, canvas, out);
}

/// The time, what limits it and who chose the work-groups, in a sentence.
pub(crate) fn sentence(predicted: &Predicted, gpu: &Gpu) -> String {
    let prediction = &predicted.prediction;
    let chosen = if predicted.local_by == LocalBy::Driver { " (the driver's choice)" } else { "" };
    let expected = match prediction.error_band {
        Some(ends) => format!("{} expected", band(ends)),
        None => format!(
            "no measurements of {} GPUs are published: how far one may be from this is not known",
            errors::family_name(gpu)
        ),
    };
    format!(
        "Predicted time: {} ({expected}), limited by {}, in work-groups of {}{chosen}; `tripipe simulate` shows \
        more.{}",
        time(prediction.seconds),
        limiter(prediction.limiter(), gpu),
        extents(prediction.local),
        warnings(prediction)
    )
}

/// What a work-group that is larger than the modelled limit means; `None` for all others.
pub(super) fn over_limit(prediction: &Prediction) -> Option<String> {
    let limit = prediction.modelled_limit?;
    let items: u64 = prediction.local.iter().product();
    Some(format!(
        "Warning: with the registers of this model, work-groups have at most {limit} work-items, not {items}. Drivers' \
        compilers may use fewer; a driver that does not refuses the launch."
    ))
}

/// What a reader must know of a launch besides its time, with a space before; empty for most.
fn warnings(prediction: &Prediction) -> String {
    let limit = over_limit(prediction).map_or_else(String::new, |warning| format!(" {warning}"));
    too_long(prediction) + &limit
}

/// What happens to a launch that takes too long, with a space before; empty for all others.
fn too_long(prediction: &Prediction) -> String {
    let watchdog = prediction.watchdog_seconds;
    if watchdog <= 0.0 || prediction.seconds <= watchdog {
        return String::new();
    }
    format!(
        " This is too long: the driver's watchdog stops a launch after about {}, and its results are lost. Divide it into \
        several.",
        time(watchdog)
    )
}

/// How far a measurement may be from the prediction, and how that is known.
fn trust(each: &Simulated, prediction: &Prediction) -> String {
    match (prediction.error_band, errors::of(each.gpu)) {
        (Some(ends), Some(table)) => {
            let none = if errors::is_own_family(each.gpu) {
                String::new()
            } else {
                format!("; none of {} are", each.gpu.family())
            };
            format!(
                "A measurement is expected within {} (the errors of {} published times of {} GPUs{none}).",
                band(ends),
                table.count,
                errors::family_name(each.gpu)
            )
        }
        _ => not_compared(each.gpu),
    }
}

/// What is known of the errors of predictions for a GPU of whose family no figures are published.
pub fn not_compared(gpu: &Gpu) -> String {
    format!(
        "No measurements of {} GPUs are published that predictions could be compared with: how far a measurement may be \
        from the predicted time is not known.",
        errors::family_name(gpu)
    )
}

fn facts(prediction: &Prediction, predicted: &Predicted, each: &Simulated, canvas: Canvas, out: &mut String) {
    let gpu = each.gpu;
    let items = prediction.global.iter().product::<u64>().max(1);
    let chosen = match predicted.local_by {
        LocalBy::Launch => "as the launch says",
        LocalBy::Kernel => "as the kernel requires",
        LocalBy::Driver => "the driver's choice",
    };
    let spills = match predicted.spill_bytes {
        0 => "none spilled".to_owned(),
        spilled => format!("{spilled} bytes spilled"),
    };
    let traffic = &prediction.traffic;
    let hits = |hits: u64, all: u64| percent(hits as f64 / all.max(1) as f64);
    let mut caches = Vec::new();
    for (name, hit, all) in [
        ("L1", traffic.l1_hits, traffic.l1_accesses),
        ("texture cache", traffic.texture_hits, traffic.texture_accesses),
        ("L2", traffic.l2_hits, traffic.l2_accesses),
    ] {
        if all > 0 {
            caches.push(format!("{name} {}", hits(hit, all)));
        }
    }
    let caches = if caches.is_empty() { "no line is requested".to_owned() } else { caches.join(", ") };
    // The bytes of the work-groups that were played, for all of them.
    let scale = prediction.groups as f64 / prediction.played.max(1) as f64;
    let whole = |played: u64| (played as f64 * scale) as u64;
    let (read, written) = (whole(traffic.dram_read_bytes), whole(traffic.dram_written_bytes));
    let rate = (read + written) as f64 / prediction.seconds.max(f64::MIN_POSITIVE) * 1e-9;
    let played = if prediction.played >= prediction.groups {
        "all work-groups".to_owned()
    } else {
        format!(
            "{} of {} work-groups, the others at their rate (within {}); --exact plays all",
            grouped(prediction.played),
            grouped(prediction.groups),
            percent(prediction.sampling_error)
        )
    };
    let all = [
        ("Work-items", format!("{} = {}", extents(prediction.global), grouped(items))),
        ("Work-groups", format!("{} of {}, {chosen}", grouped(prediction.groups), extents(prediction.local))),
        (
            "Cycles",
            format!(
                "{} at {} MHz, {} for a work-item on {}",
                grouped(prediction.cycles as u64),
                gpu.configuration.clock_mhz.value,
                significant(prediction.cycles / items as f64),
                counted(u64::from(gpu.configuration.cores.value), "core")
            ),
        ),
        ("Launch", format!("{} more on the host", time(prediction.launch_seconds))),
        (
            "Registers",
            format!("{} of {} bits, {spills}", prediction.registers, gpu.registers.width_bits.value),
        ),
        (
            "Occupancy",
            format!(
                "{} of {} threads of a core fit, {} of them are occupied on average{}",
                prediction.threads,
                gpu.core.max_threads.value,
                // Occupancy is a share of all threads of a core, but this sentence is about those that fit.
                percent(
                    prediction.occupancy * f64::from(gpu.core.max_threads.value)
                        / f64::from(prediction.threads.max(1))
                ),
                partial_warps(prediction.local, gpu)
            ),
        ),
        ("Cache hits", caches),
        (
            "DRAM",
            format!(
                "{} read, {} written: {} GB/s",
                bytes(rounded(read)),
                bytes(rounded(written)),
                significant(rate)
            ),
        ),
        ("Played", played),
    ];
    for (name, fact) in all {
        let first = canvas.paint(Tone::Faint, &format!("{name:<NAME$} "));
        out.push_str(&paragraph(canvas, &first, NAME + 1, &fact));
    }
}

/// How many threads of a work-group's warps have a work-item, if not all.
fn partial_warps(local: [u64; 3], gpu: &Gpu) -> String {
    let (items, width) = (local.iter().product::<u64>(), u64::from(gpu.core.warp_width.value));
    let threads = items.next_multiple_of(width.max(1));
    if items == threads {
        return String::new();
    }
    format!("; {items} of {threads} in the warps of a work-group have a work-item")
}

/// `1.56 to 1.91 ms`; each end with its unit if they differ.
pub(crate) fn band([least, most]: [f64; 2]) -> String {
    let (least, most) = (time(least), time(most));
    match (least.split_once(' '), most.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {most}"),
        _ => format!("{least} to {most}"),
    }
}

/// Large numbers of bytes to whole KiB, so that units stay short.
fn rounded(bytes: u64) -> u64 {
    if bytes < 10 << 10 { bytes } else { bytes & !0x3ff }
}

/// The share of each ceiling.
fn bars(prediction: &Prediction, each: &Simulated, canvas: Canvas, out: &mut String) {
    let gpu = each.gpu;
    let limit = prediction.limiter();
    let room = canvas.width.saturating_sub(AHEAD).min(BAR);
    let _ = writeln!(out, "{}", canvas.paint(Tone::Heading, "Busy, as a share of the time"));
    for (resource, share) in Resource::ALL.into_iter().zip(prediction.shares) {
        if !exists(resource, gpu) {
            continue;
        }
        let line = format!("{:<6} {:<18} {:>6}  ", head(resource, gpu), what(resource, gpu), percent(share));
        // `bar` draws at least an eighth, which would make 0 look like something.
        let drawn = if share < 0.0005 { String::new() } else { bar(share, room) };
        let tone = if limit == Limiter::Resource(resource) { Tone::Best } else { Tone::Plain };
        let _ = writeln!(out, "{}", format!("{line}{}", canvas.paint(tone, &drawn)).trim_end());
    }
}

fn several(simulation: &Simulation<'_>, gpus: &[Simulated], canvas: Canvas, out: &mut String) {
    let mut ranked: Vec<(&Simulated, &Predicted)> =
        gpus.iter().filter_map(|each| Some((each, each.outcome.as_ref().ok()?))).collect();
    ranked.sort_by(|a, b| a.1.prediction.seconds.total_cmp(&b.1.prediction.seconds));
    let title = format!("{}, {} work-items", simulation.kernel, extents(simulation.global));
    let _ = writeln!(out, "{}", canvas.paint(Tone::Heading, &title));
    if let Some((_, fastest)) = ranked.first() {
        out.push('\n');
        let heads = ["GPU", "time", "expected", "first x", "limited by", "local", "threads"];
        let rows = ranked.iter().map(|(each, predicted)| {
            let prediction = &predicted.prediction;
            let share = match prediction.limiter() {
                Limiter::Resource(resource) => Resource::ALL
                    .into_iter()
                    .zip(prediction.shares)
                    .find(|(other, _)| *other == resource)
                    .map_or_else(String::new, |(_, share)| format!(" {}", percent(share))),
                Limiter::Latency | Limiter::Launch => String::new(),
            };
            let driver = if predicted.local_by == LocalBy::Driver { "*" } else { "" };
            vec![
                each.gpu.name().to_owned(),
                time(prediction.seconds),
                prediction.error_band.map_or_else(|| "-".to_owned(), band),
                significant(prediction.seconds / fastest.prediction.seconds),
                format!("{}{share}", limiter(prediction.limiter(), each.gpu)),
                format!("{}{driver}", compact(prediction.local)),
                percent(prediction.occupancy),
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let table = Columns { heads: heads.map(str::to_owned).to_vec(), rows, left: vec![0, 4, 5], keys: 1 };
        out.push_str(&table.draw(canvas));
        out.push('\n');
        if ranked.iter().any(|(_, predicted)| predicted.local_by == LocalBy::Driver) {
            out.push_str("* the driver's choice: the launch names no work-group size.\n");
        }
        let mut unknown: Vec<String> = Vec::new();
        for (each, _) in ranked.iter().filter(|(_, predicted)| predicted.prediction.error_band.is_none()) {
            let said = not_compared(each.gpu);
            if !unknown.contains(&said) {
                out.push_str(&paragraph(canvas, "", 0, &said));
                unknown.push(said);
            }
        }
        out.push_str(&paragraph(canvas, "", 0, &limits(&ranked)));
        let stopped: Vec<&str> = ranked
            .iter()
            .filter(|(_, predicted)| !too_long(&predicted.prediction).is_empty())
            .map(|(each, _)| each.gpu.name())
            .collect();
        if !stopped.is_empty() {
            let said = format!("Too long, so that drivers stop the launch: {}.", stopped.join(", "));
            out.push_str(&paragraph(canvas, "", 0, &said));
        }
        let legend = "Percentages: how long the limit is busy; the share of a core's threads that are occupied. First x: \
            the time as a multiple of the fastest.";
        out.push_str(&paragraph(canvas, "", 0, legend));
    }
    for each in gpus {
        if let Err(error) = &each.outcome {
            out.push('\n');
            let said = format!("{} cannot run it: {error}", each.gpu.name());
            out.push_str(&paragraph(canvas, "", 2, &said));
        }
    }
    for (each, predicted) in ranked {
        what_if(each, predicted, canvas, out);
    }
}

/// Which GPUs are limited by what: `LS limits Mali-T604; DRAM limits Mali-G77, Adreno 640.`
fn limits(ranked: &[(&Simulated, &Predicted)]) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (each, predicted) in ranked {
        let name = limiter(predicted.prediction.limiter(), each.gpu);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, gpus)) => gpus.push(each.gpu.name()),
            None => groups.push((name, vec![each.gpu.name()])),
        }
    }
    let said: Vec<String> =
        groups.iter().map(|(name, gpus)| format!("{name} limits {}", gpus.join(", "))).collect();
    format!("{}.", said.join("; "))
}

fn what_if(each: &Simulated, predicted: &Predicted, canvas: Canvas, out: &mut String) {
    if predicted.what_if.is_empty() {
        return;
    }
    let before = &predicted.prediction;
    let _ = writeln!(out, "\n{}", canvas.paint(Tone::Heading, &format!("What if, on {}", each.gpu.name())));
    let rows = predicted.what_if.iter().map(|repriced| match &repriced.outcome {
        Ok(after) => {
            let gain = gain(before, after);
            let said = if (gain - 1.0).abs() < SAME {
                "no change".to_owned()
            } else if gain > 1.0 {
                format!("{}x faster", significant(gain))
            } else {
                format!("{}x slower", significant(1.0 / gain))
            };
            let other = repriced.results(before).and_then(other_results);
            let said = other.map_or(said.clone(), |other| format!("{said}, {other}"));
            vec![
                repriced.change.clone(),
                time(after.seconds),
                said,
                format!("limited by {}", limiter(after.limiter(), each.gpu)),
                format!("local {}", compact(after.local)),
            ]
        }
        Err(_) => vec![repriced.change.clone(), String::new(), "not possible".to_owned()],
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let heads = ["change", "time", "", "", ""].map(str::to_owned).to_vec();
    out.push_str(&Columns { heads, rows, left: vec![0, 3, 4], keys: 1 }.draw(canvas));
    for repriced in &predicted.what_if {
        if let Err(error) = &repriced.outcome {
            out.push_str(&paragraph(canvas, "", 2, &format!("{}: {error}", repriced.change)));
        }
        if let Some(other) = repriced.results(before).and_then(other_results) {
            let said = format!(
                "{}: it stores {other}, so the times do not compare. Write the sizes of the launch file as expressions, \
                 such as global = \"1024 * WG\".",
                repriced.change
            );
            out.push_str(&paragraph(canvas, "", 2, &said));
        }
    }
}

/// `7680 x 4320`; extents of 1 at the end are left out.
fn extents(sizes: [u64; 3]) -> String {
    joined(sizes, " x ")
}

/// `8x8`.
fn compact(sizes: [u64; 3]) -> String {
    joined(sizes, "x")
}

fn joined(sizes: [u64; 3], between: &str) -> String {
    let last = sizes.iter().rposition(|size| *size > 1).unwrap_or(0);
    sizes[..=last].iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}
