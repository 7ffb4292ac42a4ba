//! `tripipe peaks`: what a device can do at the most.

use std::io::Write;

use anyhow::{Context, Result};
use clap::Args;
use tripipe::Device;
use tripipe_kernels::peaks::{Effort, Peaks as Measured, measure};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};
use tripipe_report::peaks::Report;

use super::{DevicesArgument, Format, what};
use crate::progress::Progress;
use crate::{Finish, terminal};

/// Measure the ceilings of a device: arithmetic, memory, launches, transfers.
///
/// Multiply-add rates of float, half, int and char by vector width; bandwidth of buffers, images and local memory; the
/// cost of a launch; the ways to hand data to the device compared. Rates are in 10^9 a second, a multiply-add counts as
/// two operations, a copied byte as two.
///
/// Example: tripipe peaks --device opencl:0 --format json
#[derive(Args)]
pub(crate) struct Peaks {
    #[command(flatten)]
    devices: DevicesArgument,
    /// Form of the result; JSON is one object a device and line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Peaks {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let canvas = terminal::canvas();
        for (index, device) in self.devices.resolve()?.iter().enumerate() {
            let name = device.name();
            let progress = Progress::spinner(format!("measuring {name}"));
            let measured = measure_on(device, &progress)
                .with_context(|| format!("the ceilings of {name} could not be measured"))?;
            drop(progress);
            let what = what(device);
            let report = Report { device: &name, what: &what, peaks: &measured, transfers: None };
            match self.format {
                Format::Text => {
                    let gap = if index > 0 { "\n" } else { "" };
                    write!(out, "{gap}{}", tripipe_report::peaks::text(&report, canvas))?;
                }
                Format::Json => writeln!(out, "{}", tripipe_report::peaks::json(&report))?,
            }
            out.flush()?;
        }
        Ok(Finish::Clean)
    }
}

fn measure_on(device: &Device, progress: &Progress) -> Result<Measured> {
    match device {
        Device::Cpu => Ok(Measured { rows: Vec::new() }),
        Device::OpenCl(opencl) => {
            let mut executor = OpenClExecutor::new(opencl, &ExecutorOptions::default())?;
            let mut report = |doing: &str| progress.say(doing);
            Ok(measure(&mut executor, Effort::Full, &mut report)?)
        }
    }
}
