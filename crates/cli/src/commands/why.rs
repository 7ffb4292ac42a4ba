//! `tripipe why`: where an application's time goes, launch by launch.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use tripipe_analyze::analyze;
use tripipe_capture::trace::{self, KernelTimes};
use tripipe_device::Gpu;
use tripipe_report::simulation::{head, limiter};
use tripipe_report::why::{Measured, PredictedLaunch, RankedLaunch, Why as Ranking};
use tripipe_timing::{Options, Prediction};
use tripipe_trace::TraceFile;

use super::analyze::launch_setup;
use super::simulate::launch_energy;
use super::verdict::launches;
use super::{Format, OutputArgument, ReportWriter};
use crate::error_chain::chain;
use crate::files::originals;
use crate::files::output::plain;
use crate::finish::Finish;
use crate::launch_input::{
    DEFAULT_GPU, Description, LIMIT_STEPS, LaunchOptions, Trial, Workload, gpu, one_kernel,
};
use crate::progress::Progress;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe why launches -g mali-g77
  tripipe why launches clintercept_trace.json -g \"Adreno 640\"
  tripipe why launches -g mali-g610 --format html -o why.html
  tripipe why launches -g mali-g610 --trace why.pftrace";

/// Rank the launches of an application by time against their ceilings: where its time goes on a GPU, and why.
///
/// Launch files, such as those that `tripipe import` makes, are analysed and timed by the model of a GPU (docs/model.md).
/// A trace gives the times and the numbers of launches that were measured: Chrome JSON of the OpenCL intercept layer,
/// or of --trace FILE.json. With both, kernels are matched by name. docs/capture.md describes the columns.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Why {
    /// Launch files, folders with folders of launch files, and traces in Chrome JSON (.json).
    #[arg(value_name = "DIR|TRACE", required = true)]
    paths: Vec<PathBuf>,
    /// GPU whose times are predicted, e.g. "Mali-G77", "Adreno 740".
    #[arg(short, long, value_name = "GPU", default_value = DEFAULT_GPU, value_parser = gpu)]
    gpu: &'static Gpu,
    /// Maximum number of instructions that a work-group may run, counted once for all work-items that run them together.
    #[arg(long, value_name = "N", default_value_t = LIMIT_STEPS, value_parser = clap::value_parser!(u64).range(1..))]
    limit_steps: u64,
    /// Estimate the energy of each launch from its counters, as `simulate --energy` does, for the GPUs that Arm's driver has
    /// coefficients for (docs/simulate.md).
    #[arg(long)]
    energy: bool,
    /// Writes the launches one after the other for ui.perfetto.dev (docs/traces.md), with their times and what bounds
    /// them: a Perfetto trace if FILE ends in .pftrace or .perfetto-trace, Chrome JSON if it ends in .json.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Output format; JSON is one object, HTML a page with charts (docs/reports.md).
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    output: OutputArgument,
}

impl Why {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        self.output.write(out, self.format == Format::Html, |out| self.report(out))
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        let file = self.trace.as_deref().map(TraceFile::new).transpose()?;
        let is_trace = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "json");
        let (traces, folders): (Vec<&PathBuf>, Vec<&PathBuf>) = self.paths.iter().partition(is_trace);
        let (mut measured, mut notes) = (Vec::new(), Vec::new());
        for path in traces {
            let file = path.display().to_string();
            originals::keep(path)?;
            let text = fs::read_to_string(path)
                .map_err(|error| anyhow!("{file} cannot be read: {}; check the path", plain(&error)))?;
            let launches = trace::launches(&file, &text)?;
            if launches.iter().any(|launch| launch.predicted) {
                notes.push(format!("the times of {file} are predicted ones of a virtual GPU, not measured"));
            }
            measured.extend(launches);
        }
        let folders: Vec<PathBuf> = folders.into_iter().cloned().collect();
        let progress = Progress::compiler("compiling the kernels");
        let mut ranking = Ranking { gpu: self.gpu, rows: Vec::new(), notes, in_order: Vec::new(), measured };
        for path in launches(&folders)? {
            progress.say(&format!("predicting {}", path.display()));
            let row = self.row(&path, &mut ranking.notes)?;
            ranking.in_order.push(row.clone());
            let same = |known: &&mut RankedLaunch| known.kernel == row.kernel && known.global == row.global;
            match ranking.rows.iter_mut().find(same) {
                Some(known) => {
                    // The mean of launches of the same sizes.
                    if let (Some(known_time), Some(time)) = (&mut known.predicted, &row.predicted) {
                        let count = known.launches as f64;
                        let mean = |known: f64, own: f64| (known * count + own) / (count + 1.0);
                        known_time.seconds = mean(known_time.seconds, time.seconds);
                        if let (Some(Ok(known)), Some(Ok(own))) = (&mut known_time.energy, &time.energy) {
                            known.joules = mean(known.joules, own.joules);
                            known.operations = mean(known.operations, own.operations);
                            known.watts = known.joules / known_time.seconds;
                        }
                    }
                    known.launches += 1;
                }
                None => ranking.rows.push(row),
            }
        }
        drop(progress);
        let measured = trace::kernels(&ranking.measured);
        join(&mut ranking, measured);
        ranking.rank();
        match self.format {
            Format::Text => {
                out.write_all(tripipe_report::why::text(&ranking, self.output.canvas()).as_bytes())?;
            }
            Format::Json | Format::Html => out.result(tripipe_report::why::result(&ranking))?,
        }
        if let Some(file) = file {
            file.save(&tripipe_report::why::timeline(&ranking))?;
        }
        Ok(Finish::Clean)
    }

    /// A launch: its analysis and its predicted time. A launch that the GPU cannot run has a note instead.
    fn row(&self, path: &Path, notes: &mut Vec<String>) -> Result<RankedLaunch> {
        let file = path.display().to_string();
        let description = Description::open(path, &LaunchOptions::default())?;
        let build = description.as_driver(self.gpu).with_context(|| file.clone())?;
        let name = description.shown();
        let kernel = one_kernel(&build.loaded, &name, description.file.kernel.as_deref())
            .with_context(|| file.clone())?;
        let workload = Workload::new(&description, &build, kernel, self.limit_steps)?;
        let mut row = RankedLaunch {
            kernel: kernel.name.clone(),
            file: Some(file.clone()),
            global: Some(workload.global()),
            launches: 1,
            ..RankedLaunch::default()
        };
        let setup = launch_setup(&description)?;
        let mut analysis = analyze(kernel, self.gpu, &setup);
        let options = Options { activity: self.energy, ..Options::default() };
        match workload.predict(self.gpu, &Trial::default(), &options) {
            Ok(timed) => {
                let prediction = timed.prediction;
                workload.price(&mut analysis, &setup, &prediction);
                let energy = self.energy.then(|| launch_energy(self.gpu, &prediction));
                row.predicted = Some(PredictedLaunch { energy, ..predicted(&prediction, self.gpu) });
            }
            Err(error) => notes.push(format!("{file}: {}", chain(&error))),
        }
        let advice = analysis.advice.iter().find(|advice| advice.is_reported());
        row.advice = advice.map(|advice| {
            let seconds = advice.gain.as_ref().and_then(|gain| gain.seconds);
            let said = format!("{}: {} {}", advice.rule.code, sentence(&advice.message), advice.fix);
            (said, seconds.map(|[before, after]| 1.0 - after / before))
        });
        Ok(row)
    }
}

/// What a prediction says about a launch.
pub(super) fn predicted(prediction: &Prediction, gpu: &Gpu) -> PredictedLaunch {
    let (busiest, share) = prediction.busiest();
    PredictedLaunch {
        local: prediction.local,
        seconds: prediction.seconds,
        band: prediction.error_band,
        launch_seconds: prediction.launch_seconds,
        limiter: limiter(prediction.limiter(), gpu).to_owned(),
        ceiling: (head(busiest, gpu).to_owned(), share.clamp(0.0, 1.0)),
        energy: None,
    }
}

/// A message that ends like a sentence.
fn sentence(message: &str) -> String {
    let message = message.trim_end();
    if message.ends_with('.') { message.to_owned() } else { format!("{message}.") }
}

/// Adds the times of traces. If a kernel has launches of several sizes, they share its time as predicted.
fn join(ranking: &mut Ranking, measured: BTreeMap<String, KernelTimes>) {
    for (kernel, KernelTimes { launches, seconds }) in measured {
        let rows: Vec<usize> =
            (0..ranking.rows.len()).filter(|row| ranking.rows[*row].kernel == kernel).collect();
        if rows.is_empty() {
            let measured = Some(Measured { launches, seconds });
            ranking.rows.push(RankedLaunch { kernel, launches, measured, ..RankedLaunch::default() });
            continue;
        }
        let weight = |row: &RankedLaunch| {
            let each = row.predicted.as_ref().map_or(1.0, |predicted| predicted.seconds);
            (row.launches as f64, row.launches as f64 * each)
        };
        let all = rows
            .iter()
            .map(|row| weight(&ranking.rows[*row]))
            .fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        let mut left = launches;
        for (position, row) in rows.iter().enumerate() {
            let (count, time) = weight(&ranking.rows[*row]);
            let own = if position + 1 == rows.len() {
                left
            } else {
                ((launches as f64 * count / all.0).round() as usize).min(left)
            };
            left -= own;
            let seconds = if all.1 > 0.0 { seconds * time / all.1 } else { 0.0 };
            ranking.rows[*row].measured = Some(Measured { launches: own, seconds });
        }
        if rows.len() > 1 {
            ranking.notes.push(format!(
                "`{kernel}` has launches of {} sizes; they share the measured time as predicted",
                rows.len()
            ));
        }
    }
}
