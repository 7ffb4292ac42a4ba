//! The subcommands.

mod allow;
pub(crate) mod analyze;
pub(crate) mod check;
pub(crate) mod devices;
pub(crate) mod explain;
pub(crate) mod filter;
pub(crate) mod gemm;
pub(crate) mod histogram;
pub(crate) mod kernel;
pub(crate) mod ladder;
pub(crate) mod peaks;
mod preview;
pub(crate) mod run_kernel;
pub(crate) mod simulate;
pub(crate) mod sweep;
pub(crate) mod template;

use std::io::{self, Write};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use tripipe::{Choice, Device, Error, ErrorKind};
use tripipe_device::nearest::nearest;

use crate::progress::Progress;

/// The device that runs the operations.
#[derive(Args)]
pub(crate) struct DeviceArgument {
    /// Device: auto (the OpenCL GPU with the highest product of compute units and clock, else the CPU path), cpu,
    /// opencl (the first device), or opencl:N with the number that `tripipe devices` shows.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Choice,
}

impl DeviceArgument {
    fn resolve(&self) -> anyhow::Result<Device> {
        resolve(self.device)
    }

    /// Whether the CPU path may run the operations that it runs faster: only if no device was named.
    fn falls_back(&self) -> bool {
        self.device == Choice::Auto
    }
}

/// The devices to measure.
#[derive(Args)]
pub(crate) struct DevicesArgument {
    /// Device: cpu, opencl (the first device), opencl:N with the number that `tripipe devices` shows, or auto (the
    /// OpenCL GPU with the highest product of compute units and clock, else the CPU path) [default: the CPU path and
    /// every OpenCL device].
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
    choice.resolve().map_err(|error| match error.kind() {
        ErrorKind::NoOpenCl => anyhow!("{error}; --device cpu needs no OpenCL"),
        ErrorKind::NoSuchDevice => anyhow!("{error}; `tripipe devices` lists them"),
        _ => error.into(),
    })
}

/// The one of `names` that `name` was probably meant to be.
fn did_you_mean<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    nearest(&name.to_lowercase(), names.iter().copied())
}

/// Writes a note, which is not an error, on standard error.
fn note(message: &str) {
    // If this fails, nobody reads standard error.
    let _ = writeln!(io::stderr(), "note: {message}");
}

/// Shows what is done on a device, which may have to compile kernels first.
fn say_on(progress: &Progress, doing: &str, device: &Device) {
    let doing = format!("{doing} on {}", device.name());
    match device.opencl() {
        None => progress.say(&doing),
        Some(_) => {
            progress.compiles(&format!("{doing}; kernels that it has not compiled before take seconds"));
        }
    }
}

/// An error of an operation on a device, with a way out.
fn failed(what: &str, device: &Device, error: &Error) -> anyhow::Error {
    let on_opencl = device.opencl().is_some();
    let way_out = match error.kind() {
        ErrorKind::Device | ErrorKind::Dependency | ErrorKind::OutOfMemory | ErrorKind::Unsupported
            if on_opencl =>
        {
            "; --device cpu works without OpenCL"
        }
        _ => "",
    };
    anyhow!("{what}: {error}{way_out}")
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for reading.
    Text,
    /// JSON: one object per line.
    Json,
}

/// A device in one line.
fn what(device: &Device) -> String {
    match (device.probe(), device.identification()) {
        (Some(probe), Some(identification)) => {
            format!("{}: {}, {}; {}", device.choice(), probe.platform, probe.version, identification.why)
        }
        _ => format!("{}: built in, needs no OpenCL", device.choice()),
    }
}
