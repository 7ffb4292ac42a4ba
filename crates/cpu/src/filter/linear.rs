//! Linear filters: weighted sums.

use std::marker::PhantomData;

use bytemuck::Zeroable;
use pulp::{Arch, Simd, WithSimd};
use tripipe_kernels::filter::{Axis, Bilateral, FilterError, Fixed, Gradient, Linear, PixelType, Size};

use super::bilateral;
use super::fold::{One, Tap, Term, Weight, fold, fold_into};
use super::kernel::{Finish, Finished, Full, Separable, Sums, blocks, chunk_len, each};
use super::number::Number;
use super::rows::{Input, Kernel, LANES, Rows};
use crate::aligned::Aligned;
use crate::wide::Wide;

type Results<'a, U> = Result<Box<dyn Rows<U> + 'a>, FilterError>;

/// A pixel type with the arithmetic of its weighted sums.
pub(super) trait Weighed: Number {
    /// The results of a linear filter.
    ///
    /// # Errors
    /// As [`Linear::fixed`].
    fn linear<'a, U: Number>(input: Input<'a, Self>, linear: &Linear, arch: Arch) -> Results<'a, U>;

    /// The results of a gradient.
    ///
    /// # Errors
    /// As [`Linear::fixed`].
    fn gradient(input: Input<'_, Self>, gradient: Gradient, arch: Arch) -> Results<'_, Self>;

    /// The results of a bilateral filter.
    fn bilateral(input: Input<'_, Self>, bilateral: Bilateral, arch: Arch) -> Box<dyn Rows<Self> + '_> {
        bilateral::means(input, bilateral, arch)
    }
}

impl Weighed for u8 {
    /// In 16 bits if the sums fit. If they do not, the sums of columns often do.
    fn linear<'a, U: Number>(input: Input<'a, u8>, linear: &Linear, arch: Arch) -> Results<'a, U> {
        let fixed = linear.fixed(PixelType::U8)?;
        let (size, step) = (fixed.size, input.shape.channels);
        let short = Short::new(&fixed).filter(|_| !U::REAL);
        Ok(match (&fixed.factors, short) {
            (Some([across, down]), Some(short)) if across.iter().chain(down).all(|weight| *weight == 1) => {
                let ones = |weights: &[i32]| vec![Some(One); weights.len()];
                let sums = Separable::new(arch, ones(down), ones(across), step);
                input.windows(size, Finished::new(arch, sums, short))
            }
            (Some([across, down]), Some(short)) => {
                let sums = Separable::new(arch, short_weights(down), short_weights(across), step);
                input.windows(size, Finished::new(arch, sums, short))
            }
            (None, Some(short)) => {
                let sums = Full::new(short_weights(&fixed.weights), size.width, step);
                input.windows(size, Finished::new(arch, sums, short))
            }
            (Some([across, down]), None) if fits_short(down) => {
                let sums = Separable::new(arch, short_weights(down), weights(across), step);
                input.windows(size, Finished::new(arch, sums, WholeSums::<u8>::new(&fixed)))
            }
            _ => whole(input, &fixed, arch),
        })
    }

    fn gradient(input: Input<'_, u8>, gradient: Gradient, arch: Arch) -> Results<'_, u8> {
        let step = input.shape.channels;
        let mut slopes = Vec::new();
        for derivative in gradient.derivatives() {
            if let Some([across, down]) = derivative.fixed(PixelType::U8)?.factors {
                slopes.push(Separable::new(arch, short_weights(&down), short_weights(&across), step));
            }
        }
        let length = |across: u16, down: u16| {
            let length = (across as i16).unsigned_abs() + (down as i16).unsigned_abs();
            length.min(255) as u8
        };
        Ok(input.windows(Size::square(3), Lengths::new(arch, slopes, length)))
    }

    fn bilateral(input: Input<'_, u8>, bilateral: Bilateral, arch: Arch) -> Box<dyn Rows<u8> + '_> {
        bilateral::bytes(input, bilateral, arch)
    }
}

/// Weights for which no prefix of sums of bytes exceeds 16 bits.
fn fits_short(weights: &[i32]) -> bool {
    weights.iter().all(|weight| *weight >= 0)
        && weights.iter().map(|weight| i64::from(*weight)).sum::<i64>() * 255 <= 65535
}

fn short_weights(weights: &[i32]) -> impl Iterator<Item = Option<Weight<u16>>> {
    weights.iter().map(|weight| (*weight != 0).then_some(Weight(*weight as u16)))
}

fn weights<W: PartialEq + Zeroable + Copy>(weights: &[W]) -> impl Iterator<Item = Option<Weight<W>>> {
    weights.iter().map(|weight| (*weight != W::zeroed()).then_some(Weight(*weight)))
}

/// A linear filter in 32 bits.
fn whole<'a, T: Number, U: Number>(input: Input<'a, T>, fixed: &Fixed, arch: Arch) -> Box<dyn Rows<U> + 'a>
where
    Weight<i32>: Term<T, Sum = i32>,
{
    let (size, step, finish) = (fixed.size, input.shape.channels, WholeSums::<T>::new(fixed));
    if let Some([across, down]) = &fixed.factors {
        let sums = Separable::new(arch, weights(down), weights(across), step);
        input.windows(size, Finished::new(arch, sums, finish))
    } else {
        let sums = Full::new(weights(&fixed.weights), size.width, step);
        input.windows(size, Finished::new(arch, sums, finish))
    }
}

/// A linear filter in `f32`.
fn real<'a, T: Number, U: Number>(input: Input<'a, T>, linear: &Linear, arch: Arch) -> Box<dyn Rows<U> + 'a> {
    let (size, step) = (linear.size(), input.shape.channels);
    let finish = RealSums { offset: linear.offset() as f32, from: PhantomData::<T> };
    if let Some([across, down]) = linear.real_factors(Axis::Down) {
        let sums = Separable::new(arch, weights(&down), weights(&across), step);
        input.windows(size, Finished::new(arch, sums, finish))
    } else {
        let sums = Full::new(weights(&linear.real()), size.width, step);
        input.windows(size, Finished::new(arch, sums, finish))
    }
}

macro_rules! weighed_integer {
    ($($type:ty: $element:expr),*) => { $(
        impl Weighed for $type {
            fn linear<'a, U: Number>(input: Input<'a, $type>, linear: &Linear, arch: Arch) -> Results<'a, U> {
                if linear.sums_in_float($element) {
                    return Ok(real(input, linear, arch));
                }
                Ok(whole(input, &linear.fixed($element)?, arch))
            }

            fn gradient(input: Input<'_, $type>, gradient: Gradient, arch: Arch) -> Results<'_, $type> {
                let step = input.shape.channels;
                let mut slopes = Vec::new();
                for derivative in gradient.derivatives() {
                    if let Some([across, down]) = derivative.fixed($element)?.factors {
                        slopes.push(Separable::new(arch, weights(&down), weights(&across), step));
                    }
                }
                let length = |across: i32, down: i32| <$type>::from_integer(across.abs() + down.abs());
                Ok(input.windows(Size::square(3), Lengths::new(arch, slopes, length)))
            }
        }
    )* };
}

weighed_integer!(i16: PixelType::I16, u16: PixelType::U16);

impl Weighed for f32 {
    fn linear<'a, U: Number>(input: Input<'a, f32>, linear: &Linear, arch: Arch) -> Results<'a, U> {
        Ok(real(input, linear, arch))
    }

    fn gradient(input: Input<'_, f32>, gradient: Gradient, arch: Arch) -> Results<'_, f32> {
        let step = input.shape.channels;
        let factors =
            gradient.derivatives().into_iter().filter_map(|derivative| derivative.real_factors(Axis::Down));
        let slopes =
            factors.map(|[across, down]| Separable::new(arch, weights(&down), weights(&across), step));
        let length = |across: f32, down: f32| across.abs() + down.abs();
        Ok(input.windows(Size::square(3), Lengths::new(arch, slopes.collect(), length)))
    }
}

/// Quotients of 16-bit sums.
enum Short {
    /// Signed, divided by 2^shift.
    Signed { half: i16, shift: u32 },
    /// Unsigned, divided by 2^shift.
    Unsigned { half: u16, shift: u32 },
    /// Divided by 2^(16 + shift) / factor.
    Divided { half: i16, factor: i16, shift: u32 },
}

impl Short {
    /// `None` when 16 bits are not enough.
    fn new(fixed: &Fixed) -> Option<Self> {
        let [low, high] = [fixed.sums[0], fixed.sums[1] + i64::from(fixed.divisor / 2)];
        let half = u16::try_from(fixed.divisor / 2).ok()?;
        let power = fixed.divisor.is_power_of_two().then(|| fixed.divisor.trailing_zeros());
        let signed = low >= i16::MIN.into() && high <= i16::MAX.into();
        match power.filter(|shift| *shift < 16) {
            _ if fixed.offset != 0 => None,
            Some(shift) if low >= 0 && high <= u16::MAX.into() => Some(Self::Unsigned { half, shift }),
            Some(shift) if signed => Some(Self::Signed { half: half as i16, shift }),
            None if low >= 0 && signed => Self::divided(fixed.divisor.into(), half as i16, high as u64),
            _ => None,
        }
    }

    /// Division as a product: with `factor = (2^n + error) / divisor`, `s factor >> n` is the quotient rounded down for
    /// every s with `s error < 2^n`. Signed, because there is an instruction for the upper half of that product that
    /// compilers use.
    fn divided(divisor: u64, half: i16, high: u64) -> Option<Self> {
        (0..16).find_map(|shift| {
            let unit = 1u64 << (16 + shift);
            let factor = unit.div_ceil(divisor);
            let exact = high * (factor * divisor - unit) < unit;
            let factor = i16::try_from(factor).ok().filter(|_| exact)?;
            Some(Self::Divided { half, factor, shift })
        })
    }
}

impl<P: Copy + Zeroable, W: Term<P, Sum = u16>, U: Number> Finish<P, W, U> for Short {
    fn finish(&self, arch: Arch, last: (&[Tap<W>], &[&[P]], usize), sums: &mut [u16], outs: &mut [&mut [U]]) {
        // Closures have copies: a store to bytes may otherwise have changed what they see.
        match *self {
            // Real results are not computed from short sums; no code need be compiled for them.
            _ if U::REAL => {}
            Self::Signed { half, shift } if const { matches!(U::ELEMENT, PixelType::U8 | PixelType::I16) } => {
                fold_into(
                    arch,
                    last,
                    sums,
                    outs,
                    #[inline(always)]
                    move |sum| U::from_integer(((sum as i16).wrapping_add(half) >> shift).into()),
                );
            }
            Self::Unsigned { half, shift } if const { fused::<u8, U>() } => fold_into(
                arch,
                last,
                sums,
                outs,
                #[inline(always)]
                move |sum| U::from_integer((sum.wrapping_add(half) >> shift).into()),
            ),
            Self::Divided { half, factor, shift } if const { fused::<u8, U>() } => fold_into(
                arch,
                last,
                sums,
                outs,
                #[inline(always)]
                move |sum| U::from_integer(divided(sum, half, factor, shift).into()),
            ),
            _ => folded(arch, last, sums, outs, |sums, out| self.quotients(arch, sums, out)),
        }
    }
}

/// Whether pixels of type `T` of a linear filter become results of type `U` in the last pass over the window. That code is
/// compiled for every kind of window, so only frequent pairs of types have it. Others are made of sums in the
/// first-level cache.
const fn fused<T: Number, U: Number>() -> bool {
    use PixelType::{F32, I16, U8, U16};
    matches!((T::ELEMENT, U::ELEMENT), (U8, U8) | (I16, I16) | (U16, U16) | (F32, F32))
}

/// The sums, and then the results of each row of them.
fn folded<P: Copy + Zeroable, W: Term<P>, U>(
    arch: Arch,
    (taps, rows, at): (&[Tap<W>], &[&[P]], usize),
    sums: &mut [W::Sum],
    outs: &mut [&mut [U]],
    results: impl Fn(&mut [W::Sum], &mut [U]),
) {
    for (row, out) in outs.iter_mut().enumerate() {
        fold(arch, taps, &rows[row..], at, sums);
        results(sums, out);
    }
}

#[inline(always)]
fn divided(sum: u16, half: i16, factor: i16, shift: u32) -> i16 {
    let product = i32::from((sum as i16).wrapping_add(half)) * i32::from(factor);
    (product >> 16) as i16 >> shift
}

impl Short {
    fn quotients<U: Number>(&self, arch: Arch, sums: &[u16], out: &mut [U]) {
        match *self {
            Self::Signed { half, shift } => {
                each(arch, sums, out, move |sum| {
                    U::from_integer(((sum as i16).wrapping_add(half) >> shift).into())
                });
            }
            Self::Unsigned { half, shift } => {
                each(arch, sums, out, move |sum| U::from_integer((sum.wrapping_add(half) >> shift).into()));
            }
            Self::Divided { half, factor, shift } => {
                each(arch, sums, out, move |sum| U::from_integer(divided(sum, half, factor, shift).into()));
            }
        }
    }
}

/// Quotients of 32-bit sums of pixels of type `T`.
struct WholeSums<T> {
    quotient: Quotient,
    from: PhantomData<T>,
}

#[derive(Clone, Copy)]
struct Quotient {
    divisor: u32,
    offset: i32,
    /// Whether sums use all 32 bits, without a sign.
    unsigned: bool,
}

impl<T> WholeSums<T> {
    fn new(fixed: &Fixed) -> Self {
        let Fixed { divisor, offset, .. } = *fixed;
        Self { quotient: Quotient { divisor, offset, unsigned: fixed.is_unsigned() }, from: PhantomData }
    }
}

impl<T: Number, P: Copy + Zeroable, W: Term<P, Sum = i32>, U: Number> Finish<P, W, U> for WholeSums<T> {
    fn finish(&self, arch: Arch, last: (&[Tap<W>], &[&[P]], usize), sums: &mut [i32], outs: &mut [&mut [U]]) {
        let Quotient { divisor, unsigned, .. } = self.quotient;
        // The most frequent quotient needs no memory for the sums.
        if const { fused::<T, U>() && !U::REAL } && !unsigned && divisor.is_power_of_two() {
            self.quotient.fold_into(arch, last, sums, outs);
        } else {
            folded(arch, last, sums, outs, |sums, out| self.quotient.results(arch, sums, out));
        }
    }
}

impl Quotient {
    /// As [`fold_into`]; the divisor is a power of two, and sums have a sign.
    fn fold_into<P: Copy + Zeroable, W: Term<P, Sum = i32>, U: Number>(
        self,
        arch: Arch,
        last: (&[Tap<W>], &[&[P]], usize),
        sums: &mut [i32],
        outs: &mut [&mut [U]],
    ) {
        let Self { divisor, offset, .. } = self;
        let (half, shift) = ((divisor / 2) as i32, divisor.trailing_zeros());
        fold_into(
            arch,
            last,
            sums,
            outs,
            #[inline(always)]
            move |sum: i32| U::from_integer((sum.wrapping_add(half) >> shift).saturating_add(offset)),
        );
    }

    fn results<U: Number>(self, arch: Arch, sums: &mut [i32], out: &mut [U]) {
        let Self { divisor, offset, unsigned } = self;
        if U::REAL {
            let (divisor, offset) = (divisor as f32, offset as f32);
            if unsigned {
                each(arch, sums, out, move |sum| U::from_float(sum as u32 as f32 / divisor + offset));
            } else {
                each(arch, sums, out, move |sum| U::from_float(sum as f32 / divisor + offset));
            }
        } else {
            self.divide(arch, sums);
            each(arch, sums, out, move |quotient: i32| U::from_integer(quotient.saturating_add(offset)));
        }
    }

    /// Divides sums in place.
    fn divide(self, arch: Arch, sums: &mut [i32]) {
        let (half, shift) = ((self.divisor / 2) as i32, self.divisor.trailing_zeros());
        let kind = (self.divisor.is_power_of_two(), self.unsigned);
        // A non-integer quotient of integers below 2^53 never rounds to an integer.
        let divisor = f64::from(self.divisor);
        // A loop for each kind: the compiler does not vectorise one with a choice inside.
        arch.dispatch(Wide(
            #[inline(always)]
            || match kind {
                (true, false) => change(sums, |sum| sum.wrapping_add(half) >> shift),
                // A division by 2 or more leaves room for a sign.
                (true, true) => change(sums, |sum| (sum.wrapping_add(half) as u32 >> shift) as i32),
                (false, true) => {
                    change(sums, |sum| (f64::from(sum.wrapping_add(half) as u32) / divisor).floor() as i32);
                }
                (false, false) => {
                    change(sums, |sum| (f64::from(sum.wrapping_add(half)) / divisor).floor() as i32);
                }
            },
        ));
    }
}

#[inline(always)]
fn change(sums: &mut [i32], changed: impl Fn(i32) -> i32) {
    for sum in sums {
        *sum = changed(*sum);
    }
}

/// Sums of pixels of type `T`, whose weights include the divisor.
struct RealSums<T> {
    offset: f32,
    from: PhantomData<T>,
}

impl<T: Number, P: Copy + Zeroable, W: Term<P, Sum = f32>, U: Number> Finish<P, W, U> for RealSums<T> {
    fn finish(&self, arch: Arch, last: (&[Tap<W>], &[&[P]], usize), sums: &mut [f32], outs: &mut [&mut [U]]) {
        let offset = self.offset;
        if const { fused::<T, U>() } {
            fold_into(
                arch,
                last,
                sums,
                outs,
                #[inline(always)]
                move |sum| U::from_float(sum + offset),
            );
        } else {
            folded(arch, last, sums, outs, |sums, out| moved(arch, sums, offset, out));
        }
    }
}

fn moved<U: Number>(arch: Arch, sums: &[f32], offset: f32, out: &mut [U]) {
    each(arch, sums, out, move |sum| U::from_float(sum + offset));
}

/// Lengths of gradients.
struct Lengths<S, V, F> {
    arch: Arch,
    /// Derivatives across and down.
    slopes: Vec<S>,
    sums: [Aligned<V>; 2],
    length: F,
}

impl<S, V: Zeroable + Copy, F> Lengths<S, V, F> {
    fn new(arch: Arch, slopes: Vec<S>, length: F) -> Self {
        let sums = [(); 2].map(|()| Aligned::filled(V::zeroed(), chunk_len::<V>()));
        Self { arch, slopes, sums, length }
    }
}

impl<T, S, V, F> Kernel<T, T> for Lengths<S, V, F>
where
    T: Number,
    S: Sums<T, Term: Term<S::Pixel, Sum = V>>,
    V: Copy + Zeroable,
    F: Fn(V, V) -> T,
{
    fn run(&mut self, rows: &[&[T]], outs: &mut [&mut [T]]) {
        let Self { arch, slopes, sums, length } = self;
        let window = rows.len() + 1 - outs.len();
        let len = outs.first().map_or(0, |out| out.len());
        for first in (0..len).step_by(chunk_len::<V>()) {
            let part = first..len.min(first + chunk_len::<V>());
            let count = part.len().next_multiple_of(LANES);
            for (rows, out) in rows.windows(window).zip(&mut *outs) {
                for (slope, sums) in slopes.iter_mut().zip(&mut *sums) {
                    slope.sums(rows, 1, first, count, &mut |taps, rows, at| {
                        fold(*arch, taps, rows, at, &mut sums[..count]);
                    });
                }
                let sums = [&sums[0][..count], &sums[1][..count]];
                arch.dispatch(Both { sums, out: &mut out[part.clone()], length: &*length });
            }
        }
    }
}

struct Both<'a, V, T, F> {
    sums: [&'a [V]; 2],
    out: &'a mut [T],
    length: &'a F,
}

impl<V: Copy, T: Number, F: Fn(V, V) -> T> WithSimd for Both<'_, V, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { sums: [across, down], out, length } = self;
        let (across, down) = (across.as_chunks::<LANES>().0, down.as_chunks::<LANES>().0);
        blocks(
            out,
            #[inline(always)]
            |index, out| {
                let (across, down) = (&across[index], &down[index]);
                for i in 0..LANES {
                    out[i] = length(across[i], down[i]);
                }
            },
        );
    }
}
