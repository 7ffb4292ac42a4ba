//! The schedule as text.

use std::fmt::Write as _;

use tripipe_device::Sourced;
use tripipe_timing::schedule::{Buffers, Calls, ScheduleStep, StepKind};

use super::{Scheduled, ScheduledKernel};
use crate::number::{counted, giga, percent, significant, time};
use crate::simulation::band;
use crate::style::{Canvas, Tone, paragraph};
use crate::why::{aligned, gain, name};

/// Where the time goes, the steps line by line, the kernels, and the same launches with other calls.
pub fn text(scheduled: &Scheduled, canvas: Canvas) -> String {
    let mut out = String::new();
    let schedule = &scheduled.schedule;
    let launches = schedule.steps.iter().filter(|step| step.kind == StepKind::Kernel).count();
    let title = format!(
        "{} on {}: {}, {}",
        scheduled.file,
        scheduled.device,
        counted(launches as u64, "launch"),
        time(schedule.seconds)
    );
    let _ = writeln!(out, "{}", canvas.paint(Tone::Heading, &title));
    out.push_str(&paragraph(canvas, "", 0, &whole(scheduled)));
    if let Some(costs) = costs(scheduled) {
        out.push_str(&paragraph(canvas, "", 0, &costs));
    }
    if let Some(modelled) = scheduled.modelled {
        let off = modelled / schedule.seconds.max(f64::MIN_POSITIVE) - 1.0;
        let said = format!(
            "The model of the schedule makes {} of these kernels and the measured time of a launch, {} {} than measured.",
            time(modelled),
            percent(off.abs()),
            if off < 0.0 { "less" } else { "more" }
        );
        out.push_str(&paragraph(canvas, "", 0, &said));
    }
    out.push('\n');
    steps(scheduled, &mut out);
    out.push('\n');
    kernels(scheduled, canvas, &mut out);
    if !scheduled.otherwise.is_empty() {
        out.push('\n');
        otherwise(scheduled, &mut out);
    }
    for note in &scheduled.notes {
        let _ = writeln!(out, "note: {note}");
    }
    canvas.shown(out)
}

/// Several GPUs, the fastest first; nothing for one.
pub fn ranking(all: &[Scheduled], canvas: Canvas) -> String {
    let mut ranked: Vec<&Scheduled> = all.iter().collect();
    ranked.sort_by(|a, b| a.schedule.seconds.total_cmp(&b.schedule.seconds));
    let (Some(first), true) = (ranked.first(), ranked.len() > 1) else { return String::new() };
    let heads = ["time", "expected", "first x", "kernels", "copies", "launches", "a launch", "GPU"];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(ranked.iter().map(|each| {
        let (seconds, parts) = (each.schedule.seconds.max(f64::MIN_POSITIVE), each.schedule.parts());
        let cost = each.calls.as_ref().map(|(_, costs)| &costs.launch);
        [
            time(each.schedule.seconds),
            each.band.map_or_else(|| "-".to_owned(), band),
            significant(seconds / first.schedule.seconds.max(f64::MIN_POSITIVE)),
            percent(parts.kernel / seconds),
            percent(parts.copy / seconds),
            percent(parts.launch / seconds),
            cost.map_or_else(String::new, |cost| format!("{} {}", time(cost.value), cost.basis)),
            each.device.clone(),
        ]
    }));
    let mut out = canvas.paint(Tone::Heading, &format!("{} on each GPU", first.file));
    out.push('\n');
    out.push_str(&aligned(&rows, &[false, false, false, false, false, false, true, true]));
    out.push('\n');
    canvas.shown(out)
}

/// Where the time goes, in sentences.
fn whole(scheduled: &Scheduled) -> String {
    let schedule = &scheduled.schedule;
    let parts = schedule.parts();
    let share = |seconds: f64| percent(seconds / schedule.seconds.max(f64::MIN_POSITIVE));
    let kernel = share(parts.kernel);
    match &scheduled.calls {
        Some((calls, _)) => format!(
            "Predicted, with {}{}{}. Of the time, kernels take {kernel}, copies {}, launches {}, waiting {}: each counts where \
            nothing of those before it happens. The host works in {} of the time.",
            words(*calls),
            match scheduled.queues.len() {
                0 | 1 => String::new(),
                count => format!(
                    "; {count} queues with a host thread each, and a GPU that does one command at a time"
                ),
            },
            scheduled.band.map_or_else(String::new, |ends| format!(
                "; {} expected, by the errors of the kernels",
                band(ends)
            )),
            share(parts.copy),
            share(parts.launch),
            share(parts.wait),
            percent(schedule.host_share())
        ),
        None => format!(
            "Measured by {}, from the first call to the end of the last kernel. Kernels take {kernel}, launches {} \
            and the rest {}.",
            if scheduled.modelled.is_some() {
                "the device's clock"
            } else {
                "the host's clock, in the simulator"
            },
            share(parts.launch),
            share(parts.wait)
        ),
    }
}

fn words(calls: Calls) -> String {
    let wait = if calls.blocking { ", and a host that waits for every call" } else { "" };
    let recorded = if calls.recorded { ", recorded launches" } else { "" };
    let queue = if calls.one_queue { ", all in one queue" } else { "" };
    format!("buffers by {}{recorded}{wait}{queue}", calls.buffers.name())
}

/// What the calls cost, and who says so.
fn costs(scheduled: &Scheduled) -> Option<String> {
    let (calls, costs) = scheduled.calls.as_ref()?;
    let source = |figure: &Sourced<f64>| {
        let note = figure.note.as_ref().map_or_else(String::new, |note| format!("; {note}"));
        format!("{}: {}{note}", figure.basis, figure.source.citation)
    };
    let mut said =
        format!("A launch costs the host {} ({}).", time(costs.launch.value), source(&costs.launch));
    if let Some(recorded) = &costs.recorded_launch {
        let _ = write!(said, " Recorded, it costs {} ({}).", time(recorded.value), source(recorded));
    }
    let rate = |figure: &Sourced<f64>| format!("{} ({})", giga(figure.value, "B"), source(figure));
    match (calls.buffers, &costs.maintenance_rate) {
        (Buffers::Copy, _) => {
            let copies = rate(&costs.copy_rate);
            let _ = write!(
                said,
                " A copy runs at {copies}, half of the memory's peak; its call costs as much as a launch."
            );
        }
        (Buffers::Map, Some(maintenance)) => {
            let _ = write!(said, " Caches are flushed at {}.", rate(maintenance));
        }
        _ => {}
    }
    Some(said)
}

/// The steps by start. Of repetitions, only the first one.
fn steps(scheduled: &Scheduled, out: &mut String) {
    let mut rows = vec![["start", "time", "on", "what"].map(str::to_owned)];
    let all = &scheduled.schedule.steps;
    let mut shown: Vec<(StepKind, Option<usize>, &str)> = Vec::new();
    let mut repeated: Vec<(usize, &ScheduleStep)> = Vec::new();
    for step in all {
        // Two calls map the same memory, and blocking calls wait often: only launches repeat.
        let key = (step.kind, step.launch, step.name.as_str());
        let may_repeat = step.launch.is_some() || step.kind == StepKind::Wait;
        if may_repeat && shown.contains(&key) {
            match repeated.iter_mut().find(|(_, last)| (last.kind, last.launch) == (step.kind, step.launch)) {
                Some((count, last)) => (*count, *last) = (*count + 1, step),
                None => repeated.push((1, step)),
            }
            continue;
        }
        shown.push(key);
        rows.push([
            time(step.start),
            time(step.seconds),
            scheduled.queue(step).map_or_else(
                || Scheduled::place(step).to_owned(),
                |queue| format!("{} {queue}", Scheduled::place(step)),
            ),
            scheduled.about(step),
        ]);
    }
    out.push_str(&aligned(&rows, &[false, false, true, true]));
    for (count, last) in repeated {
        let what = format!("{} {}", last.kind.name(), last.name);
        let _ = writeln!(out, "{count} more: {}; the last one ends at {}", what.trim_end(), time(last.end()));
    }
}

fn kernels(scheduled: &Scheduled, canvas: Canvas, out: &mut String) {
    let all = scheduled.schedule.seconds;
    let dash = || "-".to_owned();
    let times = |rest: f64| gain(all, rest).map_or_else(dash, |gain| format!("{}x", significant(gain)));
    let heads =
        ["time", "share", "launches", "each", "limited by", "of ceiling", "at ceiling", "if free", "kernel"];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(scheduled.kernels.iter().map(|kernel: &ScheduledKernel| {
        let predicted = kernel.launch.predicted.as_ref();
        [
            time(kernel.seconds),
            percent(kernel.seconds / all.max(f64::MIN_POSITIVE)),
            kernel.launch.launches.to_string(),
            time(kernel.seconds / kernel.launch.launches.max(1) as f64),
            predicted.map_or_else(dash, |predicted| predicted.limiter.clone()),
            predicted.map_or_else(dash, |predicted| {
                format!("{} of {}", percent(predicted.ceiling.1), predicted.ceiling.0)
            }),
            kernel.at_ceiling.map_or_else(dash, times),
            times(kernel.if_free),
            name(&kernel.launch),
        ]
    }));
    out.push_str(&aligned(&rows, &[false, false, false, false, true, false, false, false, true]));
    let said = "at ceiling, if free: how many times as fast the application is with this kernel at its ceiling or without \
        its time, and all else as it is.";
    out.push_str(&paragraph(canvas, "", 0, said));
}

fn otherwise(scheduled: &Scheduled, out: &mut String) {
    let all = scheduled.schedule.seconds;
    let mut rows = vec![["time", "gain", "with"].map(str::to_owned)];
    rows.extend(scheduled.otherwise.iter().map(|(calls, seconds)| {
        let gain =
            gain(all, *seconds).map_or_else(|| "-".to_owned(), |gain| format!("{}x", significant(gain)));
        [time(*seconds), gain, words(*calls)]
    }));
    out.push_str(&aligned(&rows, &[false, false, true]));
}
