//! Kernels composed of sums over windows and a function of the sums.

use bytemuck::Zeroable;
use pulp::{Arch, Simd, WithSimd};

use super::fold::{DOWN_ROWS, GroupPass, Tap, Term, fold, fold_into, terms};
use super::number::Number;
use super::rows::{GROUP, Kernel, LANES};
use crate::aligned::Aligned;

/// The number of bytes of sums of each row that a kernel takes through all its steps before the next ones: the sums of a
/// group of rows, their pixels and their results stay in the first-level cache.
const CHUNK_BYTES: usize = 2048;

/// The number of elements in [`CHUNK_BYTES`].
pub(super) const fn chunk_len<T>() -> usize {
    CHUNK_BYTES / size_of::<T>()
}

/// What does the last pass: gets its taps, rows and start. Not a type of its own for each: it is called once for many sums.
pub(super) type LastPass<'a, P, W> = dyn FnMut(&[Tap<W>], &[&[P]], usize) + 'a;

/// Sums over windows.
pub(super) trait Sums<T> {
    /// The type of the elements in the last pass.
    type Pixel: Copy + Zeroable;

    /// The terms of the last pass.
    type Term: Term<Self::Pixel>;

    /// Does all passes except the last for `len` sums of each of `count` neighbouring rows, from element `at` on, and
    /// calls `last` with the last pass's taps, rows and start. Its first row is that of the first row's window, the next
    /// one that of the next row's, and so on. `count` is at most [`GROUP`].
    fn sums(
        &mut self,
        rows: &[&[T]],
        count: usize,
        at: usize,
        len: usize,
        last: &mut LastPass<'_, Self::Pixel, Self::Term>,
    );
}

/// Each pixel has its own term.
pub(super) struct Full<W> {
    taps: Vec<Tap<W>>,
}

impl<W> Full<W> {
    /// `terms` are the terms of the pixels, row by row; `None` for pixels that do not count. Columns are `step`
    /// elements apart.
    pub(super) fn new(terms: impl IntoIterator<Item = Option<W>>, width: usize, step: usize) -> Self {
        let taps = terms.into_iter().enumerate();
        let taps =
            taps.filter_map(|(i, term)| Some(Tap { row: i / width, shift: i % width * step, term: term? }));
        Self { taps: taps.collect() }
    }
}

impl<T: Copy + Zeroable, W: Term<T>> Sums<T> for Full<W> {
    type Pixel = T;
    type Term = W;

    fn sums(&mut self, rows: &[&[T]], _: usize, at: usize, _: usize, last: &mut LastPass<'_, T, W>) {
        last(&self.taps, rows, at);
    }
}

/// Sums down columns first, then sums across rows of the results.
pub(super) struct Separable<T, D: Term<T>, A> {
    arch: Arch,
    down: Vec<Tap<D>>,
    across: Vec<Tap<A>>,
    /// The sums down columns, of each row of a group.
    middle: Aligned<D::Sum>,
}

impl<T, D: Term<T>, A: Copy> Separable<T, D, A> {
    /// `down` has the term of each row and `across` that of each column; `None` for those that do not count. Columns
    /// are `step` elements apart.
    pub(super) fn new(
        arch: Arch,
        down: impl IntoIterator<Item = Option<D>>,
        across: impl IntoIterator<Item = Option<A>>,
        step: usize,
    ) -> Self {
        let down = down.into_iter().enumerate();
        let down = down.filter_map(|(row, term)| Some(Tap { row, shift: 0, term: term? })).collect();
        let across = across.into_iter().enumerate();
        let across: Vec<_> =
            across.filter_map(|(x, term)| Some(Tap { row: 0, shift: x * step, term: term? })).collect();
        Self { arch, down, across, middle: Aligned::filled(D::Sum::zeroed(), 0) }
    }
}

impl<T, D, A> Sums<T> for Separable<T, D, A>
where
    T: Copy + Zeroable,
    D: Term<T>,
    A: Term<D::Sum>,
{
    type Pixel = D::Sum;
    type Term = A;

    fn sums(
        &mut self,
        rows: &[&[T]],
        count: usize,
        at: usize,
        len: usize,
        last: &mut LastPass<'_, D::Sum, A>,
    ) {
        let halo = self.across.last().map_or(0, |tap| tap.shift);
        let len = (len.next_multiple_of(LANES) + halo).next_multiple_of(LANES);
        self.middle.resize(count * len, D::Sum::zeroed());
        let grouped = count.is_multiple_of(DOWN_ROWS)
            && (self.down_groups::<3, { 3 + DOWN_ROWS - 1 }>(rows, at, len)
                || self.down_groups::<5, { 5 + DOWN_ROWS - 1 }>(rows, at, len));
        if !grouped {
            for (row, middle) in self.middle.chunks_exact_mut(len).enumerate() {
                fold(self.arch, &self.down, &rows[row..], at, middle);
            }
        }
        let mut middles: [&[D::Sum]; GROUP] = [&[]; GROUP];
        for (middle, sums) in middles.iter_mut().zip(self.middle.chunks_exact(len)) {
            *middle = sums;
        }
        last(&self.across, &middles[..count], 0);
    }
}

impl<T: Copy + Zeroable, D: Term<T>, A> Separable<T, D, A> {
    /// Sums down columns for rows of windows, [`DOWN_ROWS`] at a time, if windows have `N` rows and all count.
    fn down_groups<const N: usize, const READ: usize>(
        &mut self,
        rows: &[&[T]],
        at: usize,
        len: usize,
    ) -> bool {
        let window = self.down.last().map_or(0, |tap| tap.row + 1);
        let Some(taps) =
            self.down.first_chunk::<N>().filter(|taps| window == N && taps.len() == self.down.len())
        else {
            return false;
        };
        let terms = terms(taps);
        let groups = rows.windows(READ).step_by(DOWN_ROWS);
        for (rows, outs) in groups.zip(self.middle.chunks_exact_mut(DOWN_ROWS * len)) {
            let Some(rows) = rows.first_chunk::<READ>() else { return false };
            let mut outs = outs.chunks_exact_mut(len);
            let outs = std::array::from_fn(|_| outs.next().unwrap_or_default());
            self.arch.dispatch(GroupPass { terms, rows: rows.map(|row| &row[at..][..len]), outs });
        }
        true
    }
}

/// Converts sums to results: `P` and `W` are the pixel and the term types of the last pass over the window.
pub(super) trait Finish<P, W: Term<P>, U> {
    /// Does the last pass, as [`Sums::sums`] describes it, for some rows of one length. `sums` has room for as many sums
    /// as each row has elements, rounded up to [`LANES`].
    fn finish(
        &self,
        arch: Arch,
        last: (&[Tap<W>], &[&[P]], usize),
        sums: &mut [W::Sum],
        outs: &mut [&mut [U]],
    );
}

/// The sums are the results.
pub(super) struct Keep;

impl<U: Number, W: Term<U, Sum = U>> Finish<U, W, U> for Keep {
    fn finish(&self, arch: Arch, last: (&[Tap<W>], &[&[U]], usize), sums: &mut [U], outs: &mut [&mut [U]]) {
        fold_into(
            arch,
            last,
            sums,
            outs,
            #[inline(always)]
            |sum| sum,
        );
    }
}

/// `out[i] = result(sums[i])`; `sums` is as long as `out` rounded up to [`LANES`].
pub(super) fn each<S: Copy, U: Number>(arch: Arch, sums: &[S], out: &mut [U], result: impl Fn(S) -> U) {
    arch.dispatch(Each { sums, out, result });
}

struct Each<'a, S, U, F> {
    sums: &'a [S],
    out: &'a mut [U],
    result: F,
}

impl<S: Copy, U: Number, F: Fn(S) -> U> WithSimd for Each<'_, S, U, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<V: Simd>(self, _: V) {
        let Self { sums, out, result } = self;
        let sums = sums.as_chunks::<LANES>().0;
        blocks(
            out,
            #[inline(always)]
            |index, out| {
                let sums = &sums[index];
                for i in 0..LANES {
                    out[i] = result(sums[i]);
                }
            },
        );
    }
}

/// Calls `write` for every block of a row, the last of which may extend past its end.
#[inline(always)]
pub(super) fn blocks<U: Zeroable + Copy>(out: &mut [U], mut write: impl FnMut(usize, &mut [U; LANES])) {
    let (whole, rest) = out.as_chunks_mut();
    let count = whole.len();
    for (index, block) in whole.iter_mut().enumerate() {
        write(index, block);
    }
    if !rest.is_empty() {
        let mut block = [U::zeroed(); LANES];
        write(count, &mut block);
        rest.copy_from_slice(&block[..rest.len()]);
    }
}

/// Sums over windows, and their conversion to results.
pub(super) struct Finished<S, V, F> {
    arch: Arch,
    of: S,
    sums: Aligned<V>,
    finish: F,
}

impl<S, V: Zeroable + Copy, F> Finished<S, V, F> {
    pub(super) fn new(arch: Arch, of: S, finish: F) -> Self {
        Self { arch, of, sums: Aligned::filled(V::zeroed(), chunk_len::<V>()), finish }
    }
}

impl<T, U, S, F> Kernel<T, U> for Finished<S, <S::Term as Term<S::Pixel>>::Sum, F>
where
    S: Sums<T>,
    F: Finish<S::Pixel, S::Term, U>,
{
    fn run(&mut self, rows: &[&[T]], outs: &mut [&mut [U]]) {
        let Self { arch, of, sums, finish } = self;
        let (len, count) = (outs.first().map_or(0, |out| out.len()), outs.len());
        for first in (0..len).step_by(sums.len()) {
            let part = first..len.min(first + sums.len());
            let sums = &mut sums[..part.len().next_multiple_of(LANES)];
            let mut parts: [&mut [U]; GROUP] = Default::default();
            for (part_of, out) in parts.iter_mut().zip(&mut *outs) {
                *part_of = &mut out[part.clone()];
            }
            let parts = &mut parts[..count];
            of.sums(rows, count, first, part.len(), &mut |taps, rows, at| {
                finish.finish(*arch, (taps, rows, at), sums, parts);
            });
        }
    }
}
