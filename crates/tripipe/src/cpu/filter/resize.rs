//! Images of other extents.

use pulp::{Arch, Simd, WithSimd};
use tripipe_kernels::filter::{FilterError, Interpolation, Raster, ResizeTaps};

use super::number::Number;
use super::rows::{Pipe, Rows, Source};
use super::{check_length, target};
use crate::cpu::{CpuError, Threads};

/// An image in the extents of `to`, as [`tripipe_kernels::filter::resize_reference`] has it: integers to the bit. Slices as in
/// [`super::filter`].
///
/// # Errors
/// [`CpuError::Filter`] for other channels or elements, for one image that is empty beside one that is not, and for slices too short
/// for their rasters; nothing is written then.
pub fn resize(
    interpolation: Interpolation,
    from: &Raster,
    source: &[u8],
    to: &Raster,
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    check_length("source", from, source)?;
    check_length("result", to, result)?;
    if from.channels != to.channels || from.element != to.element || from.is_empty() != to.is_empty() {
        let error = FilterError::Result {
            want: [to.width, to.height, from.channels],
            want_element: from.element,
            found: [to.width, to.height, to.channels],
            found_element: to.element,
        };
        return Err(error.into());
    }
    if to.is_empty() {
        return Ok(());
    }
    let axes =
        [interpolation.taps(from.width, to.width), interpolation.taps(from.height, to.height)].map(|taps| {
            let weights = if from.element.is_float() {
                taps.weights.clone()
            } else {
                taps.steps().into_iter().map(f64::from).collect()
            };
            ResizeTaps { weights, ..taps }
        });
    let arch = Arch::new();
    target::write(to, result, 1, threads, || {
        let source = Source { raster: *from, bytes: source };
        let shape = [from.width, to.width, from.channels];
        Ok(match source.pipe() {
            Pipe::U8(input) => Pipe::U8(Box::new(Resized::new(input, &axes, shape, arch))),
            Pipe::I16(input) => Pipe::I16(Box::new(Resized::new(input, &axes, shape, arch))),
            Pipe::U16(input) => Pipe::U16(Box::new(Resized::new(input, &axes, shape, arch))),
            Pipe::F32(input) => Pipe::F32(Box::new(Resized::new(input, &axes, shape, arch))),
        })
    })
}

/// Rows of the result. All sums are in `f64`, where those of integers are exact.
struct Resized<'a, T> {
    input: Box<dyn Rows<T> + 'a>,
    /// Across and down.
    axes: &'a [ResizeTaps; 2],
    channels: usize,
    /// A row of the source.
    row: Vec<T>,
    /// Rows of the source in the result's width, row y in the slot of y modulo their number.
    slots: Vec<f64>,
    /// Elements of a slot.
    len: usize,
    /// The row of the source that is read next.
    next: usize,
    arch: Arch,
}

impl<'a, T: Number> Resized<'a, T> {
    /// `shape` has the widths of source and result, and the channels.
    fn new(
        input: Box<dyn Rows<T> + 'a>,
        axes: &'a [ResizeTaps; 2],
        [from, to, channels]: [usize; 3],
        arch: Arch,
    ) -> Self {
        let len = to * channels;
        let row = vec![T::zeroed(); from * channels];
        let slots = vec![0.0; len * axes[1].count];
        Self { input, axes, channels, row, slots, len, next: 0, arch }
    }
}

impl<T: Number> Rows<T> for Resized<'_, T> {
    fn part(&mut self, y: isize, at: usize, out: &mut [T]) {
        let Self { input, axes: [across, down], channels, row, slots, len, next, arch } = self;
        let (first, count, y) = (down.first[y as usize] as usize, down.count, y as usize);
        *next = first.max(*next);
        while *next < first + count {
            input.part(*next as isize, 0, row);
            let slot = &mut slots[*next % count * *len..][..*len];
            arch.dispatch(Across { row, taps: across, channels: *channels, out: slot });
            *next += 1;
        }
        let weights = &down.weights[y * count..][..count];
        arch.dispatch(Down { slots, len: *len, first, weights, at, out });
    }
}

struct Across<'a, T> {
    row: &'a [T],
    taps: &'a ResizeTaps,
    channels: usize,
    out: &'a mut [f64],
}

impl<T: Number> WithSimd for Across<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { row, taps, channels, out } = self;
        let pixels =
            out.chunks_exact_mut(channels).zip(&taps.first).zip(taps.weights.chunks_exact(taps.count));
        for ((out, first), weights) in pixels {
            let seen = row[*first as usize * channels..].chunks_exact(channels);
            out.fill(0.0);
            for (pixel, weight) in seen.zip(weights) {
                for (out, value) in out.iter_mut().zip(pixel) {
                    *out += f64::from(value.to_float()) * weight;
                }
            }
        }
    }
}

struct Down<'a, T> {
    slots: &'a [f64],
    len: usize,
    first: usize,
    weights: &'a [f64],
    at: usize,
    out: &'a mut [T],
}

impl<T: Number> WithSimd for Down<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        /// A weight of 1 on both axes, in the steps that integer weights have.
        const ONE: f64 = (1u64 << 22) as f64;
        const BLOCK: usize = 64;

        let Self { slots, len, first, weights, at, out } = self;
        for (index, out) in out.chunks_mut(BLOCK).enumerate() {
            let mut sums = [0.0; BLOCK];
            for (row, weight) in weights.iter().enumerate() {
                let slot = (first + row) % weights.len() * len;
                let values = &slots[slot + at + index * BLOCK..][..out.len()];
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += value * weight;
                }
            }
            for (out, sum) in out.iter_mut().zip(sums) {
                *out = if T::REAL {
                    T::from_float(sum as f32)
                } else {
                    T::from_float((sum / ONE + 0.5).floor() as f32)
                };
            }
        }
    }
}
