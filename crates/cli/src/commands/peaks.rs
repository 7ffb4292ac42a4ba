//! `tripipe peaks`: the measured ceilings of a device.

use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::Args;
use tripipe::Device;
use tripipe_device::Gpu;
use tripipe_ladders::peaks::{Effort, Peak, PeakError, Peaks as Measured, measure};
use tripipe_opencl::ExecutorOptions;
use tripipe_opencl::transfer::{self, TransferMode};
use tripipe_report::peaks::Report;
use tripipe_results::TransferRate;

use super::{DevicesArgument, Format, OutputArgument, ReportWriter, what};
use crate::finish::Finish;
use crate::open_device::OpenDevice;
use crate::progress::Progress;
use crate::trace::TraceArgument;

const NOT_OFFERED: &str = "not offered";
/// Bytes of one transfer: larger than any cache, small enough for a phone.
const TRANSFER_BYTES: usize = 32 << 20;
/// Transfers in each direction; the median counts.
const TRANSFER_RUNS: usize = 9;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe peaks --device opencl:0 --format json
  tripipe peaks --only copy,mad";

/// Measure the ceilings of a device: arithmetic, memory, launches, transfers.
///
/// Multiply-add rates of float, half, double, int, 24-bit int, short and char by vector width, and of dot products of
/// bytes; bandwidth of buffers, images and local memory; the cost of a launch; a comparison of the ways to transfer
/// data to the device. What a device lacks is reported as not offered. Rates are in 10^9 per second; a multiply-add
/// counts as two operations, a copied byte as two bytes. Each result is verified before its time counts; on a virtual
/// GPU, times are predicted and nothing is executed.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Peaks {
    /// Measure only the ceilings whose names contain one of these, e.g. copy, mad, "mad float", image, launch,
    /// transfers; fma is the same as mad.
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    only: Vec<String>,
    #[command(flatten)]
    devices: DevicesArgument,
    #[command(flatten)]
    pub(crate) trace: TraceArgument,
    /// Output format; JSON is one object per device and line, HTML is a page with charts (docs/reports.md).
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    output: OutputArgument,
}

impl Peaks {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        self.output.write(out, self.format == Format::Html, |out| self.report(out))
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        let wanted = WantedPeaks::new(&self.only)?;
        let canvas = self.output.canvas();
        let mut finish = Finish::Clean;
        for (index, device) in self.devices.resolve()?.iter().enumerate() {
            let name = device.name();
            let progress = Progress::spinner(format!("measuring {name}"));
            let (measured, transfers) = measure_on(device, &wanted, &progress)
                .with_context(|| format!("the ceilings of {name} could not be measured"))?;
            drop(progress);
            let what = what(device);
            let report = Report {
                device: &name,
                what: &what,
                model: model(device),
                peaks: &measured,
                transfers: transfers.as_deref(),
            };
            match self.format {
                Format::Text => {
                    let gap = if index > 0 { "\n" } else { "" };
                    write!(out, "{gap}{}", tripipe_report::peaks::text(&report, canvas))?;
                }
                Format::Json | Format::Html => out.result(tripipe_report::peaks::result(&report))?,
            }
            out.flush()?;
            if broken(&measured, transfers.as_deref().unwrap_or_default()) {
                finish = Finish::Bad;
            }
        }
        Ok(finish)
    }
}

/// The model of a device, if it is known.
fn model(device: &Device) -> Option<&'static Gpu> {
    match device {
        Device::Virtual(device) => Some(device.gpu()),
        device => device.identification()?.model,
    }
}

/// Whether a measurement failed for another reason than a missing feature.
fn broken(measured: &Measured, transfers: &[TransferRate]) -> bool {
    let row = |row: &Peak| matches!(row.value, Err(PeakError::Execute(_) | PeakError::Wrong { .. }));
    let transfer =
        |transfer: &TransferRate| transfer.reason.as_ref().is_some_and(|reason| reason != NOT_OFFERED);
    measured.rows.iter().any(row) || transfers.iter().any(transfer)
}

/// The name of all ways to transfer data to a device.
const TRANSFERS: &str = "transfers";

/// The ceilings to measure.
struct WantedPeaks(Vec<String>);

impl WantedPeaks {
    /// # Errors
    /// One of these is not part of any name.
    fn new(only: &[String]) -> Result<Self> {
        let aliased = |word: &String| match word.trim().to_lowercase().as_str() {
            "fma" | "multiply-add" => "mad".to_owned(),
            word => word.to_owned(),
        };
        let wanted = Self(only.iter().map(aliased).collect());
        let mut names = tripipe_ladders::peaks::names();
        names.extend(tripipe_ladders::peaks::cpu::names());
        names.push(TRANSFERS);
        for (word, given) in wanted.0.iter().zip(only) {
            if word.is_empty() || !names.iter().any(|name| name.contains(word.as_str())) {
                bail!("--only {given}: no ceiling has that in its name; there are {}", names.join("; "));
            }
        }
        Ok(wanted)
    }

    fn has(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|word| name.contains(word.as_str()))
    }
}

/// Measures the ceilings, and for an OpenCL device the ways to transfer data.
fn measure_on(
    device: &Device,
    wanted: &WantedPeaks,
    progress: &Progress,
) -> Result<(Measured, Option<Vec<TransferRate>>)> {
    let mut report = |doing: &str| progress.say(doing);
    // The results of these kernels are known, and take long to compute.
    match OpenDevice::new(device, &ExecutorOptions::default(), true)? {
        None => Ok((tripipe_ladders::peaks::cpu::measure(&|name| wanted.has(name), &mut report), None)),
        Some(mut opened) => {
            let peaks = measure(opened.executor(), Effort::Full, &|name| wanted.has(name), &mut report)?;
            let Some(opencl) = device.opencl().filter(|_| wanted.has(TRANSFERS)) else {
                return Ok((peaks, None));
            };
            let transfers = TransferMode::ALL
                .into_iter()
                .map(|mode| {
                    report(&format!("transfer: {mode}"));
                    transfer(opencl, mode)
                })
                .collect();
            Ok((peaks, Some(transfers)))
        }
    }
}

fn transfer(device: &tripipe_opencl::Device, mode: TransferMode) -> TransferRate {
    let rates =
        transfer::measure(device, mode, TRANSFER_BYTES, TRANSFER_RUNS).map_err(|error| error.to_string());
    let rates = rates.and_then(|rates| rates.ok_or_else(|| NOT_OFFERED.to_owned()));
    TransferRate {
        name: mode.name().to_owned(),
        bytes: TRANSFER_BYTES,
        to_device_bytes_per_second: rates.as_ref().ok().map(|rates| rates.to_device),
        to_host_bytes_per_second: rates.as_ref().ok().map(|rates| rates.to_host),
        reason: rates.err(),
    }
}
