//! What is known of a kernel's source: the compiler's messages, findings that need no launch, and costs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use tripipe_analyze::{Advice, Analysis, Polynomial, Setup, analyze};
use tripipe_device::Gpu;
use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::{Kernel, Location, Module};
use tripipe_launch_file::BuildOptions;
use tripipe_report::simulation::limiter;
use tripipe_report::time;
use tripipe_simulate::watch::static_findings;
use tripipe_timing::Options;

use super::settings::{Fault, Settings, inside};
use crate::commands::allow::{allows, declaration};
use crate::commands::analyze::setup;
use crate::error_chain::chain;
use crate::launch_input::{
    Description, DriverBuild, LIMIT_STEPS, LaunchOptions, Trial, Workload, one_kernel, price_statically,
};

/// A text to review.
#[derive(Debug)]
pub(super) struct Job {
    /// The text's file.
    pub(super) path: PathBuf,
    /// The text, which may not be saved.
    pub(super) text: String,
    /// What it is priced for.
    pub(super) settings: Settings,
    /// The file of settings that is wrong, and what is.
    pub(super) wrong: Option<(PathBuf, Fault)>,
}

/// What is said about a place.
#[derive(Debug)]
pub(super) struct Remark {
    /// Line and column as compilers count them, from 1; column 0 is the whole line.
    pub(super) at: (u32, u32),
    /// How bad it is.
    pub(super) severity: Severity,
    /// What, in sentences.
    pub(super) message: String,
    /// The rule; `None` for the compiler's messages.
    pub(super) rule: Option<&'static Rule>,
    /// A source in which it is mended.
    pub(super) fix: Option<Fix>,
}

/// A change of the source that follows advice.
#[derive(Clone, Debug)]
pub(super) struct Fix {
    /// What it changes, and what the host must change with it.
    pub(super) title: String,
    /// The whole changed source.
    pub(super) source: String,
}

/// The cost of a kernel.
#[derive(Debug)]
pub(super) struct KernelCost {
    /// Its name.
    pub(super) kernel: String,
    /// The line on which it is declared, from 1.
    pub(super) line: u32,
    /// What bounds it, its registers and threads, and its time if that is known.
    pub(super) summary: String,
    /// Cycles of each line from 1: `A 4, LS 2`.
    pub(super) lines: BTreeMap<u32, String>,
}

/// What is known of a text.
#[derive(Debug, Default)]
pub(super) struct Review {
    /// Findings and the compiler's messages.
    pub(super) remarks: Vec<Remark>,
    /// The costs of its kernels.
    pub(super) kernels: Vec<KernelCost>,
}

/// How thorough a review is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// What there is time for while someone types: compiled and priced.
    Quick,
    /// With the advice that rewrites follow, with findings of the kernel as written, and with times.
    Whole,
}

impl Review {
    /// Reviews a text. What cannot be reviewed is a remark.
    pub(super) fn of(job: &Job, depth: Depth) -> Self {
        let mut review = Self::default();
        if let Some((path, Fault { location, message })) = &job.wrong {
            let said = format!("{}:{}:{}: {message}", path.display(), location.line, location.column);
            review.note((1, 0), Severity::Warning, said);
        }
        if let Err(error) = review.fill(job, depth) {
            review.note((1, 0), Severity::Error, chain(&error));
        }
        review.remarks.sort_by_key(|remark| remark.at);
        review
    }

    fn note(&mut self, at: (u32, u32), severity: Severity, message: String) {
        self.remarks.push(Remark { at, severity, message, rule: None, fix: None });
    }

    fn fill(&mut self, job: &Job, depth: Depth) -> Result<()> {
        let gpu = job.settings.gpu_or_default().ok_or_else(|| anyhow!("no GPU has a model"))?;
        for description in self.descriptions(job)? {
            let mut messages = String::new();
            let build = description.as_driver_saying(gpu, &mut messages);
            let name = description.shown();
            let known = self.remarks.len();
            self.compiler(&messages, &name);
            let build = match build {
                Ok(build) => build,
                // The compiler has said why.
                Err(_) if self.remarks[known..].iter().any(|remark| remark.severity == Severity::Error) => {
                    continue;
                }
                Err(error) => return Err(error),
            };
            for refused in &build.loaded.refused {
                let line = declaration(&job.text, &refused.kernel).unwrap_or(1);
                let message = format!("kernel `{}`: {}", refused.kernel, refused.error);
                self.note((line, 0), Severity::Warning, message);
            }
            if description.has_launch() {
                let wanted = description.file.kernel.as_deref();
                let kernel = one_kernel(&build.loaded, &name, wanted)?;
                self.kernel(job, &description, &build, kernel, gpu, depth)?;
                continue;
            }
            for kernel in &build.loaded.module.kernels {
                self.kernel(job, &description, &build, kernel, gpu, depth)?;
            }
        }
        Ok(())
    }

    /// The launches of the text that the settings name, then the text without one.
    fn descriptions(&mut self, job: &Job) -> Result<Vec<Description>> {
        let mut all = Vec::new();
        for launch in &job.settings.launches {
            match Description::open(launch, &LaunchOptions::default()) {
                Ok(description) if is_same(&description, &job.path) => {
                    all.push(description.with_program(job.text.clone()));
                }
                Ok(_) => {}
                Err(error) => self.note((1, 0), Severity::Warning, chain(&error)),
            }
        }
        let shown = job.path.display().to_string();
        // Options of a launch may be needed to build the program at all.
        let options = match (&job.settings.options, all.first()) {
            (Some(options), _) => options.clone(),
            (None, Some(launch)) => inside(launch.file.options.clone(), &launch.path("")),
            (None, None) => BuildOptions::default(),
        };
        let program = Description::of_read(shown, job.text.clone().into_bytes(), false);
        all.push(program.built_with(options)?);
        Ok(all)
    }

    /// Adds clang's messages: `FILE:LINE:COLUMN: error: WHAT`. Those in included files are at the first line.
    fn compiler(&mut self, messages: &str, name: &str) {
        for line in messages.lines() {
            let kinds = [
                (": error: ", Severity::Error),
                (": fatal error: ", Severity::Error),
                (": warning: ", Severity::Warning),
            ];
            let Some((place, severity, what)) = kinds.iter().find_map(|(kind, severity)| {
                let (place, what) = line.split_once(kind)?;
                Some((place, *severity, what))
            }) else {
                continue;
            };
            let numbers = place.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')).and_then(|rest| {
                let (line, column) = rest.split_once(':')?;
                Some((line.parse().ok()?, column.parse().ok()?))
            });
            let message = match numbers {
                Some(_) => what.to_owned(),
                None => format!("{place}: {what}"),
            };
            if !self.remarks.iter().any(|known| known.message == message && Some(known.at) == numbers) {
                self.note(numbers.unwrap_or((1, 0)), severity, message);
            }
        }
    }

    /// Adds what is known of a kernel, unless it is already.
    fn kernel(
        &mut self,
        job: &Job,
        description: &Description,
        build: &DriverBuild,
        kernel: &Kernel,
        gpu: &'static Gpu,
        depth: Depth,
    ) -> Result<()> {
        if self.kernels.iter().any(|known| known.kernel == kernel.name) {
            return Ok(());
        }
        let setup = if description.has_launch() { setup(description, kernel)? } else { Setup::default() };
        let mut analysis = analyze(kernel, gpu, &setup);
        let mut summary = summary(&analysis);
        if depth == Depth::Whole {
            self.as_written(job, description, kernel, gpu)?;
            if description.has_launch() {
                let workload = Workload::new(description, build, kernel, LIMIT_STEPS)?;
                match workload.predict(gpu, &Trial::default(), &Options::default()) {
                    Ok(timed) => {
                        let prediction = &timed.prediction;
                        let limiter = limiter(prediction.limiter(), gpu);
                        summary = format!("{}, limited by {limiter}; {summary}", time(prediction.seconds));
                        workload.price(&mut analysis, &setup, prediction);
                    }
                    Err(error) => summary = format!("{summary}; no time: {}", chain(&error)),
                }
            } else {
                price_statically(description, kernel, &setup, &mut analysis);
            }
        }
        let source = Source { job, module: &build.loaded.module, kernel, name: &description.shown() };
        let is_final = |advice: &&Advice| depth == Depth::Whole || !advice.is_for_rewrites();
        for advice in analysis.advice.iter().filter(|advice| advice.is_reported()).filter(is_final) {
            if let Some(remark) = source.remark(advice, gpu) {
                self.add(remark);
            }
        }
        let line = declaration(&job.text, &kernel.name).unwrap_or(1);
        let lines = source.lines(&analysis);
        let summary = format!("{}: {summary}", gpu.name());
        self.kernels.push(KernelCost { kernel: kernel.name.clone(), line, summary, lines });
        Ok(())
    }

    /// Adds a remark, unless another kernel that calls the same function has it; one with a fix is worth more.
    fn add(&mut self, remark: Remark) {
        let same = |known: &&mut Remark| {
            known.at == remark.at && known.rule == remark.rule && known.message == remark.message
        };
        match self.remarks.iter_mut().find(same) {
            Some(known) if known.fix.is_none() => *known = remark,
            Some(_) => {}
            None => self.remarks.push(remark),
        }
    }

    /// Adds what checks find in a kernel as it is written.
    fn as_written(&mut self, job: &Job, description: &Description, kernel: &Kernel, gpu: &Gpu) -> Result<()> {
        let (_, loaded) = description.translate(description.offered(Some(gpu))?)?;
        let Some(kernel) = loaded.module.kernel(&kernel.name) else { return Ok(()) };
        let line = declaration(&job.text, &kernel.name).unwrap_or(1);
        for finding in static_findings(&loaded.module, kernel) {
            if !allows(&job.text, line, finding.rule) {
                self.remarks.push(Remark {
                    at: (line, 0),
                    severity: finding.rule.severity,
                    message: format!("{}. {}", finding.message, finding.fix),
                    rule: Some(finding.rule),
                    fix: None,
                });
            }
        }
        Ok(())
    }
}

/// Whether a launch file is of the program in `path`.
fn is_same(description: &Description, path: &Path) -> bool {
    let own = description.path(description.file.source.path());
    match (own.canonicalize(), path.canonicalize()) {
        (Ok(own), Ok(path)) => own == path,
        _ => own == path,
    }
}

/// A kernel beside its source.
struct Source<'j> {
    job: &'j Job,
    module: &'j Module,
    kernel: &'j Kernel,
    /// The text's name in locations.
    name: &'j str,
}

impl Source<'_> {
    /// Line and column of a location; `None` in other files.
    fn line_and_column(&self, location: Location) -> Option<(u32, u32)> {
        let at = self.kernel.own_location(location);
        (at.line > 0 && *self.module.files[at.file] == *self.name).then_some((at.line, at.column))
    }

    /// Advice as a remark; `None` if a comment allows it.
    fn remark(&self, advice: &Advice, gpu: &Gpu) -> Option<Remark> {
        let at = advice.location.and_then(|location| self.line_and_column(location));
        let at = at.unwrap_or_else(|| (declaration(&self.job.text, &self.kernel.name).unwrap_or(1), 0));
        if allows(&self.job.text, at.0, advice.rule) {
            return None;
        }
        Some(Remark {
            at,
            severity: advice.rule.severity,
            message: format!("on {}: {}. {}", gpu.name(), advice.message, advice.fix).trim_end().to_owned(),
            rule: Some(advice.rule),
            fix: advice.applied().map(|applied| {
                let gain = advice
                    .share()
                    .map_or_else(String::new, |share| format!("saves {:.0} %, ", 100.0 * share));
                let mut title = format!("{} ({gain}not verified)", applied.title);
                for change in &applied.host {
                    title = format!("{title}; {change}");
                }
                Fix { title, source: applied.source.clone() }
            }),
        })
    }

    /// The cost of each line that has one.
    fn lines(&self, analysis: &Analysis) -> BTreeMap<u32, String> {
        let family = analysis.gpu.family();
        let mut lines = BTreeMap::new();
        for line in &analysis.lines {
            let Some((number, _)) = self.line_and_column(line.location) else { continue };
            let costs = analysis.columns.iter().zip(&line.columns);
            let costs = costs.filter(|(column, cost)| !column.is_part(family) && !is_zero(cost));
            let costs: Vec<String> =
                costs.map(|(column, cost)| format!("{} {cost}", column.head(family))).collect();
            if !costs.is_empty() {
                lines.insert(number, costs.join(", "));
            }
        }
        lines
    }
}

/// Whether a cost is shown as 0.
fn is_zero(cost: &Polynomial) -> bool {
    cost.to_string() == "0"
}

/// What bounds a kernel, its registers and its threads.
fn summary(analysis: &Analysis) -> String {
    let family = analysis.gpu.family();
    let Some(first) = analysis.longest.bound.first() else { return "costs nothing".to_owned() };
    let (head, cycles) = (analysis.columns[*first].head(family), &analysis.longest.columns[*first]);
    let registers = &analysis.registers;
    let mut said = format!(
        "{head} bounds, {cycles} cycles a work-item; {} registers, {} threads a core",
        registers.work.used, registers.occupancy.threads
    );
    if registers.work.spill_bytes > 0 {
        said = format!("{said}, {} bytes spilled", registers.work.spill_bytes);
    }
    said
}
