//! `tripipe sweep`: finds the fastest parameters on a device.

mod clock;

use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use tripipe::cpu::{self, Threads};
use tripipe::filter::{Border, PixelType, Raster};
use tripipe::{Choice, Device};
use tripipe_kernels::filter;
use tripipe_kernels::gemm::{self, Accumulate, Elements, Gemm, Parameters, entries_to_toml};
use tripipe_ladders::sweep::gemm::SweepOptions;
use tripipe_ladders::sweep::{self, Heat, Heats, SweepProgress, TryError};
use tripipe_ladders::{Size, SizeKind};
use tripipe_launch::Executor;
use tripipe_opencl::ExecutorOptions;
use tripipe_report::{page, sweep as sweep_report, time};

use super::filter::parse_chain;
use super::{DeviceArgument, Format};
use crate::files::{memory, output::Output};
use crate::finish::Finish;
use crate::open_device::OpenDevice;
use crate::progress::Progress;
use crate::terminal::shown;
use crate::trace::TraceArgument;
use clock::{Clock, Limit, Share};

/// Try every sensible kernel for a computation on a device, and rank them by speed.
///
/// Every kernel is verified before its time counts, except on virtual GPUs, which predict times (--verify). The best guess is tried first, then those most similar to it; a
/// kernel that is far slower than the best so far is dropped after one run. At the time limit (--limit), or after
/// Ctrl-C, the sweep ends with the results so far, marked as partial. For products, the results go into a table (-o).
/// The library reads tables from the folder `tripipe/gemm` in your configuration folder, or from the folder in
/// `TRIPIPE_TABLES`, before the built-in ones.
#[derive(Args)]
pub(crate) struct Sweep {
    #[command(subcommand)]
    what: What,
    /// Output format; JSON is one object for each size, HTML is a page with charts (docs/reports.md).
    #[arg(long, value_enum, default_value_t = Format::Text, global = true)]
    format: Format,
    #[command(flatten)]
    pub(crate) trace: TraceArgument,
}

#[derive(Subcommand)]
enum What {
    Gemm(Products),
    Filter(Filters),
}

/// Matrix products.
///
/// Example: tripipe sweep gemm --sizes 64,256,1024,1x1024x1024 --device opencl -o ~/.config/tripipe/gemm/mine.toml
#[derive(Args)]
struct Products {
    /// Sizes, `MxNxK` or `N`, separated by commas; one of each class of shapes fills a table.
    #[arg(long, value_delimiter = ',', default_value = "1x2048x2048,2048x1x2048,16x1024x1024,128,512,1024")]
    sizes: Vec<String>,
    /// Types of operands and accumulation.
    #[arg(long, value_enum, default_value_t = Kind::F32)]
    elements: Kind,
    /// B is constant: the time to pack it does not count.
    #[arg(long)]
    constant_b: bool,
    /// Another candidate, e.g. `local 8x8 depth=16 group=16x16`; may be repeated.
    #[arg(long, value_name = "PARAMETERS")]
    also: Vec<Parameters>,
    /// Tries only the candidates of --also.
    #[arg(long, requires = "also")]
    only: bool,
    /// Number of final rounds, in each of which every finalist runs once.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Time limit for the whole sweep in seconds, after which it ends with the results so far; none for no limit. A
    /// candidate that has started is completed.
    #[arg(long, value_name = "SECONDS", default_value = "120")]
    limit: Limit,
    /// On a virtual GPU: also computes and verifies the result of every candidate, which takes much longer. On other
    /// devices every result is verified.
    #[arg(long)]
    verify: bool,
    /// Number of candidates to print for each size.
    #[arg(long, default_value_t = 8)]
    top: usize,
    /// Output file for the table; an existing file is replaced once the new one is complete, and remains if no
    /// candidate was correct.
    #[arg(short, long, value_name = "TABLE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArgument,
}

/// A chain of filters.
///
/// Example: tripipe sweep filter laplace --size 7680x4320 --channels 3 --device opencl
#[derive(Args)]
struct Filters {
    /// Filters, separated by commas, as for `tripipe filter`.
    chain: String,
    /// Width and height in pixels.
    #[arg(long, default_value = "1920x1080")]
    size: String,
    /// Channels of 8 bits.
    #[arg(long, default_value_t = 3)]
    channels: usize,
    /// Pixels outside the picture.
    #[arg(long, default_value_t = Border::Reflect101)]
    border: Border,
    /// Another candidate, e.g. `16x8 loads=aligned sums=paired fuse=pixels group=64x2`; may be repeated.
    #[arg(long, value_name = "PARAMETERS")]
    also: Vec<filter::Parameters>,
    /// Tries only the candidates of --also.
    #[arg(long, requires = "also")]
    only: bool,
    /// Number of final rounds, in each of which every finalist runs once.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Time limit for the whole sweep in seconds, after which it ends with the results so far; none for no limit. A
    /// candidate that has started is completed.
    #[arg(long, value_name = "SECONDS", default_value = "120")]
    limit: Limit,
    /// On a virtual GPU: also computes and verifies the result of every candidate, which takes much longer. On other
    /// devices every result is verified.
    #[arg(long)]
    verify: bool,
    /// Number of candidates to print.
    #[arg(long, default_value_t = 12)]
    top: usize,
    #[command(flatten)]
    device: DeviceArgument,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// float32.
    F32,
    /// float16, accumulated in float16.
    F16,
    /// float16, accumulated in float32.
    F16F32,
    /// float16, accumulated in float16 in blocks of 32 along K and in float32 across them.
    F16Chunked,
    /// int8, accumulated in int32.
    I8,
}

impl From<Kind> for Elements {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::F32 => Self::F32,
            Kind::F16 => Self::F16(Accumulate::F16),
            Kind::F16F32 => Self::F16(Accumulate::F32),
            Kind::F16Chunked => Self::F16(Accumulate::Chunked { block: 32 }),
            Kind::I8 => Self::I8ToI32,
        }
    }
}

impl Sweep {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let mut documents = Vec::new();
        let mut sink = io::sink();
        let said = if self.format == Format::Text { &mut *out } else { &mut sink };
        let finish = match self.what {
            What::Gemm(products) => products.run(said, &mut documents),
            What::Filter(filters) => filters.run(said, &mut documents),
        }?;
        let documents = documents.join("\n");
        match self.format {
            Format::Json if !documents.is_empty() => writeln!(out, "{documents}")?,
            Format::Html if !documents.is_empty() => {
                out.write_all(page::page(&page::read("the result", &documents)?).as_bytes())?;
            }
            _ => {}
        }
        Ok(finish)
    }
}

/// The device to sweep: the one that was named, else the best, else the first.
fn swept_device(device: &DeviceArgument) -> Result<Device> {
    let chosen = match (device.device, device.resolve()?) {
        (Choice::Auto, Device::Cpu) => super::resolve(Choice::OpenCl(None))?,
        (_, chosen) => chosen,
    };
    if matches!(chosen, Device::Cpu) {
        bail!("the CPU path has one candidate per operation; --device opencl sweeps an OpenCL device")
    }
    Ok(chosen)
}

/// An executor of the device; a virtual GPU predicts times, and runs nothing unless `verify`.
fn open(device: &Device, verify: bool) -> Result<OpenDevice> {
    OpenDevice::new(device, &ExecutorOptions::default(), !verify)?.context("the CPU path runs no kernels")
}

/// The current step, for the progress line.
fn doing<P: Display>(stage: &SweepProgress<'_, P>) -> String {
    match stage {
        SweepProgress::First { parameters, done, of } => format!("{} of {of}: {parameters}", done + 1),
        SweepProgress::Final { parameters, round, of } => {
            format!("finals, round {} of {of}: {parameters}", round + 1)
        }
    }
}

/// How many candidates were tried, and how many were dropped or failed, e.g. `300 candidates, 12 dropped as far slower,
/// 3 failed`.
fn tally<P>(heat: &Heat<P>, clock: &Clock) -> String {
    let count = |is: &dyn Fn(&TryError) -> bool| {
        heat.tried.iter().filter(|tried| tried.outcome.as_ref().is_err_and(is)).count()
    };
    let dropped = count(&|error| matches!(error, TryError::Dropped { .. }));
    let failed = count(&|error| !matches!(error, TryError::Dropped { .. }));
    let mut text = format!("{} candidates", heat.tried.len());
    for (count, what) in [(dropped, "dropped as far slower"), (failed, "failed")] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    if heat.is_partial() {
        let why = if clock.is_interrupted() { "interrupted" } else { "the time limit was reached (--limit)" };
        let what = match heat.left_out {
            0 => "finals cut short".to_owned(),
            left => format!("{left} more not tried"),
        };
        let _ = write!(text, "; PARTIAL: {why}, {what}");
    }
    text
}

impl Products {
    fn run(self, out: &mut dyn Write, documents: &mut Vec<String>) -> Result<Finish> {
        let sizes = self.sizes.iter().map(|text| match SizeKind::Matrix.parse(text)? {
            Size::Matrix { m, n, k } => Ok([m, n, k]),
            _ => bail!("size {text}: want MxNxK or N"),
        });
        let sizes = sizes.collect::<Result<Vec<_>>>()?;
        for [m, n, k] in &sizes {
            // Operands and reference in double precision, and copies of them.
            let elements = m.checked_mul(*k).zip(k.checked_mul(*n)).zip(m.checked_mul(*n));
            let bytes = elements.and_then(|((a, b), c)| a.checked_add(b)?.checked_add(c)?.checked_mul(24));
            let what = format!("a sweep of {m}x{n}x{k}");
            memory::check(&what, bytes.map(|bytes| bytes as u64), "choose a smaller one with --sizes")?;
        }
        let device = swept_device(&self.device)?;
        let name = device.name();
        let output = self.output.as_deref().map(Output::open).transpose()?;
        let mut entries = Vec::new();
        let (mut not_swept, mut partial) = (Vec::new(), false);
        let clock = Clock::start(self.limit);
        let plural = if sizes.len() == 1 { "" } else { "s" };
        writeln!(out, "{} size{plural} on {name}: {}", sizes.len(), self.limit)?;
        out.flush()?;
        for (index, size) in sizes.iter().enumerate() {
            let [m, n, k] = size;
            if clock.is_interrupted() {
                not_swept.push(format!("{m}x{n}x{k}"));
                continue;
            }
            // A new executor for each size, so that the programs of the previous size are freed.
            let mut opened = open(&device, self.verify)?;
            let swept = self.sweep(*size, opened.executor(), &clock, &clock.share(sizes.len() - index))?;
            partial |= swept.heat.is_partial();
            writeln!(out, "{m}x{n}x{k} on {name}: {}", tally(&swept.heat, &clock))?;
            for tried in swept.heat.tried.iter().take(self.top) {
                match &tried.outcome {
                    Ok(seconds) => writeln!(
                        out,
                        "  {:>8.1} GFLOP/s  {:>9}  {}",
                        swept.gflops(seconds.median),
                        time(seconds.median),
                        tried.parameters
                    )?,
                    Err(error) => writeln!(out, "  {}: {error}", tried.parameters)?,
                }
            }
            out.flush()?;
            let report = sweep_report::Report {
                family: "gemm",
                subject: &format!("{m}x{n}x{k}"),
                device: &name,
                predicted: matches!(device, Device::Virtual(_)),
                heat: &swept.heat,
                operations: Some(swept.gflops(1.0) * 1e9),
                copy_seconds: None,
            };
            documents.push(report.json());
            entries.extend(swept.entry(&today()));
        }
        if !not_swept.is_empty() {
            writeln!(out, "PARTIAL: interrupted, not swept: {}", not_swept.join(", "))?;
        }
        if let Some(output) = output.filter(|_| !entries.is_empty()) {
            let mut table = entries_to_toml(&entries)?;
            if partial || !not_swept.is_empty() {
                let without = if not_swept.is_empty() {
                    String::new()
                } else {
                    format!(", without {}", not_swept.join(", "))
                };
                table = format!("# Partial: the sweep was ended early{without}.\n{table}");
            }
            output.write(|sink| Ok(sink.write_all(table.as_bytes())?))?;
        } else if self.output.is_some() {
            writeln!(out, "no table is written: no candidate gave a correct result")?;
        }
        Ok(match (clock.is_interrupted(), entries.is_empty()) {
            (true, _) => Finish::Interrupted,
            (false, true) => Finish::Bad,
            (false, false) => Finish::Clean,
        })
    }

    fn sweep(
        &self,
        [m, n, k]: [usize; 3],
        executor: &mut dyn Executor,
        clock: &Clock,
        share: &Share,
    ) -> Result<sweep::gemm::GemmSweep> {
        let gemm = Gemm::new(self.elements.into(), [m, n, k]);
        let mut candidates = self.also.clone();
        if !self.only {
            let known = gemm::candidates(&gemm, executor.probe());
            let known = gemm::best_guess_first(&gemm, &known, executor.probe());
            candidates.extend(known.into_iter().filter(|known| !self.also.contains(known)));
        }
        let heats = Heats { rounds: self.rounds as usize, ..Heats::default() };
        let mut options = SweepOptions { heats, ..SweepOptions::default() };
        if self.constant_b {
            options.given[1] = gemm::Given::Constant;
        }
        let name = executor.probe().name.clone();
        let progress = Progress::spinner(format!("{m}x{n}x{k} on {name}"));
        sweep::gemm::sweep(executor, &gemm, &candidates, &options, &mut |stage| {
            progress.say(&format!("{m}x{n}x{k}: {}", doing(&stage)));
            clock.goes_on(share, &stage)
        })
        .with_context(|| format!("{m}x{n}x{k} could not be swept on {name}"))
    }
}

/// Today's date, as `2026-11-21`, in UTC.
fn today() -> String {
    let mut date = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    date.truncate("2026-11-21".len());
    date
}

impl Filters {
    fn run(self, out: &mut dyn Write, documents: &mut Vec<String>) -> Result<Finish> {
        let chain = parse_chain(&self.chain, self.border)?;
        let Size::Image { width, height } = SizeKind::Image.parse(&self.size)? else {
            bail!("size {}: want WIDTHxHEIGHT", self.size)
        };
        let from = Raster::packed([width, height], self.channels, PixelType::U8);
        let to = chain.apply_to(&from)?;
        let elements = from.elements()?.checked_add(to.elements()? * to.element.bytes());
        // Image, result and comparison, on the host and on the device.
        let bytes = elements.and_then(|bytes| bytes.checked_mul(4)).map(|bytes| bytes as u64);
        memory::check(&format!("a sweep over {width}x{height} pixels"), bytes, "choose a smaller --size")?;
        let device = swept_device(&self.device)?;
        let mut opened = open(&device, self.verify)?;
        let executor = opened.executor();
        let mut random = fastrand::Rng::with_seed(1);
        let source: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(from.elements()?).collect();
        let mut want = vec![0; to.elements()? * to.element.bytes()];
        // The CPU path gives the same result as the reference, and is faster.
        cpu::filter(&chain, &from, &source, &to, &mut want, Threads::All)?;
        let mut candidates = self.also.clone();
        if !self.only {
            let known = filter::candidates(&chain, &from, &to, executor.probe());
            candidates.extend(known.into_iter().filter(|known| !self.also.contains(known)));
        }
        let name = executor.probe().name.clone();
        writeln!(out, "{} candidates on {name}: {}", candidates.len(), self.limit)?;
        out.flush()?;
        let clock = Clock::start(self.limit);
        let share = clock.share(1);
        let progress = Progress::spinner(format!("{chain} on {name}"));
        let case = sweep::filter::Case { chain: &chain, from: &from, source: &source, to: &to, want: &want };
        let heats = Heats { rounds: self.rounds as usize, ..Heats::default() };
        let swept = sweep::filter::sweep(executor, &case, &candidates, heats, &mut |stage| {
            progress.say(&doing(&stage));
            clock.goes_on(&share, &stage)
        })
        .with_context(|| format!("{chain} could not be swept on {name}"))?;
        drop(progress);
        writeln!(
            out,
            "{chain} of {width}x{height}, {} x u8, on {name}: {}",
            self.channels,
            tally(&swept.heat, &clock)
        )?;
        if let Some(seconds) = swept.copy_seconds {
            writeln!(out, "  {:>9}  a copy on the device", shown(time(seconds)))?;
        }
        for tried in swept.heat.tried.iter().take(self.top) {
            match &tried.outcome {
                Ok(seconds) => writeln!(out, "  {:>9}  {}", shown(time(seconds.median)), tried.parameters)?,
                Err(error) => writeln!(out, "  {}: {error}", tried.parameters)?,
            }
        }
        let report = sweep_report::Report {
            family: "filter",
            subject: &format!("{chain} of {width}x{height}, {} x u8", self.channels),
            device: &name,
            predicted: matches!(device, Device::Virtual(_)),
            heat: &swept.heat,
            operations: None,
            copy_seconds: swept.copy_seconds,
        };
        documents.push(report.json());
        Ok(match (clock.is_interrupted(), swept.heat.fastest()) {
            (true, _) => Finish::Interrupted,
            (false, None) => Finish::Bad,
            (false, Some(_)) => Finish::Clean,
        })
    }
}
