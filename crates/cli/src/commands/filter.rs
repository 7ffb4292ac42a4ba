//! `tripipe filter`: a picture through a filter.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};
use image::{DynamicImage, GrayAlphaImage};
use tripipe::filter::{Pixels, laplace};
use tripipe::{Device, Explanation};
use tripipe_report::time;

use super::{DeviceArgument, failed};
use crate::Finish;
use crate::files::output::Output;
use crate::files::picture::{self, Format, Picture};
use crate::progress::Progress;

/// Run a filter over a picture.
#[derive(Args)]
pub(crate) struct Filter {
    #[command(subcommand)]
    filter: Kind,
}

#[derive(Subcommand)]
enum Kind {
    Laplace(Laplace),
}

/// Sharpen a picture: 3x3 Laplace filter, 9 x each pixel - its 8 neighbours, clamped to 0..255.
///
/// The outermost ring of pixels is copied. Each colour channel is filtered by itself, alpha is kept as it is. Pictures
/// are PNG, JPEG, PPM, PGM, BMP, TIFF or WebP of 8 bits a channel (gray, gray + alpha, RGB, RGBA), up to 2 GiB when
/// decoded; the input's format is told by its contents, the output's by its name. Gray + alpha is filtered as gray, and
/// becomes RGBA where the output format has no such form (BMP, TIFF).
///
/// Example: tripipe filter laplace photo.jpg sharp.png --device opencl
#[derive(Args)]
struct Laplace {
    /// Picture to read.
    input: PathBuf,
    /// Picture to write; what is there is replaced once the new one is whole.
    output: PathBuf,
    #[command(flatten)]
    device: DeviceArgument,
}

impl Filter {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        match self.filter {
            Kind::Laplace(laplace) => laplace.run(out),
        }
    }
}

impl Laplace {
    fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let format = Format::of(&self.output)?;
        let device = self.device.resolve()?;
        let output = Output::open(&self.output)?;
        let progress = Progress::spinner(format!("reading {}", self.input.display()));
        let source = picture::read(&self.input)?;
        format.check(&self.output, &source.pixels)?;
        drop(progress);
        let progress = Progress::spinner(format!("filtering on {}", device.name()));
        let (result, explanation) = filter(&device, &source, &self.input.display().to_string())?;
        drop(progress);
        output.write(|sink| picture::write(sink, format, &result))?;
        let (width, height) = (source.pixels.width(), source.pixels.height());
        writeln!(
            out,
            "{} {width}x{height} {} -> {}",
            self.input.display(),
            channels(&source.pixels),
            self.output.display()
        )?;
        writeln!(out, "{}", said(&explanation))?;
        Ok(Finish::Clean)
    }
}

/// Device, kernel and times in one line.
pub(super) fn said(explanation: &Explanation) -> String {
    let Explanation { device, kernel, why, seconds, preparation_seconds, total_seconds } = explanation;
    let packing =
        preparation_seconds.map(|seconds| format!(", packing {}", time(seconds))).unwrap_or_default();
    let (kernel_time, total_time) = (time(*seconds), time(*total_seconds));
    // On the CPU path there is nothing but the kernel.
    let total = if kernel_time == total_time {
        String::new()
    } else {
        format!(", {total_time} with start-up and copies")
    };
    format!("{device}: {kernel} ({why}) took {kernel_time}{packing}{total}")
}

fn channels(pixels: &DynamicImage) -> &'static str {
    match pixels {
        DynamicImage::ImageLuma8(_) => "gray",
        DynamicImage::ImageLumaA8(_) => "gray + alpha",
        DynamicImage::ImageRgba8(_) => "RGBA",
        _ => "RGB",
    }
}

/// The sharpened picture; `name` is what messages call it.
///
/// # Errors
/// The device cannot hold it, or failed.
pub(super) fn filter(device: &Device, source: &Picture, name: &str) -> Result<(Picture, Explanation)> {
    let size = [source.pixels.width() as usize, source.pixels.height() as usize];
    let run = |pixels: Pixels, bytes: &[u8]| -> Result<(Vec<u8>, Explanation)> {
        let mut result = vec![0; bytes.len()];
        let explanation = laplace(device, pixels, size, bytes, &mut result)
            .map_err(|error| failed(&format!("{name} could not be filtered"), device, &error))?;
        Ok((result, explanation))
    };
    let kind = match &source.pixels {
        DynamicImage::ImageLuma8(_) => Pixels::Gray,
        DynamicImage::ImageRgba8(_) => Pixels::Rgba,
        DynamicImage::ImageLumaA8(pixels) => {
            let gray: Vec<u8> = pixels.pixels().map(|pixel| pixel.0[0]).collect();
            let (sharp, explanation) = run(Pixels::Gray, &gray)?;
            let both =
                sharp.iter().zip(pixels.pixels()).flat_map(|(gray, pixel)| [*gray, pixel.0[1]]).collect();
            let pixels = GrayAlphaImage::from_raw(pixels.width(), pixels.height(), both)
                .map(DynamicImage::ImageLumaA8)
                .ok_or_else(size_changed)?;
            return Ok((source.with_pixels(pixels), explanation));
        }
        _ => Pixels::Rgb,
    };
    let (bytes, explanation) = run(kind, source.pixels.as_bytes())?;
    let (width, height) = (source.pixels.width(), source.pixels.height());
    let pixels = match kind {
        Pixels::Gray => image::GrayImage::from_raw(width, height, bytes).map(DynamicImage::ImageLuma8),
        Pixels::Rgb => image::RgbImage::from_raw(width, height, bytes).map(DynamicImage::ImageRgb8),
        Pixels::Rgba => image::RgbaImage::from_raw(width, height, bytes).map(DynamicImage::ImageRgba8),
    };
    Ok((source.with_pixels(pixels.ok_or_else(size_changed)?), explanation))
}

fn size_changed() -> anyhow::Error {
    anyhow!("the filter returned a picture of another size")
}
