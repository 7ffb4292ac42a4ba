//! `tripipe check`: runs a kernel without its GPU and reports everything that is wrong with it.

mod launches;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use tripipe_device::Gpu;
use tripipe_ir::diagnostic::{Finding, Rule, Severity, SourceLocation};
use tripipe_launch::NdRange;
use tripipe_launch_file::LaunchFile;
use tripipe_report::findings::{self, Launch, Report};
use tripipe_simulate::watch::{Checks, rules};
use tripipe_simulate::{Schedule, Simulator, drivers};

use crate::commands::allow::{self, RuleOptions, RuleTable};
use crate::commands::{OutputArgument, ReportWriter, TextArgument, file_canvas, write_text};
use crate::finish::Finish;
use crate::launch_input::{Built, Description, LaunchArgument, LaunchLimits, gpu};
use crate::progress::Progress;
use launches::Checked;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe check filter.toml
  tripipe check filter.cl --global 640,480 --arg width=640 --arg height=480
  tripipe check filter.toml --gpu \"Mali-G610\" --schedules 4
  tripipe check filter.toml --driver E031.47
  tripipe check filter.toml --target clspv
  tripipe check filter.toml --format sarif > filter.sarif";

/// Run a kernel with all checks (bounds, races, uninitialised values, barriers, arithmetic ...) and report what is
/// wrong and where.
///
/// It runs on the simulator, so it needs no GPU and no OpenCL; source is compiled by clang. The exit code is 1 if an
/// error or a warning was found, and 0 if there are only notes; --fail-on changes that. A comment `tripipe: allow
/// CODE` on a line or the line above suppresses the findings there. `tripipe explain` lists the checks,
/// docs/launch-files.md describes launch files. Several launches are checked one after the other, on the memory that
/// earlier ones leave.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Check {
    #[command(flatten)]
    launch: LaunchArgument,
    #[command(flatten)]
    limits: LaunchLimits,
    /// Output format: text, JSON (docs/findings.md), SARIF 2.1.0 for code scanning, or a page
    /// (docs/reports.md).
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    format: CheckFormat,
    #[command(flatten)]
    output: OutputArgument,
    #[command(flatten)]
    text: TextArgument,
    /// GPU whose limits and warp width apply, e.g. "Mali-G77", "Adreno 740" [default: none, so the largest limits].
    #[arg(short, long, value_name = "GPU", value_parser = gpu)]
    gpu: Option<&'static Gpu>,
    /// Also warns of what a compiler that is not a phone's own does not take, as `--driver` of that name does: clspv for
    /// OpenCL over Vulkan, with ANGLE or clvk as the driver.
    #[arg(long, value_name = "COMPILER", value_parser = ["clspv", "angle", "clvk"], conflicts_with = "driver")]
    target: Option<String>,
    /// Number of execution orders and warp widths to try, one run each: a bug hidden in one may show in another.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    schedules: u32,
    /// Lowest severity that sets the exit code to 1.
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailOn::Warning)]
    fail_on: FailOn,
    #[command(flatten)]
    rules: RuleOptions<CheckRules>,
}

/// The rules of this command.
#[derive(Clone, Debug)]
struct CheckRules;

impl RuleTable for CheckRules {
    const ALL: &'static [&'static Rule] = &RULES;
}

/// Those of the simulator, and those of drivers.
const RULES: [&Rule; rules::ALL.len() + drivers::RULES.len()] = {
    let mut all = [drivers::RULES[0]; rules::ALL.len() + drivers::RULES.len()];
    let mut index = 1;
    while index < all.len() {
        let of_drivers = drivers::RULES.len();
        all[index] = if index < of_drivers { drivers::RULES[index] } else { rules::ALL[index - of_drivers] };
        index += 1;
    }
    all
};

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    Text,
    Json,
    Sarif,
    Html,
}

/// The lowest severity that sets the exit code to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Note,
    Warning,
    Error,
}

impl FailOn {
    /// The corresponding severity.
    fn severity(self) -> Severity {
        match self {
            Self::Note => Severity::Note,
            Self::Warning => Severity::Warning,
            Self::Error => Severity::Error,
        }
    }
}

impl Check {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let as_page = self.format == CheckFormat::Html;
        self.output.write(out, as_page, |out| self.report(out))
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        let text = self.text.open(self.format == CheckFormat::Text)?;
        let mut checked = Checked::open(&self.launch)?;
        let progress = Progress::compiler("compiling the kernel");
        let driver = checked.description_mut().take_driver(self.target.as_deref(), self.gpu)?;
        let checked = checked.with_launches(self.gpu)?;
        let description = checked.description();
        let built = description.build(self.gpu)?;
        let mut left_out = checked.left_out();
        let checks = self.checks();
        let mut looked_for: Vec<&'static Rule> =
            rules::ALL.iter().copied().filter(|rule| checks.has(rule)).collect();
        let driver = driver.map(|(driver, not_built_for)| {
            left_out.extend(not_built_for);
            looked_for.extend(drivers::RULES.iter().copied().filter(|rule| !self.rules.allows(rule)));
            driver
        });
        let mut found = Found { left_out, ..Found::default() };
        for index in 0..self.schedules {
            let mut simulator = Simulator::new(self.simulation(description, index)?);
            self.check(&checked, &built, (index, &mut simulator), &progress, &mut found)?;
            // The kernel's `printf` output is shown once, and only in the format that no program parses.
            if index == 0 && self.format == CheckFormat::Text {
                out.write_all(&simulator.take_printed())?;
            }
            let Some(driver) = driver.as_ref().filter(|_| index == 0) else { continue };
            let kernels: BTreeSet<String> =
                found.launches.iter().map(|(kernel, ..)| kernel.clone()).collect();
            for kernel in kernels {
                let of_driver = simulator
                    .suspicions(&built.program, &kernel, driver)
                    .with_context(|| uncheckable(&kernel, &built))?;
                found
                    .findings
                    .extend(of_driver.findings.into_iter().filter(|found| !self.rules.allows(found.rule)));
                found.left_out.extend(of_driver.left_out);
            }
        }
        drop(progress);
        let Found { mut findings, launches, mut left_out, .. } = found;
        let own = description.text();
        for finding in findings.iter_mut().filter(|finding| is_of_driver(finding)) {
            finding.location = finding.location.take().or_else(|| {
                let line = allow::declaration(own.as_deref()?, &finding.kernel)?;
                Some(SourceLocation { file: description.shown(), line, column: 0 })
            });
        }
        let sources = sources(&findings);
        let asks = |vendor: &str| own.as_deref().is_some_and(|text| text.contains(vendor));
        if self.gpu.is_none() && (asks("cl_arm_") || asks("cl_qcom_")) {
            left_out.insert(
                "the paths of other vendors, because no GPU is named and the macros of all vendors are defined: choose \
                 one with --gpu"
                    .to_owned(),
            );
        }
        findings.retain(|finding| !is_allowed(finding, &sources, own.as_deref()));
        let report = Report {
            launches: &launches
                .iter()
                .map(|(kernel, global, local, elapsed)| Launch {
                    kernel,
                    global: *global,
                    local: *local,
                    seconds: Some(elapsed.as_secs_f64()),
                })
                .collect::<Vec<_>>(),
            rules: &looked_for,
            left_out: &Vec::from_iter(left_out),
            findings: &findings,
            sources: &sources,
        };
        write_text(text, || findings::text(&report, file_canvas()))?;
        match self.format {
            CheckFormat::Text => {
                let text = findings::text(&report, self.output.canvas());
                writeln!(out, "{}", text.trim_end())?;
            }
            CheckFormat::Json | CheckFormat::Html => out.result(findings::result(&report))?,
            CheckFormat::Sarif => writeln!(out, "{}", findings::sarif(&report))?,
        }
        let fails = findings.iter().any(|finding| {
            finding.rule.severity >= self.fail_on.severity() || self.rules.denies(finding.rule)
        });
        Ok(if fails { Finish::Findings } else { Finish::Clean })
    }
}

/// What the runs of all schedules find.
#[derive(Default)]
struct Found {
    findings: Vec<Finding>,
    /// Kernel, global and local size of each launch, and the time of its runs.
    launches: Vec<(String, [u64; 3], [u64; 3], Duration)>,
    /// The ranges of the launches, where a GPU decides them.
    ranges: Vec<NdRange>,
    left_out: BTreeSet<String>,
}

fn uncheckable(kernel: &str, built: &Built) -> String {
    format!("kernel `{kernel}` of {} could not be checked", built.program.name)
}

impl Check {
    /// What is looked for.
    fn checks(&self) -> Checks {
        let mut checks = Checks::all();
        for rule in rules::ALL {
            checks.set(rule, !self.rules.allows(rule));
        }
        checks
    }

    /// The options of the simulator for one schedule.
    fn simulation(&self, description: &Description, index: u32) -> Result<tripipe_simulate::Options> {
        let mut options = self.limits.simulation();
        options.gpu = self.gpu;
        options.build.offered = description.offered(self.gpu)?;
        options.schedule = Schedule::numbered(index);
        if let Some(gpu) = self.gpu {
            options.schedule = options.schedule.at_most(gpu.core.warp_width.value as usize);
        }
        Ok(options)
    }

    /// Runs the launches once, from the memory contents of the launch file.
    fn check(
        &self,
        checked: &Checked,
        built: &Built,
        (index, simulator): (u32, &mut Simulator),
        progress: &Progress,
        found: &mut Found,
    ) -> Result<()> {
        let mut loaded = checked.load(built, self.limits.memory())?;
        if let Some(gpu) = self.gpu {
            if found.ranges.is_empty() {
                let ranges = loaded.iter().map(|loaded| checked.range_on(gpu, built, loaded));
                found.ranges = ranges.collect::<Result<_>>()?;
            }
            for (loaded, range) in loaded.iter_mut().zip(&found.ranges) {
                loaded.range = *range;
            }
        }
        let kernels: Vec<String> = loaded.iter().map(|loaded| loaded.kernel.clone()).collect();
        let all = || uncheckable(&kernels.join("`, `"), built);
        let staged = checked.stage(loaded, built, simulator).with_context(all)?;
        let elements: Vec<_> = checked.files().into_iter().map(LaunchFile::element_types).collect();
        for launch in checked.order() {
            let (Some(staged), Some(kernel)) = (staged.get(launch), kernels.get(launch)) else { continue };
            let doing = format!("checking {kernel} ({} of {})", index + 1, self.schedules);
            progress.runs(&doing, "if it has a loop without end, --limit-steps ends it earlier");
            let mut checks = self.checks();
            checks.set_elements(elements[launch].clone());
            let own = simulator.check(&staged.launch, &checks).with_context(|| uncheckable(kernel, built))?;
            merge(&mut found.findings, own.findings);
            found.left_out.extend(own.left_out);
            let run = own.report;
            match found.launches.get_mut(launch) {
                Some((.., elapsed)) => *elapsed += run.elapsed,
                None => found.launches.push((kernel.clone(), run.global, run.local, run.elapsed)),
            }
        }
        Ok(())
    }
}

fn is_of_driver(finding: &Finding) -> bool {
    drivers::RULES.contains(&finding.rule)
}

/// Whether a comment in the source suppresses the finding; a finding about the whole kernel belongs to its
/// declaration.
fn is_allowed(finding: &Finding, sources: &BTreeMap<String, String>, own: Option<&str>) -> bool {
    match &finding.location {
        Some(location) => sources
            .get(&location.file)
            .is_some_and(|source| allow::allows(source, location.line, finding.rule)),
        None => own.is_some_and(|source| {
            allow::declaration(source, &finding.kernel)
                .is_some_and(|line| allow::allows(source, line, finding.rule))
        }),
    }
}

/// Adds the findings of another run; a finding that is already known is not counted again.
pub(super) fn merge(all: &mut Vec<Finding>, more: Vec<Finding>) {
    for finding in more {
        let known = all.iter().any(|other| {
            other.rule == finding.rule
                && other.location == finding.location
                && other.instruction == finding.instruction
                && (finding.location.is_some() || other.message == finding.message)
        });
        if !known {
            all.push(finding);
        }
    }
}

/// The source files that findings refer to, as far as they can be read.
pub(super) fn sources(findings: &[Finding]) -> BTreeMap<String, String> {
    let locations = findings.iter().flat_map(|finding| {
        finding.location.iter().chain(finding.related.iter().filter_map(|related| related.location.as_ref()))
    });
    let names: BTreeSet<&str> = locations.map(|location| location.file.as_str()).collect();
    names.into_iter().filter_map(|name| Some((name.to_owned(), fs::read_to_string(name).ok()?))).collect()
}
