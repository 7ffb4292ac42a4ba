//! Writing of results on all threads.

use std::ops::Range;
use std::sync::OnceLock;

use tripipe_kernels::filter::{ChannelLayout, FilterError, PixelType, Raster};

use super::number::Number;
use super::rows::{GROUP, Pipe, Rows, part_len, store};
use crate::bands::{band_rows, share_out_with};
use crate::{CpuError, Threads};

/// Writes an image, band by band. Every band except the last has a multiple of `step` rows. Each thread has its own
/// pipe.
pub(super) fn write<'p>(
    to: &Raster,
    result: &mut [u8],
    step: usize,
    threads: Threads,
    pipe: &(dyn Fn() -> Result<Pipe<'p>, FilterError> + Sync),
) -> Result<(), CpuError> {
    let row_bytes = to.row_elements() * to.element.bytes();
    let shared = band_rows(to.height, row_bytes, step, threads);
    let rows = shared.unwrap_or(to.height);
    let failure = OnceLock::new();
    let started = || pipe().map_err(|error| failure.get_or_init(|| error)).ok();
    let write_band = |pipe: &mut Option<Pipe<'p>>, (index, planes): (usize, Vec<&mut [u8]>)| {
        let first = index * rows;
        let mut target = Target { raster: *to, planes, rows: first..to.height.min(first + rows) };
        match pipe {
            Some(Pipe::U8(rows)) => target.fill(&mut **rows),
            Some(Pipe::I16(rows)) => target.fill(&mut **rows),
            Some(Pipe::U16(rows)) => target.fill(&mut **rows),
            Some(Pipe::F32(rows)) => target.fill(&mut **rows),
            None => {}
        }
    };
    let bands = bands(to, result, rows).into_iter().enumerate();
    let threads = if shared.is_some() { threads } else { Threads::One };
    share_out_with(bands, threads, started, write_band);
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
    fn fill<T: Number>(&mut self, rows: &mut dyn Rows<T>) {
        let Self { raster, planes, rows: range } = self;
        let Raster { width, channels, element, pitch, .. } = *raster;
        let (row, part) = (width * channels, part_len::<T>());
        let mut left = range.clone();
        if let [packed] = &mut planes[..]
            && element != PixelType::F16
            && let whole = packed.len() / size_of::<T>() * size_of::<T>()
            && let Ok(packed) = bytemuck::try_cast_slice_mut::<u8, T>(&mut packed[..whole])
        {
            let group = rows.group().min(GROUP);
            // A single row may have any pitch.
            for lines in packed.chunks_mut(pitch.max(row).saturating_mul(group)) {
                let count = group.min(left.len());
                for at in (0..row).step_by(part) {
                    let mut outs: [&mut [T]; GROUP] = Default::default();
                    for (out, line) in outs.iter_mut().zip(lines.chunks_mut(pitch.max(row))).take(count) {
                        *out = &mut line[at..row.min(at + part)];
                    }
                    rows.parts(left.start as isize, at, &mut outs[..count]);
                }
                left.start += count;
                if left.is_empty() {
                    break;
                }
            }
            return;
        }
        let mut scratch = vec![T::zeroed(); part];
        let mut plane = scratch.clone();
        let parts = (0..row).step_by(part);
        for (index, at) in (0..range.len()).flat_map(|index| parts.clone().map(move |at| (index, at))) {
            let y = (range.start + index) as isize;
            let scratch = &mut scratch[..part.min(row - at)];
            rows.part(y, at, scratch);
            if let [packed] = &mut planes[..] {
                store(
                    element,
                    scratch,
                    &mut packed[(index * pitch + at) * element.bytes()..][..scratch.len() * element.bytes()],
                );
                continue;
            }
            let plane = &mut plane[..scratch.len() / channels];
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
