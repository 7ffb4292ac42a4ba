//! `tripipe compare`: counters captured on a real GPU beside the prediction.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use tripipe_device::Gpu;
use tripipe_report::comparison::{self, Report};
use tripipe_timing::Options;
use tripipe_timing::counters::{Capture, Clock, compare};

use super::{Format, OutputArgument, ReportWriter};
use crate::files::input::{open_or_standard, shown_input};
use crate::files::originals;
use crate::finish::Finish;
use crate::launch_input::{LIMIT_STEPS, LaunchArgument, Trial, Workload, gpu, one_kernel};
use crate::progress::Progress;

/// Bytes of a capture, at most.
const MOST: u64 = 256 << 20;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe compare streamline.csv product.toml -g mali-g77
  tripipe compare streamline.csv blur.cl -g g610 --global 1920,1080 --from 1.25 --to 1.5 --launches 20
  tripipe compare snapdragon.csv blur.cl -g adreno-650 --global 1920,1080 --format json";

/// Lay counters that were captured on a real GPU beside the prediction of the same launch, row by row.
///
/// The capture is the CSV export of Streamline or Snapdragon Profiler, or a list of counters with their values. Names may
/// be the vendor's for programs, for people, or the hardware's. docs/counters.md explains which counters the model has.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CompareCapture {
    /// The capture; - for standard input.
    #[arg(value_name = "CAPTURE.csv")]
    capture: PathBuf,
    #[command(flatten)]
    launch: LaunchArgument,
    /// The GPU of the capture, e.g. "Mali-G77", "Adreno 740".
    #[arg(short, long, value_name = "GPU", value_parser = gpu)]
    gpu: &'static Gpu,
    /// Compare samples from this time on, in seconds since the first sample.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    from: Option<f64>,
    /// Compare samples up to this time, in seconds since the first sample.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    to: Option<f64>,
    /// How often the launch ran in that time: sums are divided by it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    launches: u64,
    /// Unit of the capture's times [default: that in the name of their column, else seconds].
    #[arg(long, value_enum)]
    time_unit: Option<TimeUnit>,
    /// Play every work-group instead of a part; slow for large launches.
    #[arg(long)]
    exact: bool,
    /// Maximum number of instructions that a work-group may run, counted once for all work-items that run them together.
    #[arg(long, value_name = "N", default_value_t = LIMIT_STEPS, value_parser = clap::value_parser!(u64).range(1..))]
    limit_steps: u64,
    /// Output format; JSON is one object.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    output: OutputArgument,
}

/// Units of the times of a capture.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum TimeUnit {
    S,
    Ms,
    Us,
    Ns,
}

impl TimeUnit {
    fn clock(self) -> Clock {
        match self {
            Self::S => Clock::Seconds,
            Self::Ms => Clock::Milliseconds,
            Self::Us => Clock::Microseconds,
            Self::Ns => Clock::Nanoseconds,
        }
    }
}

/// Reads a capture.
///
/// # Errors
/// The file cannot be read, or is not a capture.
fn read(path: &Path, clock: Option<Clock>) -> Result<Capture> {
    let shown = shown_input(path);
    originals::keep(path)?;
    let bytes = open_or_standard(path, "a capture as CSV")?.bytes(&shown, MOST)?;
    let text =
        String::from_utf8(bytes).map_err(|_| anyhow!("{shown} is not text; export the capture as CSV"))?;
    Capture::read(&text, clock).with_context(|| shown)
}

impl CompareCapture {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        self.output.write(out, self.format == Format::Html, |out| self.report(out))
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        let gpu = self.gpu;
        let (from, to) = (self.from.unwrap_or(f64::NEG_INFINITY), self.to.unwrap_or(f64::INFINITY));
        if from.is_nan() || to.is_nan() || from > to {
            bail!("--from {from} --to {to}: the start has to be before the end");
        }
        let capture = read(&self.capture, self.time_unit.map(TimeUnit::clock))?;
        let timed = |(time, _): &(Option<f64>, f64)| time.is_some();
        if (self.from.is_some() || self.to.is_some())
            && !capture.series.iter().any(|series| series.samples.iter().any(timed))
        {
            bail!("{} has no times; leave --from and --to out", shown_input(&self.capture));
        }
        let description = self.launch.open()?;
        let progress = Progress::compiler("compiling the kernel");
        let build = description.as_driver(gpu)?;
        let name = description.shown();
        let kernel = one_kernel(&build.loaded, &name, description.file.kernel.as_deref())?;
        description.options.check_kernels(&[kernel])?;
        let workload = Workload::new(&description, &build, kernel, self.limit_steps)?;
        progress.say(&format!("simulating {} on {}", kernel.name, gpu.name()));
        let options = Options { exact: self.exact, activity: true, ..Options::default() };
        let prediction = workload
            .predict(gpu, &Trial::default(), &options)
            .with_context(|| format!("`{}` on {}", kernel.name, gpu.name()))?
            .prediction;
        drop(progress);
        let compared = compare(&capture, gpu, &prediction, [from, to], self.launches as f64);
        let compared = compared.ok_or_else(|| anyhow!("nothing was recorded"))?;
        if compared.rows.iter().all(|row| row.samples == 0) {
            bail!(
                "{} has no sample in this time; see --from, --to and --time-unit",
                shown_input(&self.capture)
            );
        }
        if compared.rows.iter().all(|row| row.predicted.is_err()) {
            bail!(
                "{} has no counter that is predicted for {}; `tripipe simulate --counters` lists those",
                shown_input(&self.capture),
                gpu.name()
            );
        }
        let report = Report {
            capture: &shown_input(&self.capture),
            kernel: &kernel.name,
            program: &name,
            gpu,
            launches: self.launches,
            guessed: workload.is_guessed(),
            prediction: &prediction,
            comparison: &compared,
        };
        match self.format {
            Format::Text => out.write_all(comparison::text(&report, self.output.canvas()).as_bytes())?,
            Format::Json | Format::Html => out.result(comparison::result(&report))?,
        }
        Ok(Finish::Clean)
    }
}
