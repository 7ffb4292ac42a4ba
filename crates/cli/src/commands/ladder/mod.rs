//! `tripipe ladder`: climbs an optimisation ladder on the available devices.

mod board;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use image::DynamicImage;
use rayon::prelude::*;
use tripipe::filter::{Border, Chain, Linear, Stage};
use tripipe::{Device, VirtualDevice};
use tripipe_ladders::catalog::{find, ladders};
use tripipe_ladders::ladder::CpuClimber;
use tripipe_ladders::ladder::{self, Climb, Options, climb};
use tripipe_ladders::published::Published;
use tripipe_ladders::{Inputs, Photo, Size, SizeKind};
use tripipe_opencl::ExecutorOptions;
use tripipe_opencl::energy::EnergyCounter;
use tripipe_report::ladder::{Report, StepEnergy};
use tripipe_results::{Crossover, LadderCore};
use tripipe_timing::energy;

use super::filter::{FilterInput, Steps, WantedResult, filter};
use super::simulate::NO_ESTIMATE;
use super::{DevicesArgument, OutputArgument, ReportWriter, did_you_mean, note, preview, what};
use crate::files::input::{shown, shown_input};
use crate::files::memory;
use crate::files::output::Output;
use crate::files::picture::{self, Picture};
use crate::finish::Finish;
use crate::open_device::OpenDevice;
use crate::progress::Progress;
use crate::terminal;
use crate::trace::TraceArgument;

/// The picture that image ladders work on.
const CHELSEA: &[u8] = include_bytes!("../../../assets/chelsea.png");
/// The default output file of `ladder laplace` for the filtered picture.
const SHOWN: &str = "tripipe-laplace.png";

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe ladder laplace
  tripipe ladder laplace --sizes 768x432,7680x4320 --published
  tripipe ladder laplace --device virtual:mali-t604 --published --time-only
  tripipe ladder laplace --device virtual:arndale --published --time-only
  tripipe ladder gemm --device virtual:arndale --sizes 512 --time-only
  tripipe ladder gemm --device virtual:mali-g610 --sizes 512 --time-only --energy
  tripipe ladder laplace --device virtual:mali-t604,virtual:mali-g77 --time-only --format html -o laplace.html
  tripipe ladder gemm --device opencl:0 --sizes 512,1024x256x2048 --format json";

/// Climb an optimisation ladder: every kernel from the plain one to the fast one, verified, timed, compared
///
/// Without NAME, the ladders are listed. Each step is checked against a reference before and after it is timed; a
/// wrong step is reported as FAILED, and the exit code is 2. Times are measured by the device, in ms or µs in text, in
/// seconds in JSON and CSV; rates are in 10^9 per second. On a board (`--device virtual:arndale`), `laplace` and `gemm`
/// also predict the board's CPU core, and `gemm` from which size on the GPU is faster. `ladder laplace` also filters the
/// picture and saves it as tripipe-laplace.png for you to look at.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Ladder {
    /// Ladder to climb; without it, the ladders are listed.
    name: Option<String>,
    #[command(flatten)]
    devices: DevicesArgument,
    /// Sizes, separated by commas: images `WxH` or N, products `MxNxK` or N, vectors N [default: the ladder's own].
    #[arg(long, value_delimiter = ',', value_name = "SIZE,...")]
    sizes: Vec<String>,
    /// Timed runs of each step.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// Runs before the timed ones.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    warmup: u32,
    /// Output format; JSON is one object per device and line, HTML is a page with charts (docs/reports.md).
    #[arg(long, value_enum, default_value_t = LadderFormat::Text)]
    format: LadderFormat,
    #[command(flatten)]
    output: OutputArgument,
    #[command(flatten)]
    pub(crate) trace: TraceArgument,
    /// Predicts times on virtual GPUs without computing results, which are then not verified; several climb at once.
    #[arg(long)]
    time_only: bool,
    /// The energy of each step: estimates on virtual GPUs (those of `simulate --energy`, docs/simulate.md), the counter of
    /// NVIDIA's driver (NVML) on devices, for which each step is repeated for a second.
    #[arg(long)]
    energy: bool,
    /// Shows the published figures of other devices next to yours. On virtual GPUs, the published kernels are climbed
    /// where Tripipe has them (`laplace`), with the published launches.
    #[arg(long)]
    published: bool,
    /// Picture for image ladders, repeated or cropped to each size [default: a cat].
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    /// Output file of `ladder laplace` for the filtered picture; none to save nothing [default: tripipe-laplace.png
    /// with --format text, else none].
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Seed for random inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LadderFormat {
    /// A table.
    Text,
    /// JSON: one object per device and line.
    Json,
    /// Comma-separated values: one row per device, step and size.
    Csv,
    /// A page with charts, in one file.
    Html,
}

impl Ladder {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let as_page = self.format == LadderFormat::Html && self.name.is_some();
        self.output.write(out, as_page, |out| self.report(out))
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        let Some(name) = self.name.as_deref() else {
            return list(out);
        };
        let ladder = find(name).ok_or_else(|| unknown(name))?;
        let devices = self.devices.resolve()?;
        let is_virtual = |device: &Device| matches!(device, Device::Virtual(_));
        if self.time_only && !devices.iter().all(is_virtual) {
            bail!("--time-only needs virtual GPUs alone: --device virtual:GPU,...");
        }
        let as_published = ladder.published.filter(|_| self.published && devices.iter().all(is_virtual));
        let ladder = as_published.unwrap_or(ladder);
        let sizes = self.sizes(ladder)?;
        let show = self.show(ladder)?;
        let source = match &self.image {
            Some(_) if ladder.size_kind != SizeKind::Image => {
                bail!("--image needs a ladder over images, and {name} is not one: remove it")
            }
            Some(path) => picture::read(path)?,
            None => picture::read_built_in(CHELSEA)?,
        };
        if let (Some(left_out), Some(path)) = (source.left_out, &self.image) {
            note(&format!("{} is {left_out}; only its first picture is read", shown_input(path)));
        }
        let photo = photo(&source)?;
        check_memory(ladder, &sizes)?;

        let canvas = self.output.canvas();
        let options = Options { runs: self.runs as usize, warmup: self.warmup as usize };
        let published = self.published.then(Published::load).transpose()?;
        let inputs = Inputs { photo: Some(&photo), seed: self.seed };
        if self.format == LadderFormat::Text {
            writeln!(out, "{}: {}\n", ladder.name, ladder.about)?;
        }
        let mut finish = Finish::Clean;
        let mut show = show;
        let mut climbs = Vec::new();
        let rows = self.format == LadderFormat::Text;
        let run = Run {
            time_only: self.time_only,
            energy: self.energy,
            ladder,
            sizes: &sizes,
            inputs: &inputs,
            options,
            rows,
        };
        // Virtual GPUs share nothing, so that several climb at the same time, and print when all are done.
        let together = devices.len() > 1 && devices.iter().all(is_virtual);
        let mut climbed = if together {
            let _progress = Progress::spinner(format!("{name} on {} virtual GPUs", devices.len()));
            let climb = |device| {
                let mut printed = Vec::new();
                let climbed = climb_on(device, &run, Progress::hidden(), &mut printed, &mut |_| Ok(()));
                (printed, climbed)
            };
            devices.par_iter().map(climb).collect()
        } else {
            Vec::new()
        }
        .into_iter();
        for (index, device) in devices.iter().enumerate() {
            // After the first and smallest size, so that the picture is available before the larger sizes have run.
            let mut between = |out: &mut dyn Write| match show.take() {
                Some(output) => self.show_picture(output, &source, &devices, canvas.width, out),
                None => Ok(()),
            };
            let climbed = match climbed.next() {
                None => climb_on(device, &run, Progress::pieces(run.pieces()), out, &mut between),
                Some((printed, climbed)) => {
                    out.write_all(&printed)?;
                    climbed
                }
            };
            let (climb, what) = climbed
                .with_context(|| format!("the ladder {name} could not be run on {}", device.name()))?;
            if climb.failed() {
                finish = Finish::Bad;
            }
            let (core, crossover) = match device {
                Device::Virtual(device) => self.beside(device, ladder.name, &sizes)?,
                _ => (None, None),
            };
            let energy = self.energy.then(|| match device {
                Device::Virtual(device) => energy::at_peak(device.gpu())
                    .map(StepEnergy::Estimate)
                    .ok_or_else(|| NO_ESTIMATE.to_owned()),
                Device::OpenCl(device) => match EnergyCounter::of(device) {
                    Ok(_) => Ok(StepEnergy::Counted),
                    Err(reason) => Err(reason.to_string()),
                },
                _ => Err("the CPU's is neither estimated nor counted".to_owned()),
            });
            let report = Report {
                climb: &climb,
                about: ladder.about,
                what: &what,
                options,
                published: published.as_ref(),
                core: core.as_ref(),
                crossover: crossover.as_ref(),
                errors: match device {
                    Device::Virtual(device) => tripipe_timing::errors::of(device.gpu()),
                    _ => None,
                },
                energy: energy.as_ref(),
            };
            match self.format {
                LadderFormat::Text => writeln!(out, "{}", tripipe_report::ladder::text(&report, canvas))?,
                LadderFormat::Json | LadderFormat::Html => {
                    out.result(tripipe_report::ladder::result(&report))?;
                }
                LadderFormat::Csv => {
                    out.write_all(tripipe_report::ladder::csv(&report, index == 0).as_bytes())?;
                }
            }
            out.flush()?;
            climbs.push(climb);
        }
        // Devices that climbed at the same time have left the picture for the end.
        if let Some(output) = show.take() {
            self.show_picture(output, &source, &devices, canvas.width, out)?;
        }
        if self.format == LadderFormat::Text {
            let sources: Vec<_> = climbs.iter().map(|climb| climb.time_source).collect();
            // The CPU path has steps of its own.
            climbs.retain(|climb| climb.steps.iter().any(|step| ladder.step(&step.name).is_some()));
            let beside = tripipe_report::ladder::side_by_side(&climbs, canvas);
            if !beside.is_empty() {
                writeln!(out, "{beside}")?;
            }
            out.write_all(tripipe_report::ladder::legend(options, &sources, canvas).as_bytes())?;
        }
        Ok(finish)
    }

    /// The core of the board that a virtual GPU was chosen by, and where the GPU overtakes it.
    fn beside(
        &self,
        device: &VirtualDevice,
        ladder: &str,
        sizes: &[Size],
    ) -> Result<(Option<LadderCore>, Option<Crossover>)> {
        let Some(board) = self.devices.board_of(device.gpu()) else { return Ok((None, None)) };
        let _progress = Progress::spinner(format!("{} of {}", board.cpu.value.name, board.name));
        let core = board::core(board, ladder, sizes, self.published)?;
        let crossover = (ladder == "gemm").then(|| board::crossover(board, device)).transpose()?;
        Ok((core, crossover))
    }

    fn sizes(&self, ladder: &ladder::Ladder) -> Result<Vec<Size>> {
        if self.sizes.is_empty() {
            return Ok(ladder.default_sizes.to_vec());
        }
        self.sizes.iter().map(|text| ladder.size_kind.parse(text).context("--sizes")).collect()
    }

    /// The output for the filtered picture, opened before anything is measured.
    fn show(&self, ladder: &ladder::Ladder) -> Result<Option<Output>> {
        let filters = ladder.name == "laplace";
        match self.save.as_deref() {
            Some(path) if path == Path::new("none") => Ok(None),
            Some(_) if !filters => {
                bail!("--save needs ladder laplace, not {}: remove it", ladder.name)
            }
            Some(path) => {
                picture::PictureFormat::of(path)?;
                Output::open(path).map(Some)
            }
            None if self.time_only => Ok(None),
            // The picture was not requested, so a folder that cannot be written must not prevent the measurement.
            None if filters && self.format == LadderFormat::Text => Ok(Output::open(Path::new(SHOWN)).ok()),
            None => Ok(None),
        }
    }

    fn show_picture(
        &self,
        output: Output,
        source: &Picture,
        devices: &[Device],
        columns: usize,
        out: &mut dyn Write,
    ) -> Result<()> {
        let caption = match &self.image {
            Some(path) => shown_input(path),
            None => "the built-in picture".to_owned(),
        };
        // If there is an OpenCL device, the last device is one.
        let Some(device) = devices.last() else { return Ok(()) };
        let path = self.save.as_deref().unwrap_or(Path::new(SHOWN));
        let format = picture::PictureFormat::of(path)?;
        let (width, height) = (source.pixels.width(), source.pixels.height());
        format.check(path, source.pixels.color(), [width, height])?;
        let chain = Chain::one(Stage::Linear(Linear::laplace_sharpen()), Border::None);
        let original = FilterInput::Picture(source.clone());
        let filtered = filter(device, WantedResult::default(), &Steps::of(chain), original, &caption)?;
        let (result, said) = filtered.into_picture()?;
        output.write(|sink| picture::write(sink, format, &result))?;
        if self.format == LadderFormat::Text {
            writeln!(out, "\n{caption}, {width}x{height}, sharpened: see {}", shown(path))?;
            writeln!(out, "  {said}")?;
            if terminal::shows_pictures() {
                let pictures = [("before", &source.pixels), ("after", &result.pixels)];
                write!(out, "\n{}", preview::side_by_side(&pictures, columns))?;
            }
            writeln!(out)?;
            out.flush()?;
        }
        Ok(())
    }
}

/// Lists the ladders, one per line.
fn list(out: &mut dyn Write) -> Result<Finish> {
    let width = ladders().iter().map(|ladder| ladder.name.len()).max().unwrap_or(0);
    writeln!(out, "The ladders, for `tripipe ladder NAME`:")?;
    for ladder in ladders() {
        writeln!(out, "  {:<width$}  {} ({} steps)", ladder.name, ladder.about, ladder.steps.len())?;
    }
    Ok(Finish::Clean)
}

fn unknown(name: &str) -> anyhow::Error {
    let names: Vec<&str> = ladders().iter().map(|ladder| ladder.name).collect();
    match did_you_mean(name, &names) {
        Some(near) => {
            anyhow!("no ladder is called `{name}`; did you mean {near}? (there are {})", names.join(", "))
        }
        None => anyhow!("no ladder is called `{name}`; there are {}", names.join(", ")),
    }
}

fn photo(picture: &Picture) -> Result<Photo> {
    let rgb = match &picture.pixels {
        DynamicImage::ImageRgb8(pixels) => pixels.clone(),
        other => other.to_rgb8(),
    };
    let (width, height) = (rgb.width() as usize, rgb.height() as usize);
    Photo::new(width, height, rgb.into_raw()).ok_or_else(|| anyhow!("the picture is empty"))
}

/// Rejects sizes whose operands, reference and working copies do not fit into memory.
fn check_memory(ladder: &ladder::Ladder, sizes: &[Size]) -> Result<()> {
    // Each operand on the host and on the device, the reference and its bounds in double precision, the output twice.
    const BYTES_AN_ELEMENT: u64 = 40;
    // A byte in, a byte out; the reference is exact.
    const BYTES_A_PIXEL: u64 = 3 * 6;
    for size in sizes {
        let bytes = match *size {
            Size::Image { width, height } => (width as u64 * height as u64).checked_mul(BYTES_A_PIXEL),
            Size::Matrix { m, n, k } => {
                let [m, n, k] = [m, n, k].map(|extent| extent as u64);
                (m * n + m * k + n * k).checked_mul(BYTES_AN_ELEMENT)
            }
            Size::Vector(length) => (length as u64).checked_mul(BYTES_AN_ELEMENT),
        };
        memory::check(
            &format!("ladder {} at size {size}", ladder.name),
            bytes,
            "choose a smaller one with --sizes",
        )?;
    }
    Ok(())
}

/// What is climbed, on any device.
struct Run<'a> {
    time_only: bool,
    /// Whether energies are estimated.
    energy: bool,
    ladder: &'a ladder::Ladder,
    sizes: &'a [Size],
    inputs: &'a Inputs<'a>,
    options: Options,
    /// Whether each row is printed as soon as it is known.
    rows: bool,
}

impl Run<'_> {
    /// The number of tasks.
    fn pieces(&self) -> usize {
        self.sizes.len() * (self.ladder.steps.len() + 2)
    }
}

/// Climbs the ladder and describes the device. `between` is called after the first size.
fn climb_on(
    device: &Device,
    run: &Run<'_>,
    progress: Progress,
    out: &mut dyn Write,
    between: &mut dyn FnMut(&mut dyn Write) -> Result<()>,
) -> Result<(Climb, String)> {
    let &Run { time_only, energy, ladder, sizes, inputs, options, rows } = run;
    let name = device.name();
    if rows {
        writeln!(out, "{name}, in progress: median, rate")?;
        out.flush()?;
    }
    let pieces = ladder.steps.len() + 2;
    let report = |before: usize, at: &ladder::Progress<'_>, out: &mut dyn Write| {
        progress.at(before + at.done, run.pieces(), format!("{} at {} on {name}", at.doing, at.size));
        if let Some(row) = tripipe_report::ladder::row(at).filter(|_| rows) {
            // If the reader is gone, the next write reports it.
            let _ = progress.aside(|| writeln!(out, "{row}").and_then(|()| out.flush()));
        }
    };
    // The ceilings come last: they take time, and the rows do not need them.
    let (first, others) = sizes.split_at(sizes.len().min(1));
    let mut opened = match device {
        Device::Virtual(device) if energy => Some(OpenDevice::with_energy(device, time_only)),
        Device::OpenCl(own) if energy => {
            let mut options = ExecutorOptions::default();
            options.energy = EnergyCounter::of(own).ok().map(Arc::new);
            OpenDevice::new(device, &options, time_only)?
        }
        _ => OpenDevice::new(device, &ExecutorOptions::default(), time_only)?,
    };
    let mut at = |sizes: &[Size], before: usize, out: &mut dyn Write| {
        let mut report = |at: ladder::Progress<'_>| report(before, &at, out);
        match &mut opened {
            None => climb(&mut CpuClimber::new(), ladder, sizes, inputs, options, &mut report),
            Some(opened) => climb(opened.executor(), ladder, sizes, inputs, options, &mut report),
        }
    };
    let mut climbed = at(first, 0, out)?;
    progress.aside(|| between(out))?;
    climbed.append(at(others, pieces * first.len(), out)?);
    progress.say(&format!("ceilings of {name}"));
    if let Device::Virtual(device) = device {
        // The ceilings' own results are known, and take long to compute.
        opened = Some(OpenDevice::predicting(device, true));
    }
    let ceilings = match &mut opened {
        None => tripipe_ladders::peaks::cpu::ceilings(ladder.element).map_err(|error| error.to_string()),
        Some(opened) => tripipe_kernels::ceilings::measure(opened.executor(), ladder.element)
            .map_err(|error| error.to_string()),
    };
    drop(progress);
    if rows {
        writeln!(out)?;
    }
    let mut what = what(device);
    let ceilings = match ceilings {
        Ok(ceilings) => Some(ceilings),
        Err(reason) => {
            what.push_str("; no ceilings: ");
            what.push_str(&reason);
            None
        }
    };
    Ok((Climb { ceilings, ..climbed }, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_picture_is_one() {
        let picture = picture::read_built_in(CHELSEA).unwrap();
        assert_eq!((picture.pixels.width(), picture.pixels.height()), (451, 300));
        photo(&picture).unwrap();
    }

    #[test]
    fn near_names_are_suggested() {
        assert!(unknown("lapalce").to_string().contains("did you mean laplace"));
        assert!(!unknown("zzz").to_string().contains("did you mean"));
    }
}
