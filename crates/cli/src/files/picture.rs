//! Reading and writing pictures.

use std::io::{BufRead, Read, Seek};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use image::codecs::bmp::BmpDecoder;
use image::metadata::Orientation;
use image::{
    ColorType, DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageError, ImageFormat,
    ImageReader, Limits,
};

use super::input::{self, Input, SeekableInput, shown, shown_input};
use super::output::Sink;
use super::several::{jpeg_is_whole, left_out};

/// Maximum bytes of a decoded picture: 26754x26754 pixels of RGB.
pub(crate) const DECODED_MAX: u64 = 1 << 31;
/// What to do with a picture that cannot be read.
const CONVERT: &str = "convert it first, e.g. with ImageMagick's `magick in.tiff -depth 16 out.png`";
/// High, because the output may be filtered again.
const JPEG_QUALITY: u8 = 95;

/// A picture with 8 or 16 bits per channel: gray, gray with alpha, RGB or RGBA; upright, at least 1x1.
#[derive(Clone)]
pub(crate) struct Picture {
    pub(crate) pixels: DynamicImage,
    /// The colour profile, copied to the output unchanged.
    icc_profile: Option<Vec<u8>>,
    /// A description of the file's contents that are not read.
    pub(crate) left_out: Option<&'static str>,
}

/// Reads a picture; the format is detected from its contents. The path `-` is standard input.
///
/// # Errors
/// The file does not exist, is not a picture or is truncated; the picture has 0 pixels, more than 2 GiB when decoded
/// (detected from the header, before anything is allocated), or channels of other than 8 or 16 bits.
pub(crate) fn read(path: &Path) -> Result<Picture> {
    read_from(input::open_or_standard(path, "a picture")?, &shown_input(path), DECODED_MAX)
}

/// As [`read`], from a file, for pictures of at most `bytes` bytes when decoded and with 8 bits per channel.
///
/// # Errors
/// As [`read`]; 16 bits per channel.
pub(crate) fn read_at_most(path: &Path, bytes: u64) -> Result<Picture> {
    let shown = shown(path);
    let picture = read_from(input::open(path, "a picture")?, &shown, bytes.min(DECODED_MAX))?;
    if is_deep(picture.pixels.color()) {
        bail!(
            "{shown} has 16 bits per channel, but only 8 are supported here; convert it first, e.g. \
            `tripipe filter convert:u8:0.00389105 IN OUT`"
        );
    }
    Ok(picture)
}

/// The pixels of a picture where they are, row by row without gaps, in the byte order of the machine.
#[derive(Clone, Copy)]
pub(crate) struct Pixels<'p> {
    pub(crate) bytes: &'p [u8],
    pub(crate) color: ColorType,
    /// Width and height.
    pub(crate) size: [u32; 2],
}

impl<'p> From<&'p DynamicImage> for Pixels<'p> {
    fn from(picture: &'p DynamicImage) -> Self {
        Self { bytes: picture.as_bytes(), color: picture.color(), size: [picture.width(), picture.height()] }
    }
}

/// Whether a picture has 16 bits per channel.
pub(crate) fn is_deep(color: ColorType) -> bool {
    color.bytes_per_pixel() == 2 * color.channel_count()
}

fn read_from(input: Input, shown: &str, at_most: u64) -> Result<Picture> {
    let mut source = input.seekable(shown, DECODED_MAX)?;
    let failed = |error: std::io::Error| anyhow!("{shown} cannot be read: {}", super::output::plain(&error));
    let mut start = Vec::new();
    source.by_ref().take(64).read_to_end(&mut start).map_err(failed)?;
    source.rewind().map_err(failed)?;
    // The crate's guess knows no BigTIFF, which its decoder reads.
    let is_big_tiff = start.starts_with(b"II\x2b\0") || start.starts_with(b"MM\0\x2b");
    let guessed = if is_big_tiff { Some(ImageFormat::Tiff) } else { image::guess_format(&start).ok() };
    let format = guessed.filter(ImageFormat::reading_enabled);
    let Some(format) = format else {
        bail!("{shown} is not a picture that can be read; want PNG, JPEG, PPM, PGM, PAM, BMP, TIFF or WebP");
    };
    let broken = |error: &dyn std::fmt::Display| {
        anyhow!("{shown} is broken or truncated ({error}); get it again, or save it again from a viewer")
    };
    let undecoded = |error: &ImageError| match error {
        ImageError::Unsupported(_) => anyhow!("{shown} is not supported ({error}); {CONVERT}"),
        _ => broken(error),
    };
    if format == ImageFormat::Jpeg {
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes).map_err(failed)?;
        source.rewind().map_err(failed)?;
        if !jpeg_is_whole(&bytes) {
            return Err(broken(&"the JPEG data ends early"));
        }
    }
    let left_out = left_out(&mut source, format);
    source.rewind().map_err(failed)?;
    let is_gray = format == ImageFormat::Bmp && has_gray_palette(&mut source);
    source.rewind().map_err(failed)?;
    let mut picture = decode(ImageReader::with_format(source, format), shown, at_most, &undecoded)?;
    if is_gray {
        picture.pixels = DynamicImage::ImageLuma8(picture.pixels.into_luma8());
    }
    Ok(Picture { left_out, ..picture })
}

/// Whether a BMP has a palette, and only gray in it: the crate decodes it as RGB.
fn has_gray_palette(source: &mut dyn SeekableInput) -> bool {
    let is_gray =
        |palette: &[[u8; 3]]| palette.iter().all(|[red, green, blue]| red == green && green == blue);
    BmpDecoder::new(source).is_ok_and(|decoder| decoder.get_palette().is_some_and(is_gray))
}

/// Reads the picture that is built into the program.
///
/// # Errors
/// None for the built-in picture; a test reads it.
pub(crate) fn read_built_in(png: &[u8]) -> Result<Picture> {
    let reader = ImageReader::with_format(std::io::Cursor::new(png), ImageFormat::Png);
    decode(reader, "the built-in picture", DECODED_MAX, &|error| anyhow!("the built-in picture: {error}"))
}

fn decode<R: BufRead + Seek>(
    mut reader: ImageReader<R>,
    shown: &str,
    at_most: u64,
    undecoded: &dyn Fn(&ImageError) -> anyhow::Error,
) -> Result<Picture> {
    use ColorType::{L8, L16, La8, La16, Rgb8, Rgb16, Rgba8, Rgba16};

    let mut limits = Limits::no_limits();
    // A decoder's memory besides the picture itself.
    limits.max_alloc = Some(2 * DECODED_MAX);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|error| undecoded(&error))?;
    let (width, height) = decoder.dimensions();
    if width == 0 || height == 0 {
        bail!("{shown} is {width}x{height} pixels: it is empty; choose another picture");
    }
    if decoder.total_bytes() > at_most {
        bail!(
            "{shown} says it is {width}x{height} pixels, {} when decoded; at most {} are accepted: cut it \
            into pieces",
            tripipe_report::bytes(decoder.total_bytes()),
            tripipe_report::bytes(at_most)
        );
    }
    let colour = decoder.color_type();
    if !matches!(colour, L8 | La8 | Rgb8 | Rgba8 | L16 | La16 | Rgb16 | Rgba16) {
        let bits = colour.bits_per_pixel() / u16::from(colour.channel_count());
        bail!(
            "{shown} is not supported: it has {bits} bits per channel, and pictures have 8 or 16; {CONVERT}"
        );
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let icc_profile = decoder.icc_profile().unwrap_or(None);
    let mut pixels = DynamicImage::from_decoder(decoder).map_err(|error| undecoded(&error))?;
    pixels.apply_orientation(orientation);
    Ok(Picture { pixels, icc_profile, left_out: None })
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PictureFormat {
    Png,
    Jpeg,
    /// PPM or PGM, depending on the channels.
    Pnm,
    /// Gray only.
    Pgm,
    /// PAM, the PNM format with alpha.
    Pam,
    Bmp,
    Tiff,
    WebP,
}

impl PictureFormat {
    /// The format of that name, which is also a file extension; `None` if it is unknown.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name.to_lowercase().as_str() {
            "png" => Self::Png,
            "jpg" | "jpeg" => Self::Jpeg,
            "ppm" | "pnm" => Self::Pnm,
            "pgm" => Self::Pgm,
            "pam" => Self::Pam,
            "bmp" => Self::Bmp,
            "tif" | "tiff" => Self::Tiff,
            "webp" => Self::WebP,
            _ => return None,
        })
    }

    /// The format for a file name.
    ///
    /// # Errors
    /// An extension of no known format.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().into_owned()).unwrap_or_default();
        Self::named(&ending).with_context(|| {
            format!(
                "{} does not end in a picture format; want .png, .jpg, .ppm, .pgm, .pam, .bmp, .tiff or .webp",
                shown(path)
            )
        })
    }

    /// Whether the format can hold a picture of these channels, width and height; `path` is its destination.
    ///
    /// # Errors
    /// It supports no alpha channel, no colour or no 16 bits, or the picture is too large for it.
    pub(crate) fn check(self, path: &Path, colour: ColorType, [width, height]: [u32; 2]) -> Result<()> {
        let shown = super::output::shown_output(path);
        let deep = is_deep(colour);
        if deep && matches!(self, Self::Jpeg | Self::Bmp | Self::WebP) {
            bail!(
                "{shown} stores 8 bits per channel, but the picture has 16; choose PNG, TIFF, PPM or PAM, \
                or end the filters with convert:u8:0.00389105"
            );
        }
        if colour.has_alpha() && matches!(self, Self::Jpeg | Self::Pnm | Self::Pgm) {
            let others = if deep { "PNG, TIFF or PAM" } else { "PNG, WebP, TIFF or PAM" };
            bail!(
                "{shown} cannot store the picture's alpha channel; choose {others}, or end the filters with \
                drop-alpha"
            );
        }
        if colour.has_color() && self == Self::Pgm {
            bail!(
                "{shown} stores only gray, but the picture has colour; choose PPM, or end the filters with \
                gray"
            );
        }
        let extent_max = match self {
            Self::Jpeg => 65_535,
            Self::WebP => 16_383,
            _ => u32::MAX,
        };
        if width.max(height) > extent_max {
            bail!(
                "{shown} can be {extent_max} pixels wide and high at most, but the picture is \
                {width}x{height}; choose PNG"
            );
        }
        Ok(())
    }
}

/// Writes a picture.
///
/// # Errors
/// Writing to the sink fails, or the format cannot hold the picture ([`PictureFormat::check`]).
pub(crate) fn write(sink: &mut dyn Sink, format: PictureFormat, picture: &Picture) -> Result<()> {
    write_pixels(sink, format, Pixels::from(&picture.pixels), picture.icc_profile.as_ref())
}

/// As [`write`], for pixels and a colour profile.
///
/// # Errors
/// As [`write`].
pub(crate) fn write_pixels(
    sink: &mut dyn Sink,
    format: PictureFormat,
    pixels: Pixels<'_>,
    profile: Option<&Vec<u8>>,
) -> Result<()> {
    let Pixels { mut bytes, mut color, size: [width, height] } = pixels;
    let widened;
    // Formats without gray + alpha store it as RGBA.
    if color.channel_count() == 2 && matches!(format, PictureFormat::Bmp | PictureFormat::Tiff) {
        widened = with_colour(bytes, is_deep(color));
        bytes = &widened;
        color = if is_deep(color) { ColorType::Rgba16 } else { ColorType::Rgba8 };
    }
    let colour = ExtendedColorType::from(color);
    match format {
        PictureFormat::Png => {
            encode(image::codecs::png::PngEncoder::new(sink), profile, bytes, width, height, colour)
        }
        PictureFormat::Jpeg => encode(
            image::codecs::jpeg::JpegEncoder::new_with_quality(sink, JPEG_QUALITY),
            profile,
            bytes,
            width,
            height,
            colour,
        ),
        PictureFormat::Pnm | PictureFormat::Pgm | PictureFormat::Pam => {
            Ok(write_pnm(sink, Pixels { bytes, color, ..pixels }, format == PictureFormat::Pam)?)
        }
        PictureFormat::Bmp => {
            let mut sink = sink;
            encode(image::codecs::bmp::BmpEncoder::new(&mut sink), None, bytes, width, height, colour)
        }
        PictureFormat::Tiff => {
            encode(image::codecs::tiff::TiffEncoder::new(sink), profile, bytes, width, height, colour)
        }
        PictureFormat::WebP => encode(
            image::codecs::webp::WebPEncoder::new_lossless(sink),
            profile,
            bytes,
            width,
            height,
            colour,
        ),
    }
}

/// Gray + alpha as RGBA.
fn with_colour(bytes: &[u8], deep: bool) -> Vec<u8> {
    let sample = if deep { 2 } else { 1 };
    let mut colour = Vec::with_capacity(2 * bytes.len());
    for pixel in bytes.chunks_exact(2 * sample) {
        let (gray, alpha) = pixel.split_at(sample);
        for channel in [gray, gray, gray, alpha] {
            colour.extend_from_slice(channel);
        }
    }
    colour
}

/// Writes a binary PGM or PPM, or a PAM; 16 bits are big-endian. The `image` crate does not write all of those of 16
/// bits.
fn write_pnm(sink: &mut dyn Sink, pixels: Pixels<'_>, pam: bool) -> std::io::Result<()> {
    let Pixels { bytes, color, size: [width, height] } = pixels;
    let deep = is_deep(color);
    let white = if deep { u16::MAX } else { u8::MAX.into() };
    let depth = color.channel_count();
    if pam {
        let kind = ["GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA"][usize::from(depth.clamp(1, 4)) - 1];
        write!(
            sink,
            "P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH {depth}\nMAXVAL {white}\nTUPLTYPE {kind}\nENDHDR\n"
        )?;
    } else {
        let kind = if depth == 3 { 6 } else { 5 };
        write!(sink, "P{kind}\n{width} {height}\n{white}\n")?;
    }
    if !deep {
        return sink.write_all(bytes);
    }
    let row = 2 * width as usize * usize::from(depth);
    let mut turned = Vec::with_capacity(row);
    for row in bytes.chunks(row) {
        turned.clear();
        turned.extend(
            row.chunks_exact(2).flat_map(|value| u16::from_ne_bytes([value[0], value[1]]).to_be_bytes()),
        );
        sink.write_all(&turned)?;
    }
    Ok(())
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
        // A format that cannot store a profile is written without it.
        let _ = encoder.set_icc_profile(profile.clone());
    }
    Ok(encoder.write_image(bytes, width, height, colour)?)
}

impl Picture {
    /// A picture without a colour profile.
    pub(crate) fn new(pixels: DynamicImage) -> Self {
        Self { pixels, icc_profile: None, left_out: None }
    }

    /// A picture with this colour profile.
    pub(crate) fn with_profile(pixels: DynamicImage, icc_profile: Option<Vec<u8>>) -> Self {
        Self { pixels, icc_profile, left_out: None }
    }

    /// The pixels and the colour profile.
    pub(crate) fn into_parts(self) -> (DynamicImage, Option<Vec<u8>>) {
        (self.pixels, self.icc_profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Cursor;

    #[test]
    fn whole_and_cut_jpegs() {
        let mut whole = Cursor::new(Vec::new());
        let pixels = DynamicImage::ImageRgb8(image::RgbImage::from_fn(40, 30, |x, y| {
            image::Rgb([(x * 6) as u8, (y * 8) as u8, (x * y) as u8])
        }));
        write(&mut whole, PictureFormat::Jpeg, &Picture::new(pixels)).unwrap();
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
    fn every_format_round_trips() {
        let folder = tempfile::tempdir().unwrap();
        let rgba = image::RgbaImage::from_fn(7, 5, |x, y| {
            image::Rgba([(x * 30) as u8, (y * 40) as u8, (x * y * 5) as u8, 255 - (x * 9) as u8])
        });
        let rgba = DynamicImage::ImageRgba8(rgba);
        let deep = image::ImageBuffer::from_fn(7, 5, |x, y| {
            image::Rgba([
                (x * 7919) as u16,
                (y * 9973) as u16,
                (x * y * 1601) as u16,
                65535 - (x * 257) as u16 * 3,
            ])
        });
        let deep = DynamicImage::ImageRgba16(deep);
        let kinds = [
            DynamicImage::ImageLuma8(rgba.to_luma8()),
            DynamicImage::ImageLumaA8(rgba.to_luma_alpha8()),
            DynamicImage::ImageRgb8(rgba.to_rgb8()),
            rgba.clone(),
            DynamicImage::ImageLuma16(deep.to_luma16()),
            DynamicImage::ImageLumaA16(deep.to_luma_alpha16()),
            DynamicImage::ImageRgb16(deep.to_rgb16()),
            deep,
        ];
        for ending in ["png", "ppm", "pgm", "pnm", "pam", "bmp", "tiff", "webp"] {
            let path = folder.path().join(format!("a.{ending}"));
            let format = PictureFormat::of(&path).unwrap();
            for pixels in &kinds {
                if format.check(&path, pixels.color(), [pixels.width(), pixels.height()]).is_err() {
                    assert!(pixels.color().has_alpha() || ending == "pgm" || is_deep(pixels.color()));
                    assert!(!is_deep(pixels.color()) || !["png", "tiff", "pam"].contains(&ending));
                    continue;
                }
                let mut bytes = Cursor::new(Vec::new());
                write(&mut bytes, format, &Picture::new(pixels.clone())).unwrap();
                fs::write(&path, bytes.into_inner()).unwrap();
                let back = read(&path).unwrap().pixels;
                assert_eq!(back.to_rgba16(), pixels.to_rgba16(), "{ending} {:?}", pixels.color());
                assert_eq!(is_deep(back.color()), is_deep(pixels.color()));
            }
        }
    }

    #[test]
    fn animations_and_pages_are_detected() {
        let of = |bytes: &[u8], format| left_out(&mut Cursor::new(bytes.to_vec()), format);
        // As the formats' specifications define them: flags of the extended WebP header, the directory of a TIFF.
        let webp = |flags: u8| [&b"RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0"[..], &[flags, 0, 0, 0]].concat();
        assert!(of(&webp(0x02), ImageFormat::WebP).is_some());
        assert!(of(&webp(0x10), ImageFormat::WebP).is_none());
        assert!(of(b"RIFF", ImageFormat::WebP).is_none());
        let tiff = |next: u8| {
            let mut bytes = b"II\x2a\0\x08\0\0\0\x01\0".to_vec();
            bytes.extend([0; 12]);
            bytes.extend([next, 0, 0, 0]);
            bytes
        };
        assert!(of(&tiff(40), ImageFormat::Tiff).is_some());
        assert!(of(&tiff(0), ImageFormat::Tiff).is_none());
        assert!(of(b"MM\0\x2a\0\0\0\x08\0\0\0\0\0\x09", ImageFormat::Tiff).is_some());
        // BigTIFF: offsets and counts of 8 bytes, entries of 20.
        let big = |next: u8| {
            let mut bytes = b"II\x2b\0\x08\0\0\0\x10\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
            bytes.extend([0; 20]);
            bytes.extend([next, 0, 0, 0, 0, 0, 0, 0]);
            bytes
        };
        assert_eq!(of(&big(60), ImageFormat::Tiff), Some("a file of several pages"));
        assert_eq!(of(&big(0), ImageFormat::Tiff), None);
    }

    #[test]
    fn names_choose_the_format() {
        assert_eq!(PictureFormat::of(Path::new("a.JPEG")).unwrap(), PictureFormat::Jpeg);
        assert!(PictureFormat::of(Path::new("a.gif")).is_err());
        assert!(PictureFormat::of(Path::new("png")).is_err());
    }
}
