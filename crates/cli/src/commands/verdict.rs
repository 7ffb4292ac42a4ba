//! `tripipe verdict`: who is to blame for a device's results.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use tripipe::{Choice, Device};
use tripipe_capture::verdict::reduce::{Reduced, reduce};
use tripipe_capture::verdict::{Case, Judged, Verdict as Outcome, judge};
use tripipe_device::Gpu;
use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_launch::Program;
use tripipe_launch_file::{Loaded, Tolerance};
use tripipe_opencl::{CacheChoice, ExecutorOptions};
use tripipe_report::verdict::JudgedLaunch;
use tripipe_results::Reproducer;
use tripipe_simulate::watch::rules;

use super::{OutputArgument, ReportWriter, resolve};
use crate::files::folder;
use crate::finish::Finish;
use crate::launch_input::{Description, LaunchLimits, LaunchOptions, gpu};
use crate::open_device::OpenDevice;
use crate::progress::Progress;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe verdict launches
  tripipe verdict launches/Enqueue_3_blur/launch.toml --reduce reproducer
  tripipe verdict blur.toml --device opencl:0 --format sarif > blur.sarif";

/// Judge a device's results: a bug of the kernel, allowed rounding, a driver that miscompiled, or no difference.
///
/// The results are what launch files expect, such as those that `tripipe import` makes, or those of a device at hand
/// (--device). Each launch runs with all checks, in the simulator, and in float64 with the bounds of OpenCL C. The exit
/// code is 1 for a bug of the kernel, for a result that is not allowed, and for one without a bound that is far from
/// float64's. docs/capture.md explains verdicts.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Verdict {
    /// Launch files, or folders with folders of launch files, as `tripipe import` makes them.
    #[arg(value_name = "LAUNCH|DIR", required = true)]
    paths: Vec<PathBuf>,
    /// Judge what this device computes now, instead of what the launch files expect: opencl (the strongest device) or
    /// opencl:N with the number that `tripipe devices` shows.
    #[arg(long, value_name = "DEVICE")]
    device: Option<Choice>,
    /// GPU whose limits and warp width apply, e.g. "Mali-G77", "Adreno 740" [default: none, so the largest limits].
    #[arg(short, long, value_name = "GPU", value_parser = gpu)]
    gpu: Option<&'static Gpu>,
    /// New folder for a reproducer of the first result that is not allowed: the launch, cut down to the work-items,
    /// memory and statements with which the difference stays.
    #[arg(long, value_name = "FOLDER")]
    reduce: Option<PathBuf>,
    #[command(flatten)]
    options: LaunchOptions,
    #[command(flatten)]
    limits: LaunchLimits,
    /// Output format: text, JSON with one object for each launch (docs/capture.md), or SARIF 2.1.0 for code scanning.
    #[arg(long, value_enum, default_value_t = VerdictFormat::Text)]
    format: VerdictFormat,
    #[command(flatten)]
    output: OutputArgument,
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum VerdictFormat {
    Text,
    Json,
    Sarif,
}

/// A launch that was judged.
struct JudgedFile {
    file: String,
    judged: Judged,
    sources: BTreeMap<String, String>,
    /// The reproducer's folder, and what it is.
    reduced: Option<(String, Reduced)>,
}

impl Verdict {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        self.output.write(out, false, |out| self.report(out))
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        if let Some(folder) = &self.reduce {
            folder::check(folder)?;
        }
        let device = self.device.map(resolve).transpose()?;
        let name = device.as_ref().map(Device::name);
        if let Some(device) = &device
            && !matches!(device, Device::OpenCl(_))
        {
            bail!("--device {}: want an OpenCL device, opencl or opencl:N", device.choice());
        }
        let progress = Progress::compiler("compiling the kernels");
        let mut all = Vec::new();
        for path in launches(&self.paths)? {
            let file = path.display().to_string();
            progress.say(&format!("judging {file}"));
            let wants_reproducer =
                self.reduce.is_some() && !all.iter().any(|done: &JudgedFile| done.reduced.is_some());
            let done = self
                .judge(&path, device.as_ref(), wants_reproducer)
                .with_context(|| format!("{file} cannot be judged"))?;
            all.push(done);
        }
        drop(progress);
        let checks: Vec<&'static Rule> = rules::ALL.to_vec();
        let reproducers: Vec<Option<Reproducer>> = all.iter().map(reproducer).collect();
        let launches: Vec<JudgedLaunch<'_>> = all
            .iter()
            .zip(reproducers)
            .map(|(done, reproducer)| JudgedLaunch {
                file: &done.file,
                device: name.as_deref(),
                judged: &done.judged,
                sources: &done.sources,
                reproducer,
            })
            .collect();
        match self.format {
            VerdictFormat::Text => {
                let texts: Vec<String> = launches
                    .iter()
                    .map(|launch| tripipe_report::verdict::text(launch, &checks, self.output.canvas()))
                    .collect();
                out.write_all(texts.join("\n").as_bytes())?;
            }
            VerdictFormat::Json => {
                for launch in &launches {
                    out.result(tripipe_report::verdict::result(launch, &checks))?;
                }
            }
            VerdictFormat::Sarif => {
                writeln!(out, "{}", tripipe_report::verdict::sarif(&launches, &checks))?;
            }
        }
        let far = |judged: &Judged| {
            judged.verdict == Outcome::Open
                && judged.findings.iter().any(|finding| {
                    finding.rule.severity >= Severity::Warning && finding.rule.code == "unbounded-result"
                })
        };
        let fails = all.iter().any(|done| {
            matches!(done.judged.verdict, Outcome::Bug | Outcome::Miscompiled) || far(&done.judged)
        });
        Ok(if fails { Finish::Findings } else { Finish::Clean })
    }

    fn judge(&self, path: &Path, device: Option<&Device>, wants_reproducer: bool) -> Result<JudgedFile> {
        let mut description = Description::open(path, &self.options)?.with_launch(self.gpu)?;
        if device.is_some() {
            description.file.forget_results();
        }
        let built = description.build(self.gpu)?;
        let mut loaded = description.load(&built, self.limits.memory())?;
        let mut run =
            device.map(|device| move |program: &Arc<Program>, loaded: &Loaded| on(device, program, loaded));
        // The simulator runs what was compiled, a driver the text.
        let (program, source) = description.as_written()?;
        let program = Arc::new(program);
        if let Some(run) = &mut run {
            let results = run(&program, &loaded)?;
            for (memory, bytes) in loaded.memory.iter_mut().zip(results) {
                memory.expected = Some((bytes, Tolerance::default()));
            }
        } else if loaded.memory.iter().all(|memory| memory.expected.is_none()) {
            bail!("it expects nothing, so there are no results to judge; add `expect`, or give --device");
        }
        let mut options = self.limits.simulation();
        options.gpu = self.gpu;
        options.build.cache = CacheChoice::default().cache();
        let build = program.build_options();
        let case = Case { program, loaded, options, build, source };
        let judged = judge(&case)?;
        let mut reduced = None;
        if let Some(folder) = self.reduce.as_ref().filter(|_| wants_reproducer) {
            let mut on_device =
                run.map(|run| move |program: &Arc<Program>, loaded: &Loaded| run(program, loaded).ok());
            let device = on_device.as_mut().map(|run| run as &mut dyn FnMut(&Arc<Program>, &Loaded) -> _);
            if let Some(found) = reduce(&case, &judged, device) {
                write(folder, &found, path)?;
                reduced = Some((folder.display().to_string(), found));
            }
        }
        let sources = sources(&judged, &case);
        Ok(JudgedFile { file: path.display().to_string(), judged, sources, reduced })
    }
}

/// The bytes of a launch's memory after a run on a device.
fn on(device: &Device, program: &Arc<Program>, loaded: &Loaded) -> Result<Vec<Vec<u8>>> {
    let options = ExecutorOptions::default().cache(CacheChoice::Off);
    let Some(mut opened) = OpenDevice::new(device, &options, false)? else {
        bail!("{} cannot run launch files", device.name())
    };
    let executor = opened.executor();
    let staged = loaded.clone().stage(executor, Arc::clone(program))?;
    executor.run(std::slice::from_ref(&staged.launch))?;
    staged.memory.iter().map(|memory| Ok(memory.read(executor)?.bytes)).collect()
}

/// The launch files in paths: files themselves, and `launch.toml` in the folders of folders.
pub(super) fn launches(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let shown = path.display();
        let own = path.join("launch.toml");
        if own.is_file() {
            all.push(own);
            continue;
        }
        let entries = fs::read_dir(path).with_context(|| format!("{shown} cannot be read"))?;
        let mut found: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path().join("launch.toml")))
            .filter(|launch| launch.is_file())
            .collect();
        if found.is_empty() {
            let captured = path.join("Replay").is_dir() || path.join("worksizes.txt").is_file();
            if captured {
                bail!("{shown} is a capture; make launch files of it first: tripipe import {shown}");
            }
            bail!(
                "{shown} has no launch.toml, nor has a folder in it; name launch files of other names, or make such \
                folders by tripipe import"
            );
        }
        found.sort_by_key(|launch| (number(launch), launch.clone()));
        all.extend(found);
    }
    Ok(all)
}

/// The number of an enqueue in the name of its folder.
fn number(launch: &Path) -> Option<u64> {
    let folder = launch.parent()?.file_name()?.to_str()?;
    folder.split('_').nth(1)?.parse().ok()
}

/// The source files of findings. The program itself was compiled from memory.
fn sources(judged: &Judged, case: &Case) -> BTreeMap<String, String> {
    let names: BTreeSet<&str> = judged
        .findings
        .iter()
        .flat_map(|finding| {
            finding
                .location
                .iter()
                .chain(finding.related.iter().filter_map(|related| related.location.as_ref()))
        })
        .map(|location| location.file.as_str())
        .collect();
    names
        .into_iter()
        .filter_map(|name| {
            let text = if *name == *case.program.name {
                case.source.clone()
            } else {
                fs::read_to_string(name).ok()?
            };
            Some((name.to_owned(), text))
        })
        .collect()
}

fn reproducer(done: &JudgedFile) -> Option<Reproducer> {
    let (folder, reduced) = done.reduced.as_ref()?;
    let loaded = &reduced.case.loaded;
    Some(Reproducer {
        folder: folder.clone(),
        work_items: loaded.range.work_items().unwrap_or(0) as u64,
        bytes: loaded.memory.iter().map(|memory| memory.array.bytes().unwrap_or(0) as u64).sum(),
        lines: reduced.case.source.lines().filter(|line| !line.trim().is_empty()).count(),
        tried: reduced.tried,
        confirmed: reduced.confirmed,
    })
}

/// Writes a reproducer: a launch file with the device's results, and one with those that the language defines.
fn write(folder: &Path, reduced: &Reduced, of: &Path) -> Result<()> {
    let case = &reduced.case;
    let about = |what: &str| {
        let how = if reduced.confirmed {
            "Each step ran on the device."
        } else {
            "Cut down without the device: run defined.toml on it to confirm that it still errs."
        };
        vec![format!("A part of {}. `expect` is {what}.", of.display()), how.to_owned()]
    };
    let device = case.recorded(about("what the device computed"), &case.device_results());
    let defined = case.recorded(about("what the language defines"), &reduced.defined);
    let failed = |error| anyhow!("{} cannot be written as a launch file: {error}", folder.display());
    let mut files = device.files().map_err(failed)?;
    for (name, bytes) in defined.files_named("defined.toml", "defined").map_err(failed)? {
        if !files.iter().any(|(known, _)| *known == name) {
            files.push((name, bytes));
        }
    }
    let files: Vec<(PathBuf, Vec<u8>)> =
        files.into_iter().map(|(name, bytes)| (PathBuf::from(name), bytes)).collect();
    folder::write(folder, &files)
}
