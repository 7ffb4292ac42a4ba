//! `tripipe tune`: finds the fastest parameters on a device, and works with the logs of that.

mod limit;
mod logs;
mod machine;
mod own;
mod problems;
mod session;
mod worker;

use std::io::Write;
use std::mem;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use tripipe_results::Search;
use tripipe_tune::StrategyKind;

use super::{DeviceChoices, Format, OutputArgument, ReportWriter, TextArgument, write_text};
use crate::finish::Finish;
use crate::trace::TraceArgument;
use limit::Limit;
use logs::Logs;
use machine::MachineArguments;
use own::OwnKernel;
use problems::{Filters, Products, QuantisedProducts};
use worker::Worker;

/// Find the fastest kernel for a computation on a device.
///
/// The search space of a family has thousands of sets of parameters (docs/tune.md). A strategy chooses which to try;
/// every result is verified before its time counts, except on virtual GPUs, which predict times (--verify). At a limit
/// (--limit, --candidates), or after Ctrl-C, the search ends with the results so far. A log keeps every outcome, so that
/// another search continues where this one ends, and a kernel that crashed is not tried again on that driver.
///
/// The library reads tables (--table, `tune export`) from the folder `tripipe/gemm` in your configuration folder,
/// or from the folder in `TRIPIPE_TABLES`, before the built-in ones.
#[derive(Args)]
pub(crate) struct Tune {
    #[command(subcommand)]
    what: What,
    #[command(flatten)]
    pub(crate) trace: TraceArgument,
}

#[derive(Subcommand)]
enum What {
    Gemm(Products),
    Filter(Filters),
    Quantised(QuantisedProducts),
    Kernel(Box<OwnKernel>),
    #[command(flatten)]
    Logs(Logs),
    #[command(hide = true)]
    Worker(Worker),
}

/// How to search.
#[derive(Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct SearchArguments {
    /// Devices, separated by commas: auto and opencl (the strongest OpenCL device), opencl:N with the number that
    /// `tripipe devices` shows, virtual:GPU, a GPU that is not there, whose times are predicted, or virtual:all.
    #[arg(long, value_name = "DEVICE,...", value_delimiter = ',', default_value = "auto")]
    device: Vec<DeviceChoices>,
    #[command(flatten)]
    machine: MachineArguments,
    /// Which candidates are tried: exhaustive (all), random, predicted (the fastest by estimate first), or learned (by a
    /// model that is learned from the times so far; ends when little improvement is expected).
    #[arg(long, default_value_t = StrategyKind::Learned)]
    strategy: StrategyKind,
    /// Time limit for the whole search in seconds, after which it ends with the results so far; none for no limit. A
    /// candidate that has started is completed.
    #[arg(long, value_name = "SECONDS", default_value = "120")]
    limit: Limit,
    /// Number of candidates to try for each problem.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    candidates: Option<u32>,
    /// Timed runs of a candidate, at most.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// Seed of random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Log of all outcomes, to which this search appends; none for no log [default: tripipe/tune.jsonl in your data
    /// folder for devices that are there, none for virtual GPUs].
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Measures again what the log already knows.
    #[arg(long)]
    again: bool,
    /// Times slow candidates too; without it, a candidate is dropped if its first run takes eight times as long as the
    /// fastest so far.
    #[arg(long)]
    keep_slow: bool,
    /// On a virtual GPU: also computes and verifies the result of every candidate, which takes much longer. On other
    /// devices every result is verified.
    #[arg(long)]
    verify: bool,
    /// Number of candidates to print for each problem.
    #[arg(long, default_value_t = 8)]
    top: usize,
    /// Reports how well estimates rank the candidates that were measured.
    #[arg(long)]
    report: bool,
    /// Output file for a table of the times, for the library, or of a kernel's fastest parameters by device; an existing
    /// file is replaced once the new one is complete, and remains if no candidate was correct.
    #[arg(long, value_name = "TABLE")]
    table: Option<PathBuf>,
    #[command(flatten)]
    reporting: Reporting,
}

/// How a search reports its results.
#[derive(Args, Default)]
struct Reporting {
    /// Output format; JSON is one object for each problem and device, HTML is a page with charts (docs/reports.md).
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    output: OutputArgument,
    #[command(flatten)]
    text: TextArgument,
}

impl What {
    /// The options of a search, if it is one.
    fn search(&mut self) -> Option<&mut SearchArguments> {
        match self {
            Self::Gemm(products) => Some(&mut products.search),
            Self::Filter(filters) => Some(&mut filters.search),
            Self::Quantised(products) => Some(&mut products.search),
            Self::Kernel(kernel) => Some(&mut kernel.search),
            Self::Logs(_) | Self::Worker(_) => None,
        }
    }

    /// Runs it; searches report as text, and add their results to `results`.
    fn run(self, out: &mut dyn Write, results: &mut Vec<Search>) -> Result<Finish> {
        match self {
            Self::Gemm(products) => products.run(out, results),
            Self::Filter(filters) => filters.run(out, results),
            Self::Quantised(products) => products.run(out, results),
            Self::Kernel(kernel) => kernel.run(out, results),
            Self::Logs(logs) => logs.run(out),
            Self::Worker(worker) => worker.run().map(|()| Finish::Clean),
        }
    }
}

impl Tune {
    pub(crate) fn run(mut self, out: &mut dyn Write) -> Result<Finish> {
        let in_process = self.trace.is_wanted();
        let Some(search) = self.what.search() else { return self.what.run(out, &mut Vec::new()) };
        if in_process {
            // A trace has what this process runs.
            search.machine.stay_in_process();
        }
        let Reporting { format, output, text } = mem::take(&mut search.reporting);
        output.write(out, format == Format::Html, |out| report(self.what, format, &text, out))
    }
}

/// Searches, and writes the results as text or JSON.
fn report(what: What, format: Format, text: &TextArgument, out: &mut ReportWriter<'_>) -> Result<Finish> {
    let mut results = Vec::new();
    if format == Format::Text {
        text.open(true)?;
        return what.run(out, &mut results);
    }
    let text = text.open(false)?;
    let mut kept = Vec::new();
    let finish = what.run(&mut kept, &mut results)?;
    write_text(text, || String::from_utf8_lossy(&kept).into_owned())?;
    results.into_iter().try_for_each(|result| out.result(result))?;
    Ok(finish)
}
