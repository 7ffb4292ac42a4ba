//! Launch files with several launches, one after the other.

use std::io::Write as _;

use anyhow::{Context as _, Result, bail};
use tripipe::Choice;
use tripipe_launch::{Argument, CpuTime, Executor, Launch, MemoryId, Timing};
use tripipe_launch_file::Loaded;
use tripipe_report::schedule::{self, Scheduled, ScheduledKernel};
use tripipe_report::why::RankedLaunch;
use tripipe_timing::schedule::{Application, Schedule, ScheduledLaunch};

use super::{Machine, Results, RunKernel, Target};
use crate::commands::{Format, ReportWriter};
use crate::finish::Finish;
use crate::launch_input::{Built, Dumps, Sequence, StagedSequence};
use crate::progress::Progress;
use crate::terminal;

impl RunKernel {
    /// Runs all launches, and shows their times and their results.
    pub(super) fn run_sequence(&self, sequence: &Sequence, out: &mut ReportWriter<'_>) -> Result<Finish> {
        if let Target::Device(Choice::Virtual(name)) = self.device {
            bail!(
                "{} has a list of launches, whose times on a GPU that is not there `tripipe simulate {} -g \"{name}\"` predicts",
                sequence.name,
                sequence.name
            );
        }
        let progress = Progress::compiler("compiling the kernels");
        let (mut machine, built) = self.machine(&sequence.description)?;
        progress.say("loading");
        let loaded = sequence.load(&built, self.limits.memory(), true)?;
        if matches!(machine, Machine::Device(_)) {
            warm_up(sequence, &loaded, &built, machine.executor())?;
        }
        let staged = sequence.stage(loaded, &built, machine.executor())?;
        let mut dumps = Vec::new();
        for staged in &staged.launches {
            dumps.push(Dumps::open(&sequence.description, staged)?);
        }
        progress.say(&format!("running {}", sequence.name));
        // The time of the driver's compiler is not that of the launches.
        for staged in &staged.launches {
            machine.executor().prepare(&staged.launch.program, &staged.launch.entry)?;
        }
        let context = || format!("the launches of {} could not be run", sequence.name);
        let all = staged.all();
        let mut cpu = CpuTime::default();
        let timings = cpu.measure(|| machine.run(&all)).with_context(context)?;
        drop(progress);
        let device = machine.executor().probe().name.clone();
        let printed = machine.take_printed();
        let scheduled = measured(sequence, &staged, &timings, device);
        let scheduled = Scheduled {
            // The simulator's host and device are one thread.
            modelled: scheduled.modelled.filter(|_| matches!(machine, Machine::Device(_))),
            printed: String::from_utf8_lossy(&printed).into_owned(),
            notes: cpu.load().map(tripipe_report::busy_cores).into_iter().chain(scheduled.notes).collect(),
            ..scheduled
        };
        match self.format {
            Format::Text => {
                out.write_all(&printed)?;
                let text = schedule::text(&scheduled, self.output.canvas());
                out.write_all(terminal::shown(text).as_bytes())?;
            }
            Format::Json | Format::Html => out.result(schedule::result(&scheduled))?,
        }
        let mut finish = Finish::Clean;
        for (index, (staged, dumps)) in staged.launches.iter().zip(&mut dumps).enumerate() {
            let written = machine.written(&staged.launch);
            let results = Results { description: &sequence.description, staged, written: written.as_deref() };
            let name = |memory: &str| sequence.memory_name(index, memory);
            if self.results(&results, name, dumps, &mut machine, out)? {
                finish = Finish::Findings;
            }
        }
        Ok(finish)
    }
}

/// Runs each launch once on memory of its own: some drivers compile a kernel when it is first launched.
fn warm_up(sequence: &Sequence, loaded: &[Loaded], built: &Built, executor: &mut dyn Executor) -> Result<()> {
    let staged = sequence.stage(loaded.to_vec(), built, executor)?;
    let launches: Vec<Launch> = staged.launches.iter().map(|staged| staged.launch.clone()).collect();
    executor.run(&launches)?;
    let passed = launches.iter().flat_map(|launch| &launch.arguments).filter_map(|argument| match argument {
        Argument::Memory(id) => Some(*id),
        _ => None,
    });
    let made = staged.launches.iter().flat_map(|staged| &staged.memory).map(|memory| memory.id);
    let mut all: Vec<MemoryId> = passed.chain(made).collect();
    all.sort_unstable_by_key(|id| id.0);
    all.dedup();
    for memory in all {
        executor.release(memory)?;
    }
    Ok(())
}

/// The times of a run, and what the model of a schedule makes of its kernels.
fn measured(sequence: &Sequence, staged: &StagedSequence, timings: &[Timing], device: String) -> Scheduled {
    let launches = &sequence.launches.launches;
    let names: Vec<String> = launches.iter().map(|launch| launch.name.clone()).collect();
    let schedule = Schedule::measured(&names, &staged.order, timings);
    let runs = staged.order.iter().zip(timings);
    let runs = runs.map(|(index, timing)| ScheduledLaunch { index: *index, seconds: timing.seconds() });
    let application = Application { names, launches: runs.collect(), ..Application::default() };
    let mut kernels: Vec<ScheduledKernel> = Vec::new();
    for (index, one) in staged.launches.iter().enumerate() {
        let runs = application.launches.iter().filter(|run| run.index == index);
        let seconds: f64 = runs.map(|run| run.seconds).sum();
        let global = Some(one.launch.range.global_size().map(|extent| extent as u64));
        let repeat = launches.get(index).map_or(1, |launch| launch.repeat);
        let same =
            |row: &&mut ScheduledKernel| row.launch.kernel == one.launch.entry && row.launch.global == global;
        if let Some(row) = kernels.iter_mut().find(same) {
            row.of.push(index);
            row.launch.launches += repeat;
            row.seconds += seconds;
            continue;
        }
        let launch = RankedLaunch {
            kernel: one.launch.entry.clone(),
            global,
            launches: repeat,
            ..RankedLaunch::default()
        };
        kernels.push(ScheduledKernel { of: vec![index], launch, seconds, if_free: 0.0, at_ceiling: None });
    }
    for row in &mut kernels {
        row.if_free = schedule.seconds - row.seconds;
    }
    kernels.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let modelled = Some(application.back_to_back(Schedule::measured_launch(timings)).seconds);
    let (otherwise, queues) = (Vec::new(), Vec::new());
    let notes = if sequence.launches.queues(|_, _| true).names.len() > 1 {
        vec![
            "all launches ran in one queue; `tripipe simulate` predicts them in those of the file".to_owned(),
        ]
    } else {
        Vec::new()
    };
    let (file, calls, printed) = (sequence.name.clone(), None, String::new());
    Scheduled {
        file,
        device,
        calls,
        queues,
        schedule,
        band: None,
        kernels,
        otherwise,
        modelled,
        printed,
        notes,
    }
}
