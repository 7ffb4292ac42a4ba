//! `tripipe filter`: a picture through a chain of filters.

use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use image::{DynamicImage, GrayAlphaImage, GrayImage};
use tripipe::filter::{Border, Chain, Element, Stage};
use tripipe::{Arithmetic, Context, Device, Explanation, Image};
use tripipe_report::time;

use super::{DeviceArgument, failed};
use crate::Finish;
use crate::files::output::Output;
use crate::files::picture::{self, Format, Picture};
use crate::progress::Progress;

/// Run a chain of filters over a picture.
///
/// Each colour channel is filtered by itself, alpha is kept as it is. Pictures are PNG, JPEG, PPM, PGM, BMP, TIFF or WebP of
/// 8 bits a channel (gray, gray + alpha, RGB, RGBA), up to 2 GiB when decoded; the input's format is told by its
/// contents, the output's by its name. Gray + alpha is filtered as gray, and becomes RGBA where the output format has no
/// such form (BMP, TIFF). A small picture goes to the CPU path where that is faster, unless --device names a device.
///
/// Examples:
///   tripipe filter laplace photo.jpg sharp.png
///   tripipe filter gray,gaussian:5,laplace8 photo.jpg edges.png --device opencl --explain
#[derive(Args)]
#[command(after_long_help = filters(), verbatim_doc_comment)]
pub(crate) struct Filter {
    /// Filters with commas between, e.g. `laplace` or `gray,gaussian:5,sobel`; all names below.
    filters: String,
    /// Picture to read.
    input: PathBuf,
    /// Picture to write; what is there is replaced once the new one is whole.
    output: PathBuf,
    /// What windows see outside the picture: none (the ring is copied), constant[:VALUE], replicate, reflect, reflect101,
    /// wrap.
    #[arg(long, default_value_t = Border::Reflect101)]
    border: Border,
    /// Says what was chosen, why, what bounds it, and what else there was.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    device: DeviceArgument,
}

/// The names of all filters, as help has them.
fn filters() -> String {
    let mut text = "Filters:\n".to_owned();
    for (name, numbers, about) in Stage::names() {
        let colon = if numbers.is_empty() { "" } else { ":" };
        let _ = writeln!(text, "  {:<28} {about}", format!("{name}{colon}{numbers}"));
    }
    text
}

impl Filter {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let chain = Chain::parse(&self.filters, self.border)?;
        let format = Format::of(&self.output)?;
        let device = self.device.resolve()?;
        let output = Output::open(&self.output)?;
        let progress = Progress::spinner(format!("reading {}", self.input.display()));
        let source = picture::read(&self.input)?;
        drop(progress);
        let progress = Progress::spinner(format!("filtering on {}", device.name()));
        let name = self.input.display().to_string();
        let filtered = filter(&device, self.device.falls_back(), &chain, &source, &name)?;
        let total_seconds = filtered.total_seconds;
        if self.explain {
            // Without them the explanation has less to say, and says so.
            let _ = filtered.context.measure_ceilings(Arithmetic::I16);
        }
        let (explanation, result) = (filtered.filter.explain(), filtered.picture);
        drop(progress);
        format.check(&self.output, &result.pixels)?;
        output.write(|sink| picture::write(sink, format, &result))?;
        let (width, height) = (source.pixels.width(), source.pixels.height());
        writeln!(out, "{name} {width}x{height} {} -> {}", channels(&source.pixels), self.output.display())?;
        if self.explain {
            write!(out, "{explanation}")?;
        } else {
            writeln!(out, "{}", said(&explanation, total_seconds))?;
        }
        Ok(Finish::Clean)
    }
}

/// Device, kernel and times in one line.
pub(super) fn said(explanation: &Explanation, total_seconds: f64) -> String {
    let Explanation { device, kernel, why, measured_seconds, fallback, .. } = explanation;
    let took = measured_seconds.map_or("ran".to_owned(), |seconds| format!("took {}", time(seconds)));
    let instead = fallback.as_ref().map(|reason| format!("; the CPU path, as {reason}")).unwrap_or_default();
    format!("{device}: {kernel} ({why}) {took}, {} with start-up and copies{instead}", time(total_seconds))
}

fn channels(pixels: &DynamicImage) -> &'static str {
    match pixels {
        DynamicImage::ImageLuma8(_) => "gray",
        DynamicImage::ImageLumaA8(_) => "gray + alpha",
        DynamicImage::ImageRgba8(_) => "RGBA",
        _ => "RGB",
    }
}

/// A picture that went through a chain.
pub(super) struct Filtered {
    pub(super) picture: Picture,
    pub(super) filter: Arc<tripipe::filter::Filter>,
    context: Context,
    /// Wall time, start-up and copies included.
    pub(super) total_seconds: f64,
}

/// The picture through a chain; `name` is what messages call it. With `fall_back` the CPU path may do it where it is faster.
///
/// # Errors
/// The chain does not take such a picture, or makes no pixels of 8 bits; the device cannot hold it, or failed.
pub(super) fn filter(
    device: &Device,
    fall_back: bool,
    chain: &Chain,
    source: &Picture,
    name: &str,
) -> Result<Filtered> {
    let start = Instant::now();
    let gray_of_two;
    let (pixels, alpha) = match &source.pixels {
        DynamicImage::ImageLumaA8(pixels) => {
            let gray = pixels.pixels().map(|pixel| pixel.0[0]).collect();
            let gray = GrayImage::from_raw(pixels.width(), pixels.height(), gray).ok_or_else(size_changed)?;
            gray_of_two = DynamicImage::ImageLuma8(gray);
            (&gray_of_two, Some(pixels))
        }
        pixels => (pixels, None),
    };
    let failed = |error| failed(&format!("{name} could not be filtered"), device, &error);
    let context = Context::new(device).map_err(failed)?;
    context.fall_back_when_slower(fall_back);
    let image = Image::<u8>::from_picture(&context, pixels).map_err(failed)?;
    let chain = Chain { keep_alpha: image.channels() == 4, ..chain.clone() };
    let to = chain.apply_to(image.raster())?;
    if to.element != Element::U8 {
        bail!(
            "the filters make pixels of {}, and pictures have 8 bits: end with convert:u8[:SCALE[:OFFSET]]",
            to.element
        );
    }
    let mut result = Image::<u8>::zeros(&context, to).map_err(failed)?;
    let filter = context.filter(&chain, image.raster(), &to).map_err(failed)?;
    filter.run(&image, &mut result).and_then(tripipe::Pending::wait).map_err(failed)?;
    let result = result.to_picture().map_err(failed)?;
    let total_seconds = start.elapsed().as_secs_f64();
    let pixels = match (alpha, result) {
        (Some(alpha), DynamicImage::ImageLuma8(gray)) => {
            let both =
                gray.pixels().zip(alpha.pixels()).flat_map(|(gray, pixel)| [gray.0[0], pixel.0[1]]).collect();
            let both = GrayAlphaImage::from_raw(gray.width(), gray.height(), both);
            both.map(DynamicImage::ImageLumaA8).ok_or_else(size_changed)?
        }
        (_, result) => result,
    };
    Ok(Filtered { picture: source.with_pixels(pixels), filter, context, total_seconds })
}

fn size_changed() -> anyhow::Error {
    anyhow!("the filter returned a picture of another size")
}
