//! The blur that keeps edges.

use pulp::{Arch, Simd, WithSimd};
use tripipe_kernels::filter::Bilateral;

use super::number::Number;
use super::rows::{Input, Kernel, Rows};

/// The results of a bilateral filter.
pub(super) fn bilateral<T: Number>(
    input: Input<'_, T>,
    bilateral: Bilateral,
    arch: Arch,
) -> Box<dyn Rows<T> + '_> {
    let channels = input.shape.channels;
    let filtered = if input.shape.keep_alpha { channels - 1 } else { channels };
    let size = [bilateral.size; 2];
    let space = if T::REAL {
        bilateral.space_exact()
    } else {
        bilateral.space().into_iter().map(f64::from).collect()
    };
    let places = space.into_iter().enumerate().filter(|(_, weight)| *weight > 0.0);
    let places = places.map(|(i, weight)| Place {
        row: i / bilateral.size,
        shift: i % bilateral.size * channels,
        weight,
    });
    let color = bilateral.color().into_iter().map(f64::from).collect();
    let falloff = -0.5 / f64::from(bilateral.sigma_color).powi(2);
    let kernel =
        Means { places: places.collect(), size: bilateral.size, channels, filtered, color, falloff, arch };
    input.windows(size, kernel)
}

/// A pixel of the window.
struct Place {
    row: usize,
    /// Elements right of the window's first column.
    shift: usize,
    /// By its distance.
    weight: f64,
}

/// All sums are in `f64`, where those of integers are exact.
struct Means {
    places: Vec<Place>,
    size: usize,
    channels: usize,
    /// Channels that are not alpha.
    filtered: usize,
    /// Weights by difference of colour, in 2^-8; 0 for all that follow.
    color: Vec<f64>,
    /// -1 / (2 sigma^2) of colour.
    falloff: f64,
    arch: Arch,
}

/// Pixels done together.
const PIXELS: usize = 64;

impl<T: Number> Kernel<T, T> for Means {
    fn run(&mut self, rows: &[&[T]], out: &mut [T]) {
        for (index, out) in out.chunks_mut(PIXELS * self.channels).enumerate() {
            self.arch.dispatch(Block { means: self, rows, at: index * PIXELS * self.channels, out });
        }
    }
}

struct Block<'a, T> {
    means: &'a Means,
    rows: &'a [&'a [T]],
    at: usize,
    out: &'a mut [T],
}

impl<T: Number> WithSimd for Block<'_, T> {
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
            let seen = &rows[place.row][at + place.shift..][..out.len()];
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
                    // What weighs nothing may be infinite.
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

/// e to the power of x, at most 0, within 2^-22 of itself; 0 below -700, NaN for NaN.
#[inline(always)]
fn exponential(x: f64) -> f64 {
    let power = x.max(-700.0) * std::f64::consts::LOG2_E;
    let whole = power.round_ties_even();
    let rest = (power - whole) * std::f64::consts::LN_2;
    // Taylor's series; rest is at most 0.35, whose 7th power over 7! is 1.3e-7.
    let mut series = 1.0;
    for n in (1..=6).rev() {
        series = 1.0 + rest / f64::from(n) * series;
    }
    let scale = f64::from_bits(((whole as i64 + 1023) << 52) as u64);
    if x < -700.0 { 0.0 } else { x * 0.0 + series * scale }
}
