//! The launches of an application as a timeline, one after the other.

use tripipe_trace::{
    Arguments, Command, CommandKind, GpuQueue, GpuTimeline, KernelLaunch, Process, Slice, Timeline, Track,
};

use super::{RankedLaunch, Why};
use crate::number::{percent, time};

/// Two processes: the launches with predicted times, in the order of the launch files, and those of traces with measured
/// times, in the order of their starts. Each starts where the one before ends, so what the application did in between
/// is not shown. What bounds a launch is in its arguments.
pub fn timeline(why: &Why) -> Timeline {
    let mut processes = Vec::new();
    if why.in_order.iter().any(|launch| launch.predicted.is_some()) {
        processes.push(predicted(why));
    }
    if !why.measured.is_empty() {
        processes.push(measured(why));
    }
    let about = "one after the other; what the application did in between is not shown";
    Timeline { facts: Arguments::default().with("launches", about), processes }
}

/// Nanoseconds of seconds that are not negative.
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

fn predicted(why: &Why) -> Process {
    let mut now = 0.0;
    let mut commands = Vec::new();
    for launch in &why.in_order {
        let Some(times) = &launch.predicted else { continue };
        let mut arguments = bounds(launch);
        if let Some(file) = &launch.file {
            arguments.push("launch file", file.clone());
        }
        let kernel = KernelLaunch {
            global: launch.global.unwrap_or([1; 3]),
            local: Some(times.local),
            ..KernelLaunch::default()
        };
        commands.push(Command {
            name: format!("{} (predicted)", launch.kernel),
            kind: CommandKind::Kernel(kernel),
            start_ns: nanoseconds(now),
            // The difference of rounded ends, so that slices never overlap.
            duration_ns: nanoseconds(now + times.seconds) - nanoseconds(now),
            arguments,
        });
        // The next one waits for the host.
        now += times.seconds.max(times.launch_seconds);
    }
    let queue = GpuQueue { name: "launches (predicted)".to_owned(), commands };
    Process {
        name: format!("{} (predicted)", why.gpu.name()),
        labels: vec!["times are predicted by a model".to_owned()],
        gpu: Some(GpuTimeline { queues: vec![queue], counters: Vec::new() }),
        ..Process::default()
    }
}

/// A trace does not have the sizes of launches, so these are slices.
fn measured(why: &Why) -> Process {
    let mut now = 0.0;
    let mut slices = Vec::new();
    for launch in &why.measured {
        let same: Vec<&RankedLaunch> = why.rows.iter().filter(|row| row.kernel == launch.kernel).collect();
        let mut arguments = match same[..] {
            [row] => bounds(row),
            // Which of them it is, is not known.
            _ => Arguments::default(),
        };
        if same.len() > 1 {
            let limits: Vec<&str> = same
                .iter()
                .filter_map(|row| row.predicted.as_ref())
                .map(|times| times.limiter.as_str())
                .collect();
            arguments.push("limited by", format!("one of {}, by its size", limits.join(", ")));
        }
        arguments.push("time (measured)", time(launch.seconds));
        slices.push(Slice {
            name: launch.kernel.clone(),
            category: "measured".into(),
            start_ns: nanoseconds(now),
            duration_ns: nanoseconds(now + launch.seconds) - nanoseconds(now),
            arguments,
        });
        now += launch.seconds;
    }
    Process {
        name: "the application (measured)".to_owned(),
        tracks: vec![Track { name: "launches (measured)".to_owned(), slices }],
        ..Process::default()
    }
}

/// What bounds a launch, and what to do about it.
fn bounds(launch: &RankedLaunch) -> Arguments {
    let mut arguments = Arguments::default();
    if let Some(times) = &launch.predicted {
        let (ceiling, share) = &times.ceiling;
        arguments.push("limited by", times.limiter.clone());
        arguments.push("ceiling", ceiling.clone());
        arguments.push("of ceiling", percent(*share));
        arguments.push("time (predicted)", time(times.seconds));
        arguments.push("time at the ceiling (predicted)", time(times.seconds * share));
        if let Some([least, most]) = times.band {
            arguments.push("error band", format!("{} to {}", time(least), time(most)));
        }
        arguments.push("launch by the host (predicted)", time(times.launch_seconds));
    }
    if let Some((advice, _)) = &launch.advice {
        arguments.push("advice", advice.clone());
    }
    arguments
}
