//! `tripipe sweep`: which parameters are fastest on a device.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};
use tripipe::Device;
use tripipe::cpu::{self, Threads};
use tripipe::filter::{Border, Chain, Element, Raster};
use tripipe_kernels::gemm::{self, Accumulate, Elements, Gemm, Parameters, SweepOptions, entries_to_toml};
use tripipe_kernels::{Size, SizeKind, filter};
use tripipe_launch::{Access, Executor, MemoryId, MemoryKind, Timing};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};
use tripipe_report::time;

use super::DeviceArgument;
use crate::Finish;
use crate::files::output::Output;
use crate::progress::Progress;

/// Try every sensible way to compute something on a device; the fastest first.
///
/// Every way is verified before its time counts. What is found for products goes into a table (-o) that the library reads
/// from the folder `tripipe/gemm` among the user's settings, or from the one that `TRIPIPE_TABLES` names, ahead of what is
/// shipped.
#[derive(Args)]
pub(crate) struct Sweep {
    #[command(subcommand)]
    what: What,
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
    /// Sizes, `MxNxK` or `N`, with commas between; one of each class of shapes fills a table.
    #[arg(long, value_delimiter = ',', default_value = "1x2048x2048,2048x1x2048,16x1024x1024,128,512,1024")]
    sizes: Vec<String>,
    /// Types of operands and sums.
    #[arg(long, value_enum, default_value_t = Kind::F32)]
    elements: Kind,
    /// B is constant: packing it is not timed.
    #[arg(long)]
    constant_b: bool,
    /// One more way to try, e.g. `local 8x8 depth=16 group=16x16`; as often as need be.
    #[arg(long, value_name = "PARAMETERS")]
    also: Vec<Parameters>,
    /// Tries only what --also names.
    #[arg(long, requires = "also")]
    only: bool,
    /// Rounds in which each finalist runs once.
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// How many ways are printed for each size.
    #[arg(long, default_value_t = 8)]
    top: usize,
    /// Where the table goes; what is there is replaced once the new one is whole.
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
    /// Filters with commas between, as `tripipe filter` takes them.
    chain: String,
    /// Width and height in pixels.
    #[arg(long, default_value = "1920x1080")]
    size: String,
    /// Channels of 8 bits.
    #[arg(long, default_value_t = 3)]
    channels: usize,
    /// What windows see outside the picture.
    #[arg(long, default_value_t = Border::Reflect101)]
    border: Border,
    /// One more way to try, e.g. `16x8 loads=aligned sums=paired fuse=pixels group=64x2`; as often as need be.
    #[arg(long, value_name = "PARAMETERS")]
    also: Vec<filter::Parameters>,
    /// Tries only what --also names.
    #[arg(long, requires = "also")]
    only: bool,
    /// Rounds in which each way runs once.
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// How many ways are printed.
    #[arg(long, default_value_t = 12)]
    top: usize,
    #[command(flatten)]
    device: DeviceArgument,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// float32.
    F32,
    /// float16, summed in float16.
    F16,
    /// float16, summed in float32.
    F16F32,
    /// float16, summed in float16 in blocks of 32 along K and in float32 across them.
    F16Chunked,
    /// int8, summed in int32.
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
        match self.what {
            What::Gemm(products) => products.run(out),
            What::Filter(filters) => filters.run(out),
        }
    }
}

fn opencl(device: &DeviceArgument) -> Result<OpenClExecutor> {
    match device.resolve()? {
        Device::OpenCl(device) => Ok(OpenClExecutor::new(&device, &ExecutorOptions::default())?),
        Device::Cpu => {
            bail!("the CPU path has one way to do a thing; --device opencl sweeps an OpenCL device")
        }
    }
}

impl Products {
    fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let mut executor = opencl(&self.device)?;
        let output = self.output.as_deref().map(Output::open).transpose()?;
        let name = executor.probe().name.clone();
        let mut entries = Vec::new();
        for text in &self.sizes {
            let Size::Matrix { m, n, k } = SizeKind::Matrix.parse(text)? else { continue };
            let gemm = Gemm::new(self.elements.into(), [m, n, k]);
            let mut candidates =
                if self.only { Vec::new() } else { gemm::candidates(&gemm, executor.probe()) };
            candidates.extend(&self.also);
            let mut options = SweepOptions { rounds: self.rounds, ..SweepOptions::default() };
            if self.constant_b {
                options.given[1] = gemm::Given::Constant;
            }
            let progress = Progress::spinner(format!("{m}x{n}x{k} on {name}"));
            let mut done = 0;
            let swept = gemm::sweep(&mut executor, &gemm, &candidates, &options, &mut |tried, of| {
                done += 1;
                progress.say(&format!("{m}x{n}x{k}: {done} of {of}, {}", tried.parameters));
            })
            .with_context(|| format!("{m}x{n}x{k} could not be swept on {name}"))?;
            drop(progress);
            let failed = swept.tried.iter().filter(|tried| tried.outcome.is_err()).count();
            writeln!(out, "{m}x{n}x{k} on {name}: {} ways, {failed} failed", swept.tried.len())?;
            for tried in swept.tried.iter().take(self.top) {
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
            entries.extend(swept.entry(&today()));
        }
        if let Some(output) = output {
            let table = entries_to_toml(&entries)?;
            output.write(|sink| Ok(sink.write_all(table.as_bytes())?))?;
        }
        Ok(Finish::Clean)
    }
}

/// The day, as `2026-11-21`, in universal time.
fn today() -> String {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

impl Filters {
    fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let chain = Chain::parse(&self.chain, self.border)?;
        let Size::Image { width, height } = SizeKind::Image.parse(&self.size)? else {
            bail!("size {}: want WIDTHxHEIGHT", self.size)
        };
        let mut executor = opencl(&self.device)?;
        let from = Raster::packed([width, height], self.channels, Element::U8);
        let to = chain.apply_to(&from)?;
        let mut random = fastrand::Rng::with_seed(1);
        let source: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(from.elements()?).collect();
        let mut want = vec![0; to.elements()? * to.element.bytes()];
        // The CPU path equals the reference, and is faster.
        cpu::filter(&chain, &from, &source, &to, &mut want, Threads::All)?;
        let mut buffer = |bytes: usize, contents: Option<&[u8]>| {
            executor.allocate(&MemoryKind::Buffer { bytes }, Access::ReadWrite, contents)
        };
        let input = buffer(source.len(), Some(&source))?;
        let result = buffer(want.len(), Some(&vec![0; want.len()]))?;
        let name = executor.probe().name.clone();
        let mut candidates =
            if self.only { Vec::new() } else { filter::candidates(&chain, &from, &to, executor.probe()) };
        candidates.extend(&self.also);
        let progress = Progress::spinner(format!("{chain} on {name}"));
        let mut ways = Vec::new();
        for (index, parameters) in candidates.iter().enumerate() {
            progress.say(&format!("{} of {}: {parameters}", index + 1, candidates.len()));
            let bound = filter::plan(&chain, &from, &to, parameters, executor.probe())
                .map_err(anyhow::Error::from)
                .and_then(|plan| Ok(plan.bind(&mut executor, &[input, result])?));
            let outcome = bound.and_then(|bound| {
                verified(&mut executor, &bound.launches, result, &want)?;
                Ok(bound.launches)
            });
            ways.push((parameters, outcome));
        }
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); ways.len()];
        let mut copies = Vec::new();
        for _ in 0..self.rounds {
            if source.len() == want.len() {
                let copied = executor.copy(input, 0, result, 0, want.len())?;
                copies.push(Timing::span_seconds(&copied.timings()?));
            }
            for ((_, outcome), times) in ways.iter().zip(&mut times) {
                if let Ok(launches) = outcome {
                    times.push(Timing::span_seconds(&executor.run(launches)?));
                }
            }
        }
        drop(progress);
        let mut rows: Vec<_> = ways.iter().zip(&mut times).map(|(way, times)| (way, median(times))).collect();
        rows.sort_by(|(_, a), (_, b)| a.unwrap_or(f64::MAX).total_cmp(&b.unwrap_or(f64::MAX)));
        writeln!(out, "{chain} of {width}x{height}, {} x u8, on {name}: {} ways", self.channels, rows.len())?;
        if let Some(seconds) = median(&mut copies) {
            writeln!(out, "  {:>9}  a copy on the device", time(seconds))?;
        }
        for ((parameters, outcome), seconds) in rows.iter().take(self.top) {
            match (seconds, outcome) {
                (Some(seconds), _) => writeln!(out, "  {:>9}  {parameters}", time(*seconds))?,
                (None, Err(error)) => writeln!(out, "  {parameters}: {error}")?,
                (None, Ok(_)) => {}
            }
        }
        Ok(Finish::Clean)
    }
}

/// Runs launches once and compares what they leave in `result`.
fn verified(
    executor: &mut OpenClExecutor,
    launches: &[tripipe_launch::Launch],
    result: MemoryId,
    want: &[u8],
) -> Result<()> {
    executor.run(launches)?;
    let mut found = vec![0; want.len()];
    executor.read(result, 0, &mut found)?;
    match want.iter().zip(&found).position(|(want, found)| want != found) {
        None => Ok(()),
        Some(at) => Err(anyhow!("wrong at byte {at}: {} instead of {}", found[at], want[at])),
    }
}

fn median(seconds: &mut [f64]) -> Option<f64> {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied()
}
