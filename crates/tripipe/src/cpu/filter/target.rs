//! Writing of results on all threads.

use std::ops::Range;
use std::sync::OnceLock;

use tripipe_kernels::filter::{ChannelLayout, FilterError, PixelType, Raster};

use super::number::Number;
use super::rows::{PART, Pipe, Rows, store};
use crate::cpu::bands::{band_rows, share_out};
use crate::cpu::{CpuError, Threads};

/// Writes an image, band by band. Every band except the last has a multiple of `step` rows, which come from a separate
/// pipe.
pub(super) fn write<'p>(
    to: &Raster,
    result: &mut [u8],
    step: usize,
    threads: Threads,
    pipe: impl Fn() -> Result<Pipe<'p>, FilterError> + Sync,
) -> Result<(), CpuError> {
    let row_bytes = to.row_elements() * to.element.bytes();
    let shared = band_rows(to.height, row_bytes, step, threads);
    let rows = shared.unwrap_or(to.height);
    let failure = OnceLock::new();
    let write_band = |(index, planes): (usize, Vec<&mut [u8]>)| {
        let first = index * rows;
        let mut target = Target { raster: *to, planes, rows: first..to.height.min(first + rows) };
        match pipe() {
            Ok(Pipe::U8(rows)) => target.fill(rows),
            Ok(Pipe::I16(rows)) => target.fill(rows),
            Ok(Pipe::U16(rows)) => target.fill(rows),
            Ok(Pipe::F32(rows)) => target.fill(rows),
            Err(error) => {
                failure.get_or_init(|| error);
            }
        }
    };
    let bands = bands(to, result, rows).into_iter().enumerate();
    // Small work never leaves the calling thread: the pool's threads may all be waiting for it.
    if shared.is_some() {
        share_out(bands, write_band);
    } else {
        bands.for_each(write_band);
    }
    failure.into_inner().map_or(Ok(()), |error| Err(error.into()))
}

/// Divides an image into bands of `rows` rows: for each band its part of every plane, or of the single plane of packed
/// pixels.
fn bands<'a>(raster: &Raster, bytes: &'a mut [u8], rows: usize) -> Vec<Vec<&'a mut [u8]>> {
    let element = raster.element.bytes();
    let [stride, plane] = [raster.pitch.max(raster.row_elements()), raster.plane_pitch]
        .map(|pitch| pitch.saturating_mul(element));
    let planes = if raster.layout == ChannelLayout::Packed { 1 } else { raster.channels };
    let count = raster.height.div_ceil(rows);
    let mut bands: Vec<Vec<_>> = (0..count).map(|_| Vec::with_capacity(planes)).collect();
    let mut left = &mut bytes[raster.offset * element..];
    for index in 0..planes {
        let own = if index + 1 == planes { left.len() } else { plane };
        let (mine, rest) = std::mem::take(&mut left).split_at_mut(own);
        for (band, part) in bands.iter_mut().zip(mine.chunks_mut(rows.saturating_mul(stride))) {
            band.push(part);
        }
        left = rest;
    }
    bands
}

/// Rows of the result, and their memory.
struct Target<'a> {
    raster: Raster,
    /// The memory of the rows, from the first one on: one part, or one for each plane.
    planes: Vec<&'a mut [u8]>,
    rows: Range<usize>,
}

impl Target<'_> {
    fn fill<T: Number>(&mut self, mut rows: Box<dyn Rows<T> + '_>) {
        let Self { raster, planes, rows: range } = self;
        let Raster { width, channels, element, pitch, .. } = *raster;
        let mut scratch = [T::zeroed(); PART];
        let mut plane = [T::zeroed(); PART];
        let parts = (0..width * channels).step_by(PART);
        for (index, at) in (0..range.len()).flat_map(|index| parts.clone().map(move |at| (index, at))) {
            let y = (range.start + index) as isize;
            let len = PART.min(width * channels - at);
            let scratch = &mut scratch[..len];
            if let [packed] = &mut planes[..] {
                let out = &mut packed[(index * pitch + at) * element.bytes()..][..len * element.bytes()];
                match bytemuck::try_cast_slice_mut(out) {
                    Ok(out) if element != PixelType::F16 => rows.part(y, at, out),
                    _ => {
                        rows.part(y, at, scratch);
                        store(element, scratch, out);
                    }
                }
                continue;
            }
            rows.part(y, at, scratch);
            let plane = &mut plane[..len / channels];
            for (channel, out) in planes.iter_mut().enumerate() {
                for (value, pixel) in plane.iter_mut().zip(scratch.chunks_exact(channels)) {
                    *value = pixel[channel];
                }
                let bytes = plane.len() * element.bytes();
                store(element, plane, &mut out[(index * pitch + at / channels) * element.bytes()..][..bytes]);
            }
        }
    }
}
