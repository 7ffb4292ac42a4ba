//! Launch files with several launches: their schedule.

use std::io::Write;

use anyhow::{Result, bail};
use tripipe_device::Gpu;
use tripipe_ir::Kernel;
use tripipe_launch::Executor as _;
use tripipe_launch_file::{Given, Limits, Loaded, LoadedMemory, Use};
use tripipe_report::schedule::{self, Scheduled, ScheduledKernel};
use tripipe_report::simulation::limiter;
use tripipe_report::why::{PredictedLaunch, RankedLaunch};
use tripipe_timing::host::HostCosts;
use tripipe_timing::schedule::{
    Application, Buffers, Calls, QueuedLaunch, Schedule, ScheduledLaunch, Transfer,
};
use tripipe_timing::{Options, Prediction, VirtualGpu, VirtualOptions, depends_on_memory};
use tripipe_trace::TraceFile;

use super::{Simulate, reasons};
use crate::commands::why::predicted;
use crate::commands::{Format, ReportWriter, file_canvas, note, write_text};
use crate::error_chain::chain;
use crate::files::output::Output;
use crate::finish::Finish;
use crate::launch_input::{Sequence, StagedSequence};
use crate::progress::Progress;
use crate::terminal;

/// A way of buffers by its name.
pub(super) fn buffers(text: &str) -> Result<Buffers, String> {
    let names = || Buffers::ALL.map(Buffers::name).join(", ");
    Buffers::ALL
        .into_iter()
        .find(|buffers| text.eq_ignore_ascii_case(buffers.name()))
        .ok_or_else(|| format!("want one of {}, not {text}", names()))
}

/// The predictions of a launch: one for each repetition, or one for all.
type Predictions = Vec<Prediction>;

impl Simulate {
    /// The schedule on each GPU.
    pub(super) fn schedule(
        &self,
        sequence: &Sequence,
        gpus: &[&'static Gpu],
        trace: Option<TraceFile>,
        text: Option<Output>,
        out: &mut ReportWriter<'_>,
    ) -> Result<Finish> {
        let single = [
            ("--what-if", !self.what_if.is_empty()),
            ("--budget", !self.budget.is_empty()),
            ("--diff", self.diff.is_some()),
            ("--counters", self.counters),
            ("--counters-csv", self.counters_csv.is_some()),
            ("--energy", self.energy),
        ];
        if let Some((option, _)) = single.iter().find(|(_, given)| *given) {
            bail!(
                "{option}: {} has a list of launches; write the launch to look at as a file of its own \
                (docs/launch-files.md)",
                sequence.name
            );
        }
        let progress = Progress::compiler("compiling the kernels");
        let (mut all, mut failed, mut said) = (Vec::new(), Vec::new(), Vec::new());
        for gpu in gpus {
            progress.say(&format!("simulating {} on {}", sequence.name, gpu.name()));
            let mut messages = String::new();
            match self.on_gpu(sequence, gpu, &mut messages) {
                Ok(scheduled) => all.push(scheduled),
                Err(error) => failed.push((*gpu, chain(&error))),
            }
            // What several compilers say is said once.
            if !messages.is_empty() && !said.contains(&messages) {
                said.push(messages);
            }
        }
        drop(progress);
        for messages in said {
            note(messages.trim_end());
        }
        let failed: Vec<(&str, &Gpu, &str)> =
            failed.iter().map(|(gpu, reason)| (sequence.name.as_str(), *gpu, reason.as_str())).collect();
        if all.is_empty() {
            bail!("{}", reasons(&failed));
        }
        if let Some(trace) = trace {
            trace.save(&schedule::timeline(&all))?;
        }
        let report = |canvas| {
            let each: Vec<String> = all.iter().map(|each| schedule::text(each, canvas)).collect();
            schedule::ranking(&all, canvas) + &each.join("\n")
        };
        write_text(text, || report(file_canvas()))?;
        match self.format {
            Format::Text => out.write_all(report(self.output.canvas()).as_bytes())?,
            Format::Json | Format::Html => {
                all.iter().try_for_each(|each| out.result(schedule::result(each)))?;
            }
        }
        if failed.is_empty() {
            return Ok(Finish::Clean);
        }
        note(&terminal::shown(reasons(&failed)));
        Ok(Finish::Bad)
    }

    fn on_gpu(&self, sequence: &Sequence, gpu: &'static Gpu, messages: &mut String) -> Result<Scheduled> {
        let build = sequence.description.as_driver_saying(gpu, messages)?;
        let kernels = sequence.kernels(&build.loaded)?;
        let launches = &sequence.launches.launches;
        // What a launch reads may be what an earlier one has written.
        let executes = launches.iter().any(|launch| !launch.uses.is_empty())
            && kernels.iter().any(|kernel| depends_on_memory(kernel));
        let mut device = VirtualGpu::new(
            gpu,
            VirtualOptions {
                prediction: Options { exact: self.exact, ..Options::default() },
                time_only: !executes,
                limit_steps: Some(self.limit_steps),
                tolerant: true,
                ..VirtualOptions::default()
            },
        );
        let limits = Limits { bytes: device.probe().global_memory_bytes };
        let loaded = sequence.load(&build.built, limits, false)?;
        let mut written = Vec::new();
        for kernel in &kernels {
            written.push(device.written_arguments(&build.built.program, &kernel.name)?);
        }
        let writes = |launch: usize, argument: usize| written[launch].get(argument).copied().unwrap_or(true);
        let queues = sequence.launches.queues(writes);
        let transfers = transfers(sequence, &loaded, writes, &queues.of);
        let staged = sequence.stage(loaded, &build.built, &mut device)?;
        let predictions = predictions(&staged, &mut device, executes)?;
        let mut notes: Vec<String> = build.left_out.iter().map(|left| format!("left out: {left}")).collect();
        let strays = device.take_strays();
        notes.extend(strays.iter().map(|stray| {
            format!("{stray}; zeros are loaded there, and `tripipe check` finds all such errors")
        }));
        let (uploads, reads) = transfers;
        let names = launches.iter().map(|launch| launch.name.clone()).collect();
        let launches = staged.order.iter().scan((usize::MAX, 0), |(last, repeated), index| {
            *repeated = if *last == *index { *repeated + 1 } else { 0 };
            *last = *index;
            let own = &predictions[*index];
            let prediction = own.get(*repeated).or(own.last());
            Some(ScheduledLaunch {
                index: *index,
                seconds: prediction.map_or(0.0, |prediction| prediction.seconds),
            })
        });
        let each = queues.of.iter().zip(&queues.after).zip(&queues.after_uploads);
        let queued = each.map(|((queue, after), uploads)| QueuedLaunch {
            queue: *queue,
            after: after.clone(),
            after_uploads: uploads.clone(),
        });
        let queued = queued.collect();
        let application = Application { names, queues: queued, uploads, launches: launches.collect(), reads };
        let costs = HostCosts::of(gpu);
        let calls =
            Calls { buffers: self.buffers.unwrap_or_default(), blocking: self.blocking, ..Calls::default() };
        Ok(Scheduled {
            queues: queues.names.iter().map(|name| (*name).to_owned()).collect(),
            file: sequence.name.clone(),
            device: gpu.name().to_owned(),
            schedule: application.schedule(&costs, calls),
            band: application_band(&application, &predictions, |changed| {
                changed.schedule(&costs, calls).seconds
            }),
            kernels: rows(sequence, &kernels, &predictions, gpu, &application, |changed| {
                changed.schedule(&costs, calls).seconds
            }),
            otherwise: otherwise(&application, &costs, calls),
            calls: Some((calls, costs)),
            modelled: None,
            printed: String::new(),
            notes,
        })
    }
}

/// Predicts the launches in order; if they are executed, each repetition of its own.
fn predictions(staged: &StagedSequence, device: &mut VirtualGpu, executes: bool) -> Result<Vec<Predictions>> {
    let mut all: Vec<Predictions> = vec![Vec::new(); staged.launches.len()];
    for index in &staged.order {
        if !executes && !all[*index].is_empty() {
            continue;
        }
        device.run(std::slice::from_ref(&staged.launches[*index].launch))?;
        all[*index].extend(device.predictions().first().cloned());
    }
    Ok(all)
}

/// What is uploaded before the first launch, and read after the last one: what the file shows or compares, or, if that
/// is nothing, what kernels write and no later launch reads.
fn transfers(
    sequence: &Sequence,
    loaded: &[Loaded],
    writes: impl Fn(usize, usize) -> bool,
    queues: &[usize],
) -> (Vec<Transfer>, Vec<Transfer>) {
    let launches = &sequence.launches.launches;
    let (mut uploads, mut wanted, mut results) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (launch, loaded)) in launches.iter().zip(loaded).enumerate() {
        let own = |memory: &&LoadedMemory| launch.uses.iter().all(|used| used.argument != memory.argument);
        for memory in loaded.memory.iter().filter(own) {
            let transfer = Transfer {
                queue: queues[index],
                name: sequence.memory_name(index, &memory.name),
                bytes: memory.array.bytes().unwrap_or(0) as u64,
            };
            if memory.initial.is_some() {
                uploads.push(transfer.clone());
            }
            if let Some(Given::Memory(described)) =
                launch.file.arguments.get(memory.argument).map(|entry| &entry.given)
                && (described.dump.is_some() || described.expect.is_some())
            {
                wanted.push(transfer.clone());
            }
            let is_own = |used: &&Use| used.launch == index && used.of == memory.argument;
            let users = launches.iter().enumerate().flat_map(|(user, launch)| {
                launch.uses.iter().filter(is_own).map(move |used| (user, used.argument))
            });
            let users: Vec<(usize, usize)> = std::iter::once((index, memory.argument)).chain(users).collect();
            let writers = users.iter().filter(|(user, argument)| writes(*user, *argument));
            let last = writers.map(|(user, _)| *user).max();
            // Its last writer's queue reads it.
            let queue = last.map_or(transfer.queue, |last| queues[last]);
            if let Some(read) = wanted.last_mut().filter(|read: &&mut Transfer| read.name == transfer.name) {
                read.queue = queue;
            }
            if last.is_some_and(|last| users.iter().all(|(user, _)| *user <= last)) {
                results.push(Transfer { queue, ..transfer });
            }
        }
    }
    (uploads, if wanted.is_empty() { results } else { wanted })
}

/// The seconds of an application whose kernels all take the least time that is expected of them, and the most; `None` if
/// a kernel has no band.
fn application_band(
    application: &Application,
    predictions: &[Predictions],
    seconds: impl Fn(&Application) -> f64,
) -> Option<[f64; 2]> {
    let factors = |own: &Predictions| {
        let first = own.first()?;
        Some(first.error_band?.map(|end| end / first.seconds.max(f64::MIN_POSITIVE)))
    };
    let factors: Vec<[f64; 2]> = predictions.iter().map(factors).collect::<Option<_>>()?;
    let of = |end: usize| {
        seconds(
            &application.with_kernels(|index, own| own * factors.get(index).map_or(1.0, |ends| ends[end])),
        )
    };
    Some([of(0), of(1)])
}

/// The kernels by their time, those with the same sizes together; `seconds` is the time of a changed application.
fn rows(
    sequence: &Sequence,
    kernels: &[&Kernel],
    predictions: &[Predictions],
    gpu: &Gpu,
    application: &Application,
    seconds: impl Fn(&Application) -> f64,
) -> Vec<ScheduledKernel> {
    let mut rows: Vec<ScheduledKernel> = Vec::new();
    let launches = sequence.launches.launches.iter().zip(kernels).zip(predictions).enumerate();
    for (index, ((launch, kernel), own)) in launches {
        let Some(prediction) = own.first() else { continue };
        let runs = application.launches.iter().filter(|run| run.index == index);
        let own_seconds: f64 = runs.map(|run| run.seconds).sum();
        let global = Some(prediction.global);
        let same =
            |row: &&mut ScheduledKernel| row.launch.kernel == kernel.name && row.launch.global == global;
        match rows.iter_mut().find(same) {
            Some(row) => {
                row.of.push(index);
                row.launch.launches += launch.repeat;
                row.seconds += own_seconds;
            }
            None => rows.push(ScheduledKernel {
                of: vec![index],
                launch: RankedLaunch {
                    kernel: kernel.name.clone(),
                    global,
                    launches: launch.repeat,
                    // The host's part is a step of its own.
                    predicted: Some(PredictedLaunch {
                        limiter: limiter(prediction.kernel_limiter(), gpu).to_owned(),
                        ..predicted(prediction, gpu)
                    }),
                    ..RankedLaunch::default()
                },
                seconds: own_seconds,
                if_free: 0.0,
                at_ceiling: None,
            }),
        }
    }
    for row in &mut rows {
        let with = |share: f64| {
            seconds(&application.with_kernels(|index, seconds| {
                if row.of.contains(&index) { seconds * share } else { seconds }
            }))
        };
        row.if_free = with(0.0);
        row.at_ceiling = row.launch.predicted.as_ref().map(|predicted| with(predicted.ceiling.1));
    }
    rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    rows
}

/// The times with other calls.
fn otherwise(application: &Application, costs: &HostCosts, calls: Calls) -> Vec<(Calls, f64)> {
    let waits = [false, true];
    let all = Buffers::ALL
        .into_iter()
        .flat_map(|buffers| waits.map(|blocking| Calls { buffers, blocking, ..calls }));
    let recorded = costs.recorded_launch.as_ref().map(|_| Calls { recorded: true, ..calls });
    let one_queue = (application.queue_count() > 1).then_some(Calls { one_queue: true, ..calls });
    let others = all.chain(recorded).chain(one_queue).filter(|other| *other != calls);
    let seconds = |calls: Calls| {
        let Schedule { seconds, .. } = application.schedule(costs, calls);
        (calls, seconds)
    };
    others.map(seconds).collect()
}
