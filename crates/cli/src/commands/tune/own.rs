//! A kernel of the user as an argument.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use tripipe::{Choice, Device};
use tripipe_device::nearest::nearest;
use tripipe_results::Search;
use tripipe_simulate::{Options, Simulator};
use tripipe_tune::Problem;
use tripipe_tune::kernel::KernelProblem;
use tripipe_tune::worker::protocol::KERNEL_BYTES_MAX;

use super::super::note;
use super::arguments::SearchArguments;
use super::machine::tuned_device;
use super::session::{Also, Session};
use crate::finish::Finish;
use crate::launch_input::{Description, LaunchOptions};

/// Instructions that a thread of the simulator runs at most for the results that others are compared with: some seconds.
const REFERENCE_STEPS: u64 = 1_000_000_000;

/// A kernel of your own: macros, work-group sizes and build options that its launch file lists.
///
/// The launch file has a table `[tune]` (docs/launch-files.md). -D NAME=VALUE fixes a parameter.
///
/// Example: tripipe tune kernel reduce.toml --device opencl --header best.h
#[derive(Args)]
pub(super) struct OwnKernel {
    /// The launch file.
    #[arg(value_name = "LAUNCH.toml")]
    launch: PathBuf,
    #[command(flatten)]
    options: LaunchOptions,
    /// Who computes the results that those of candidates are compared with, if the launch file expects none: the first
    /// candidate in the simulator, or on the device itself.
    #[arg(long, value_enum, default_value_t = Judge::Simulator)]
    reference: Judge,
    /// A candidate that is tried first, e.g. `WG=64 TILE=4`; may be repeated.
    #[arg(long, value_name = "PARAMETERS")]
    also: Vec<String>,
    /// Tries only the candidates of --also.
    #[arg(long, requires = "also")]
    only: bool,
    /// Output file for a C header with the fastest parameters, by device; an existing file is replaced once the new one
    /// is complete.
    #[arg(long, value_name = "FILE.h")]
    header: Option<PathBuf>,
    #[command(flatten)]
    pub(super) search: SearchArguments,
}

/// Who computes the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Judge {
    /// The simulator, which knows no driver; the device itself where the simulator cannot, which a note says.
    Simulator,
    /// The device itself.
    Device,
}

impl OwnKernel {
    pub(super) fn run(self, out: &mut dyn Write, results: &mut Vec<Search>) -> Result<Finish> {
        let LaunchOptions { global, local, build, .. } = &self.options;
        let build = build.options()?;
        for (option, is_given) in [
            ("--global", !global.is_empty()),
            ("--local", !local.is_empty()),
            ("--assume", !build.assume.is_empty()),
            ("--driver", build.driver.is_some()),
        ] {
            if is_given {
                bail!(
                    "{option}: the launch file has the sizes, and a device what it offers; change {}",
                    self.launch.display()
                );
            }
        }
        let choices: Vec<Choice> =
            self.search.device.iter().flat_map(|device| device.choices.clone()).collect();
        let is_virtual = choices.iter().all(|choice| matches!(choice, Choice::Virtual(_)));
        let is_here = !self.search.machine.is_remote();
        let described = Description::open(&self.launch, &self.options)?;
        // Its driver knows the kernel's parameters where there is no clang.
        let device = || match choices.first().map(|choice| tuned_device(*choice)) {
            Some(Ok(Device::OpenCl(device))) if is_here => Some(device),
            _ => None,
        };
        let (description, points) = described.tuned(device)?;
        let mut problem = KernelProblem::new(description, points)?;
        for text in &self.also {
            self.check(&problem, text)?;
        }
        if !is_here && problem.has_includes()? {
            bail!(
                "{}: its include files are on this machine only; put them into {}, or tune on the other machine",
                self.launch.display(),
                problem.description().program
            );
        }
        let is_compared = !is_virtual || self.search.verify;
        if is_compared && problem.needs_reference()? && self.reference == Judge::Simulator {
            let options = Options { steps: REFERENCE_STEPS, ..Options::default() };
            match problem.results_of_first(&mut Simulator::new(options)) {
                Ok(results) => problem = problem.with_reference(results),
                Err(error) => note(&format!(
                    "results are compared with those of the device itself, because the simulator has none: {error}"
                )),
            }
        }
        let bytes = problem.size();
        if (!is_here || !is_virtual && !self.search.machine.is_in_process()) && bytes > KERNEL_BYTES_MAX {
            bail!(
                "{}: its files and results have {} MiB, and at most {} MiB can be passed to another process: use `random` \
                 or `range` instead of files, `expect` a generated result, or choose --in-process",
                self.launch.display(),
                bytes >> 20,
                KERNEL_BYTES_MAX >> 20
            );
        }
        if is_compared {
            writeln!(out, "results are compared with {}", problem.judge()?)?;
        }
        let also = Also { texts: self.also, only: self.only };
        let session = Session::new(self.search, also).with_header(self.header);
        session.run(&[Problem::Kernel(problem.into())], out, results)
    }

    /// Checks a candidate of the command line.
    fn check(&self, problem: &KernelProblem, text: &str) -> Result<()> {
        problem.launch_file(text)?;
        let known = &problem.points().texts;
        if known.iter().all(|known| known != text) {
            let near = nearest(text, known.iter().take(1000).map(String::as_str));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            bail!("--also `{text}`: a condition of `where` in {} excludes it{near}", self.launch.display());
        }
        Ok(())
    }
}
