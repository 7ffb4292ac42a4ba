//! The subcommands.

mod allow;
pub(crate) mod analyze;
pub(crate) mod check;
pub(crate) mod devices;
pub(crate) mod explain;
pub(crate) mod filter;
pub(crate) mod gemm;
pub(crate) mod histogram;
pub(crate) mod ladder;
pub(crate) mod peaks;
mod preview;
pub(crate) mod run_kernel;
pub(crate) mod sweep;
pub(crate) mod template;

use std::io::{self, Write};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use tripipe::{Choice, Device, Error};

use crate::progress::Progress;

/// Which device is to work.
#[derive(Args)]
pub(crate) struct DeviceArgument {
    /// Device: auto (the OpenCL GPU with the most compute units times clock, else the CPU path), cpu, opencl (the first
    /// device), or opencl:N as `tripipe devices` numbers them.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Choice,
}

impl DeviceArgument {
    fn resolve(&self) -> anyhow::Result<Device> {
        resolve(self.device)
    }

    /// Whether the CPU path may do what it does faster: not where a device was named.
    fn falls_back(&self) -> bool {
        self.device == Choice::Auto
    }
}

/// Which devices are to be measured.
#[derive(Args)]
pub(crate) struct DevicesArgument {
    /// Device: cpu, opencl (the first device), opencl:N as `tripipe devices` numbers them, or auto (the OpenCL GPU with the
    /// most compute units times clock, else the CPU path) [default: the CPU path and every OpenCL device].
    #[arg(long, value_name = "DEVICE")]
    device: Option<Choice>,
}

impl DevicesArgument {
    fn resolve(&self) -> anyhow::Result<Vec<Device>> {
        match self.device {
            Some(choice) => Ok(vec![resolve(choice)?]),
            None => Ok(Device::list().devices),
        }
    }
}

fn resolve(choice: Choice) -> anyhow::Result<Device> {
    choice.resolve().map_err(|error| match error {
        Error::NoOpenCl(error) => anyhow!("{error}; --device cpu needs no OpenCL"),
        Error::NoSuchDevice { .. } => anyhow!("{error}; `tripipe devices` lists them"),
        error => error.into(),
    })
}

/// The one of `names` that `name` was probably meant to be.
fn did_you_mean<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    let name = name.to_lowercase();
    let likeness = names.iter().map(|known| (strsim::jaro_winkler(known, &name), *known));
    let near = likeness.filter(|(likeness, _)| *likeness > 0.75).max_by(|a, b| a.0.total_cmp(&b.0));
    near.map(|(_, known)| known)
}

/// One line on standard error that is no error.
fn note(message: &str) {
    // Nobody is left to be told when this fails.
    let _ = writeln!(io::stderr(), "note: {message}");
}

/// Says what is done on a device, which may have to compile for it.
fn say_on(progress: &Progress, doing: &str, device: &Device) {
    let doing = format!("{doing} on {}", device.name());
    match device {
        Device::Cpu => progress.say(&doing),
        Device::OpenCl(_) => {
            progress.compiles(&format!("{doing}; what it has not compiled before takes seconds"));
        }
    }
}

/// An operation that failed on a device, with what can be done about it.
fn failed(what: &str, device: &Device, error: &Error) -> anyhow::Error {
    let way_out = match (device, error) {
        (Device::OpenCl(_), Error::Execute(_) | Error::Failed { .. } | Error::Plan(_)) => {
            "; --device cpu does it without OpenCL"
        }
        _ => "",
    };
    anyhow!("{what}: {error}{way_out}")
}

/// The forms a result can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// To be read.
    Text,
    /// JSON: one object a line.
    Json,
}

/// What a device is, in one line.
fn what(device: &Device) -> String {
    match (device.probe(), device.identification()) {
        (Some(probe), Some(identification)) => {
            format!("{}: {}, {}; {}", device.choice(), probe.platform, probe.version, identification.why)
        }
        _ => format!("{}: built in, needs no OpenCL", device.choice()),
    }
}
