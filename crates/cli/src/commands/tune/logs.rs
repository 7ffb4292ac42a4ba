//! What is done with logs.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use tripipe_report::tune as report;
use tripipe_tune::export::exported;
use tripipe_tune::kernel::FAMILY;
use tripipe_tune::results::ProblemResults;
use tripipe_tune::{LogContents, results};

use crate::files::output::Output;
use crate::finish::Finish;
use crate::terminal::shown;

/// Work with logs.
#[derive(Subcommand)]
pub(super) enum Logs {
    Show(Show),
    Export(Export),
    Merge(Merge),
    Diff(Diff),
    Report(Quality),
}

/// The fastest parameters of every problem in logs.
///
/// Example: tripipe tune show tune.jsonl --top 3
#[derive(Args)]
pub(super) struct Show {
    /// Logs.
    #[arg(required = true)]
    logs: Vec<PathBuf>,
    /// Number of candidates to print for each problem.
    #[arg(long, default_value_t = 5)]
    top: usize,
}

/// A table of the times in logs, from which the library chooses parameters, without a build.
///
/// Example: tripipe tune export tune.jsonl -o ~/.config/tripipe/gemm/mine.toml
#[derive(Args)]
pub(super) struct Export {
    /// Logs.
    #[arg(required = true)]
    logs: Vec<PathBuf>,
    /// Output file for the table; - for standard output.
    #[arg(short, long, value_name = "TABLE")]
    output: PathBuf,
}

/// One log of several, in the order of the dates, equal lines once.
///
/// Example: tripipe tune merge phone.jsonl board.jsonl -o all.jsonl
#[derive(Args)]
pub(super) struct Merge {
    /// Logs.
    #[arg(required = true)]
    logs: Vec<PathBuf>,
    /// Output file for the log; - for standard output. It may be one of the logs.
    #[arg(short, long, value_name = "LOG")]
    output: PathBuf,
}

/// The fastest parameters in two logs, e.g. before and after an update of the driver.
///
/// Example: tripipe tune diff before.jsonl after.jsonl
#[derive(Args)]
pub(super) struct Diff {
    /// A log.
    before: PathBuf,
    /// Another one.
    after: PathBuf,
}

/// How well estimates rank the candidates that were measured: Spearman's rank correlation, by device and problem.
///
/// Example: tripipe tune report tune.jsonl
#[derive(Args)]
pub(super) struct Quality {
    /// Logs.
    #[arg(required = true)]
    logs: Vec<PathBuf>,
}

impl Logs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        match self {
            Self::Show(Show { logs, top }) => {
                let found = results::results(&read(&logs)?);
                if found.is_empty() {
                    writeln!(out, "no trials")?;
                }
                write!(out, "{}", shown(report::results(&found, top)))?;
            }
            Self::Export(Export { logs, output }) => {
                let found = results::results(&read(&logs)?);
                let exported = exported(&found);
                let is_kernel = |one: &ProblemResults| one.problem.starts_with(FAMILY);
                if exported.is_empty() {
                    if found.iter().any(is_kernel) {
                        bail!(
                            "no table is written: the logs have times of kernels only, which the library does not have; \
                            `tripipe tune kernel LAUNCH.toml --log LOG --candidates 1 --table FILE` writes those of one"
                        );
                    }
                    bail!("no table is written: the logs have no times");
                }
                let table = exported.to_toml()?;
                let output = Output::open_or_standard(&output)?;
                output.write(|sink| Ok(sink.write_all(table.as_bytes())?))?;
            }
            Self::Merge(Merge { logs, output }) => {
                let text = read(&logs)?.to_text()?;
                let output = Output::open_or_standard(&output)?;
                output.write(|sink| Ok(sink.write_all(text.as_bytes())?))?;
            }
            Self::Diff(Diff { before, after }) => {
                let [before, after] = [read(&[before])?, read(&[after])?];
                write!(out, "{}", shown(report::differences(&results::differences([&before, &after]))))?;
            }
            Self::Report(Quality { logs }) => {
                let found = results::results(&read(&logs)?);
                let quality = results::prediction_quality(&found);
                write!(out, "{}", shown(report::quality(&quality, &results::family_quality(&quality))))?;
            }
        }
        Ok(Finish::Clean)
    }
}

fn read(logs: &[PathBuf]) -> Result<LogContents> {
    let all = logs.iter().map(|path| LogContents::read(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(LogContents::merge(all))
}
