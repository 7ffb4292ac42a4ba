//! Where kernels are measured: in this process, in a process of their own, or on another machine.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use tripipe::{Choice, Device};
use tripipe_opencl::ExecutorOptions;
use tripipe_tune::Bench;
use tripipe_tune::bench::InProcess;
use tripipe_tune::worker::{Supervised, WorkerLimits, available_memory_bytes};

use super::super::resolve;
use super::worker::worker_arguments;
use crate::open_device::OpenDevice;
use crate::own_process;

/// Where, and how safely, kernels are measured.
#[derive(Args, Clone)]
pub(super) struct MachineArguments {
    /// Measures in this process, for debugging: a kernel that crashes or hangs ends the search. Implied by --trace.
    #[arg(long, conflicts_with = "remote")]
    in_process: bool,
    /// Measures on another machine, where this command runs a command, e.g. `ssh board` or `adb shell`; may be repeated
    /// for several machines at once. --device is then a device of that machine.
    #[arg(long, value_name = "COMMAND")]
    remote: Vec<String>,
    /// The program on the other machine.
    #[arg(long, value_name = "PATH", default_value = "tripipe", requires = "remote")]
    remote_program: String,
    #[command(flatten)]
    safety: SafetyArguments,
}

/// The limits of kernels.
#[derive(Args, Clone)]
#[allow(clippy::struct_field_names, reason = "the names of the options")]
pub(super) struct SafetyArguments {
    /// Seconds that a run of a kernel may take, with the comparison of its result, before its process is stopped.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = positive)]
    run_limit: f64,
    /// Seconds that the driver may take to build the kernels of one candidate.
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, value_parser = positive)]
    build_limit: f64,
    /// Memory in MiB that the process of a kernel may use [default: three quarters of what is available].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    memory_limit: Option<u32>,
}

fn positive(text: &str) -> Result<f64, &'static str> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0 && *seconds <= 1e6);
    seconds.ok_or("want a number of seconds above 0, at most 1000000")
}

impl SafetyArguments {
    pub(super) fn limits(&self) -> WorkerLimits {
        let memory = self.memory_limit.map(|mebibytes| u64::from(mebibytes) << 20);
        WorkerLimits {
            run: Duration::from_secs_f64(self.run_limit),
            build: Duration::from_secs_f64(self.build_limit),
            memory_bytes: memory.or_else(|| available_memory_bytes().map(|bytes| bytes / 4 * 3)),
            ..WorkerLimits::default()
        }
    }

    pub(super) fn as_arguments(&self) -> Vec<String> {
        let mut arguments =
            vec![format!("--run-limit={}", self.run_limit), format!("--build-limit={}", self.build_limit)];
        arguments.extend(self.memory_limit.map(|mebibytes| format!("--memory-limit={mebibytes}")));
        arguments
    }
}

/// A device of this machine that has something to tune.
pub(super) fn tuned_device(choice: Choice) -> Result<Device> {
    match (choice, resolve(choice)?) {
        // The CPU path has nothing to tune.
        (Choice::Auto, Device::Cpu) => resolve(Choice::OpenCl(None)),
        (_, Device::Cpu) => {
            bail!("the CPU path has one candidate per operation; --device opencl tunes an OpenCL device")
        }
        (_, device) => Ok(device),
    }
}

/// A device, here or on another machine.
#[derive(Clone)]
pub(super) enum TunedMachine {
    /// A device of this machine.
    Here { choice: Choice, device: Device },
    /// A device of another machine, and the command that reaches it.
    There { choice: Choice, remote: String },
}

/// A device that is ready to measure.
pub(super) enum OpenMachine {
    InProcess(OpenDevice),
    Worker(Box<Supervised>),
}

impl MachineArguments {
    /// Measures in this process on the devices of this machine.
    pub(super) fn stay_in_process(&mut self) {
        self.in_process = true;
    }

    /// Whether kernels are measured on other machines.
    pub(super) fn is_remote(&self) -> bool {
        !self.remote.is_empty()
    }

    /// Whether kernels are measured in this process.
    pub(super) fn is_in_process(&self) -> bool {
        self.in_process
    }

    /// The machines with these devices.
    pub(super) fn machines(&self, choices: &[Choice]) -> Result<Vec<TunedMachine>> {
        if self.remote.is_empty() {
            // A worker is told which device it is, not to choose again.
            let here = |device: Device| TunedMachine::Here { choice: device.choice(), device };
            return choices.iter().map(|choice| tuned_device(*choice).map(here)).collect();
        }
        let mut machines = Vec::new();
        for remote in &self.remote {
            if remote.trim().is_empty() {
                bail!("--remote: want a command that runs a command on another machine, e.g. \"ssh board\"")
            }
            for choice in choices {
                machines.push(TunedMachine::There { choice: *choice, remote: remote.trim().to_owned() });
            }
        }
        Ok(machines)
    }

    /// Opens a machine's device. A virtual GPU has no driver that could crash, so it needs no process of its own.
    pub(super) fn open(&self, machine: &TunedMachine, verify: bool) -> Result<OpenMachine> {
        let limits = self.safety.limits();
        match machine {
            TunedMachine::Here { device, .. } if self.in_process || matches!(device, Device::Virtual(_)) => {
                let opened = OpenDevice::new(device, &ExecutorOptions::default(), !verify)?;
                Ok(OpenMachine::InProcess(opened.context("the CPU path runs no kernels")?))
            }
            TunedMachine::Here { choice, .. } => {
                let arguments = worker_arguments(*choice, verify, &self.safety);
                let command = own_process::commands(arguments)?;
                Ok(OpenMachine::Worker(Box::new(Supervised::start(command, limits)?)))
            }
            TunedMachine::There { choice, remote } => {
                let arguments = worker_arguments(*choice, verify, &self.safety).join(" ");
                let line = format!("{remote} {} {arguments} --guard", self.remote_program);
                let command = move || shell(&line);
                Ok(OpenMachine::Worker(Box::new(Supervised::connect(command, limits.behind_a_guard())?)))
            }
        }
    }
}

/// A command line as a shell runs it.
fn shell(line: &str) -> Command {
    let mut command = if cfg!(windows) { Command::new("cmd") } else { Command::new("sh") };
    command.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(line);
    command
}

impl TunedMachine {
    /// What is measured, in words.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Here { device, .. } => device.name(),
            Self::There { remote, choice: Choice::Auto } => remote.clone(),
            Self::There { remote, choice } => format!("{remote} ({choice})"),
        }
    }

    /// The command that reaches it; `None` for this machine.
    pub(super) fn remote(&self) -> Option<&str> {
        match self {
            Self::Here { .. } => None,
            Self::There { remote, .. } => Some(remote),
        }
    }

    /// Whether its times are predicted.
    pub(super) fn is_predicted(&self) -> bool {
        let (Self::Here { choice, .. } | Self::There { choice, .. }) = self;
        matches!(choice, Choice::Virtual(_))
    }
}

impl OpenMachine {
    /// Calls `work` with the bench.
    pub(super) fn with_bench<R>(&mut self, work: impl FnOnce(&mut dyn Bench) -> R) -> R {
        match self {
            Self::InProcess(device) => work(&mut InProcess::new(device.executor())),
            Self::Worker(worker) => work(&mut **worker),
        }
    }
}
