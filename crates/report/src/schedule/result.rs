//! The schedule as the result of the command.

use tripipe_device::Sourced;
use tripipe_results::{HostCost, Schedule, ScheduleStep, ScheduledKernel, ScheduledOtherwise};

use super::Scheduled;
use crate::why::gain;

/// The timeline, and what is known about it.
pub fn result(scheduled: &Scheduled) -> Schedule {
    let parts = scheduled.schedule.parts();
    let seconds = scheduled.schedule.seconds;
    let calls = scheduled.calls.as_ref();
    Schedule {
        version: Schedule::VERSION,
        file: scheduled.file.clone(),
        device: scheduled.device.clone(),
        predicted: calls.is_some(),
        buffers: calls.map(|(calls, _)| calls.buffers.name().to_owned()),
        blocking: calls.is_some_and(|(calls, _)| calls.blocking),
        seconds,
        error_band: scheduled.band,
        kernel_seconds: parts.kernel,
        copy_seconds: parts.copy,
        launch_seconds: parts.launch,
        wait_seconds: parts.wait,
        host_share: calls.map(|_| scheduled.schedule.host_share()),
        costs: costs(scheduled),
        steps: scheduled
            .schedule
            .steps
            .iter()
            .map(|step| ScheduleStep {
                kind: step.kind.name().to_owned(),
                on: Scheduled::place(step).to_owned(),
                queue: scheduled.queue(step),
                name: step.name.clone(),
                launch: step.launch,
                start: step.start,
                seconds: step.seconds,
                bytes: step.bytes,
                idle_seconds: step.idle,
                about: scheduled.about(step),
            })
            .collect(),
        kernels: scheduled
            .kernels
            .iter()
            .map(|kernel| {
                let predicted = kernel.launch.predicted.as_ref();
                ScheduledKernel {
                    kernel: kernel.launch.kernel.clone(),
                    global: kernel.launch.global,
                    launches: kernel.launch.launches,
                    seconds: kernel.seconds,
                    limiter: predicted.map(|predicted| predicted.limiter.clone()),
                    ceiling: predicted.map(|predicted| predicted.ceiling.0.clone()),
                    of_ceiling: predicted.map(|predicted| predicted.ceiling.1),
                    application_gain_at_ceiling: kernel.at_ceiling.and_then(|rest| gain(seconds, rest)),
                    application_gain_if_free: gain(seconds, kernel.if_free),
                }
            })
            .collect(),
        otherwise: scheduled
            .otherwise
            .iter()
            .map(|(calls, seconds)| ScheduledOtherwise {
                buffers: calls.buffers.name().to_owned(),
                blocking: calls.blocking,
                recorded: calls.recorded,
                one_queue: calls.one_queue,
                seconds: *seconds,
            })
            .collect(),
        modelled_seconds: scheduled.modelled,
        printed: scheduled.printed.clone(),
        notes: scheduled.notes.clone(),
    }
}

fn costs(scheduled: &Scheduled) -> Vec<HostCost> {
    let Some((_, costs)) = &scheduled.calls else { return Vec::new() };
    let cost = |name: &str, figure: &Sourced<f64>| HostCost {
        name: name.to_owned(),
        basis: figure.basis.to_string(),
        source: figure.source.citation.clone(),
        ..HostCost::default()
    };
    let call = |name, figure: &Sourced<f64>| HostCost { seconds: Some(figure.value), ..cost(name, figure) };
    let rate =
        |name, figure: &Sourced<f64>| HostCost { bytes_per_second: Some(figure.value), ..cost(name, figure) };
    let mut all = vec![call("launch", &costs.launch)];
    all.extend(costs.recorded_launch.as_ref().map(|figure| call("recorded launch", figure)));
    all.push(rate("copy", &costs.copy_rate));
    all.extend(costs.maintenance_rate.as_ref().map(|figure| rate("maintenance of caches", figure)));
    all
}
