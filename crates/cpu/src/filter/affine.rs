//! Images under affine maps, pixel by pixel.

use std::ops::{Add, Mul};

use half::f16;
use tripipe_kernels::filter::{AffineMap, Border, Interpolation, PixelType, Raster};

use super::number::Number;
use super::rows::{Pipe, Rows, Source};
use super::{check_raster, target};
use crate::{CpuError, Threads};

/// The image under a map, as defined by [`tripipe_kernels::filter::affine_reference`]: integers are bit-identical to it.
/// Slices are as in [`super::filter`].
///
/// # Errors
/// [`CpuError::Filter`] for what [`AffineMap::check`] refuses, and for slices too short for their rasters; nothing is written
/// then.
pub fn affine(
    map: &AffineMap,
    interpolation: Interpolation,
    border: Border,
    [from, to]: [&Raster; 2],
    source: &[u8],
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    let steps = map.check(interpolation, border, [from, to])?;
    check_raster("source", from, source)?;
    check_raster("result", to, result)?;
    if to.is_empty() {
        return Ok(());
    }
    target::write(to, result, 1, threads, &|| {
        let input = Source { raster: *from, bytes: source };
        let view = View { input, steps, border };
        Ok(match from.element {
            PixelType::U8 => view.pipe::<u8>(interpolation),
            PixelType::I16 => view.pipe::<i16>(interpolation),
            PixelType::U16 => view.pipe::<u16>(interpolation),
            PixelType::F16 | PixelType::F32 => view.pipe::<f32>(interpolation),
        })
    })
}

/// The source as a map shows it.
#[derive(Clone, Copy)]
struct View<'a> {
    input: Source<'a>,
    steps: [[i64; 3]; 2],
    border: Border,
}

impl<'a> View<'a> {
    fn pipe<T: Blend>(self, interpolation: Interpolation) -> Pipe<'a> {
        match interpolation {
            Interpolation::Nearest => T::pipe(Box::new(Moved::<T, 1>::new(self))),
            Interpolation::Cubic => T::pipe(Box::new(Moved::<T, 4>::new(self))),
            _ => T::pipe(Box::new(Moved::<T, 2>::new(self))),
        }
    }

    /// An element of the source.
    #[inline(always)]
    fn load<T: Blend>(&self, index: usize) -> T {
        let bytes = &self.input.bytes[index * self.input.raster.element.bytes()..];
        if self.input.raster.element == PixelType::F16 {
            return T::from_float(bytemuck::pod_read_unaligned::<f16>(&bytes[..2]).to_f32());
        }
        bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()])
    }
}

/// The rows of a result whose pixels are sums of TAPS x TAPS pixels.
struct Moved<'a, T, const TAPS: usize> {
    view: View<'a>,
    /// A pixel outside of the source, if the border has a constant.
    outside: T,
}

impl<'a, T: Blend, const TAPS: usize> Moved<'a, T, TAPS> {
    fn new(view: View<'a>) -> Self {
        let value = match view.border {
            Border::Constant(value) => view.input.raster.element.nearest(f64::from(value)),
            _ => 0.0,
        };
        Self { view, outside: T::from_float(value as f32) }
    }
}

impl<T: Blend, const TAPS: usize> Rows<T> for Moved<'_, T, TAPS> {
    fn part(&mut self, y: isize, at: usize, out: &mut [T]) {
        let Self { view, outside } = self;
        let Raster { width, height, channels, .. } = view.input.raster;
        let raster = &view.input.raster;
        let next = raster.index(0, 0, 1) - raster.offset;
        let first = (at / channels) as i64;
        for (x, pixel) in (first..).zip(out.chunks_exact_mut(channels)) {
            let [left, top] = view.steps.map(|[dx, dy, start]| dx * x + dy * y as i64 + start);
            let [across, down] = [left, top].map(T::weights::<TAPS>);
            let [left, top] = [left, top].map(first_pixel::<TAPS>);
            let fold = |first: isize, extent: usize| {
                std::array::from_fn::<_, TAPS, _>(|tap| view.border.source(first + tap as isize, extent))
            };
            let (columns, rows) = (fold(left, width), fold(top, height));
            for (channel, value) in pixel.iter_mut().enumerate() {
                let mut sum = T::Sum::default();
                for (row, down) in rows.iter().zip(&down) {
                    let mut along = T::Sum::default();
                    for (column, across) in columns.iter().zip(&across) {
                        let seen = match (row, column) {
                            (Some(row), Some(column)) => {
                                view.load(raster.index(*column, *row, 0) + channel * next)
                            }
                            _ => *outside,
                        };
                        along = along + counted(*across, seen.widened());
                    }
                    sum = sum + counted(*down, along);
                }
                *value = T::narrowed(sum);
            }
        }
    }
}

/// The product; 0 for the weight 0, whatever the value.
#[inline(always)]
fn counted<S: Copy + Default + PartialEq + Mul<Output = S>>(weight: S, value: S) -> S {
    if weight == S::default() { weight } else { weight * value }
}

/// The first of the TAPS pixels around a place.
fn first_pixel<const TAPS: usize>(place: i64) -> isize {
    match TAPS {
        1 => ((place + (1 << 31)) >> 32) as isize,
        taps => (place >> 32) as isize - (taps as isize / 2 - 1),
    }
}

/// The weights of cubic convolution of the four pixels around a place, in units of 2^-50.
fn cubic(place: i64) -> [i64; 4] {
    const PIXEL: i64 = 1 << 16;
    let inner = |away: i64| (5 * away - 9 * PIXEL) * away * away + 4 * PIXEL.pow(3);
    let outer = |away: i64| ((15 * PIXEL - 3 * away) * away - 24 * PIXEL.pow(2)) * away + 12 * PIXEL.pow(3);
    let away = (place >> 16) & (PIXEL - 1);
    [outer(away + PIXEL), inner(away), inner(PIXEL - away), outer(2 * PIXEL - away)]
}

/// Pixels of which weighted sums are made.
trait Blend: Number {
    /// The type of sums and weights.
    type Sum: Copy + Default + PartialEq + Add<Output = Self::Sum> + Mul<Output = Self::Sum>;

    /// The weights of the TAPS pixels around a place; they sum to 1.
    fn weights<const TAPS: usize>(place: i64) -> [Self::Sum; TAPS];

    fn widened(self) -> Self::Sum;

    /// The pixel of a sum over both axes.
    fn narrowed(sum: Self::Sum) -> Self;
}

macro_rules! integer {
    ($($type:ty: $bits:literal),*) => { $(
        impl Blend for $type {
            type Sum = i64;

            #[inline(always)]
            fn weights<const TAPS: usize>(place: i64) -> [i64; TAPS] {
                let part = place & 0xffff_ffff;
                let mut weights = [0; TAPS];
                match &mut weights[..] {
                    [one] => *one = 1 << $bits,
                    [left, right] => {
                        *right = (part + (1 << (31 - $bits))) >> (32 - $bits);
                        *left = (1 << $bits) - *right;
                    }
                    all => {
                        for (weight, exact) in all.iter_mut().zip(cubic(place)) {
                            *weight = (exact + (1 << (49 - $bits))) >> (50 - $bits);
                        }
                        all[1] = (1 << $bits) - all[0] - all[2] - all[3];
                    }
                }
                weights
            }

            #[inline(always)]
            fn widened(self) -> i64 {
                self.into()
            }

            #[inline(always)]
            fn narrowed(sum: i64) -> Self {
                let rounded = (sum + (1 << (2 * $bits - 1))) >> (2 * $bits);
                rounded.clamp(Self::MIN.into(), Self::MAX.into()) as Self
            }
        }
    )* };
}

integer!(u8: 11, i16: 18, u16: 18);

impl Blend for f32 {
    type Sum = f32;

    #[inline(always)]
    fn weights<const TAPS: usize>(place: i64) -> [f32; TAPS] {
        let mut weights = [1.0; TAPS];
        match &mut weights[..] {
            [_] => {}
            [left, right] => {
                // 24 bits are exact in both.
                *right = ((place & 0xffff_ffff) >> 8) as f32 / 16_777_216.0;
                *left = 1.0 - *right;
            }
            all => {
                for (weight, exact) in all.iter_mut().zip(cubic(place)) {
                    *weight = exact as f32 / (1u64 << 50) as f32;
                }
                all[1] = 1.0 - all[0] - all[2] - all[3];
            }
        }
        weights
    }

    #[inline(always)]
    fn widened(self) -> f32 {
        self
    }

    #[inline(always)]
    fn narrowed(sum: f32) -> f32 {
        sum
    }
}
