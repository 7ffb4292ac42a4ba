//! Schedules as timelines.

use tripipe_timing::schedule::StepKind;
use tripipe_trace::{
    Arguments, Command, CommandKind, GpuQueue, GpuTimeline, KernelLaunch, Process, Slice, Timeline, Track,
};

use super::Scheduled;

/// A process for each schedule: the host's calls and the queue of the GPU.
pub fn timeline(all: &[Scheduled]) -> Timeline {
    Timeline { facts: Arguments::default(), processes: all.iter().map(process).collect() }
}

/// Nanoseconds of seconds that are not negative.
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

fn process(scheduled: &Scheduled) -> Process {
    let mut hosts: Vec<Vec<Slice>> = vec![Vec::new(); scheduled.queues.len().max(1)];
    let mut commands = Vec::new();
    for step in &scheduled.schedule.steps {
        let start_ns = nanoseconds(step.start);
        // The difference of rounded ends, so that steps never overlap.
        let duration_ns = nanoseconds(step.end()) - start_ns;
        let arguments = Arguments::default().with("what", scheduled.about(step));
        let name = format!("{} {} (predicted)", step.kind.name(), step.name);
        if step.kind.is_of_gpu() {
            let own =
                |kernel: &&super::ScheduledKernel| step.launch.is_some_and(|own| kernel.of.contains(&own));
            let launch = scheduled.kernels.iter().find(own).map(|kernel| &kernel.launch);
            let kind = match (step.kind, launch) {
                (StepKind::Kernel, Some(launch)) => CommandKind::Kernel(KernelLaunch {
                    global: launch.global.unwrap_or([1; 3]),
                    local: launch.predicted.as_ref().map(|predicted| predicted.local),
                    ..KernelLaunch::default()
                }),
                _ => CommandKind::Transfer,
            };
            let name =
                if step.kind == StepKind::Kernel { format!("{} (predicted)", step.name) } else { name };
            commands.push(Command { name, kind, start_ns, duration_ns, arguments });
        } else {
            let category = step.kind.name().into();
            hosts[step.queue].push(Slice { name, category, start_ns, duration_ns, arguments });
        }
    }
    let track = |(queue, slices): (usize, Vec<Slice>)| {
        let name = scheduled.queues.get(queue).filter(|name| !name.is_empty());
        let name = name.map_or_else(String::new, |name| format!(" of {name}"));
        Track { name: format!("host{name} (predicted)"), slices }
    };
    let queue = GpuQueue { name: "queue (predicted)".to_owned(), commands };
    Process {
        name: format!("{} (predicted)", scheduled.device),
        labels: vec!["times are predicted by a model".to_owned()],
        tracks: hosts.into_iter().enumerate().map(track).collect(),
        gpu: Some(GpuTimeline { queues: vec![queue], counters: Vec::new() }),
        ..Process::default()
    }
}
