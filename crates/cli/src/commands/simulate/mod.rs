//! `tripipe simulate`: how long a kernel takes on GPUs that you do not have.

mod sequence;
mod what_if;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use tripipe_analyze::{Figure, Limit};
use tripipe_device::Gpu;
use tripipe_ir::Kernel;
use tripipe_report::diff;
use tripipe_report::simulation::{self, Predicted, Repriced, Simulated, Simulation};
use tripipe_results::Document;
use tripipe_timing::counters::counters;
use tripipe_timing::energy::{self, Energy};
use tripipe_timing::schedule::Buffers;
use tripipe_timing::{Options, Prediction};
use tripipe_trace::TraceFile;

use super::analyze::{earlier, exceeded, warn};
use super::{Format, OutputArgument, ReportWriter, TextArgument, file_canvas, note, write_text};
use crate::error_chain::chain;
use crate::files::output::Output;
use crate::finish::Finish;
use crate::launch_input::{
    GpuArgument, GpuBuild, LIMIT_STEPS, LaunchArgument, Launches, Timed, Trial, Workload, one_kernel,
};
use crate::progress::Progress;
use crate::terminal;
pub(crate) use what_if::CHANGES;
use what_if::{Change, Variant, WhatIf};

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe simulate blur.cl -g mali-g77,adreno-650 --global 1920,1080
  tripipe simulate product.toml -g \"Mali-T604\" --format json
  tripipe simulate chain.toml -g \"Adreno 620\" --buffers map
  tripipe simulate product.cl -g g77 --global 256,256 --arg n=1024 --what-if clock=800,local=16,8
  tripipe simulate blur.cl -g g610 --global 1920,1080 --what-if \"-D RADIUS=1\"";

/// Why there is no energy.
pub(super) const NO_ESTIMATE: &str = "no estimate, because nobody has published what its counters cost";

/// Predict how long a kernel takes on a GPU, what limits it, and what a change would gain.
///
/// The kernel is compiled by a model of the GPU's compiler, and its work-groups are played on a model of its cores,
/// caches and memory, so this needs no GPU and no OpenCL; source is compiled by clang. The exit code is 2 if a GPU
/// cannot run the kernel. docs/simulate.md explains the output, docs/model.md how accurate it is.
///
/// A launch file with several launches has a schedule: copies, the host's calls and kernels on one timeline, and how much
/// faster the application can get by each kernel.
#[derive(Args)]
#[allow(clippy::struct_excessive_bools, reason = "options of the command line")]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Simulate {
    #[command(flatten)]
    launch: LaunchArgument,
    #[command(flatten)]
    gpu: GpuArgument,
    /// Changes to price, one by one and all together: clock=MHZ, cores=N, l2=BYTES (K and M are accepted),
    /// bandwidth=GB/s, registers=N (the most that the compiler may use), local=N[,N[,N]], and -D NAME=VALUE; may be
    /// repeated.
    #[arg(long, value_name = "CHANGE,...", allow_hyphen_values = true)]
    what_if: Vec<WhatIf>,
    /// Writes the predicted launches for ui.perfetto.dev (docs/traces.md): a Perfetto trace if FILE ends in .pftrace or
    /// .perfetto-trace, Chrome JSON if it ends in .json.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How buffers get to the GPU and back, for a launch file with several launches: copy, map, zero-copy [default:
    /// copy].
    #[arg(long, value_name = "HOW", value_parser = sequence::buffers)]
    buffers: Option<Buffers>,
    /// The host waits for every call, for a launch file with several launches.
    #[arg(long)]
    blocking: bool,
    /// Play every work-group instead of a part; slow for large launches.
    #[arg(long)]
    exact: bool,
    /// Limits of time, registers, spill (bytes) and threads, e.g. "time<=2ms,registers<=32"; the exit code is 1 if a
    /// limit is exceeded.
    #[arg(long, value_name = "LIMITS", value_delimiter = ',', num_args = 1)]
    budget: Vec<Limit>,
    /// Output of an earlier `--format json`: shows what has changed since then instead of the result, as text or JSON.
    /// The exit code is 1 if a predicted time got longer.
    #[arg(long, value_name = "OLD.json")]
    diff: Option<PathBuf>,
    /// Show the counters of the launch under the names of the GPU's vendor, with how each is derived
    /// (docs/counters.md).
    #[arg(long)]
    counters: bool,
    /// Estimate the energy of the launch from its counters with the coefficients of Arm's driver, for the GPUs that it
    /// has some for: Mali-G310, G510, G610, G615, G710, G715 (docs/simulate.md).
    #[arg(long)]
    energy: bool,
    /// Write these counters to a file in the form of a capture, as Streamline and Snapdragon Profiler export; for one
    /// kernel and one GPU.
    #[arg(long, value_name = "FILE.csv")]
    counters_csv: Option<PathBuf>,
    /// Maximum number of instructions that a work-group may run, counted once for all work-items that run them together.
    #[arg(long, value_name = "N", default_value_t = LIMIT_STEPS, value_parser = clap::value_parser!(u64).range(1..))]
    limit_steps: u64,
    /// Output format; JSON is one object per kernel and GPU, one per line, HTML is a page with charts
    /// (docs/reports.md).
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    output: OutputArgument,
    #[command(flatten)]
    text: TextArgument,
}

impl Simulate {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        self.output.write(out, self.format == Format::Html, |out| self.report(out))
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        let text = self.text.open(self.format == Format::Text)?;
        if self.diff.is_some() && self.format == Format::Html {
            bail!(
                "--diff does not support html; use `tripipe view OLD.json NEW.json` for a page of the changes"
            );
        }
        let before = self.diff.as_deref().map(|path| {
            earlier(path, "simulate", |document| match document {
                Document::Simulate(simulated) => Some(*simulated),
                _ => None,
            })
        });
        let before = before.transpose()?;
        let gpus = self.gpu.resolve()?;
        let trace = self.trace.as_deref().map(TraceFile::new).transpose()?;
        let changes: Vec<&Change> = self.what_if.iter().flat_map(|what_if| &what_if.changes).collect();
        let description = match self.launch.open_all()? {
            Launches::One(description) => *description,
            Launches::Several(sequence) => {
                return self.schedule(&sequence, &gpus, trace, text, out);
            }
        };
        if self.buffers.is_some() || self.blocking {
            let option = if self.blocking { "--blocking" } else { "--buffers" };
            bail!("{option}: for a launch file with a list of launches (docs/launch-files.md)");
        }
        let progress = Progress::compiler("compiling the kernel");
        let (builds, lacking) = GpuBuild::split(description.as_drivers(&gpus)?)?;
        let name = description.shown();
        let source = description.text().unwrap_or_default();
        let wanted = description.file.kernel.as_deref();
        let mut kernels: Vec<Vec<&Kernel>> = Vec::new();
        for (_, build) in &builds {
            let own = if description.has_launch() {
                vec![one_kernel(&build.loaded, &name, wanted)?]
            } else {
                build.kernels(&name, wanted)?
            };
            description.options.check_kernels(&own)?;
            kernels.push(own);
        }
        let first = kernels.first().map_or(&[][..], |kernels| kernels);
        if self.counters_csv.is_some() && first.len() * gpus.len() != 1 {
            bail!(
                "--counters-csv: a file has the counters of one kernel on one GPU; choose them with -k and -g"
            );
        }
        let variants: Vec<Vec<Variant>> = builds
            .iter()
            .map(|(gpus, _)| {
                gpus.first().map_or_else(|| Ok(Vec::new()), |gpu| Variant::of(&changes, &description, gpu))
            })
            .collect::<Result<_>>()?;
        let wanted = self.counters || self.counters_csv.is_some() || self.format == Format::Html;
        let activity = wanted || self.energy || trace.is_some();
        let distinct = !changes.is_empty();
        let options = Options { exact: self.exact, activity, distinct, ..Options::default() };
        let mut left_out: Vec<String> =
            builds.iter().filter_map(|(_, build)| build.left_out.clone()).collect();
        left_out.dedup();
        let mut results = Vec::new();
        for kernel in first {
            // The kernel as each driver builds it; where some build others, those of the first count.
            let mut workloads = Vec::new();
            for ((_, build), kernels) in builds.iter().zip(&kernels) {
                let own = kernels.iter().find(|own| own.name == kernel.name);
                let workload = own.map(|own| Workload::new(&description, build, own, self.limit_steps));
                workloads.push(workload.transpose()?);
            }
            let mut all = Vec::new();
            for gpu in &gpus {
                let is_of = |gpus: &[&Gpu]| gpus.iter().any(|own| own.name() == gpu.name());
                let Some(at) = builds.iter().position(|(gpus, _)| is_of(gpus)) else {
                    let lacks = lacking.iter().find(|(gpus, _)| is_of(gpus));
                    let reason = lacks.map_or_else(String::new, |(_, error)| chain(error));
                    all.push(Simulated { gpu, outcome: Err(reason) });
                    continue;
                };
                let Some(workload) = &workloads[at] else {
                    let reason = format!("its driver builds no kernel `{}`", kernel.name);
                    all.push(Simulated { gpu, outcome: Err(reason) });
                    continue;
                };
                let variants = &variants[at];
                progress.say(&format!("simulating {} on {}", kernel.name, gpu.name()));
                let outcome = match workload.predict(gpu, &Trial::default(), &options) {
                    Ok(timed) => {
                        let counters = wanted.then(|| counters(gpu, &timed.prediction)).flatten();
                        let energy = self.energy.then(|| launch_energy(gpu, &timed.prediction));
                        let all = Self::predicted(timed, gpu, workload, variants, &options);
                        Ok(Predicted { counters, energy, ..all })
                    }
                    Err(error) => Err(chain(&error)),
                };
                all.push(Simulated { gpu, outcome });
            }
            let workload = workloads.into_iter().next().flatten();
            results.push((workload.ok_or_else(|| anyhow!("{name} has no kernel"))?, all));
        }
        drop(progress);
        let failed: Vec<(&str, &Gpu, &str)> = results
            .iter()
            .flat_map(|(workload, all)| all.iter().map(move |each| (workload.kernel().name.as_str(), each)))
            .filter_map(|(kernel, each)| Some((kernel, each.gpu, each.outcome.as_ref().err()?.as_str())))
            .collect();
        let count = results.iter().map(|(_, all)| all.len()).sum::<usize>();
        if failed.len() == count {
            bail!("{}", reasons(&failed));
        }
        let over = self.over_budget(&results)?;
        if let Some(path) = &self.counters_csv {
            write_counters(path, &results)?;
        }
        let simulations: Vec<Simulation<'_>> = results
            .iter()
            .map(|(workload, all)| Simulation {
                kernel: &workload.kernel().name,
                program: &name,
                source: &source,
                global: workload.global(),
                guessed: workload.is_guessed(),
                left_out: &left_out,
                gpus: all,
            })
            .collect();
        if let Some(trace) = trace {
            trace.save(&simulation::timeline(&simulations))?;
        }
        let all = || simulations.iter().flat_map(simulation::results).collect::<Vec<_>>();
        let diff = before.map(|before| diff::of_simulations(&before, &all()));
        let report = |canvas| match &diff {
            Some(diff) => diff.text(canvas),
            None => {
                simulations.iter().map(|each| simulation::text(each, canvas)).collect::<Vec<_>>().join("\n")
            }
        };
        write_text(text, || report(file_canvas()))?;
        match self.format {
            Format::Text => out.write_all(report(self.output.canvas()).as_bytes())?,
            Format::Json | Format::Html => match &diff {
                Some(diff) => diff.results().into_iter().try_for_each(|result| out.result(result))?,
                None => all().into_iter().try_for_each(|result| out.result(result))?,
            },
        }
        let is_over = !over.is_empty();
        warn(over);
        if failed.is_empty() {
            let found = is_over || diff.is_some_and(|diff| diff.is_worse());
            return Ok(if found { Finish::Findings } else { Finish::Clean });
        }
        note(&terminal::shown(reasons(&failed)));
        Ok(Finish::Bad)
    }

    /// The limits that are exceeded, one per line.
    fn over_budget(&self, results: &[(Workload<'_>, Vec<Simulated>)]) -> Result<Vec<String>> {
        let mut over = Vec::new();
        for (workload, all) in results {
            for (limit, each) in
                self.budget.iter().flat_map(|limit| all.iter().map(move |each| (limit, each)))
            {
                let Ok(predicted) = &each.outcome else { continue };
                let value = match limit.figure() {
                    Figure::Milliseconds => predicted.prediction.seconds * 1e3,
                    Figure::Registers => f64::from(predicted.prediction.registers),
                    Figure::SpillBytes => f64::from(predicted.spill_bytes),
                    Figure::Threads => f64::from(predicted.prediction.threads),
                    _ => bail!(
                        "--budget {limit}: a simulation has time, registers, spill and threads; `tripipe analyze` has \
                        the other figures"
                    ),
                };
                over.extend(exceeded(limit, value, &workload.kernel().name, each.gpu));
            }
        }
        Ok(over)
    }

    /// The result on a GPU, with all changes.
    fn predicted(
        timed: Timed,
        gpu: &'static Gpu,
        workload: &Workload<'_>,
        variants: &[Variant],
        options: &Options,
    ) -> Predicted {
        let options = &Options { activity: false, ..options.clone() };
        let price = |variant: &Variant| {
            let outcome = variant.predict(gpu, workload, options);
            Repriced { change: variant.name.clone(), outcome: outcome.map_err(|error| chain(&error)) }
        };
        let mut what_if: Vec<Repriced> = variants.iter().map(price).collect();
        what_if.sort_by(|a, b| {
            a.seconds_for_all(&timed.prediction).total_cmp(&b.seconds_for_all(&timed.prediction))
        });
        Predicted { what_if, ..timed.into() }
    }
}

/// The energy of a launch whose activity was recorded, or why it has no estimate.
pub(super) fn launch_energy(gpu: &Gpu, prediction: &Prediction) -> Result<Energy, String> {
    energy::energy(gpu, prediction).ok_or_else(|| NO_ESTIMATE.to_owned())
}

/// Writes the counters of the only launch.
///
/// # Errors
/// The file cannot be written.
fn write_counters(path: &Path, results: &[(Workload<'_>, Vec<Simulated>)]) -> Result<()> {
    let all = results.iter().flat_map(|(_, all)| all);
    for Simulated { gpu, outcome } in all {
        if let Ok(Predicted { counters: Some(counters), prediction, .. }) = outcome {
            let text = tripipe_report::counters::csv(counters, gpu, prediction.seconds);
            Output::open(path)?.write(|sink| Ok(sink.write_all(text.as_bytes())?))?;
        }
    }
    Ok(())
}

/// Why kernels cannot run, in one line; a reason that several GPUs share is given once.
fn reasons(failed: &[(&str, &Gpu, &str)]) -> String {
    let mut groups: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for (kernel, gpu, reason) in failed {
        match groups.iter_mut().find(|(name, known, _)| name == kernel && known == reason) {
            Some((.., gpus)) => gpus.push(gpu.name()),
            None => groups.push((kernel, reason, vec![gpu.name()])),
        }
    }
    let said: Vec<String> = groups
        .iter()
        .map(|(kernel, reason, gpus)| format!("`{kernel}` on {}: {reason}", gpus.join(", ")))
        .collect();
    said.join("; ")
}
