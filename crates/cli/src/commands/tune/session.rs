//! Searches for several problems on several devices.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tripipe::{Choice, Device};
use tripipe_kernels::gemm::entries_to_toml;
use tripipe_opencl::ExecutorOptions;
use tripipe_report::time;
use tripipe_report::tune::{self as report, TuneReport};
use tripipe_tune::bench::InProcess;
use tripipe_tune::log::{LogContents, Subject};
use tripipe_tune::search::{SearchOptions, SearchProgress, SearchResult};
use tripipe_tune::{Budget, Candidates, Effort, Problem, TuningLog, export, results, search};

use super::super::resolve;
use super::SearchArguments;
use super::limit::Clock;
use crate::files::output::Output;
use crate::finish::Finish;
use crate::open_device::OpenDevice;
use crate::progress::Progress;
use crate::terminal::shown;

/// Candidates that the user gave.
pub(super) struct Also {
    pub(super) texts: Vec<String>,
    /// Whether nothing else is tried.
    pub(super) only: bool,
}

/// Searches with the same options.
pub(super) struct Session {
    arguments: SearchArguments,
    also: Also,
    clock: Clock,
    /// Trials of this run, for the table and the report.
    found: LogContents,
}

impl Session {
    pub(super) fn new(arguments: SearchArguments, also: Also) -> Self {
        let clock = Clock::start(arguments.limit);
        Self { arguments, also, clock, found: LogContents::default() }
    }

    /// Searches for each problem on each device.
    pub(super) fn run(
        mut self,
        problems: &[Problem],
        out: &mut dyn Write,
        documents: &mut Vec<String>,
    ) -> Result<Finish> {
        let devices = self.devices()?;
        let output = self.arguments.output.as_deref().map(Output::open).transpose()?;
        let mut log = self.log(&devices)?;
        if let Some(log) = &log {
            writeln!(out, "log: {}", log.path().display())?;
            match log.contents().torn {
                0 => {}
                1 => writeln!(out, "the log has a line that ends in the middle; its trial is not known")?,
                torn => writeln!(
                    out,
                    "the log has {torn} lines that end in the middle; their trials are not known"
                )?,
            }
        }
        let count = problems.len() * devices.len();
        let plural = if count == 1 { "" } else { "es" };
        writeln!(out, "{count} search{plural} on {}: {}", names(&devices), self.arguments.limit)?;
        out.flush()?;
        let (mut not_tuned, mut empty) = (Vec::new(), 0);
        for (at, device) in devices.iter().enumerate() {
            for (index, problem) in problems.iter().enumerate() {
                if self.clock.is_interrupted() {
                    not_tuned.push(format!("{problem} on {}", device.name()));
                    continue;
                }
                let left = count - at * problems.len() - index;
                let result = self.search(problem, device, log.as_mut(), left, out, documents)?;
                empty += usize::from(result.fastest().is_none());
            }
        }
        if !not_tuned.is_empty() {
            writeln!(out, "PARTIAL: interrupted, not tuned: {}", not_tuned.join(", "))?;
        }
        let found = results::results(&self.found);
        if self.arguments.report {
            write!(out, "{}", shown(report::quality(&results::prediction_quality(&found))))?;
        }
        let entries = export::entries(&found);
        if let Some(output) = output.filter(|_| !entries.is_empty()) {
            let mut table = entries_to_toml(&entries)?;
            if !not_tuned.is_empty() {
                table = format!("# Partial: without {}.\n{table}", not_tuned.join(", "));
            }
            output.write(|sink| Ok(sink.write_all(table.as_bytes())?))?;
        } else if self.arguments.output.is_some() {
            writeln!(out, "no table is written: no candidate gave a correct result")?;
        }
        Ok(match (self.clock.is_interrupted(), empty) {
            (true, _) => Finish::Interrupted,
            (false, 0) => Finish::Clean,
            (false, _) => Finish::Bad,
        })
    }

    fn devices(&self) -> Result<Vec<Device>> {
        let mut choices: Vec<Choice> = Vec::new();
        for choice in self.arguments.device.iter().flat_map(|choices| &choices.0) {
            if !choices.contains(choice) {
                choices.push(*choice);
            }
        }
        let device = |choice| match (choice, resolve(choice)?) {
            // The CPU path has nothing to tune.
            (Choice::Auto, Device::Cpu) => resolve(Choice::OpenCl(None)),
            (_, Device::Cpu) => {
                bail!("the CPU path has one candidate per operation; --device opencl tunes an OpenCL device")
            }
            (_, device) => Ok(device),
        };
        choices.into_iter().map(device).collect()
    }

    /// The log; by default one for all devices that are there.
    fn log(&self, devices: &[Device]) -> Result<Option<TuningLog>> {
        let path = match &self.arguments.log {
            Some(path) if path == Path::new("none") => return Ok(None),
            Some(path) => path.clone(),
            None if devices.iter().all(|device| matches!(device, Device::Virtual(_))) => return Ok(None),
            None => {
                let Some(folder) = data_folder() else { return Ok(None) };
                std::fs::create_dir_all(&folder).with_context(|| {
                    format!("{}: cannot be made; name a log with --log", folder.display())
                })?;
                folder.join("tune.jsonl")
            }
        };
        Ok(Some(TuningLog::open(&path)?))
    }

    fn search(
        &mut self,
        problem: &Problem,
        device: &Device,
        log: Option<&mut TuningLog>,
        searches_left: usize,
        out: &mut dyn Write,
        documents: &mut Vec<String>,
    ) -> Result<SearchResult> {
        let arguments = &self.arguments;
        // A new executor for each problem, so that the programs of the previous one are freed.
        let mut opened = OpenDevice::new(device, &ExecutorOptions::default(), !arguments.verify)?
            .context("the CPU path runs no kernels")?;
        let executor = opened.executor();
        let (name, predicted) = (device.name(), executor.time_source().is_predicted());
        let probe = executor.probe().clone();
        let mut candidates = if self.also.only {
            Candidates::listed(&self.also.texts, None)
        } else {
            Candidates::of(problem, &probe, None)
        };
        if !self.also.only {
            candidates.add_guesses(&self.also.texts);
        }
        let options = SearchOptions {
            budget: Budget {
                time: self.clock.share(searches_left),
                candidates: arguments.candidates.map(|count| count as usize),
            },
            effort: Effort { runs: arguments.runs as usize, ..Effort::default() },
            reuse: !arguments.again,
            ..SearchOptions::default()
        };
        let mut strategy = arguments.strategy.make(&candidates, arguments.seed);
        let progress = Progress::spinner(format!("{problem} on {name}"));
        let mut bench = InProcess::new(executor);
        let result = search(&mut bench, problem, &candidates, &mut *strategy, log, &options, &mut |step| {
            progress.say(&doing(problem, step));
            if self.clock.is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .with_context(|| format!("{problem} could not be tuned on {name}"))?;
        drop(progress);
        drop(strategy);
        let text = problem.to_string();
        let (family, subject) = text.split_once(' ').unwrap_or((&text, ""));
        let operations = match problem {
            Problem::Gemm(problem) => Some(problem.gemm().operations()),
            Problem::Filter(_) => None,
        };
        let found = TuneReport {
            family,
            subject,
            device: &name,
            predicted,
            strategy: arguments.strategy,
            candidates: &candidates,
            result: &result,
            operations,
        };
        write!(out, "{}", shown(report::found(&found, arguments.top)))?;
        out.flush()?;
        documents.push(report::json(&found));
        let about = Subject::here(problem, &probe);
        let estimates = candidates.estimates();
        let entries = result
            .trials
            .iter()
            .map(|trial| about.ended(trial, estimates.get(trial.parameters.as_str()).copied()));
        self.found.entries.extend(entries);
        Ok(result)
    }
}

/// The current step, for the progress line.
fn doing(problem: &Problem, step: &SearchProgress<'_>) -> String {
    let mut text = match step.parameters {
        Some(parameters) => format!("{problem}: {} of {}: {parameters}", step.done + 1, step.of),
        None => format!("{problem}: the fastest in turns"),
    };
    if let Some(fastest) = step.fastest {
        text += &format!("; best {}", time(fastest));
    }
    if let Some(improvement) = step.expected_improvement {
        text += &format!("; expected improvement {:.1} %", improvement * 100.0);
    }
    if let Some(left) = step.left {
        text += &format!("; {} left at most", rounded(left));
    }
    text
}

/// A duration in minutes or seconds.
fn rounded(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..=99 => format!("{seconds} s"),
        seconds @ 100..=5999 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3600)),
    }
}

fn names(devices: &[Device]) -> String {
    match devices {
        [device] => device.name(),
        _ => format!("{} devices", devices.len()),
    }
}

/// The folder for data of users.
fn data_folder() -> Option<PathBuf> {
    Some(dirs::data_dir()?.join("tripipe"))
}
