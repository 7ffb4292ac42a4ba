//! Sums and extremes over windows, for many neighbouring results at a time.

use bytemuck::Zeroable;
use pulp::{Arch, Simd, WithSimd};

use super::kernel::{blocks, each};
use super::number::Number;
use super::rows::LANES;

/// The contribution of a pixel of a window to the result.
pub(super) trait Term<T>: Copy {
    /// The type of the result.
    type Sum: Copy + Zeroable;

    fn first(self, pixel: T) -> Self::Sum;

    fn next(self, sum: Self::Sum, pixel: T) -> Self::Sum;

    /// Whether sums may be taken in any order, and all terms are alike.
    const JOINS: bool = false;

    /// The sum of all pixels of two sums, if [`Self::JOINS`].
    #[inline(always)]
    fn joined(first: Self::Sum, _: Self::Sum) -> Self::Sum {
        first
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

impl<T: Number> Term<T> for Weight<f32> {
    type Sum = f32;

    #[inline(always)]
    fn first(self, pixel: T) -> f32 {
        self.0 * pixel.to_float()
    }

    #[inline(always)]
    fn next(self, sum: f32, pixel: T) -> f32 {
        sum + self.0 * pixel.to_float()
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

    const JOINS: bool = true;

    #[inline(always)]
    fn joined(first: u16, second: u16) -> u16 {
        first.wrapping_add(second)
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

    const JOINS: bool = !T::REAL;

    #[inline(always)]
    fn joined(first: T, second: T) -> T {
        first.least(second)
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

    const JOINS: bool = !T::REAL;

    #[inline(always)]
    fn joined(first: T, second: T) -> T {
        first.most(second)
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

/// Sets element i of `outs[r]` to `result` of the sum over the taps of the terms of `rows[r + row][at + shift + i]`. All
/// rows have one length; `sums` has room for as many sums as they have elements, rounded up to [`LANES`].
pub(super) fn fold_into<T: Copy + Zeroable, W: Term<T>, U: Number>(
    arch: Arch,
    (taps, rows, at): (&[Tap<W>], &[&[T]], usize),
    sums: &mut [W::Sum],
    outs: &mut [&mut [U]],
    result: impl Fn(W::Sum) -> U + Copy,
) {
    let (before, last) = taps.split_at(taps.len().saturating_sub(TERMS));
    match last.len() {
        _ if !before.is_empty() => {}
        // The factors of windows 3 and 5 wide.
        2 => return arch.dispatch(Last::<T, W, U, _, 2, true> { taps, rows, at, sums, outs, result }),
        3 => return arch.dispatch(Last::<T, W, U, _, 3, true> { taps, rows, at, sums, outs, result }),
        TERMS => {
            return arch.dispatch(Last::<T, W, U, _, TERMS, true> { taps, rows, at, sums, outs, result });
        }
        _ => {}
    }
    for (row, out) in outs.iter_mut().enumerate() {
        let rows = &rows[row..];
        if before.is_empty() {
            fold(arch, taps, rows, at, sums);
            each(arch, sums, out, result);
        } else {
            fold(arch, before, rows, at, sums);
            let outs = std::slice::from_mut(out);
            arch.dispatch(Last::<T, W, U, _, TERMS, false> { taps: last, rows, at, sums, outs, result });
        }
    }
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

/// Not by `map`, whose functions would be compiled for every kind of term and vectors.
#[inline(always)]
pub(super) fn terms<W: Copy, const N: usize>(taps: &[Tap<W>; N]) -> [W; N] {
    let mut terms = [taps[0].term; N];
    for t in 1..N {
        terms[t] = taps[t].term;
    }
    terms
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
        let terms = terms(taps);
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

/// The last pass over `N` taps, for some rows, and the function applied to the sum.
struct Last<'a, 'o, T, W: Term<T>, U, F, const N: usize, const FIRST: bool> {
    taps: &'a [Tap<W>],
    rows: &'a [&'a [T]],
    at: usize,
    /// The sums of the passes before, unless it is the first one.
    sums: &'a [W::Sum],
    outs: &'a mut [&'o mut [U]],
    result: F,
}

impl<T, W, U, F, const N: usize, const FIRST: bool> WithSimd for Last<'_, '_, T, W, U, F, N, FIRST>
where
    T: Copy + Zeroable,
    W: Term<T>,
    U: Number,
    F: Fn(W::Sum) -> U,
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { taps, rows, at, sums, outs, result } = self;
        let Some(taps) = taps.first_chunk::<N>() else { return };
        let terms = terms(taps);
        let none = [T::zeroed(); LANES];
        let no_sums = [W::Sum::zeroed(); LANES];
        let sums = sums.as_chunks::<LANES>().0;
        for (row, out) in outs.iter_mut().enumerate() {
            let lines = lines(taps, &rows[row..], at, out.len().next_multiple_of(LANES));
            blocks(
                out,
                #[inline(always)]
                |block, out| {
                    let mut pixels = [&none; N];
                    for t in 0..N {
                        pixels[t] = &lines[t][block];
                    }
                    let sums = if FIRST { &no_sums } else { &sums[block] };
                    for i in 0..LANES {
                        let mut sum = if FIRST {
                            terms[0].first(pixels[0][i])
                        } else {
                            terms[0].next(sums[i], pixels[0][i])
                        };
                        for t in 1..N {
                            sum = terms[t].next(sum, pixels[t][i]);
                        }
                        out[i] = result(sum);
                    }
                },
            );
        }
    }
}

/// The number of rows of windows that are summed together: their sums and the pixels of a window fit into 16 registers
/// of 32 bytes only if there are few.
pub(super) const DOWN_ROWS: usize = 4;

/// Sums down columns for [`DOWN_ROWS`] rows of windows, each of `N` rows with a term each, of `READ` rows of pixels.
pub(super) struct GroupPass<'a, T, W: Term<T>, const N: usize, const READ: usize> {
    pub(super) terms: [W; N],
    pub(super) rows: [&'a [T]; READ],
    pub(super) outs: [&'a mut [W::Sum]; DOWN_ROWS],
}

impl<T: Copy + Zeroable, W: Term<T>, const N: usize, const READ: usize> WithSimd
    for GroupPass<'_, T, W, N, READ>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        // 64 bytes of sums: those of a group and the pixels of a window stay in registers.
        match size_of::<W::Sum>() {
            1 => self.run::<64>(),
            2 => self.run::<32>(),
            _ => self.run::<16>(),
        }
    }
}

impl<T: Copy + Zeroable, W: Term<T>, const N: usize, const READ: usize> GroupPass<'_, T, W, N, READ> {
    /// Computes `L` neighbouring sums of every row at a time. Each operation is a loop over them: a loop over columns in
    /// their place would have its operations on each column, one beside the other, taken for those of a vector.
    #[inline(always)]
    fn run<const L: usize>(self) {
        let Self { terms, rows, outs } = self;
        let blocks = outs[0].len() / L;
        // Not by `map`, which is not always inlined: then the loop would check every index.
        let mut lines: [&[[T; L]]; READ] = [&[]; READ];
        for (line, row) in lines.iter_mut().zip(rows) {
            *line = &row.as_chunks().0[..blocks];
        }
        let mut written: [&mut [[W::Sum; L]]; DOWN_ROWS] = Default::default();
        for (written, out) in written.iter_mut().zip(outs) {
            *written = &mut out.as_chunks_mut().0[..blocks];
        }
        let joined = |a: [W::Sum; L], b: [W::Sum; L]| lanes(a, b, W::joined);
        let zeros = [W::Sum::zeroed(); L];
        for block in 0..blocks {
            let mut sums = [zeros; DOWN_ROWS];
            if W::JOINS {
                let mut pixels = [zeros; READ];
                for r in 0..READ {
                    pixels[r] = lanes(zeros, lines[r][block], |_, pixel| terms[0].first(pixel));
                }
                // Two neighbours share what they have in common.
                for r in (0..DOWN_ROWS).step_by(2) {
                    let mut common = pixels[r + 1];
                    for k in 2..N {
                        common = joined(common, pixels[r + k]);
                    }
                    sums[r] = joined(common, pixels[r]);
                    sums[r + 1] = joined(common, pixels[r + N]);
                }
            } else {
                for r in 0..READ {
                    let pixels = lines[r][block];
                    for (row, sums) in sums.iter_mut().enumerate() {
                        if row == r {
                            *sums = lanes(zeros, pixels, |_, pixel| terms[0].first(pixel));
                        } else if row < r && r - row < N {
                            *sums = lanes(*sums, pixels, |sum, pixel| terms[r - row].next(sum, pixel));
                        }
                    }
                }
            }
            for r in 0..DOWN_ROWS {
                written[r][block] = sums[r];
            }
        }
    }
}

/// `operation` on each lane.
#[inline(always)]
pub(super) fn lanes<A: Copy + Zeroable, B: Copy, const L: usize>(
    mut a: [A; L],
    b: [B; L],
    operation: impl Fn(A, B) -> A,
) -> [A; L] {
    for i in 0..L {
        a[i] = operation(a[i], b[i]);
    }
    a
}
