//! `tripipe devices`: the devices that are available.

use std::io::Write;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use tripipe::{Device, Devices, VirtualDevice};
use tripipe_device::Gpu;
use tripipe_device::drivers::{Driver, Fit, Quirk, quirks};
use tripipe_report::devices::{Entry, OpenCl, drivers, models};
use tripipe_timing::energy::power;

use super::{Format, OutputArgument, ReportWriter};
use crate::finish::Finish;

/// List every device: what it is, which GPU model it matches and how certainly, its memory, limits and features.
///
/// The CPU path is built in and always available. OpenCL devices are found through the system's OpenCL library; the
/// environment variable `TRIPIPE_OPENCL` names another library, or `none`. With --models, the command lists the GPU
/// models that Tripipe knows instead, whether or not such a device is present; with --virtual, the virtual GPUs: what
/// --device virtual:GPU offers to a program; with --drivers, what real drivers are known to do wrong.
#[derive(Args)]
pub(crate) struct ListDevices {
    /// Lists the GPU models that `tripipe analyze` supports, with their main figures.
    #[arg(long)]
    models: bool,
    /// Orders the models, the greatest figure first; by gflops-per-watt, a table of performance per watt, where a power is
    /// published, the measured powers before the estimates.
    #[arg(long, value_enum, requires = "models", value_name = "KEY")]
    sort: Option<Sort>,
    /// Lists the virtual GPUs: devices that are not there, whose times are predicted.
    #[arg(long = "virtual", conflicts_with = "models")]
    is_virtual: bool,
    /// Lists the known defects and habits of OpenCL drivers; with VERSION, such as E031.47 or what clinfo prints as one,
    /// only those that this driver has or may have.
    #[arg(
        long,
        value_name = "VERSION",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = ["models", "is_virtual"]
    )]
    drivers: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    output: OutputArgument,
}

/// What models are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// The name.
    Name,
    /// The peak rate of float multiply-adds.
    Gflops,
    /// The bandwidth of the memory.
    Bandwidth,
    /// That peak rate per watt.
    GflopsPerWatt,
}

impl Sort {
    fn sort(self, models: &mut [&Gpu]) {
        let peak = |gpu: &Gpu| gpu.operations_per_second(gpu.operations_per_clock_per_core.fp32_fma.value);
        let figure: fn(&Gpu) -> f64 = match self {
            Self::Name => return models.sort_by(|a, b| a.name().cmp(b.name())),
            Self::Gflops => peak,
            Self::Bandwidth => |gpu| gpu.configuration.dram_gb_s_peak.value,
            Self::GflopsPerWatt => {
                // Powers of different bases do not compare. Models without one come last.
                let place = |gpu: &Gpu| match power(gpu) {
                    Some(power) => {
                        (power.basis != "measured", power.peak_gflops_per_watt(gpu).unwrap_or(0.0))
                    }
                    None => (true, 0.0),
                };
                let ranked = |a: (bool, f64), b: (bool, f64)| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1));
                return models.sort_by(|a, b| ranked(place(a), place(b)));
            }
        };
        models.sort_by(|a, b| figure(b).total_cmp(&figure(a)));
    }
}

impl ListDevices {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        self.output.write(out, self.format == Format::Html, |out| self.report(out))
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        if self.models {
            let mut models: Vec<&Gpu> = tripipe_device::catalog().iter().collect();
            if let Some(sort) = self.sort {
                sort.sort(&mut models);
            }
            let text = if self.sort == Some(Sort::GflopsPerWatt) { models::power_text } else { models::text };
            match self.format {
                Format::Text => out.write_all(text(&models, self.output.canvas()).as_bytes())?,
                Format::Json | Format::Html => out.result(models::result(&models))?,
            }
            return Ok(Finish::Clean);
        }
        if let Some(version) = &self.drivers {
            let driver = match version.as_str() {
                "" => None,
                version => Some(Driver::read(version, None).context("--drivers")?),
            };
            let is_meant = |quirk: &&Quirk| {
                driver.as_ref().is_none_or(|driver| matches!(quirk.fits(driver), Fit::Yes | Fit::Perhaps))
            };
            let quirks: Vec<&Quirk> = quirks().iter().filter(is_meant).collect();
            match self.format {
                Format::Text => out.write_all(drivers::text(&quirks, self.output.canvas()).as_bytes())?,
                Format::Json | Format::Html => out.result(drivers::result(&quirks))?,
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
