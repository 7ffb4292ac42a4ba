//! `tripipe run-kernel`: one run of what a launch file describes.

mod sequence;

use std::io::Write;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use tripipe::{Choice, Device, ErrorKind};
use tripipe_device::Gpu;
use tripipe_launch::{
    Argument, CountedEnergy, CpuLoad, CpuTime, ExecuteError, Executor, Launch, Timing, count_energy,
};
use tripipe_launch_file::{Comparison, Dump, Loaded, Staged, StagedMemory};
use tripipe_opencl::energy::EnergyCounter;
use tripipe_opencl::{CacheChoice, ExecutorOptions};
use tripipe_report::run::{Base, Memory, Run};
use tripipe_simulate::Simulator;

use super::{Format, OutputArgument, ReportWriter, resolve};
use crate::finish::Finish;
use crate::launch_input::{Built, Description, Dumps, LaunchArgument, LaunchLimits, Launches};
use crate::open_device::OpenDevice;
use crate::progress::Progress;
use crate::terminal;
use crate::trace::TraceArgument;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe run-kernel filter.toml
  tripipe run-kernel filter.toml --device opencl:0
  tripipe run-kernel increment.sim";

/// Run a kernel as described in a launch file: program, arguments, sizes, what to show, what to compare with.
///
/// It runs on the simulator, which needs no OpenCL (source is compiled by clang), or on an OpenCL device. The exit
/// code is 1 if a result differs from what the file expects. docs/launch-files.md describes launch files. Several launches
/// run one after the other, and their times are shown on one timeline.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct RunKernel {
    #[command(flatten)]
    launch: LaunchArgument,
    #[command(flatten)]
    limits: LaunchLimits,
    /// Where to run it: simulator, opencl (the strongest device), opencl:N with the number that `tripipe devices`
    /// shows, or virtual:GPU: the simulator with the limits and the predicted time of a GPU that is not there.
    #[arg(long, value_name = "DEVICE", default_value = "simulator")]
    device: Target,
    /// Predicts the time on a virtual GPU without running the kernel: no result is shown or compared.
    #[arg(long)]
    time_only: bool,
    /// Repeat the launch for a second on memory of its own, for its energy by the counter of NVIDIA's driver (NVML). What
    /// the whole board uses counts, also without work. `simulate --energy` estimates it for GPUs that are not there.
    #[arg(long)]
    energy: bool,
    #[command(flatten)]
    pub(crate) trace: TraceArgument,
    /// Output format; JSON is one object for the run, and one for each buffer and image that the file shows, writes or
    /// compares, one per line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    output: OutputArgument,
}

/// The executors of launch files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Simulator,
    Device(Choice),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if name.eq_ignore_ascii_case("simulator") {
            return Ok(Self::Simulator);
        }
        match name.parse() {
            Ok(choice @ (Choice::OpenCl(_) | Choice::Virtual(_))) => Ok(Self::Device(choice)),
            Ok(_) => Err(format!(
                "{name} cannot run launch files; want simulator, opencl, opencl:N or virtual:GPU"
            )),
            Err(error) if error.kind() == ErrorKind::NoSuchDevice => Err(error.to_string()),
            Err(_) => Err("want simulator, opencl, opencl:N or virtual:GPU".to_owned()),
        }
    }
}

/// An executor of known type.
enum Machine {
    Simulator(Box<Simulator>),
    Device(OpenDevice),
}

impl Machine {
    fn executor(&mut self) -> &mut dyn Executor {
        match self {
            Self::Simulator(simulator) => &mut **simulator,
            Self::Device(opened) => opened.executor(),
        }
    }

    /// Runs a launch; in a recording, that of the simulator is a slice of the host.
    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        let simulates = matches!(self, Self::Simulator(_));
        let _span = simulates.then(|| {
            tripipe_trace::span("simulator", || {
                launches.iter().map(|launch| launch.entry.as_str()).collect::<Vec<_>>().join(", ")
            })
        });
        self.executor().run(launches)
    }

    /// Whether the kernel may write through each of its arguments; `None` for devices, which do not say.
    fn written(&mut self, launch: &Launch) -> Option<Vec<bool>> {
        match self {
            Self::Simulator(simulator) => simulator.written_arguments(&launch.program, &launch.entry).ok(),
            Self::Device(_) => None,
        }
    }

    /// The output of `printf`; empty for drivers, which print it themselves.
    fn take_printed(&mut self) -> Vec<u8> {
        match self {
            Self::Simulator(simulator) => simulator.take_printed(),
            Self::Device(OpenDevice::Virtual(gpu)) => gpu.take_printed(),
            Self::Device(OpenDevice::OpenCl(_)) => Vec::new(),
        }
    }
}

impl RunKernel {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        self.output.write(out, self.format == Format::Html, |out| self.report(out))
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        if self.time_only && !matches!(self.device, Target::Device(Choice::Virtual(_))) {
            bail!("--time-only needs a virtual GPU: --device virtual:GPU");
        }
        let description = match self.launch.open_all()? {
            Launches::One(description) => *description,
            Launches::Several(_) if self.energy => bail!("--energy takes one launch: make a file for it"),
            Launches::Several(sequence) => return self.run_sequence(&sequence, out),
        };
        let progress = Progress::compiler("compiling the kernel");
        let mut description = description.with_launch(self.gpu())?;
        if self.time_only {
            description.file.forget_results();
        }
        let (mut machine, built) = self.machine(&description)?;
        progress.say("loading");
        let loaded = description.load(&built, self.limits.memory())?;
        let (kernel, name) = (loaded.kernel.clone(), built.program.name.to_string());
        let context = || format!("kernel `{kernel}` of {name} could not be run");
        let energy = if self.energy {
            progress.say("counting energy");
            Some(energy(&loaded, &built, machine.executor()).with_context(context)?)
        } else {
            None
        };
        let staged = loaded.stage(machine.executor(), built.program).with_context(context)?;
        let mut dumps = if self.time_only { None } else { Some(Dumps::open(&description, &staged)?) };
        progress.say(&format!("running {kernel}"));
        // The time of the driver's compiler is not that of the launch.
        machine.executor().prepare(&staged.launch.program, &staged.launch.entry).with_context(context)?;
        let mut cpu = CpuTime::default();
        let timings =
            cpu.measure(|| machine.run(std::slice::from_ref(&staged.launch))).with_context(context)?;
        drop(progress);

        let device = machine.executor().probe().name.clone();
        let seconds = Timing::span_seconds(&timings);
        let is_predicted = machine.executor().time_source().is_predicted();
        let cpu_load = if is_predicted { CpuLoad::predicted(&timings) } else { cpu.load() };
        let range = &staged.launch.range;
        let run = Run { kernel: &kernel, program: &name, range, device: &device, seconds, cpu_load, energy };
        let printed = machine.take_printed();
        match self.format {
            Format::Text => {
                out.write_all(&printed)?;
                out.write_all(terminal::shown(tripipe_report::run::text(&run)).as_bytes())?;
            }
            Format::Json | Format::Html => {
                out.result(tripipe_report::run::result(&run, &String::from_utf8_lossy(&printed)))?;
            }
        }
        let mut finish = Finish::Clean;
        let Some(dumps) = &mut dumps else { return Ok(finish) };
        let written = machine.written(&staged.launch);
        let results = Results { description: &description, staged: &staged, written: written.as_deref() };
        if self.results(&results, str::to_owned, dumps, &mut machine, out)? {
            finish = Finish::Findings;
        }
        Ok(finish)
    }
}

impl RunKernel {
    /// Reads what the launch file shows, writes or compares of a launch, under the names that `name` makes; whether
    /// something differs.
    fn results(
        &self,
        results: &Results<'_>,
        name: impl Fn(&str) -> String,
        dumps: &mut Dumps,
        machine: &mut Machine,
        out: &mut ReportWriter<'_>,
    ) -> Result<bool> {
        let Results { description, staged, written } = results;
        let mut differs = false;
        for (index, memory) in staged.memory.iter().enumerate().filter(|(_, memory)| memory.is_wanted()) {
            let outcome = memory.read(machine.executor()).with_context(|| format!("`{}`", memory.name))?;
            dumps.write(description, index, memory, &outcome.bytes)?;
            differs |= outcome.comparison.as_ref().is_some_and(|comparison| comparison.differing > 0);
            let written = written.map(|written| may_write(&staged.launch, memory, written));
            let name = name(&memory.name);
            let shown = shown(memory, &outcome.bytes, outcome.comparison.as_ref());
            let memory = Memory { name: &name, written, ..shown };
            match self.format {
                Format::Text => {
                    tripipe_report::run::lines(&memory)
                        .try_for_each(|line| out.write_all(line.as_bytes()))?;
                }
                Format::Json | Format::Html => {
                    out.result(tripipe_report::run::memory_result(&memory))?;
                }
            }
        }
        Ok(differs)
    }

    /// The virtual GPU that it runs on.
    fn gpu(&self) -> Option<&'static Gpu> {
        let Target::Device(Choice::Virtual(name)) = self.device else { return None };
        tripipe_device::catalog().iter().find(|gpu| gpu.name() == name)
    }

    /// What runs the launches, and the program built for it.
    fn machine(&self, description: &Description) -> Result<(Machine, Built)> {
        let choice = match self.device {
            Target::Simulator if self.energy => bail!("--energy needs a device of NVIDIA: --device opencl:N"),
            Target::Simulator => {
                let simulator = Simulator::new(self.limits.simulation());
                return Ok((Machine::Simulator(Box::new(simulator)), description.build(None)?));
            }
            Target::Device(choice) => choice,
        };
        let device = resolve(choice)?;
        // A kernel under development changes with every run, and its include files may change too.
        let mut options = ExecutorOptions::default().cache(CacheChoice::Off);
        if self.energy {
            let counter = match &device {
                Device::OpenCl(device) => EnergyCounter::of(device)?,
                _ => bail!(
                    "--energy needs a device of NVIDIA; `tripipe simulate --energy` estimates that of {}",
                    device.name()
                ),
            };
            options = options.energy(counter);
        }
        let Some(opened) = OpenDevice::new(&device, &options, self.time_only)? else {
            bail!("{} cannot run launch files", device.name())
        };
        let built = match &device {
            Device::OpenCl(device) => description.build_for(device)?,
            Device::Virtual(device) => description.build_optimized(device.gpu())?,
            _ => description.build(None)?,
        };
        Ok((Machine::Device(opened), built))
    }
}

/// The energy of a launch, on memory that is released afterwards.
fn energy(loaded: &Loaded, built: &Built, executor: &mut dyn Executor) -> Result<CountedEnergy> {
    let staged = loaded.clone().stage(executor, Arc::clone(&built.program))?;
    executor.prepare(&staged.launch.program, &staged.launch.entry)?;
    let counted = count_energy(executor, std::slice::from_ref(&staged.launch));
    for argument in &staged.launch.arguments {
        if let Argument::Memory(memory) = argument {
            // Memory that was passed twice is gone the second time.
            let _ = executor.release(*memory);
        }
    }
    counted?.context("the counter of energy stands still")
}

/// A launch that has run.
struct Results<'a> {
    description: &'a Description,
    staged: &'a Staged,
    /// Whether the kernel may write through each of its arguments, if that is known.
    written: Option<&'a [bool]>,
}

/// Whether one of the arguments that a memory object was passed for is `written`.
fn may_write(launch: &Launch, memory: &StagedMemory, written: &[bool]) -> bool {
    let own = launch.arguments.get(memory.argument);
    launch.arguments.iter().zip(written).any(|(argument, written)| *written && Some(argument) == own)
}

/// The report of a memory object.
fn shown<'a>(memory: &'a StagedMemory, bytes: &'a [u8], comparison: Option<&'a Comparison>) -> Memory<'a> {
    let base = match &memory.dump {
        Some(Dump::Text { hexadecimal: true }) => Some(Base::Sixteen),
        Some(Dump::Text { hexadecimal: false }) => Some(Base::Ten),
        _ => None,
    };
    Memory {
        argument: memory.argument,
        name: &memory.name,
        array: &memory.array,
        bytes,
        written: None,
        shown: base,
        file: memory.dump.as_ref().and_then(Dump::path),
        comparison,
    }
}
