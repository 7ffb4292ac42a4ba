//! Conversion of NV12 and NV21 frames.

use tripipe_kernels::filter::{Raster, Semiplanar};

use super::rows::{Pipe, Rows, Source};
use super::{check_raster, target};
use crate::{CpuError, Threads};

/// Converts a frame to RGB, or to RGBA with alpha 255, as defined by [`Semiplanar`]. `luma` and `chroma` are the
/// buffers of its planes, or both the same buffer.
///
/// # Errors
/// [`CpuError::Filter`] for an image other than one of 3 or 4 channels of bytes in the frame's size, rows that overlap,
/// and slices too short; nothing is written then.
pub fn semiplanar_to_rgb(
    from: &Semiplanar,
    luma: &[u8],
    chroma: &[u8],
    to: &Raster,
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    from.check_image(to)?;
    let [luma_place, chroma_place] = from.planes();
    check_raster("luma", &luma_place, luma)?;
    check_raster("chroma", &chroma_place, chroma)?;
    check_raster("result", to, result)?;
    if to.is_empty() {
        return Ok(());
    }
    target::write(to, result, 2, threads, &|| {
        let frame = ToRgb {
            luma: Source { raster: luma_place, bytes: luma },
            chroma: Source { raster: chroma_place, bytes: chroma },
            v_first: from.v_first,
            channels: to.channels,
            buffers: Default::default(),
        };
        Ok(Pipe::U8(Box::new(frame)))
    })
}

/// Converts RGB, or RGBA without its alpha, to a frame in the buffers of its planes, as defined by [`Semiplanar`]. Only
/// their pixels are written.
///
/// # Errors
/// As [`semiplanar_to_rgb`].
pub fn rgb_to_semiplanar(
    from: &Raster,
    source: &[u8],
    to: &Semiplanar,
    luma: &mut [u8],
    chroma: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    to.check_image(from)?;
    let [luma_place, chroma_place] = to.planes();
    check_raster("source", from, source)?;
    check_raster("luma", &luma_place, luma)?;
    check_raster("chroma", &chroma_place, chroma)?;
    if from.is_empty() {
        return Ok(());
    }
    let image = Source { raster: *from, bytes: source };
    write_luma(&image, &luma_place, luma, threads)?;
    write_chroma(&image, to.v_first, &chroma_place, chroma, threads)
}

/// As [`rgb_to_semiplanar`], with both planes in one buffer.
///
/// # Errors
/// As [`semiplanar_to_rgb`].
pub fn rgb_to_frame(
    from: &Raster,
    source: &[u8],
    to: &Semiplanar,
    frame: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    to.check_image(from)?;
    let [luma, chroma] = to.planes();
    check_raster("source", from, source)?;
    check_raster("frame", &luma, frame)?;
    check_raster("frame", &chroma, frame)?;
    if from.is_empty() {
        return Ok(());
    }
    let image = Source { raster: *from, bytes: source };
    write_luma(&image, &luma, frame, threads)?;
    write_chroma(&image, to.v_first, &chroma, frame, threads)
}

fn write_luma(image: &Source<'_>, place: &Raster, luma: &mut [u8], threads: Threads) -> Result<(), CpuError> {
    target::write(place, luma, 1, threads, &|| {
        Ok(Pipe::U8(Box::new(Luma { image: *image, row: Vec::new() })))
    })
}

fn write_chroma(
    image: &Source<'_>,
    v_first: bool,
    place: &Raster,
    chroma: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    target::write(place, chroma, 1, threads, &|| {
        Ok(Pipe::U8(Box::new(Chroma { image: *image, v_first, rows: Default::default() })))
    })
}

/// Rounds from steps of 2^-`bits`, half up.
fn rounded(steps: i32, bits: u32) -> i32 {
    (steps + (1 << (bits - 1))) >> bits
}

/// The packed pixels of a frame.
struct ToRgb<'a> {
    luma: Source<'a>,
    chroma: Source<'a>,
    v_first: bool,
    channels: usize,
    /// Luma and chroma of a part of a row.
    buffers: [Vec<u8>; 2],
}

impl Rows<u8> for ToRgb<'_> {
    fn part(&mut self, y: isize, at: usize, out: &mut [u8]) {
        let Self { luma, chroma, v_first, channels, buffers: [ys, uvs] } = self;
        let (first, pixels) = (at / *channels, out.len() / *channels);
        // Parts begin at even pixels; their chroma pairs begin at the same element index.
        ys.resize(pixels, 0);
        uvs.resize(pixels.next_multiple_of(2), 0);
        luma.part(y, first, ys);
        chroma.part(y / 2, first, uvs);
        for (x, (out, luma)) in out.chunks_exact_mut(*channels).zip(ys).enumerate() {
            let pair = x / 2 * 2;
            let [mut u, mut v] = [uvs[pair], uvs[pair + 1]].map(|chroma| i32::from(chroma) - 128);
            if *v_first {
                (u, v) = (v, u);
            }
            let white = 1_220_542 * (i32::from(*luma) - 16).max(0);
            let color = |steps: i32| rounded(white + steps, 20).clamp(0, 255) as u8;
            out[0] = color(1_673_527 * v);
            out[1] = color(-852_492 * v - 409_993 * u);
            out[2] = color(2_116_026 * u);
            if let Some(alpha) = out.get_mut(3) {
                *alpha = 255;
            }
        }
    }
}

/// The luma of an image.
struct Luma<'a> {
    image: Source<'a>,
    /// A part of a row.
    row: Vec<u8>,
}

impl Rows<u8> for Luma<'_> {
    fn part(&mut self, y: isize, at: usize, out: &mut [u8]) {
        let Self { image, row } = self;
        let channels = image.raster.channels;
        row.resize(out.len() * channels, 0);
        image.part(y, at * channels, row);
        for (out, pixel) in out.iter_mut().zip(row.chunks_exact(channels)) {
            let [r, g, b] = [pixel[0], pixel[1], pixel[2]].map(i32::from);
            *out = (rounded(269_484 * r + 528_482 * g + 102_760 * b, 20) + 16) as u8;
        }
    }
}

/// The chroma of an image, a pair for each 2 x 2 pixels.
struct Chroma<'a> {
    image: Source<'a>,
    v_first: bool,
    /// Two rows, or the last one twice.
    rows: [Vec<u8>; 2],
}

impl Rows<u8> for Chroma<'_> {
    fn part(&mut self, y: isize, at: usize, out: &mut [u8]) {
        let Self { image, v_first, rows } = self;
        let Raster { width, height, channels, .. } = image.raster;
        // One element for each pixel of the row.
        let pixels = out.len().min(width - at);
        for (row, y) in rows.iter_mut().zip([2 * y, 2 * y + 1]) {
            row.resize(pixels * channels, 0);
            image.part(y.min(height as isize - 1), at * channels, row);
        }
        for (index, out) in out.chunks_exact_mut(2).enumerate() {
            let columns = [2 * index, (2 * index + 1).min(pixels - 1)];
            let sum = |channel: usize| -> i32 {
                let row = |row: &Vec<u8>| columns.map(|x| i32::from(row[x * channels + channel]));
                rows.iter().flat_map(row).sum()
            };
            let [r, g, b] = [0, 1, 2].map(sum);
            let u = rounded(-155_188 * r - 305_135 * g + 460_324 * b, 22) + 128;
            let v = rounded(460_324 * r - 385_875 * g - 74_448 * b, 22) + 128;
            out.copy_from_slice(
                &if *v_first { [v, u] } else { [u, v] }.map(|chroma| chroma.clamp(0, 255) as u8),
            );
        }
    }
}
