//! `tripipe devices`: the devices that are available.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use tripipe::{Device, Devices, VirtualDevice};
use tripipe_report::devices::{Entry, OpenCl, models};

use super::{Format, OutputArgument, ReportWriter};
use crate::finish::Finish;

/// List every device: what it is, which GPU model it matches and how certainly, its memory, limits and features.
///
/// The CPU path is built in and always available. OpenCL devices are found through the system's OpenCL library; the
/// environment variable `TRIPIPE_OPENCL` names another library, or `none`. With --models, the command lists the GPU
/// models that Tripipe knows instead, whether or not such a device is present; with --virtual, the virtual GPUs: what
/// --device virtual:GPU offers to a program.
#[derive(Args)]
pub(crate) struct ListDevices {
    /// Lists the GPU models that `tripipe analyze` supports, with their main figures.
    #[arg(long)]
    models: bool,
    /// Lists the virtual GPUs: devices that are not there, whose times are predicted.
    #[arg(long = "virtual", conflicts_with = "models")]
    is_virtual: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    output: OutputArgument,
}

impl ListDevices {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        self.output.write(out, self.format == Format::Html, |out| self.report(out))
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        if self.models {
            let models = tripipe_device::catalog();
            match self.format {
                Format::Text => out.write_all(models::text(models, self.output.canvas()).as_bytes())?,
                Format::Json | Format::Html => out.result(models::result(models))?,
            }
            return Ok(Finish::Clean);
        }
        let found = if self.is_virtual {
            let devices = VirtualDevice::all().into_iter().map(Device::Virtual).collect();
            Devices { devices, no_opencl: None }
        } else {
            Device::list()
        };
        let entries: Vec<Entry> = found
            .devices
            .iter()
            .map(|device| Entry {
                choice: device.choice().to_string(),
                name: device.name(),
                opencl: device
                    .probe()
                    .cloned()
                    .zip(device.identification())
                    .map(|(probe, identification)| OpenCl { probe, identification }),
            })
            .collect();
        let no_opencl = found.no_opencl.map(|error| error.to_string());
        match self.format {
            Format::Text => {
                let text =
                    tripipe_report::devices::text(&entries, no_opencl.as_deref(), self.output.canvas());
                out.write_all(text.as_bytes())?;
            }
            Format::Json | Format::Html => {
                out.result(tripipe_report::devices::result(&entries, no_opencl.as_deref()))?;
            }
        }
        Ok(Finish::Clean)
    }
}
