//! `tripipe analyze`: what a kernel costs on GPUs that you do not have.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use rayon::prelude::*;
use tripipe_analyze::{Advice, Analysis, Figure, Limit, Polynomial, Setup, analyze_all, lints};
use tripipe_device::{Gpu, Vendor};
use tripipe_ir::diagnostic::{Finding, Rule, Severity};
use tripipe_ir::{Kernel, Module, Parameter, ParameterKind};
use tripipe_launch_file::{Given, Number};
use tripipe_report::analysis::{self, Priced};
use tripipe_report::simulation::Predicted;
use tripipe_report::{diff, findings};
use tripipe_results::Document;
use tripipe_timing::{Options, depends_on_argument, depends_on_memory};

use crate::commands::allow::{self, RuleOptions, RuleTable};
use crate::commands::fix::fix;
use crate::commands::improve::ImproveFormat;
use crate::commands::{OutputArgument, ReportWriter, TextArgument, file_canvas, note, write_text};
use crate::error_chain::chain;
use crate::files::originals;
use crate::finish::Finish;
use crate::launch_input::{
    Description, DriverBuild, GpuArgument, GpuBuild, LIMIT_STEPS, LaunchArgument, Trial, Workload, names,
    price_statically,
};
use crate::progress::Progress;
use crate::terminal;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe analyze filter.cl -k blur -g \"Mali-G610\"
  tripipe analyze product.cl -g all --arg n=1024 --global 1024,1024 --local 16,16
  tripipe analyze filter.toml -g g77 --fix single-output -o wider.cl
  tripipe analyze filter.toml --format json";

/// Estimate what a kernel costs on a GPU before it runs: cycles per pipe, registers, occupancy, memory accesses, and
/// what bounds it.
///
/// Nothing is executed, so this needs no GPU and no OpenCL; source is compiled by clang. If a loop's trip count is
/// unknown, its cost is symbolic; sizes and arguments turn it into numbers, and give a time. docs/analyze.md explains
/// how to read the result, docs/model.md what the model covers and how accurate it is.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Analyze {
    #[command(flatten)]
    launch: LaunchArgument,
    #[command(flatten)]
    gpu: GpuArgument,
    #[command(flatten)]
    rules: RuleOptions<AnalyzeRules>,
    /// Limits, e.g. "ls<=32,registers<=32,threads>=512,time<=2ms"; the exit code is 1 if a limit is exceeded. A time is
    /// the predicted one.
    #[arg(long, value_name = "LIMITS", value_delimiter = ',', num_args = 1)]
    budget: Vec<Limit>,
    /// Output of an earlier `--format json`: shows what has changed since then instead of the result, in every format
    /// except malioc-json. The exit code is 1 if something got worse: the predicted time, or without one the figures.
    #[arg(long, value_name = "OLD.json")]
    diff: Option<PathBuf>,
    /// Applies the rewrite of the advice with this code: the variant that is fastest by the model of time, verified in the
    /// simulator as `tripipe improve` does. The steps and the difference of the sources are printed; with -o, the new
    /// source is written to that file instead, whole or not at all. It needs a launch. The exit code is 1 if no rewrite
    /// gains or none can be verified.
    #[arg(long, value_name = "CODE", conflicts_with_all = ["budget", "diff"])]
    fix: Option<String>,
    /// Output format; malioc-json is the format of Arm's offline compiler, for Mali GPUs only; sarif contains only the
    /// advice, for code scanning; markdown is for a comment on a pull request, html a page (docs/reports.md). JSON is one object per kernel and GPU,
    /// one per line.
    #[arg(long, value_enum, default_value_t = AnalyzeFormat::Text)]
    format: AnalyzeFormat,
    #[command(flatten)]
    output: OutputArgument,
    #[command(flatten)]
    text: TextArgument,
}

/// The rules of this command.
#[derive(Clone, Debug)]
struct AnalyzeRules;

impl RuleTable for AnalyzeRules {
    const ALL: &'static [&'static Rule] = lints::ALL;
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AnalyzeFormat {
    Text,
    Json,
    MaliocJson,
    Sarif,
    Markdown,
    Html,
}

/// A prediction that takes longer is not repeated for rewrites that follow advice.
const LONGEST_PREDICTION: Duration = Duration::from_secs(10);

/// Most GPUs that a time is predicted for.
const MOST_PREDICTED: usize = 8;

impl Analyze {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let as_page = self.format == AnalyzeFormat::Html;
        if let Some(code) = &self.fix {
            let to_standard = OutputArgument::default();
            return to_standard.write(out, as_page, |out| self.fix(code, out));
        }
        self.output.write(out, as_page, |out| self.report(out))
    }

    fn fix(&self, code: &str, out: &mut ReportWriter<'_>) -> Result<Finish> {
        let format = match self.format {
            AnalyzeFormat::Text => ImproveFormat::Text,
            AnalyzeFormat::Json => ImproveFormat::Json,
            AnalyzeFormat::Html => ImproveFormat::Html,
            AnalyzeFormat::Sarif => ImproveFormat::Sarif,
            AnalyzeFormat::MaliocJson | AnalyzeFormat::Markdown => {
                bail!("--fix has the formats text, json, html and sarif")
            }
        };
        let text = self.text.open(self.format == AnalyzeFormat::Text)?;
        let (gpus, description) = (self.gpu.resolve()?, self.launch.open()?);
        fix(code, &description, &gpus, format, self.output.output.as_deref(), text, out)
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        let text = self.text.open(self.format == AnalyzeFormat::Text)?;
        let gpus = self.gpu.resolve()?;
        let before = self.diff.as_deref().map(|path| {
            earlier(path, "analyze", |document| match document {
                Document::Analyze(analysis) => Some(*analysis),
                _ => None,
            })
        });
        let before = before.transpose()?;
        let description = self.launch.open()?;
        let progress = Progress::compiler("compiling the kernel");
        let (builds, lacking) = GpuBuild::split(description.as_drivers(&gpus)?)?;
        let name = description.shown();
        let source = description.text().unwrap_or_default();
        let wanted = description.file.kernel.as_deref();
        if self.format == AnalyzeFormat::MaliocJson {
            Self::check_malioc(&gpus)?;
        }
        progress.say("pricing");
        let mut results = Vec::new();
        for (gpus, build) in &builds {
            let module = &build.loaded.module;
            let kernels = build.kernels(&name, wanted)?;
            description.options.check_kernels(&kernels)?;
            for kernel in kernels {
                let setup = setup(&description, kernel)?;
                let mut analyses = analyze_all(kernel, gpus, &setup);
                for analysis in &mut analyses {
                    analysis
                        .advice
                        .retain(|advice| !self.is_allowed(advice, module, kernel, (&name, &source)));
                    analysis.left_out.extend(build.left_out.clone());
                }
                progress.say("predicting the time");
                let predictions = self.predictions(kernel, &mut analyses, &setup, &description, build);
                let is_many = analyses.len() > MOST_PREDICTED;
                analyses.par_iter_mut().zip(&predictions).for_each(|(analysis, prediction)| {
                    if prediction.is_err() && !is_many {
                        price_statically(&description, kernel, &setup, analysis);
                    }
                });
                for analysis in &mut analyses {
                    analysis.advice.retain(Advice::is_reported);
                }
                results.push((module, kernel, analyses, predictions));
            }
        }
        drop(progress);
        for (gpus, error) in &lacking {
            note(&format!("left out: {}: {}", names(gpus), terminal::shown(chain(error))));
        }
        // All of a kernel together, where GPUs run different code.
        let order: Vec<&str> = results.iter().map(|(_, kernel, ..)| kernel.name.as_str()).collect();
        let mut sorted: Vec<usize> = (0..results.len()).collect();
        sorted.sort_by_key(|index| order.iter().position(|name| *name == order[*index]));
        let all: Vec<Priced<'_>> = sorted
            .iter()
            .map(|index| &results[*index])
            .map(|(module, kernel, analyses, predictions)| Priced {
                module,
                kernel,
                name: &name,
                source: &source,
                analyses,
                predictions,
            })
            .collect();
        // Limits that cannot be checked are reported before anything is written.
        let over = self.over_budget(&all)?;
        let results = || all.iter().flat_map(analysis::results).collect::<Vec<_>>();
        let diff = before.map(|before| diff::of_analyses(&before, &results()));
        let sarif = |rules: &'static [&'static Rule], found: &[Finding]| {
            findings::sarif(&findings::Report {
                launches: &[],
                rules,
                left_out: &[],
                findings: found,
                sources: &BTreeMap::from([(name.clone(), source.clone())]),
            })
        };
        let report = |canvas| match &diff {
            Some(diff) => diff.text(canvas),
            None => all.iter().map(|priced| analysis::text(priced, canvas)).collect::<Vec<_>>().join("\n"),
        };
        write_text(text, || report(file_canvas()))?;
        match (self.format, &diff) {
            (AnalyzeFormat::Text, _) => out.write_all(report(self.output.canvas()).as_bytes())?,
            (AnalyzeFormat::Json, Some(diff)) => {
                diff.results().into_iter().try_for_each(|result| out.result(result))?;
            }
            (AnalyzeFormat::Markdown, Some(diff)) => write!(out, "{}", diff.markdown())?,
            (AnalyzeFormat::Sarif, Some(diff)) => {
                writeln!(out, "{}", sarif(&[&diff::RULE], &diff.findings()))?;
            }
            (AnalyzeFormat::MaliocJson | AnalyzeFormat::Html, Some(_)) => {
                bail!(
                    "--diff does not support {}; use --format text, json, sarif or markdown, or `tripipe view OLD.json \
                     NEW.json` for a page of the changes",
                    if self.format == AnalyzeFormat::Html { "html" } else { "malioc-json" }
                )
            }
            (AnalyzeFormat::Json | AnalyzeFormat::Html, None) => {
                results().into_iter().try_for_each(|result| out.result(result))?;
            }
            (AnalyzeFormat::Markdown, None) => {
                for priced in &all {
                    writeln!(out, "{}", analysis::markdown(priced))?;
                }
            }
            (AnalyzeFormat::Sarif, None) => {
                writeln!(out, "{}", analysis::sarif(&all, lints::ALL))?;
            }
            (AnalyzeFormat::MaliocJson, None) => writeln!(out, "{:#}", analysis::malioc(&all, &name))?,
        }
        let is_over = !over.is_empty();
        warn(over);
        let denied =
            |advice: &Advice| self.rules.denies(advice.rule) || advice.rule.severity == Severity::Error;
        let mut advice = all.iter().flat_map(|priced| priced.analyses).flat_map(|analysis| &analysis.advice);
        let worse = diff.is_some_and(|diff| diff.is_worse());
        let found = worse || is_over || advice.any(denied);
        if !lacking.is_empty() && self.gpu.is_named() {
            return Ok(Finish::Bad);
        }
        Ok(if found { Finish::Findings } else { Finish::Clean })
    }

    /// The limits that are exceeded, one per line.
    fn over_budget(&self, all: &[Priced<'_>]) -> Result<Vec<String>> {
        let mut over = Vec::new();
        for (analysis, prediction) in
            all.iter().flat_map(|priced| priced.analyses.iter().zip(priced.predictions))
        {
            let seconds = prediction.as_ref().map(|predicted| predicted.prediction.seconds);
            for limit in &self.budget {
                let value = limit.of(analysis, seconds.map_err(String::as_str))?;
                over.extend(exceeded(limit, value, &analysis.kernel, analysis.gpu));
            }
        }
        Ok(over)
    }

    /// Rejects the GPUs if none of them can be represented in the format of Arm's offline compiler.
    fn check_malioc(gpus: &[&'static Gpu]) -> Result<()> {
        if gpus.iter().any(|gpu| gpu.vendor() == Vendor::Arm) {
            return Ok(());
        }
        let names: Vec<&str> = gpus.iter().map(|gpu| gpu.name()).collect();
        bail!(
            "--format malioc-json supports only Mali GPUs, not {}; --format json supports all GPUs",
            names.join(", ")
        )
    }

    /// Whether advice is suppressed: by a flag, or by a comment on its line or the line above.
    fn is_allowed(
        &self,
        advice: &Advice,
        module: &Module,
        kernel: &Kernel,
        (name, source): (&str, &str),
    ) -> bool {
        if self.rules.allows(advice.rule) {
            return true;
        }
        let Some(location) = advice.location else { return false };
        // In the function that contains the code, or at its call.
        [Some(kernel.own_location(location)), kernel.called_from(location)].into_iter().flatten().any(
            |location| {
                *module.files[location.file] == *name && allow::allows(source, location.line, advice.rule)
            },
        )
    }

    /// The predicted time on each GPU, or what is missing; sets the times of the advice.
    fn predictions(
        &self,
        kernel: &Kernel,
        analyses: &mut [Analysis],
        setup: &Setup,
        description: &Description,
        build: &DriverBuild,
    ) -> Vec<Result<Predicted, String>> {
        let count = analyses.len();
        let none = |reason: String| vec![Err(reason); count];
        if !description.has_launch() && description.options.global.is_empty() {
            return none("the launch is not known; give --global, or a launch file".to_owned());
        }
        if !description.has_launch() {
            // A wrong guess of a count would be a wrong time.
            let unknown = kernel.parameters.iter().enumerate().find(|(position, parameter)| {
                let counts = matches!(parameter.kind, ParameterKind::Value(ty) if ty.is_int());
                let given = description.options.arguments.iter().any(|(name, _)| *name == parameter.name);
                counts && !given && depends_on_argument(kernel, *position)
            });
            if let Some((_, Parameter { name, .. })) = unknown {
                return none(format!(
                    "argument `{name}` is not known; give --arg {name}=..., or a launch file (`tripipe simulate` guesses it)"
                ));
            }
        }
        let limits_time = self.budget.iter().any(|limit| limit.figure() == Figure::Milliseconds);
        if count > MOST_PREDICTED && !limits_time {
            return none(format!(
                "with more than {MOST_PREDICTED} GPUs it would take long; `tripipe simulate` predicts for all"
            ));
        }
        let workload = match Workload::new(description, build, kernel, LIMIT_STEPS) {
            Ok(workload) => workload,
            Err(error) => return none(chain(&error)),
        };
        let is_open = |column: &Polynomial| column.as_constant().is_none();
        let has_open_loops = analyses.first().is_some_and(|it| it.longest.columns.iter().any(is_open));
        if !description.has_launch() && has_open_loops && depends_on_memory(kernel) {
            note(&format!(
                "the time of `{}` depends on the contents of memory, which are guessed; a launch file gives them \
                (`tripipe template` writes one)",
                kernel.name
            ));
        }
        let predict = |analysis: &mut Analysis| {
            let begin = Instant::now();
            let timed = workload.predict(analysis.gpu, &Trial::default(), &Options::default());
            let timed = timed.map_err(|error| chain(&error))?;
            // Each changed kernel takes as long.
            if begin.elapsed() < LONGEST_PREDICTION {
                workload.price(analysis, setup, &timed.prediction);
            }
            Ok(timed.into())
        };
        analyses.par_iter_mut().map(predict).collect()
    }
}

/// Writes the limits that are exceeded to standard error.
pub(crate) fn warn(over: Vec<String>) {
    for said in over {
        // If this fails, nobody reads standard error.
        let _ = writeln!(io::stderr(), "{}", terminal::shown(said));
    }
}

/// What to say about a limit if a figure exceeds it.
pub(crate) fn exceeded(limit: &Limit, value: f64, kernel: &str, gpu: &Gpu) -> Option<String> {
    let found = match limit.figure() {
        Figure::Milliseconds => format!("{} predicted", tripipe_report::time(value * 1e-3)),
        figure => format!("{} {}", Polynomial::constant(value), figure.unit()),
    };
    let broken = limit.is_broken_by(value);
    broken.then(|| format!("over budget: {kernel} on {}: {found}, want {limit}", gpu.name()))
}

/// The earlier results of a command, which `of` recognises.
pub(crate) fn earlier<T>(path: &Path, command: &str, of: impl Fn(Document) -> Option<T>) -> Result<Vec<T>> {
    let shown = path.display();
    originals::keep(path)?;
    let text = fs::read_to_string(path).with_context(|| format!("{shown} cannot be read"))?;
    text.lines()
        .enumerate()
        .map(|(index, line)| {
            let place = format!("{shown}:{}: not a result of `tripipe {command} --format json`", index + 1);
            let document = serde_json::from_str(line).with_context(|| place.clone())?;
            of(document).ok_or_else(|| anyhow!(place))
        })
        .collect()
}

/// What is known about the launch of a kernel.
pub(super) fn setup(description: &Description, kernel: &Kernel) -> Result<Setup> {
    let given = description.options.arguments.iter();
    let integers = given.filter_map(|(name, number)| Some((name.as_str(), integer(*number)?)));
    Ok(launch_setup(description)?.of_kernel(kernel, integers))
}

/// What a launch file or the command line says about the launch.
pub(crate) fn launch_setup(description: &Description) -> Result<Setup> {
    let mut setup = Setup::default();
    let sizes = |given: [usize; 3]| given.map(|size| size as u64);
    if let Some(range) = description.range()? {
        setup.global = Some(sizes(range.global_size()));
        setup.local = range.local_size().map(sizes);
    } else if let [x, ref more @ ..] = description.options.local[..] {
        let at = |index: usize| more.get(index).copied().unwrap_or(1);
        setup.local = Some(sizes([x, at(0), at(1)]));
    }
    for (position, entry) in description.file.arguments.iter().enumerate() {
        if let Given::Value { numbers, .. } = &entry.given
            && let [number] = numbers[..]
            && let Some(value) = integer(number)
        {
            setup.arguments.insert(position, value);
        }
    }
    Ok(setup)
}

/// A number that sizes can depend on.
fn integer(number: Number) -> Option<i64> {
    match number {
        Number::Integer(value) => i64::try_from(value).ok(),
        Number::Float(_) => None,
    }
}
