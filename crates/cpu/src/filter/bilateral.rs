//! The bilateral filter: a blur that preserves edges.

use bytemuck::Zeroable;
use pulp::{Arch, Simd, WithSimd};
use tripipe_kernels::filter::{Bilateral, Size};

use super::number::Number;
use super::rows::{Input, Kernel, Rows};

/// The results of a bilateral filter of bytes.
pub(super) fn bytes(input: Input<'_, u8>, bilateral: Bilateral, arch: Arch) -> Box<dyn Rows<u8> + '_> {
    let (size, keep_alpha) = (Size::square(bilateral.size), input.shape.keep_alpha);
    match input.shape.channels {
        1 => input.windows(size, Bytes::<1>::new(bilateral, keep_alpha, arch)),
        2 => input.windows(size, Bytes::<2>::new(bilateral, keep_alpha, arch)),
        3 => input.windows(size, Bytes::<3>::new(bilateral, keep_alpha, arch)),
        _ => input.windows(size, Bytes::<4>::new(bilateral, keep_alpha, arch)),
    }
}

/// The results of a bilateral filter for the other types.
pub(super) fn means<T: Number>(
    input: Input<'_, T>,
    bilateral: Bilateral,
    arch: Arch,
) -> Box<dyn Rows<T> + '_> {
    let channels = input.shape.channels;
    let filtered = if input.shape.keep_alpha { channels - 1 } else { channels };
    let space = if T::REAL {
        bilateral.space_exact()
    } else {
        bilateral.space().into_iter().map(f64::from).collect()
    };
    let color = bilateral.color().into_iter().map(f64::from).collect();
    let falloff = -0.5 / f64::from(bilateral.sigma_color).powi(2);
    let places = places(bilateral.size, space);
    let kernel = Means { places, size: bilateral.size, channels, filtered, color, falloff, arch };
    input.windows(Size::square(bilateral.size), kernel)
}

/// A pixel of the window.
struct WindowPixel<W> {
    row: usize,
    column: usize,
    /// The weight by its distance.
    weight: W,
}

/// The pixels with nonzero weight of a window of `size` x `size` with these weights.
fn places<W: PartialOrd + Zeroable>(size: usize, weights: Vec<W>) -> Vec<WindowPixel<W>> {
    let places = weights.into_iter().enumerate().filter(|(_, weight)| *weight > W::zeroed());
    places.map(|(i, weight)| WindowPixel { row: i / size, column: i % size, weight }).collect()
}

/// Largest extent of a window.
const SIZE: usize = 15;

/// The number of pixels computed together.
const PIXELS: usize = 64;

/// One channel of the pixels that [`PIXELS`] neighbours read in a row.
type PixelRow = [i16; PIXELS + SIZE - 1];

/// Sums of bytes are in 32 bits: weights are at most 256, and a window has at most 225 of them.
struct Bytes<const C: usize> {
    places: Vec<WindowPixel<i32>>,
    size: usize,
    /// The number of channels without alpha.
    filtered: usize,
    /// Weights by difference of colour, which is at most 4 times 255.
    color: Box<[i32; 1024]>,
    /// The pixels in the windows, channel by channel.
    lines: Box<[[PixelRow; C]; SIZE]>,
    arch: Arch,
}

impl<const C: usize> Bytes<C> {
    fn new(bilateral: Bilateral, keep_alpha: bool, arch: Arch) -> Self {
        let mut color = Box::new([0; 1024]);
        for (place, weight) in color.iter_mut().zip(bilateral.color()) {
            *place = weight.into();
        }
        Self {
            places: places(bilateral.size, bilateral.space().into_iter().map(i32::from).collect()),
            size: bilateral.size,
            filtered: if keep_alpha { C - 1 } else { C },
            color,
            lines: Box::new([[[0; PIXELS + SIZE - 1]; C]; SIZE]),
            arch,
        }
    }
}

impl<const C: usize> Kernel<u8, u8> for Bytes<C> {
    fn run(&mut self, rows: &[&[u8]], outs: &mut [&mut [u8]]) {
        let arch = self.arch;
        for (rows, out) in rows.windows(rows.len() + 1 - outs.len()).zip(outs) {
            for (index, out) in out.chunks_mut(PIXELS * C).enumerate() {
                arch.dispatch(ByteBlock { means: self, rows, at: index * PIXELS * C, out });
            }
        }
    }
}

struct ByteBlock<'a, const C: usize> {
    means: &'a mut Bytes<C>,
    rows: &'a [&'a [u8]],
    at: usize,
    out: &'a mut [u8],
}

impl<const C: usize> WithSimd for ByteBlock<'_, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { means, rows, at, out } = self;
        let Bytes { places, size, filtered, color, lines, .. } = means;
        let len = (out.len() / C + *size - 1) * C;
        for (row, lines) in rows.iter().zip(&mut **lines) {
            let pixels = row[at..][..len].as_chunks::<C>().0;
            for (channel, line) in lines.iter_mut().enumerate() {
                for (value, pixel) in line.iter_mut().zip(pixels) {
                    *value = pixel[channel].into();
                }
            }
        }
        let half = *size / 2;
        let mut totals = [0; PIXELS];
        let mut sums = [[0; PIXELS]; C];
        for WindowPixel { row, column, weight } in places {
            let mut differences = [0u16; PIXELS];
            for (centre, seen) in lines[half].iter().zip(&lines[*row]).take(*filtered) {
                let pixels = centre[half..][..PIXELS].iter().zip(&seen[*column..][..PIXELS]);
                for (difference, (centre, seen)) in differences.iter_mut().zip(pixels) {
                    *difference += seen.abs_diff(*centre);
                }
            }
            let mut weights = [0i16; PIXELS];
            for ((own, total), difference) in weights.iter_mut().zip(&mut totals).zip(differences) {
                let weight = (*weight * color[usize::from(difference) % 1024] + 128) >> 8;
                *total += weight;
                *own = weight as i16;
            }
            for (sums, seen) in sums.iter_mut().zip(&lines[*row]).take(*filtered) {
                let pixels = weights.iter().zip(&seen[*column..][..PIXELS]);
                for (sum, (weight, seen)) in sums.iter_mut().zip(pixels) {
                    *sum += i32::from(*weight) * i32::from(*seen);
                }
            }
        }
        for (channel, sums) in sums.iter().enumerate().take(*filtered) {
            let mut means = [0; PIXELS];
            for (mean, (sum, total)) in means.iter_mut().zip(sums.iter().zip(&totals)) {
                // Both are below 2^24. A quotient below 256 is at least 1 / 57600 below the next integer, which is more
                // than rounding can add.
                *mean = ((sum + total / 2) as f32 / *total as f32) as u8;
            }
            for (pixel, mean) in out.as_chunks_mut::<C>().0.iter_mut().zip(means) {
                pixel[channel] = mean;
            }
        }
    }
}

/// All sums are in `f64`, in which sums of integers are exact.
struct Means {
    places: Vec<WindowPixel<f64>>,
    size: usize,
    channels: usize,
    /// The number of channels without alpha.
    filtered: usize,
    /// Weights by difference of colour, in units of 2^-8; 0 beyond the end.
    color: Vec<f64>,
    /// -1 / (2 sigma^2) of colour.
    falloff: f64,
    arch: Arch,
}

impl<T: Number> Kernel<T, T> for Means {
    fn run(&mut self, rows: &[&[T]], outs: &mut [&mut [T]]) {
        for (rows, out) in rows.windows(rows.len() + 1 - outs.len()).zip(outs) {
            for (index, out) in out.chunks_mut(PIXELS * self.channels).enumerate() {
                self.arch.dispatch(PixelBlock { means: self, rows, at: index * PIXELS * self.channels, out });
            }
        }
    }
}

struct PixelBlock<'a, T> {
    means: &'a Means,
    rows: &'a [&'a [T]],
    at: usize,
    out: &'a mut [T],
}

impl<T: Number> WithSimd for PixelBlock<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { means, rows, at, out } = self;
        let Means { places, size, channels, filtered, color, falloff, .. } = means;
        let pixels = out.len() / channels;
        let half = size / 2;
        let centre = &rows[half][at + half * channels..][..out.len()];
        let mut totals = [0.0; PIXELS];
        let mut sums = [[0.0; PIXELS]; 4];
        for place in places {
            let seen = &rows[place.row][at + place.column * channels..][..out.len()];
            let mut weights = [0.0; PIXELS];
            for channel in 0..*filtered {
                let values = seen.iter().zip(centre).skip(channel).step_by(*channels);
                for (difference, (seen, centre)) in weights.iter_mut().zip(values) {
                    *difference += (f64::from(seen.to_float()) - f64::from(centre.to_float())).abs();
                }
            }
            for weight in &mut weights[..pixels] {
                *weight = if T::REAL {
                    place.weight * exponential(falloff * *weight * *weight)
                } else {
                    let color = color.get(*weight as usize).copied().unwrap_or(0.0);
                    ((place.weight * color + 128.0) / 256.0).floor()
                };
            }
            for (total, weight) in totals.iter_mut().zip(&weights) {
                *total += if *weight > 0.0 { *weight } else { 0.0 };
            }
            for (channel, sums) in sums.iter_mut().enumerate().take(*filtered) {
                let values = seen.iter().skip(channel).step_by(*channels);
                for ((sum, seen), weight) in sums.iter_mut().zip(values).zip(&weights) {
                    // A value with weight 0 may be infinite.
                    *sum += if *weight > 0.0 { *weight * f64::from(seen.to_float()) } else { 0.0 };
                }
            }
        }
        for (pixel, out) in out.chunks_exact_mut(*channels).enumerate() {
            let total = totals[pixel];
            for (sums, out) in sums.iter().zip(&mut out[..*filtered]) {
                let sum = sums[pixel];
                let mean =
                    if T::REAL { sum / total } else { ((sum + (total / 2.0).floor()) / total).floor() };
                *out = T::from_float(mean as f32);
            }
        }
    }
}

/// e to the power of `x`, where `x` is at most 0, within 2^-22 relative error; 0 below -700, NaN for NaN.
#[inline(always)]
fn exponential(x: f64) -> f64 {
    let power = x.max(-700.0) * std::f64::consts::LOG2_E;
    let whole = power.round_ties_even();
    let rest = (power - whole) * std::f64::consts::LN_2;
    // Taylor series; `rest` is at most 0.35, whose 7th power over 7! is 1.3e-7.
    let mut series = 1.0;
    for n in (1..=6).rev() {
        series = 1.0 + rest / f64::from(n) * series;
    }
    let scale = f64::from_bits(((whole as i64 + 1023) << 52) as u64);
    if x < -700.0 { 0.0 } else { x * 0.0 + series * scale }
}
