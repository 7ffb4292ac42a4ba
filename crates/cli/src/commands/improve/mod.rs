//! `tripipe improve`: a kernel, rewritten step by step to a faster one.

mod list;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use tripipe_device::Gpu;
use tripipe_improve::{
    ALL, Allowed, Improvement, Options, PriceError, Rewrite, SearchError, Target, VerifyError, search,
};
use tripipe_report::improvement;
use tripipe_results::Improved;

use super::{OutputArgument, ReportWriter, TextArgument, file_canvas, write_text};
use crate::files::output::Output;
use crate::finish::Finish;
use crate::launch_input::{
    Description, GpuArgument, LIMIT_STEPS, LaunchArgument, LaunchFiles, Launches, is_fault_of_kernel,
};
use crate::progress::Progress;
use crate::terminal;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe improve blur.toml -g mali-g78,adreno-740 -o better.cl
  tripipe improve blur.cl -g g77 --global 1920,1080 --arg width=1920 --arg height=1080 --diff
  tripipe improve blur.toml -g g610,650 --each --format json";

/// Rewrite a kernel to a faster one, step by step: every step is priced by the timing model and verified in the
/// simulator.
///
/// The steps are printed as a ladder: what each changes and why, its predicted time on each GPU, and how it was
/// verified. With several GPUs, the result is the kernel whose largest time, as a multiple of the original's, is the
/// smallest. Source is compiled by clang; it needs no GPU and no OpenCL. The exit code is 0 even if nothing gains.
/// docs/improve.md explains the output. Of a launch file with several launches, neighbours are fused where that is the same, and each
/// kernel is rewritten.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
#[allow(clippy::struct_excessive_bools, reason = "options of the command line")]
pub(crate) struct Improve {
    #[command(flatten)]
    launch: LaunchArgument,
    #[command(flatten)]
    gpu: GpuArgument,
    /// Writes the new source to a file; if the launch has changed, also a launch file beside it, with the ending .toml.
    /// The original is written if nothing gains. An existing file is replaced once the new one is complete.
    #[arg(short, long, value_name = "BETTER.cl")]
    output: Option<PathBuf>,
    /// Also prints the difference of the sources in the unified format.
    #[arg(long)]
    diff: bool,
    /// Makes a kernel for each GPU instead of one for all; -o then adds the GPU to the file's name.
    #[arg(long)]
    each: bool,
    /// Allows rewrites that round floating-point results differently; the bound is printed.
    #[arg(long)]
    allow_rounding: bool,
    /// Seconds after which nothing more is tried.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Lists everything that was tried and not applied.
    #[arg(short, long)]
    verbose: bool,
    /// Output format; JSON is one object, or one per GPU with --each, one per line; HTML is a page with both sources
    /// side by side, SARIF 2.1.0 has the new source as a fix.
    #[arg(long, value_enum, default_value_t = ImproveFormat::Text)]
    format: ImproveFormat,
    #[command(flatten)]
    text: TextArgument,
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ImproveFormat {
    /// Text for reading.
    Text,
    /// JSON.
    Json,
    /// A page with both sources.
    Html,
    /// SARIF 2.1.0.
    Sarif,
}

impl Improve {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let to_standard = OutputArgument::default();
        to_standard.write(out, self.format == ImproveFormat::Html, |out| self.report(out))
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        if self.diff && self.format != ImproveFormat::Text {
            bail!("--diff prints text; the other formats always have the difference");
        }
        let text = self.text.open(self.format == ImproveFormat::Text)?;
        let launches = self.launch.open_all()?;
        let gpus = self.gpu.resolve()?;
        let groups: Vec<Vec<&'static Gpu>> =
            if self.each { gpus.iter().map(|gpu| vec![*gpu]).collect() } else { vec![gpus] };
        // A path that cannot be written is reported before anything is tried.
        let places: Vec<Option<PathBuf>> = groups.iter().map(|gpus| self.output_path(gpus)).collect();
        for path in places.iter().flatten() {
            check_place(path)?;
        }
        let progress = Progress::compiler("compiling the kernel");
        let mut all = Vec::new();
        let options = Options {
            allowed: Allowed { rounding: self.allow_rounding },
            limit: Duration::from_secs(u64::from(self.limit)) / groups.len().max(1) as u32,
            limit_steps: LIMIT_STEPS,
            ..Options::default()
        };
        for (gpus, place) in groups.into_iter().zip(places) {
            let place = place.as_deref();
            all.push(match &launches {
                Launches::One(description) => improve(description, &gpus, ALL, &options, place, &progress)?,
                Launches::Several(sequence) => list::improve(sequence, &gpus, &options, place, &progress)?,
            });
        }
        drop(progress);
        print(&all, self.format, self.verbose, self.diff, text, out)?;
        Ok(Finish::Clean)
    }
    /// Where the source for some GPUs is written.
    fn output_path(&self, gpus: &[&'static Gpu]) -> Option<PathBuf> {
        let path = self.output.as_ref()?;
        let (true, [gpu]) = (self.each, gpus) else { return Some(path.clone()) };
        let name = gpu.name().to_lowercase().replace(' ', "-");
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let ending =
            path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
        Some(path.with_file_name(format!("{stem}-{name}{ending}")))
    }
}

/// Whether a result can be written to a path, before anything is tried.
///
/// # Errors
/// It cannot, or would replace a file that is read, or a launch file that is not a former result.
pub(super) fn check_place(place: &Path) -> Result<()> {
    drop(Output::open(place)?);
    let beside = place.with_extension("toml");
    if !beside.exists() {
        return Ok(());
    }
    drop(Output::open(&beside)?);
    if !fs::read_to_string(&beside).is_ok_and(|text| text.starts_with(WRITTEN)) {
        bail!(
            "a new launch would replace {}, which is not a result of this command; name another output",
            beside.display()
        );
    }
    Ok(())
}

/// The first line of the launch files that are written, by which they are known.
const WRITTEN: &str = "# Written by Tripipe with the source beside it, and replaced with it.\n";

/// Rewrites a kernel for some GPUs with some rewrites, and writes the result to `place` if something gains or all are
/// tried.
///
/// # Errors
/// Its launch is not known, or does not suit it; it does not compile; the result cannot be written.
pub(super) fn improve(
    description: &Description,
    gpus: &[&'static Gpu],
    rewrites: &[Rewrite],
    options: &Options,
    place: Option<&Path>,
    progress: &Progress,
) -> Result<Improved> {
    if !description.has_launch() && description.options.global.is_empty() {
        // A program that cannot be read is the first thing to say.
        description.as_written()?;
        bail!(
            "{}: its launch is not known; give --global and --arg, such as --global 1920,1080 --arg width=1920, or a \
            launch file (`tripipe template` writes one)",
            description.shown()
        );
    }
    let first = gpus.first().copied();
    let targets: Vec<Target> = gpus.iter().map(|gpu| description.target(gpu)).collect::<Result<_>>()?;
    let start = Instant::now();
    let mut growth = 1;
    let (launched, found) = loop {
        let launched = description.clone().with_grown_launch(first, growth)?;
        let original = launched.subject(first)?;
        let files = LaunchFiles::of(&launched);
        let begin = Instant::now();
        let options = Options { limit: options.limit.saturating_sub(start.elapsed()), ..options.clone() };
        let found =
            search(&original, &targets, rewrites, &files, &options, &mut |step| show(progress, &step));
        // Guessed buffers grow as those of `tripipe simulate` do, while there is time.
        // Twice the memory takes twice the time.
        let can_grow = !description.has_launch() && 3 * begin.elapsed() < options.limit;
        if !can_grow || !found.as_ref().is_err_and(is_outside) {
            break (launched, found);
        }
        growth *= 2;
    };
    // What a kernel does to guessed memory says nothing about the kernel.
    let is_guess = !description.has_launch()
        && matches!(
            found,
            Err(SearchError::Verify(VerifyError::Original { .. } | VerifyError::NoLaunch { .. }))
        );
    let found = found.map_err(|error| anyhow::Error::new(error).context(launched.shown()));
    let found = if is_guess {
        found.context(
            "the guessed launch does not suit it; write a launch file (`tripipe template` writes one)",
        )?
    } else {
        found?
    };
    // A file that was asked for is written whole or not at all; `improve` copies what nothing improves.
    let is_written = !found.steps.is_empty() || rewrites.len() == ALL.len();
    let launch = write(&launched, &found, place.filter(|_| is_written))?;
    Ok(improvement::result(&found, &targets, launch))
}

/// Prints results in a format, with everything that was not applied if `verbose`, and the difference of the sources if
/// `diff`.
///
/// # Errors
/// The output cannot be written.
pub(super) fn print(
    all: &[Improved],
    format: ImproveFormat,
    verbose: bool,
    diff: bool,
    text: Option<Output>,
    out: &mut ReportWriter<'_>,
) -> Result<()> {
    let report = |canvas| {
        let texts = all.iter().map(|improved| improvement::text(improved, verbose, canvas));
        texts.collect::<Vec<_>>().join("\n")
    };
    write_text(text, || report(file_canvas()))?;
    match format {
        ImproveFormat::Text => {
            out.write_all(report(terminal::canvas()).as_bytes())?;
            for improved in all.iter().filter(|improved| diff && !improved.diff.is_empty()) {
                write!(out, "\n{}", improved.diff)?;
            }
        }
        ImproveFormat::Json | ImproveFormat::Html => {
            all.iter().cloned().try_for_each(|improved| out.result(improved))?;
        }
        ImproveFormat::Sarif => {
            let rules: Vec<_> = ALL.iter().map(|rewrite| rewrite.rule).collect();
            writeln!(out, "{}", improvement::sarif(all, &rules))?;
        }
    }
    Ok(())
}

/// Whether a kernel reads or writes outside its memory.
fn is_outside(error: &SearchError) -> bool {
    let finding = match error {
        SearchError::Verify(VerifyError::Original { finding }) => Some(finding),
        SearchError::Verify(VerifyError::NoLaunch { finding }) => finding.as_ref(),
        SearchError::Price { error: PriceError::Execute(error), .. } => return is_fault_of_kernel(error),
        _ => None,
    };
    finding.is_some_and(|finding| finding.rule.code.starts_with("out-of-bounds"))
}

/// Writes the new source and its launch file, and returns the launch file if the launch has changed.
///
/// # Errors
/// A file cannot be written.
fn write(description: &Description, found: &Improvement, place: Option<&Path>) -> Result<Option<String>> {
    let subject = found.subject();
    let is_changed = subject.launch != found.original.launch;
    let launch = if is_changed { description.launch_of(subject, place)? } else { None };
    write_files(place, &subject.source, launch.as_deref())?;
    Ok(launch)
}

/// Writes a source to `place`, and a launch file beside it if there is one.
///
/// # Errors
/// A file cannot be written.
fn write_files(place: Option<&Path>, source: &str, launch: Option<&str>) -> Result<()> {
    let beside = place.map(|path| path.with_extension("toml"));
    if let Some(path) = place {
        // Both can be written, or nothing is.
        let first = Output::open(path)?;
        let second = launch.zip(beside.as_deref());
        let second = second.map(|(text, path)| Ok::<_, anyhow::Error>((text, Output::open(path)?)));
        let second = second.transpose()?;
        first.write(|sink| Ok(sink.write_all(source.as_bytes())?))?;
        if let Some((text, output)) = second {
            output.write(|sink| Ok(write!(sink, "{WRITTEN}{text}")?))?;
        }
    }
    Ok(())
}

/// Shows what the search does.
fn show(progress: &Progress, step: &tripipe_improve::Progress<'_>) {
    use tripipe_improve::Progress::{Pricing, Proving, Reference};
    match step {
        Reference => progress.say("running the original"),
        Pricing { depth, title, tried, best } => progress.say(&format!(
            "step {}: {title} ({tried} tried, {:.2}x so far)",
            depth + 1,
            1.0 / best.max(f64::MIN_POSITIVE)
        )),
        Proving { title } => progress.say(&format!("verifying: {title}")),
        _ => {}
    }
}
