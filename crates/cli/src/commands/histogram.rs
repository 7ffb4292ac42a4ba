//! `tripipe histogram`: the frequency of each value in a picture.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use image::DynamicImage;
use tripipe::{Context, Counted, Depth, Device, Error, Image, Size};
use tripipe_report::{histogram, time};
use tripipe_results::{self as results, ChannelHistogram};

use super::{DeviceArgument, Format, OutputArgument, ReportWriter, context, failed, note, say_on};
use crate::files::input::shown_input;
use crate::files::picture::{self, is_deep};
use crate::finish::Finish;
use crate::progress::Progress;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe histogram photo.jpg
  tripipe filter gray,sobel photo.jpg - | tripipe histogram - --format json";

/// Count how often each value occurs in a picture, for each channel.
///
/// For 16 bits per channel, the upper 8 are counted. The picture formats are those of `tripipe filter`; the path - is
/// standard input.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Histogram {
    /// Picture to read; - for standard input.
    input: PathBuf,
    /// Output format; JSON is one object on one line, with all 256 counts.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    output: OutputArgument,
    #[command(flatten)]
    device: DeviceArgument,
}

impl Histogram {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        self.output.write(out, self.format == Format::Html, |out| self.report(out))
    }

    fn report(&self, out: &mut ReportWriter<'_>) -> Result<Finish> {
        let device = self.device.resolve()?;
        let name = shown_input(&self.input);
        let progress = Progress::spinner(format!("reading {name}"));
        let source = picture::read(&self.input)?;
        if let Some(left_out) = source.left_out {
            note(&format!("{name} is {left_out}; only its first picture is read"));
        }
        say_on(&progress, "counting", &device);
        let start = Instant::now();
        let counted = count(&device, self.device.falls_back(), &source.pixels)
            .map_err(|error| failed(&format!("{name} could not be counted"), &device, &error))?;
        let said =
            format!("{}: {} with start-up and copies", device.name(), time(start.elapsed().as_secs_f64()));
        drop(progress);
        let bits = if is_deep(source.pixels.color()) { 16 } else { 8 };
        let result = results::Histogram {
            picture: name,
            width: source.pixels.width() as usize,
            height: source.pixels.height() as usize,
            bits,
            bin_width: 1 << (bits - 8),
            channels: counted,
        };
        match self.format {
            Format::Text => write!(out, "{}", histogram::text(&result, &said, self.output.canvas()))?,
            Format::Json | Format::Html => out.result(result)?,
        }
        Ok(Finish::Clean)
    }
}

/// The histogram of each channel.
///
/// # Errors
/// Out of memory; the device is lost.
fn count(device: &Device, fall_back: bool, pixels: &DynamicImage) -> Result<Vec<ChannelHistogram>, Error> {
    let context = context(device, fall_back, false)?;
    let size = Size::new(pixels.width() as usize, pixels.height() as usize);
    if is_deep(pixels.color()) {
        channels(&context, size, &u16::channels_of(pixels).1)
    } else {
        channels(&context, size, pixels.as_bytes())
    }
}

fn channels<T: Counted>(context: &Context, size: Size, values: &[T]) -> Result<Vec<ChannelHistogram>, Error> {
    let names: &[&str] = match values.len() / (size.width * size.height).max(1) {
        1 => &["gray"],
        2 => &["gray", "alpha"],
        3 => &["red", "green", "blue"],
        _ => &["red", "green", "blue", "alpha"],
    };
    let planes = names.iter().enumerate().map(|(channel, name)| {
        let plane: Vec<T> = values.iter().skip(channel).step_by(names.len()).copied().collect();
        Ok(described(name, &Image::from_vec(context, size, 1, plane)?.histogram()?.wait()?))
    });
    planes.collect()
}

fn described(name: &str, counts: &[u32]) -> ChannelHistogram {
    let all: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let sum: f64 = counts.iter().enumerate().map(|(bin, count)| bin as f64 * f64::from(*count)).sum();
    let mut before = 0;
    let median = counts.iter().position(|count| {
        before += u64::from(*count);
        2 * before >= all
    });
    ChannelHistogram {
        name: name.to_owned(),
        min: counts.iter().position(|count| *count > 0).unwrap_or(0),
        max: counts.iter().rposition(|count| *count > 0).unwrap_or(0),
        median: median.unwrap_or(0),
        mean: sum / (all as f64).max(1.0),
        counts: counts.to_vec(),
    }
}
