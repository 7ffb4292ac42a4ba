//! The subcommands.

pub(crate) mod devices;
pub(crate) mod filter;
pub(crate) mod gemm;
pub(crate) mod ladder;
pub(crate) mod peaks;
mod preview;

use clap::{Args, ValueEnum};
use tripipe::{Choice, Device};

/// Which device is to work.
#[derive(Args)]
pub(crate) struct DeviceArgument {
    /// Device: auto (the first OpenCL GPU, else the CPU path), cpu, opencl (the first), or opencl:N as `tripipe devices`
    /// numbers them.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Choice,
}

impl DeviceArgument {
    fn resolve(&self) -> anyhow::Result<Device> {
        Ok(self.device.resolve()?)
    }
}

/// Which devices are to be measured.
#[derive(Args)]
pub(crate) struct DevicesArgument {
    /// Device: cpu, opencl (the first), opencl:N as `tripipe devices` numbers them, or auto (the first OpenCL GPU, else
    /// the CPU path) [default: the CPU path and every OpenCL device].
    #[arg(long, value_name = "DEVICE")]
    device: Option<Choice>,
}

impl DevicesArgument {
    fn resolve(&self) -> anyhow::Result<Vec<Device>> {
        match self.device {
            Some(choice) => Ok(vec![choice.resolve()?]),
            None => Ok(tripipe::devices().devices),
        }
    }
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
