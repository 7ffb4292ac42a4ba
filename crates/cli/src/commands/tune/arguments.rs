//! The options of every search.

use std::path::PathBuf;

use clap::Args;
use tripipe_tune::StrategyKind;

use super::limit::Limit;
use super::machine::MachineArguments;
use crate::commands::{DeviceChoices, Format, OutputArgument, TextArgument};

/// How to search.
#[derive(Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct SearchArguments {
    /// Devices, separated by commas: auto and opencl (the strongest OpenCL device), opencl:N with the number that
    /// `tripipe devices` shows, virtual:GPU, a GPU that is not there, whose times are predicted, or virtual:all.
    #[arg(long, value_name = "DEVICE,...", value_delimiter = ',', default_value = "auto")]
    pub(super) device: Vec<DeviceChoices>,
    #[command(flatten)]
    pub(super) machine: MachineArguments,
    /// Which candidates are tried: exhaustive (all), random, predicted (the fastest by estimate first), or learned (by a
    /// model that is learned from the times so far; ends when little improvement is expected).
    #[arg(long, default_value_t = StrategyKind::Learned)]
    pub(super) strategy: StrategyKind,
    /// Time limit for the whole search in seconds, after which it ends with the results so far; none for no limit. A
    /// candidate that has started is completed.
    #[arg(long, value_name = "SECONDS", default_value = "120")]
    pub(super) limit: Limit,
    /// Number of candidates to try for each problem.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) candidates: Option<u32>,
    /// Timed runs of a candidate, at most.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) runs: u32,
    /// Seed of random choices.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Log of all outcomes, to which this search appends; none for no log [default: tripipe/tune.jsonl in your data
    /// folder for devices that are there, none for virtual GPUs].
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
    /// Measures again what the log already knows.
    #[arg(long)]
    pub(super) again: bool,
    /// Times slow candidates too; without it, a candidate is dropped if its first run takes eight times as long as the
    /// fastest so far.
    #[arg(long)]
    pub(super) keep_slow: bool,
    /// On a virtual GPU: also computes and verifies the result of every candidate, which takes much longer. On other
    /// devices every result is verified.
    #[arg(long)]
    pub(super) verify: bool,
    /// Number of candidates to print for each problem.
    #[arg(long, default_value_t = 8)]
    pub(super) top: usize,
    /// Reports how well estimates rank the candidates that were measured.
    #[arg(long)]
    pub(super) report: bool,
    /// Output file for a table of the times, for the library, or of a kernel's fastest parameters by device; an existing
    /// file is replaced once the new one is complete, and remains if no candidate was correct.
    #[arg(long, value_name = "TABLE")]
    pub(super) table: Option<PathBuf>,
    #[command(flatten)]
    pub(super) reporting: Reporting,
}

/// How a search reports its results.
#[derive(Args, Default)]
pub(super) struct Reporting {
    /// Output format; JSON is one object for each problem and device, HTML is a page with charts (docs/reports.md).
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) output: OutputArgument,
    #[command(flatten)]
    pub(super) text: TextArgument,
}
