//! The subcommands.

pub(crate) mod analyze;
pub(crate) mod check;
pub(crate) mod devices;
pub(crate) mod explain;
pub(crate) mod filter;
pub(crate) mod gemm;
pub(crate) mod ladder;
pub(crate) mod peaks;
mod preview;
pub(crate) mod run_kernel;
pub(crate) mod sweep;
pub(crate) mod template;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use tripipe::{Choice, Device, Error};

/// Which device is to work.
#[derive(Args)]
pub(crate) struct DeviceArgument {
    /// Device: auto (the strongest OpenCL GPU, else the CPU path), cpu, opencl (the first), or opencl:N as `tripipe devices`
    /// numbers them.
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
    /// Device: cpu, opencl (the first), opencl:N as `tripipe devices` numbers them, or auto (the strongest OpenCL GPU, else
    /// the CPU path) [default: the CPU path and every OpenCL device].
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

/// An operation that failed on a device, with what can be done about it.
fn failed(what: &str, device: &Device, error: &Error) -> anyhow::Error {
    let way_out = match (device, error) {
        (Device::OpenCl(_), Error::Execute(_) | Error::Plan(_)) => "; --device cpu does it without OpenCL",
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
