//! Sums and extremes over windows, for many neighbouring results at a time.

use bytemuck::Zeroable;
use pulp::{Arch, Simd, WithSimd};

use super::kernel::blocks;
use super::number::Number;
use super::rows::{GROUP, LANES};

/// The contribution of a pixel of a window to the result.
pub(super) trait Term<T>: Copy {
    /// The type of the result.
    type Sum: Copy + Zeroable;

    fn first(self, pixel: T) -> Self::Sum;

    fn next(self, sum: Self::Sum, pixel: T) -> Self::Sum;

    /// The sum of all pixels of two sums, if it may be taken in any order and all terms are alike.
    #[inline(always)]
    fn joined(_: Self::Sum, _: Self::Sum) -> Option<Self::Sum> {
        None
    }
}

/// The pixel times this weight. Integers wrap around: only the final sum must fit.
#[derive(Clone, Copy)]
pub(super) struct Weight<A>(pub(super) A);

macro_rules! integer_weight {
    ($($pixel:ty => $sum:ty),*) => { $(
        impl Term<$pixel> for Weight<$sum> {
            type Sum = $sum;

            #[inline(always)]
            fn first(self, pixel: $pixel) -> $sum {
                self.0.wrapping_mul(pixel.into())
            }

            #[inline(always)]
            fn next(self, sum: $sum, pixel: $pixel) -> $sum {
                sum.wrapping_add(self.first(pixel))
            }
        }
    )* };
}

integer_weight!(u8 => u16, u16 => u16, u8 => i32, i16 => i32, u16 => i32, i32 => i32);

impl Term<f32> for Weight<f32> {
    type Sum = f32;

    #[inline(always)]
    fn first(self, pixel: f32) -> f32 {
        self.0 * pixel
    }

    #[inline(always)]
    fn next(self, sum: f32, pixel: f32) -> f32 {
        sum + self.0 * pixel
    }
}

/// The pixel itself.
#[derive(Clone, Copy)]
pub(super) struct One;

impl<T: Into<u16>> Term<T> for One {
    type Sum = u16;

    #[inline(always)]
    fn first(self, pixel: T) -> u16 {
        pixel.into()
    }

    #[inline(always)]
    fn next(self, sum: u16, pixel: T) -> u16 {
        sum.wrapping_add(pixel.into())
    }

    #[inline(always)]
    fn joined(first: u16, second: u16) -> Option<u16> {
        Some(first.wrapping_add(second))
    }
}

/// The smallest pixel.
#[derive(Clone, Copy)]
pub(super) struct Least;

/// The largest pixel.
#[derive(Clone, Copy)]
pub(super) struct Most;

impl<T: Number> Term<T> for Least {
    type Sum = T;

    #[inline(always)]
    fn first(self, pixel: T) -> T {
        pixel
    }

    #[inline(always)]
    fn next(self, sum: T, pixel: T) -> T {
        sum.least(pixel)
    }

    #[inline(always)]
    fn joined(first: T, second: T) -> Option<T> {
        (!T::REAL).then_some(first.least(second))
    }
}

impl<T: Number> Term<T> for Most {
    type Sum = T;

    #[inline(always)]
    fn first(self, pixel: T) -> T {
        pixel
    }

    #[inline(always)]
    fn next(self, sum: T, pixel: T) -> T {
        sum.most(pixel)
    }

    #[inline(always)]
    fn joined(first: T, second: T) -> Option<T> {
        (!T::REAL).then_some(first.most(second))
    }
}

/// A pixel of a window and its term.
#[derive(Clone, Copy)]
pub(super) struct Tap<W> {
    /// Row of the window.
    pub(super) row: usize,
    /// Elements right of the window's first column.
    pub(super) shift: usize,
    pub(super) term: W,
}

/// The number of terms that are added in one pass over memory.
const TERMS: usize = 5;

/// Sets `out[i]` to the sum over the taps of the terms of `rows[row][at + shift + i]`; zero without taps. The length of
/// `out` is a multiple of [`LANES`].
pub(super) fn fold<T: Copy + Zeroable, W: Term<T>>(
    arch: Arch,
    taps: &[Tap<W>],
    rows: &[&[T]],
    at: usize,
    out: &mut [W::Sum],
) {
    if taps.is_empty() {
        out.fill(W::Sum::zeroed());
    }
    for (index, taps) in taps.chunks(TERMS).enumerate() {
        let first = index == 0;
        match taps.len() {
            1 => arch.dispatch(Pass::<T, W, 1> { taps, rows, at, first, out }),
            2 => arch.dispatch(Pass::<T, W, 2> { taps, rows, at, first, out }),
            3 => arch.dispatch(Pass::<T, W, 3> { taps, rows, at, first, out }),
            4 => arch.dispatch(Pass::<T, W, 4> { taps, rows, at, first, out }),
            _ => arch.dispatch(Pass::<T, W, TERMS> { taps, rows, at, first, out }),
        }
    }
}

/// Sets `out[i]` to `result` of the sum over the taps of the terms of `rows[row][at + shift + i]`, if the number of
/// taps is that of factors of windows 3 and 5 wide. Returns whether it did.
pub(super) fn fold_few<T: Copy + Zeroable, W: Term<T>, U: Number>(
    arch: Arch,
    taps: &[Tap<W>],
    rows: &[&[T]],
    at: usize,
    out: &mut [U],
    result: impl Fn(W::Sum) -> U,
) -> bool {
    match taps.len() {
        2 => arch.dispatch(Only::<T, W, U, _, 2> { taps, rows, at, out, result }),
        3 => arch.dispatch(Only::<T, W, U, _, 3> { taps, rows, at, out, result }),
        TERMS => arch.dispatch(Only::<T, W, U, _, TERMS> { taps, rows, at, out, result }),
        _ => return false,
    }
    true
}

/// The elements of the first `N` taps, in blocks.
#[inline(always)]
fn lines<'a, T, W, const N: usize>(
    taps: &[Tap<W>; N],
    rows: &'a [&[T]],
    at: usize,
    len: usize,
) -> [&'a [[T; LANES]]; N] {
    let mut lines: [&[[T; LANES]]; N] = [&[]; N];
    for t in 0..N {
        lines[t] = rows[taps[t].row][at + taps[t].shift..][..len].as_chunks().0;
    }
    lines
}

/// A pass over `N` taps.
struct Pass<'a, T, W: Term<T>, const N: usize> {
    taps: &'a [Tap<W>],
    rows: &'a [&'a [T]],
    at: usize,
    /// Whether nothing has been added yet.
    first: bool,
    out: &'a mut [W::Sum],
}

impl<T: Copy + Zeroable, W: Term<T>, const N: usize> WithSimd for Pass<'_, T, W, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { taps, rows, at, first, out } = self;
        let Some(taps) = taps.first_chunk::<N>() else { return };
        let lines = lines(taps, rows, at, out.len());
        // Copies, so that writes to `out` cannot alias them.
        let terms = taps.map(|tap| tap.term);
        let none = [T::zeroed(); LANES];
        for (block, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut pixels = [&none; N];
            for t in 0..N {
                pixels[t] = &lines[t][block];
            }
            for i in 0..LANES {
                let mut sum =
                    if first { terms[0].first(pixels[0][i]) } else { terms[0].next(out[i], pixels[0][i]) };
                for t in 1..N {
                    sum = terms[t].next(sum, pixels[t][i]);
                }
                out[i] = sum;
            }
        }
    }
}

/// A single pass over `N` taps, and the function applied to the sum.
struct Only<'a, T, W, U, F, const N: usize> {
    taps: &'a [Tap<W>],
    rows: &'a [&'a [T]],
    at: usize,
    out: &'a mut [U],
    result: F,
}

impl<T, W, U, F, const N: usize> WithSimd for Only<'_, T, W, U, F, N>
where
    T: Copy + Zeroable,
    W: Term<T>,
    U: Number,
    F: Fn(W::Sum) -> U,
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { taps, rows, at, out, result } = self;
        let Some(taps) = taps.first_chunk::<N>() else { return };
        let lines = lines(taps, rows, at, out.len().next_multiple_of(LANES));
        let terms = taps.map(|tap| tap.term);
        let none = [T::zeroed(); LANES];
        blocks(
            out,
            #[inline(always)]
            |block, out| {
                let mut pixels = [&none; N];
                for t in 0..N {
                    pixels[t] = &lines[t][block];
                }
                for i in 0..LANES {
                    let mut sum = terms[0].first(pixels[0][i]);
                    for t in 1..N {
                        sum = terms[t].next(sum, pixels[t][i]);
                    }
                    out[i] = result(sum);
                }
            },
        );
    }
}

/// Sums down columns for a group of rows of windows, each of `N` rows with a term each, of `READ` rows of pixels.
pub(super) struct GroupPass<'a, T, W: Term<T>, const N: usize, const READ: usize> {
    pub(super) terms: [W; N],
    pub(super) rows: [&'a [T]; READ],
    pub(super) outs: [&'a mut [W::Sum]; GROUP],
}

impl<T: Copy + Zeroable, W: Term<T>, const N: usize, const READ: usize> WithSimd
    for GroupPass<'_, T, W, N, READ>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { terms, rows, outs } = self;
        let blocks = outs[0].len() / LANES;
        let lines = rows.map(|row| &row.as_chunks::<LANES>().0[..blocks]);
        let outs = outs.map(|out| &mut out.as_chunks_mut::<LANES>().0[..blocks]);
        for block in 0..blocks {
            let pixels = lines.map(|line| &line[block]);
            let mut sums = [[W::Sum::zeroed(); LANES]; GROUP];
            #[allow(clippy::needless_range_loop, reason = "an index for all rows at once")]
            for i in 0..LANES {
                let column = pixels.map(|pixels| pixels[i]);
                let column = column_sums::<T, W, N, READ>(terms, column);
                for r in 0..GROUP {
                    sums[r][i] = column[r];
                }
            }
            for r in 0..GROUP {
                outs[r][block] = sums[r];
            }
        }
    }
}

/// The sums of the windows in a column. Two neighbours share what they have in common, if their terms are alike.
#[inline(always)]
fn column_sums<T: Copy, W: Term<T>, const N: usize, const READ: usize>(
    terms: [W; N],
    column: [T; READ],
) -> [W::Sum; GROUP] {
    let sum = |from: usize, count: usize| {
        let mut sum = terms[0].first(column[from]);
        for k in 1..count {
            sum = terms[k].next(sum, column[from + k]);
        }
        sum
    };
    let mut sums = [W::Sum::zeroed(); GROUP];
    for r in (0..GROUP).step_by(2) {
        let common = sum(r + 1, N - 1);
        let [above, below] = [r, r + N].map(|row| W::joined(common, terms[0].first(column[row])));
        sums[r] = above.unwrap_or_else(|| sum(r, N));
        sums[r + 1] = below.unwrap_or_else(|| sum(r + 1, N));
    }
    sums
}
