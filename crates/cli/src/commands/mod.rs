//! The subcommands.

mod allow;
pub(crate) mod analyze;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod devices;
pub(crate) mod explain;
pub(crate) mod filter;
mod fix;
pub(crate) mod gemm;
pub(crate) mod histogram;
pub(crate) mod import;
pub(crate) mod improve;
pub(crate) mod kernel;
pub(crate) mod ladder;
pub(crate) mod learn;
pub(crate) mod lsp;
pub(crate) mod man;
pub(crate) mod peaks;
mod preview;
pub(crate) mod run_kernel;
pub(crate) mod simulate;
pub(crate) mod template;
pub(crate) mod tune;
pub(crate) mod validate;
pub(crate) mod verdict;
pub(crate) mod view;
pub(crate) mod why;

use std::io::{self, Write};
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use tripipe::{Choice, Context, Device, Error, ErrorKind, VirtualDevice};
use tripipe_device::nearest::nearest;
use tripipe_device::{Board, Gpu};
use tripipe_launch::CpuLoad;
use tripipe_report::{Canvas, page};
use tripipe_results::Document;
use tripipe_timing::errors;

use crate::files::output::Output;
use crate::finish::Finish;
use crate::progress::Progress;
use crate::terminal;

/// The device that runs the operations.
#[derive(Args)]
pub(crate) struct DeviceArgument {
    /// Device: auto (the strongest OpenCL device if it is a GPU, else the CPU path), cpu, opencl (the strongest OpenCL
    /// device: a GPU before a CPU, then by compute units times clock), opencl:N with the number that `tripipe devices`
    /// shows, or virtual:GPU, a GPU that is not there, e.g. virtual:mali-g77 (`tripipe devices --virtual` lists them).
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
    /// Devices, separated by commas: cpu, opencl (the strongest OpenCL device: a GPU before a CPU, then by compute
    /// units times clock), opencl:N with the number that `tripipe devices` shows, auto (the strongest OpenCL device if
    /// it is a GPU, else the CPU path), virtual:GPU, a GPU that is not there, whose times are predicted, or virtual:all
    /// [default: the CPU path and every OpenCL device].
    #[arg(long, value_name = "DEVICE,...", value_delimiter = ',')]
    device: Vec<DeviceChoices>,
}

/// A choice of device, or of all virtual GPUs.
#[derive(Clone, Debug)]
struct DeviceChoices {
    choices: Vec<Choice>,
    /// The board whose GPU it is, if it was given by the name of a board.
    board: Option<&'static Board>,
}

impl FromStr for DeviceChoices {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let name = name.trim();
        if name.eq_ignore_ascii_case("virtual:all") {
            let all = tripipe_device::catalog().iter().map(|gpu| Choice::Virtual(gpu.name()));
            return Ok(Self { choices: all.collect(), board: None });
        }
        let gpu = name.split_once(':').filter(|(kind, _)| kind.eq_ignore_ascii_case("virtual"));
        let board = gpu.and_then(|(_, board)| tripipe_device::find_board(board));
        name.parse().map(|choice| Self { choices: vec![choice], board })
    }
}

impl DevicesArgument {
    fn resolve(&self) -> anyhow::Result<Vec<Device>> {
        if self.device.is_empty() {
            return Ok(Device::list().devices);
        }
        let mut choices: Vec<Choice> = Vec::new();
        for choice in self.device.iter().flat_map(|device| &device.choices) {
            if !choices.contains(choice) {
                choices.push(*choice);
            }
        }
        choices.into_iter().map(resolve).collect()
    }

    /// The board that stands for a virtual GPU.
    fn board_of(&self, gpu: &Gpu) -> Option<&'static Board> {
        let mut boards = self.device.iter().filter_map(|device| device.board);
        boards.find(|board| board.gpu.value.id() == gpu.id())
    }
}

/// The chosen device; a note names it if it was chosen among several.
pub(crate) fn resolve(choice: Choice) -> anyhow::Result<Device> {
    let device = choice.resolve().map_err(|error| match error.kind() {
        ErrorKind::NoOpenCl => anyhow!("{error}; --device cpu needs no OpenCL"),
        ErrorKind::NoSuchDevice => anyhow!("{error}; `tripipe devices` lists them"),
        _ => error.into(),
    })?;
    let is_open = matches!(choice, Choice::Auto | Choice::OpenCl(None));
    if is_open && device.opencl().is_some() && tripipe_opencl::survey().is_ok_and(|all| all.devices.len() > 1)
    {
        note(&format!("--device {choice} is {}, {}", device.choice(), device.name()));
    }
    Ok(device)
}

/// The one of `names` that `name` was probably meant to be.
fn did_you_mean<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    nearest(&name.to_lowercase(), names.iter().copied())
}

/// Writes a note, which is not an error, on standard error.
pub(crate) fn note(message: &str) {
    // If this fails, nobody reads standard error.
    let _ = writeln!(io::stderr(), "note: {message}");
}

/// Shows what is done on a device, which may have to compile kernels first.
fn say_on(progress: &Progress, doing: &str, device: &Device) {
    let doing = format!("{doing} on {}", device.name());
    match device {
        Device::Cpu => progress.say(&doing),
        Device::Virtual(_) => progress.say(&format!("{doing}; results are computed on this CPU")),
        _ => {
            progress.compiles(&format!("{doing}; kernels that it has not compiled before take seconds"));
        }
    }
}

/// A context for operations that are reported on. Times of devices that are there are predicted only to explain them.
///
/// # Errors
/// As [`Context::new`].
fn context(device: &Device, falls_back: bool, explained: bool) -> Result<Context, Error> {
    let predictions = explained || matches!(device, Device::Virtual(_));
    Context::builder().cpu_when_faster(falls_back).predictions(predictions).build(device)
}

/// A line of an explanation: how busy the host's CPU was in `runs` further runs.
fn load_line(load: CpuLoad, runs: usize) -> String {
    format!("  CPU load    {} (mean of {runs} runs)\n", tripipe_report::busy_cores(load))
}

/// An error of an operation on a device, with a way out.
fn failed(what: &str, device: &Device, error: &Error) -> anyhow::Error {
    let on_opencl = !matches!(device, Device::Cpu);
    let way_out = match error.kind() {
        ErrorKind::Device | ErrorKind::Dependency | ErrorKind::OutOfMemory | ErrorKind::Unsupported
            if on_opencl =>
        {
            if matches!(device, Device::Virtual(_)) {
                "; --device cpu needs no compiler"
            } else {
                "; --device cpu works without OpenCL"
            }
        }
        _ => "",
    };
    anyhow!("{what}: {error}{way_out}")
}

/// Where a result is written.
#[derive(Args, Default)]
pub(crate) struct OutputArgument {
    /// Output file; an existing file is replaced once the new one is complete [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl OutputArgument {
    /// The canvas for text: that of the terminal, or that of a file.
    fn canvas(&self) -> Canvas {
        if self.output.is_some() { file_canvas() } else { terminal::canvas() }
    }

    /// Writes a report to standard output, or to the file once it is complete. If it is wanted as a page, that is made of
    /// its results.
    ///
    /// # Errors
    /// Those of the report; the file cannot be written.
    fn write(
        &self,
        out: &mut dyn Write,
        as_page: bool,
        report: impl FnOnce(&mut ReportWriter<'_>) -> anyhow::Result<Finish>,
    ) -> anyhow::Result<Finish> {
        let output = self.output.as_deref().map(Output::open_or_standard).transpose()?;
        if output.is_none() && !as_page {
            return report(&mut ReportWriter { out, page: None });
        }
        let mut written = Vec::new();
        let mut writer = ReportWriter { out: &mut written, page: as_page.then(Vec::new) };
        let finish = report(&mut writer)?;
        if let Some(documents) = writer.page.filter(|documents| !documents.is_empty()) {
            written = page::page(&documents).into_bytes();
        }
        match output {
            Some(output) => output.write(|sink| Ok(sink.write_all(&written)?))?,
            None => out.write_all(&written)?,
        }
        Ok(finish)
    }
}

/// Where a report goes: its text or its results as JSON, or its results to a page.
struct ReportWriter<'a> {
    out: &'a mut dyn Write,
    /// The results so far, if they become a page.
    page: Option<Vec<page::Document>>,
}

impl ReportWriter<'_> {
    /// Writes a result as JSON on a line of its own, or keeps it for the page.
    ///
    /// # Errors
    /// The output cannot be written.
    fn result(&mut self, result: impl Into<Document>) -> io::Result<()> {
        let result = result.into();
        match &mut self.page {
            Some(page) => page.push(page::Document::new(result)),
            None => writeln!(self.out, "{result}")?,
        }
        Ok(())
    }
}

impl Write for ReportWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The text report, in addition to another format.
#[derive(Args, Default)]
pub(crate) struct TextArgument {
    /// Also writes the text report to a file: one run gives both, e.g. with --format json.
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
}

impl TextArgument {
    /// The file, which is opened before there is anything to write.
    ///
    /// # Errors
    /// The file cannot be written; the output is the text report already.
    fn open(&self, is_text: bool) -> anyhow::Result<Option<Output>> {
        if is_text && self.text.is_some() {
            bail!("--text: the output is the text report already; choose another --format");
        }
        self.text.as_deref().map(Output::open).transpose()
    }
}

/// The canvas for text in a file.
fn file_canvas() -> Canvas {
    Canvas { ascii: terminal::is_ascii(), ..Canvas::default() }
}

/// Writes a text report to its file, if it is wanted.
///
/// # Errors
/// The file cannot be written.
fn write_text(file: Option<Output>, text: impl FnOnce() -> String) -> anyhow::Result<()> {
    file.map_or(Ok(()), |file| file.write(|sink| Ok(sink.write_all(text().as_bytes())?)))
}

/// Output formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for reading.
    #[default]
    Text,
    /// JSON: one object per line.
    Json,
    /// A page with charts and tables, in one file.
    Html,
}

/// A device in one line.
fn what(device: &Device) -> String {
    if let Device::Virtual(virtual_gpu) = device {
        return predicted(device, virtual_gpu);
    }
    match (device.probe(), device.identification()) {
        (Some(probe), Some(identification)) => {
            format!("{}: {}, {}; {}", device.choice(), probe.platform, probe.version, identification.why)
        }
        _ => format!("{}: built in, needs no OpenCL", device.choice()),
    }
}

/// A virtual GPU in one line: what it stands for, and how wrong its times may be.
fn predicted(device: &Device, virtual_gpu: &VirtualDevice) -> String {
    let gpu = virtual_gpu.gpu();
    let configuration = &gpu.configuration;
    let known = match errors::of(gpu) {
        Some(table) => {
            let of = if errors::is_own_family(gpu) { "its family" } else { "Valhall GPUs" };
            format!(
                "The model's errors against {} published figures of {of}: {:+.0}% to {:+.0}%, {:.0}% in the mean \
                 (docs/model.md)",
                table.count,
                100.0 * table.lowest,
                100.0 * table.highest,
                100.0 * table.mean_absolute
            )
        }
        None => tripipe_report::simulation::not_compared(gpu),
    };
    format!(
        "{}: {} cores at {} MHz; times are predicted. {known}",
        device.choice(),
        configuration.cores.value,
        configuration.clock_mhz.value
    )
}
