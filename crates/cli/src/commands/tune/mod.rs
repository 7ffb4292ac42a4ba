//! `tripipe tune`: finds the fastest parameters on a device, and works with the logs of that.

mod arguments;
mod limit;
mod logs;
mod machine;
mod own;
mod problems;
mod session;
mod worker;

use std::io::Write;
use std::mem;

use anyhow::Result;
use clap::{Args, Subcommand};
use tripipe_results::Search;

use super::{Format, ReportWriter, TextArgument, write_text};
use crate::finish::Finish;
use crate::trace::TraceArgument;
use arguments::{Reporting, SearchArguments};
use logs::Logs;
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
