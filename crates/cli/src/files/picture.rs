//! Pictures in and out.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use image::codecs::pnm::{PnmEncoder, PnmSubtype, SampleEncoding};
use image::metadata::Orientation;
use image::{
    ColorType, DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageFormat, ImageReader, Limits,
};

use super::output::{Sink, plain};

/// Most bytes of a decoded picture: 26754x26754 pixels of RGB.
const DECODED_MAX: u64 = 1 << 31;
/// Loss is for those who look, not for those who filter again.
const JPEG_QUALITY: u8 = 95;

/// A picture of 8 bits a channel: gray, gray with alpha, RGB or RGBA; upright, at least 1x1.
pub(crate) struct Picture {
    pub(crate) pixels: DynamicImage,
    /// The colour profile, handed on as it is.
    icc_profile: Option<Vec<u8>>,
}

/// Reads a picture, its format told by its contents.
///
/// # Errors
/// No such file, not a picture or a truncated one, 0 pixels, over 2 GiB when decoded (told from the header, before
/// anything is allocated), more than 8 bits a channel.
pub(crate) fn read(path: &Path) -> Result<Picture> {
    read_at_most(path, DECODED_MAX)
}

/// As [`read`], of at most so many bytes when decoded.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_at_most(path: &Path, bytes: u64) -> Result<Picture> {
    let shown = path.display();
    let file = File::open(path)
        .map_err(|error| anyhow!("{shown} cannot be read: {}; check the path", plain(&error)))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        bail!("{shown} is a folder; name a picture in it");
    }
    let reader = ImageReader::new(BufReader::new(file))
        .with_guessed_format()
        .with_context(|| format!("{shown} cannot be read"))?;
    let Some(format) = reader.format().filter(ImageFormat::reading_enabled) else {
        bail!("{shown} is not a picture that can be read; want PNG, JPEG, PPM, PGM, BMP, TIFF or WebP");
    };
    let broken = |error: &dyn std::fmt::Display| {
        anyhow!("{shown} is broken or cut short ({error}); get it again, or save it anew from a viewer")
    };
    if format == ImageFormat::Jpeg && !jpeg_is_whole(&fs::read(path)?) {
        return Err(broken(&"the JPEG data ends early"));
    }
    decode(reader, &shown.to_string(), bytes.min(DECODED_MAX), &broken)
}

/// Reads the picture that is part of the program.
///
/// # Errors
/// Never for the picture that ships; a test reads it.
pub(crate) fn read_built_in(png: &[u8]) -> Result<Picture> {
    let reader = ImageReader::with_format(std::io::Cursor::new(png), ImageFormat::Png);
    decode(reader, "the built-in picture", DECODED_MAX, &|error| anyhow!("the built-in picture: {error}"))
}

fn decode<R: std::io::BufRead + std::io::Seek>(
    mut reader: ImageReader<R>,
    shown: &str,
    at_most: u64,
    broken: &dyn Fn(&dyn std::fmt::Display) -> anyhow::Error,
) -> Result<Picture> {
    let mut limits = Limits::no_limits();
    // What a decoder needs besides the picture itself.
    limits.max_alloc = Some(2 * DECODED_MAX);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|error| broken(&error))?;
    let (width, height) = decoder.dimensions();
    if width == 0 || height == 0 {
        bail!("{shown} is {width}x{height} pixels: there is nothing in it; choose another picture");
    }
    if decoder.total_bytes() > at_most {
        bail!(
            "{shown} says it is {width}x{height} pixels, {} when decoded; at most {} are taken: cut it into pieces",
            tripipe_report::bytes(decoder.total_bytes()),
            tripipe_report::bytes(at_most)
        );
    }
    let colour = decoder.color_type();
    if !matches!(colour, ColorType::L8 | ColorType::La8 | ColorType::Rgb8 | ColorType::Rgba8) {
        let bits = colour.bits_per_pixel() / u16::from(colour.channel_count());
        bail!(
            "{shown} has {bits} bits a channel, pictures of 8 are taken; convert it first, e.g. \
             `magick in.png -depth 8 out.png`"
        );
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let icc_profile = decoder.icc_profile().unwrap_or(None);
    let mut pixels = DynamicImage::from_decoder(decoder).map_err(|error| broken(&error))?;
    pixels.apply_orientation(orientation);
    Ok(Picture { pixels, icc_profile })
}

/// Whether JPEG data runs to its end marker. The decoder fills up what is missing with gray and says nothing.
fn jpeg_is_whole(bytes: &[u8]) -> bool {
    let mut at = 2;
    loop {
        // Up to the next marker; in coded data FF is followed by 00 or by a restart marker.
        while bytes.get(at).is_some_and(|byte| *byte != 0xFF) {
            at += 1;
        }
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(_), Some(0xD9)) => return true,
            (Some(_), Some(0x00 | 0x01 | 0xD0..=0xD8)) => at += 2,
            // Any number of FF may stand ahead of a marker.
            (Some(_), Some(0xFF)) => at += 1,
            (Some(_), Some(_)) => match (bytes.get(at + 2), bytes.get(at + 3)) {
                (Some(high), Some(low)) => at += 2 + usize::from(u16::from_be_bytes([*high, *low])),
                _ => return false,
            },
            _ => return false,
        }
    }
}

/// A format to write, chosen by the output's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Png,
    Jpeg,
    /// PPM or PGM, told by the channels.
    Pnm,
    /// PAM, the PNM that has alpha.
    Pam,
    Bmp,
    Tiff,
    WebP,
}

impl Format {
    /// The format of a file name.
    ///
    /// # Errors
    /// An ending that names no format.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let ending =
            path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
        Ok(match ending.as_str() {
            "png" => Self::Png,
            "jpg" | "jpeg" => Self::Jpeg,
            "ppm" | "pgm" | "pnm" => Self::Pnm,
            "pam" => Self::Pam,
            "bmp" => Self::Bmp,
            "tif" | "tiff" => Self::Tiff,
            "webp" => Self::WebP,
            _ => bail!(
                "{} does not end in a picture format; want .png, .jpg, .ppm, .pgm, .pam, .bmp, .tiff or .webp",
                path.display()
            ),
        })
    }

    /// Whether the format can hold a picture.
    ///
    /// # Errors
    /// It has no alpha channel, it is gray only, or the picture is too large for it.
    pub(crate) fn check(self, path: &Path, pixels: &DynamicImage) -> Result<()> {
        let shown = path.display();
        let colour = pixels.color();
        let (width, height) = (pixels.width(), pixels.height());
        if colour.has_alpha() && matches!(self, Self::Jpeg | Self::Pnm) {
            bail!("{shown} cannot hold the picture's alpha channel; choose .png, .webp, .tiff or .pam");
        }
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        if colour.has_color() && ending.as_deref() == Some("pgm") {
            bail!("{shown} holds gray alone and the picture has colour; choose .ppm");
        }
        let extent_max = match self {
            Self::Jpeg => 65_535,
            Self::WebP => 16_383,
            _ => u32::MAX,
        };
        if width.max(height) > extent_max {
            bail!(
                "{shown} can be {extent_max} pixels wide and high at most, not {width}x{height}; choose .png"
            );
        }
        Ok(())
    }
}

/// Writes a picture.
///
/// # Errors
/// The sink fails, or the format cannot hold it ([`Format::check`]).
pub(crate) fn write(sink: &mut dyn Sink, format: Format, picture: &Picture) -> Result<()> {
    let widened;
    let mut pixels = &picture.pixels;
    let (gray, gray_alpha) = (pixels.color() == ColorType::L8, pixels.color() == ColorType::La8);
    // Formats without gray + alpha get it as RGBA.
    if gray_alpha && matches!(format, Format::Bmp | Format::Tiff) {
        widened = DynamicImage::ImageRgba8(pixels.to_rgba8());
        pixels = &widened;
    }
    let (width, height) = (pixels.width(), pixels.height());
    let colour = ExtendedColorType::from(pixels.color());
    let bytes = pixels.as_bytes();
    let profile = picture.icc_profile.as_ref();
    match format {
        Format::Png => {
            encode(image::codecs::png::PngEncoder::new(sink), profile, bytes, width, height, colour)
        }
        Format::Jpeg => encode(
            image::codecs::jpeg::JpegEncoder::new_with_quality(sink, JPEG_QUALITY),
            profile,
            bytes,
            width,
            height,
            colour,
        ),
        Format::Pnm => {
            let subtype = if gray {
                PnmSubtype::Graymap(SampleEncoding::Binary)
            } else {
                PnmSubtype::Pixmap(SampleEncoding::Binary)
            };
            encode(PnmEncoder::new(sink).with_subtype(subtype), None, bytes, width, height, colour)
        }
        Format::Pam => encode(
            PnmEncoder::new(sink).with_subtype(PnmSubtype::ArbitraryMap),
            None,
            bytes,
            width,
            height,
            colour,
        ),
        Format::Bmp => {
            let mut sink = sink;
            encode(image::codecs::bmp::BmpEncoder::new(&mut sink), None, bytes, width, height, colour)
        }
        Format::Tiff => {
            encode(image::codecs::tiff::TiffEncoder::new(sink), profile, bytes, width, height, colour)
        }
        Format::WebP => encode(
            image::codecs::webp::WebPEncoder::new_lossless(sink),
            profile,
            bytes,
            width,
            height,
            colour,
        ),
    }
}

fn encode(
    mut encoder: impl ImageEncoder,
    icc_profile: Option<&Vec<u8>>,
    bytes: &[u8],
    width: u32,
    height: u32,
    colour: ExtendedColorType,
) -> Result<()> {
    if let Some(profile) = icc_profile {
        // A format that cannot carry a profile goes without.
        let _ = encoder.set_icc_profile(profile.clone());
    }
    Ok(encoder.write_image(bytes, width, height, colour)?)
}

impl Picture {
    /// A picture with no colour profile.
    pub(crate) fn new(pixels: DynamicImage) -> Self {
        Self { pixels, icc_profile: None }
    }

    /// The same picture with other pixels.
    pub(crate) fn with_pixels(&self, pixels: DynamicImage) -> Self {
        Self { pixels, icc_profile: self.icc_profile.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn whole_and_cut_jpegs() {
        let mut whole = Cursor::new(Vec::new());
        let pixels = DynamicImage::ImageRgb8(image::RgbImage::from_fn(40, 30, |x, y| {
            image::Rgb([(x * 6) as u8, (y * 8) as u8, (x * y) as u8])
        }));
        write(&mut whole, Format::Jpeg, &Picture::new(pixels)).unwrap();
        let whole = whole.into_inner();
        assert!(jpeg_is_whole(&whole));
        for cut in 0..whole.len() - 1 {
            assert!(!jpeg_is_whole(&whole[..cut]), "{cut}");
        }
        let mut trailed = whole.clone();
        trailed.extend(b"\xFF\xD8 another picture, cut");
        assert!(jpeg_is_whole(&trailed));
    }

    #[test]
    fn every_format_gives_back_what_it_was_given() {
        let folder = tempfile::tempdir().unwrap();
        let rgba = image::RgbaImage::from_fn(7, 5, |x, y| {
            image::Rgba([(x * 30) as u8, (y * 40) as u8, (x * y * 5) as u8, 255 - (x * 9) as u8])
        });
        let rgba = DynamicImage::ImageRgba8(rgba);
        let kinds = [
            DynamicImage::ImageLuma8(rgba.to_luma8()),
            DynamicImage::ImageLumaA8(rgba.to_luma_alpha8()),
            DynamicImage::ImageRgb8(rgba.to_rgb8()),
            rgba.clone(),
        ];
        for ending in ["png", "ppm", "pgm", "pnm", "pam", "bmp", "tiff", "webp"] {
            let path = folder.path().join(format!("a.{ending}"));
            let format = Format::of(&path).unwrap();
            for pixels in &kinds {
                if format.check(&path, pixels).is_err() {
                    assert!(pixels.color().has_alpha() || ending == "pgm");
                    continue;
                }
                let mut bytes = Cursor::new(Vec::new());
                write(&mut bytes, format, &Picture::new(pixels.clone())).unwrap();
                fs::write(&path, bytes.into_inner()).unwrap();
                let back = read(&path).unwrap().pixels;
                assert_eq!(back.to_rgba8(), pixels.to_rgba8(), "{ending} {:?}", pixels.color());
            }
        }
    }

    #[test]
    fn names_choose_the_format() {
        assert_eq!(Format::of(Path::new("a.JPEG")).unwrap(), Format::Jpeg);
        assert!(Format::of(Path::new("a.gif")).is_err());
        assert!(Format::of(Path::new("png")).is_err());
    }
}
