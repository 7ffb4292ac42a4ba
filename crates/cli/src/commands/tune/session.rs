//! Searches for several problems on several devices.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use tripipe::Choice;
use tripipe_report::time;
use tripipe_report::tune::{self as report, TuneReport};
use tripipe_tune::export::exported;
use tripipe_tune::kernel::KernelTable;
use tripipe_tune::log::{LogContents, LogEntry, TrialSubject};
use tripipe_tune::search::{SearchOptions, SearchProgress};
use tripipe_tune::{Bench, Budget, Candidates, Effort, Problem, SearchResult, TuningLog, results, search};

use super::arguments::SearchArguments;
use super::limit::Clock;
use super::machine::{OpenMachine, TunedMachine};
use crate::files::output::Output;
use crate::finish::Finish;
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
    /// Output file for a C header with a kernel's fastest parameters.
    header: Option<PathBuf>,
    clock: Clock,
    /// Trials of this run, for the table and the report.
    found: LogContents,
}

/// One search of a session.
struct Search<'a> {
    problem: &'a Problem,
    machine: &'a TunedMachine,
    /// The number of searches that share the remaining time, with this one.
    left: usize,
}

impl Session {
    pub(super) fn new(arguments: SearchArguments, also: Also) -> Self {
        let clock = Clock::start(arguments.limit);
        Self { arguments, also, header: None, clock, found: LogContents::default() }
    }

    /// Writes a C header with the fastest parameters of a kernel, too.
    pub(super) fn with_header(self, header: Option<PathBuf>) -> Self {
        Self { header, ..self }
    }

    /// Searches for each problem on each device; on several machines at the same time.
    pub(super) fn run(
        mut self,
        problems: &[Problem],
        out: &mut dyn Write,
        results: &mut Vec<tripipe_results::Search>,
    ) -> Result<Finish> {
        let machines = self.arguments.machine.machines(&self.choices())?;
        let output = self.arguments.table.as_deref().map(Output::open).transpose()?;
        let header = self.header.as_deref().map(Output::open).transpose()?;
        let log = self.log(&machines)?;
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
        let count = problems.len() * machines.len();
        let plural = if count == 1 { "" } else { "es" };
        writeln!(out, "{count} search{plural} on {}: {}", names(&machines), self.arguments.limit)?;
        out.flush()?;
        let mut not_tuned = Vec::new();
        let (mut empty, mut unreachable) = (0, 0);
        let mut found = LogContents::default();
        let progress = Progress::spinner(names(&machines));
        let mut hear = |said: SearchEvent| -> Result<()> {
            match said {
                SearchEvent::Doing(text) => progress.say(&text),
                SearchEvent::NotTuned(text) => not_tuned.push(text),
                SearchEvent::Failed(text) => {
                    unreachable += 1;
                    progress.aside(|| writeln!(out, "{}", shown(text)))?;
                }
                SearchEvent::Found(one) => {
                    let Searched { is_empty, text, search, entries } = *one;
                    empty += usize::from(is_empty);
                    progress.aside(|| write!(out, "{}", shown(text)).and_then(|()| out.flush()))?;
                    results.push(search);
                    found.entries.extend(entries);
                }
            }
            Ok(())
        };
        match by_command(&machines).as_slice() {
            [all] => self.work(all, problems, log, &mut hear)?,
            groups => self.work_in_turns(groups, problems, log.as_ref(), &mut hear)?,
        }
        drop(progress);
        self.found = found;
        if !not_tuned.is_empty() {
            writeln!(out, "PARTIAL: interrupted, not tuned: {}", not_tuned.join(", "))?;
        }
        let found = results::results(&self.found);
        if self.arguments.report {
            let quality = results::prediction_quality(&found);
            write!(out, "{}", shown(report::quality(&quality, &results::family_quality(&quality))))?;
        }
        let partial = match not_tuned.as_slice() {
            [] => String::new(),
            some => format!("Partial: without {}.", some.join(", ")),
        };
        let (is_table_empty, table, defines) = if let [Problem::Kernel(kernel)] = problems {
            let table = KernelTable::new(kernel, &found);
            (table.is_empty(), table.to_toml(), table.to_header())
        } else {
            let exported = exported(&found);
            (exported.is_empty(), exported.to_toml()?, String::new())
        };
        for (output, text, comment) in
            [(output, table, format!("# {partial}\n")), (header, defines, format!("/* {partial} */\n"))]
        {
            let Some(output) = output else { continue };
            if is_table_empty {
                writeln!(out, "no table is written: no candidate gave a correct result")?;
                continue;
            }
            let text = if partial.is_empty() { text } else { comment + &text };
            output.write(|sink| Ok(sink.write_all(text.as_bytes())?))?;
        }
        Ok(match (self.clock.is_interrupted(), empty + unreachable) {
            (true, _) => Finish::Interrupted,
            (false, 0) => Finish::Clean,
            (false, _) => Finish::Bad,
        })
    }

    /// Searches for each problem on each of these machines.
    fn work(
        &self,
        machines: &[TunedMachine],
        problems: &[Problem],
        mut log: Option<TuningLog>,
        say: &mut dyn FnMut(SearchEvent) -> Result<()>,
    ) -> Result<()> {
        let mut left = machines.len() * problems.len();
        for machine in machines {
            let mut opened = None;
            let mut fastest = FastestBefore::default();
            for problem in problems {
                if self.clock.is_interrupted() {
                    say(SearchEvent::NotTuned(format!("{problem} on {}", machine.name())))?;
                    continue;
                }
                // In this process, a new executor for each problem frees the programs of the previous one. A worker
                // is replaced when it has built many.
                let ready = match opened.take() {
                    Some(OpenMachine::Worker(worker)) => OpenMachine::Worker(worker),
                    _ => self.arguments.machine.open(machine, self.arguments.verify)?,
                };
                let ready = opened.insert(ready);
                let one = ready.with_bench(|bench| {
                    self.search(&Search { problem, machine, left }, bench, &mut fastest, log.as_mut(), say)
                })?;
                say(SearchEvent::Found(Box::new(one)))?;
                left -= 1;
            }
        }
        Ok(())
    }

    /// As [`Self::work`], with the groups at the same time. A group that fails does not end the others.
    fn work_in_turns(
        &self,
        groups: &[Vec<TunedMachine>],
        problems: &[Problem],
        log: Option<&TuningLog>,
        hear: &mut dyn FnMut(SearchEvent) -> Result<()>,
    ) -> Result<()> {
        let logs = groups.iter().map(|_| log.map(TuningLog::share).transpose());
        let logs = logs.collect::<Result<Vec<_>, _>>()?;
        let (sender, said) = mpsc::channel();
        thread::scope(|scope| {
            for (group, log) in groups.iter().zip(logs) {
                let sender = sender.clone();
                scope.spawn(move || {
                    // The receiver is dropped if the output cannot be written.
                    let mut say = |said| sender.send(said).context("the output is closed");
                    if let Err(error) = self.work(group, problems, log, &mut say) {
                        let _ = sender.send(SearchEvent::Failed(format!(
                            "FAILED: {}",
                            crate::error_chain::chain(&error)
                        )));
                    }
                });
            }
            drop(sender);
            said.into_iter().try_for_each(hear)
        })
    }

    /// The devices that were named, each once.
    fn choices(&self) -> Vec<Choice> {
        let mut choices: Vec<Choice> = Vec::new();
        for choice in self.arguments.device.iter().flat_map(|device| &device.choices) {
            if !choices.contains(choice) {
                choices.push(*choice);
            }
        }
        choices
    }

    /// The log; by default one for all devices that are there.
    fn log(&self, machines: &[TunedMachine]) -> Result<Option<TuningLog>> {
        let path = match &self.arguments.log {
            Some(path) if path == Path::new("none") => return Ok(None),
            Some(path) => path.clone(),
            None if machines.iter().all(TunedMachine::is_predicted) => return Ok(None),
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
        &self,
        &Search { problem, machine, left }: &Search<'_>,
        bench: &mut dyn Bench,
        before: &mut FastestBefore,
        log: Option<&mut TuningLog>,
        say: &mut dyn FnMut(SearchEvent) -> Result<()>,
    ) -> Result<Searched> {
        let arguments = &self.arguments;
        let (name, predicted) = (machine.name(), machine.is_predicted());
        let probe = bench.probe().clone();
        let mut candidates = if self.also.only {
            Candidates::listed(&self.also.texts, None)
        } else {
            Candidates::of(problem, &probe, None)
        };
        if !self.also.only {
            candidates.prefer(before.of(problem));
            candidates.add_guesses(&self.also.texts);
        }
        let options = SearchOptions {
            budget: Budget {
                time: self.clock.share(left),
                candidates: arguments.candidates.map(|count| count as usize),
            },
            effort: Effort { runs: arguments.runs as usize, ..Effort::default() },
            reuse: !arguments.again,
            drop_slow: !arguments.keep_slow,
            ..SearchOptions::default()
        };
        let mut strategy = arguments.strategy.make(&candidates, arguments.seed);
        let result = search(bench, problem, &candidates, &mut *strategy, log, &options, &mut |step| {
            let is_heard = say(SearchEvent::Doing(doing(problem, step))).is_ok();
            if self.clock.is_interrupted() || !is_heard {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .with_context(|| format!("{problem} could not be tuned on {name}"))?;
        drop(strategy);
        before.add(problem, &result);
        let text = problem.to_string();
        let (family, subject) = text.split_once(' ').unwrap_or((&text, ""));
        let operations = match problem {
            Problem::Gemm(problem) => Some(problem.gemm().operations()),
            Problem::Quantised(product) => Some(product.operations()),
            Problem::Filter(_) | Problem::Kernel(_) => None,
        };
        let first = match problem {
            Problem::Kernel(kernel) => Some(kernel.first()),
            _ => None,
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
            first,
        };
        let about = TrialSubject::here(problem, &probe);
        let estimates = candidates.estimates();
        let entries = result
            .trials
            .iter()
            .map(|trial| about.ended(trial, estimates.get(trial.parameters.as_str()).copied()));
        Ok(Searched {
            is_empty: result.fastest().is_none(),
            text: report::search_summary(&found, arguments.top),
            search: report::result(&found),
            entries: entries.collect(),
        })
    }
}

/// The fastest parameters of the problems that were tuned before on a device, by family and elements, the latest first.
#[derive(Default)]
struct FastestBefore(HashMap<String, Vec<String>>);

impl FastestBefore {
    /// How many of them are tried for the next problem.
    const MOST: usize = 2;

    /// The family, and for products the elements or the format of the weights.
    fn key(problem: &Problem) -> String {
        match problem {
            Problem::Gemm(_) | Problem::Quantised(_) => {
                problem.to_string().split(' ').take(2).collect::<Vec<_>>().join(" ")
            }
            Problem::Filter(_) | Problem::Kernel(_) => problem.family().to_owned(),
        }
    }

    fn of(&self, problem: &Problem) -> &[String] {
        self.0.get(&Self::key(problem)).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, problem: &Problem, result: &SearchResult) {
        let Some((trial, _)) = result.fastest() else { return };
        let known = self.0.entry(Self::key(problem)).or_default();
        known.retain(|one| *one != trial.parameters);
        known.insert(0, trial.parameters.clone());
        known.truncate(Self::MOST);
    }
}

/// What a search reports.
enum SearchEvent {
    /// The current step.
    Doing(String),
    /// A search that has ended.
    Found(Box<Searched>),
    /// A search that was not begun, because of an interruption.
    NotTuned(String),
    /// One of several machines could not be used.
    Failed(String),
}

/// A search that has ended.
struct Searched {
    /// Whether no candidate has a time.
    is_empty: bool,
    text: String,
    search: tripipe_results::Search,
    entries: Vec<LogEntry>,
}

/// The machines by the command that reaches them, in their order.
fn by_command(machines: &[TunedMachine]) -> Vec<Vec<TunedMachine>> {
    let mut groups: Vec<Vec<TunedMachine>> = Vec::new();
    for machine in machines {
        let same =
            groups.iter_mut().find(|group| group.iter().all(|other| other.remote() == machine.remote()));
        match same {
            Some(group) => group.push(machine.clone()),
            None => groups.push(vec![machine.clone()]),
        }
    }
    groups
}

/// The current step, for the progress line.
fn doing(problem: &Problem, step: &SearchProgress<'_>) -> String {
    let mut text = match step.parameters {
        Some(parameters) => format!("{problem}: {} of {}: {parameters}", step.done + 1, step.of),
        None => format!("{problem}: the fastest in turns"),
    };
    if let Some(fastest) = step.fastest {
        let _ = write!(text, "; best {}", time(fastest));
    }
    if let Some(improvement) = step.expected_improvement {
        let _ = write!(text, "; expected improvement {:.1} %", improvement * 100.0);
    }
    if let Some(left) = step.left {
        let _ = write!(text, "; {} left at most", rounded(left));
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

fn names(machines: &[TunedMachine]) -> String {
    match machines {
        [machine] => machine.name(),
        _ => format!("{} devices", machines.len()),
    }
}

/// The folder for data of users.
fn data_folder() -> Option<PathBuf> {
    Some(dirs::data_dir()?.join("tripipe"))
}
