//! Kernels composed of sums over windows and a function of the sums.

use bytemuck::{Zeroable, zeroed_vec};
use pulp::{Arch, Simd, WithSimd};

use super::fold::{GroupPass, Tap, Term, fold, fold_few};
use super::number::Number;
use super::rows::{GROUP, Kernel, LANES, PART};

/// The number of elements that a kernel takes through all its steps before the next ones. Including the margins of the
/// stages after it, a part of a row seldom has more.
pub(super) const CHUNK: usize = 2 * PART;

/// The number of elements of each row of a group that are taken through all steps together: they stay in the
/// first-level cache.
const GROUP_CHUNK: usize = 16 * LANES;

/// Sums over windows.
pub(super) trait Sums<T> {
    /// The type of the elements in the last pass.
    type Pixel: Copy + Zeroable;

    /// The terms of the last pass.
    type Term: Term<Self::Pixel>;

    /// Does all passes except the last for `len` sums from element `at` on, and calls `last` with the last pass's taps,
    /// rows and start.
    fn sums(
        &mut self,
        rows: &[&[T]],
        at: usize,
        len: usize,
        last: impl FnOnce(&[Tap<Self::Term>], &[&[Self::Pixel]], usize),
    );

    /// As [`Self::sums`] for [`GROUP`] neighbouring rows; `last` gets the row's index first. Returns whether it did
    /// anything: not if one row at a time is as fast.
    fn group_sums(
        &mut self,
        _rows: &[&[T]],
        _at: usize,
        _len: usize,
        _last: impl FnMut(usize, &[Tap<Self::Term>], &[&[Self::Pixel]], usize),
    ) -> bool {
        false
    }
}

/// Each pixel has its own term.
pub(super) struct Full<W> {
    taps: Vec<Tap<W>>,
}

impl<W> Full<W> {
    /// `terms` are the terms of the pixels, row by row; `None` for pixels that do not count. Columns are `step`
    /// elements apart.
    pub(super) fn new(
        terms: impl IntoIterator<Item = Option<W>>,
        [width, _]: [usize; 2],
        step: usize,
    ) -> Self {
        let taps = terms.into_iter().enumerate();
        let taps =
            taps.filter_map(|(i, term)| Some(Tap { row: i / width, shift: i % width * step, term: term? }));
        Self { taps: taps.collect() }
    }
}

impl<T: Copy + Zeroable, W: Term<T>> Sums<T> for Full<W> {
    type Pixel = T;
    type Term = W;

    fn sums(&mut self, rows: &[&[T]], at: usize, _: usize, last: impl FnOnce(&[Tap<W>], &[&[T]], usize)) {
        last(&self.taps, rows, at);
    }
}

/// Sums down columns first, then sums across rows of the results.
pub(super) struct Separable<T, D: Term<T>, A> {
    arch: Arch,
    down: Vec<Tap<D>>,
    across: Vec<Tap<A>>,
    middle: Vec<D::Sum>,
    /// The same for a group of rows.
    group: Vec<D::Sum>,
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
        let halo = across.last().map_or(0, |tap| tap.shift);
        Self {
            arch,
            down,
            across,
            middle: zeroed_vec((CHUNK + halo).next_multiple_of(LANES)),
            group: Vec::new(),
        }
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
        at: usize,
        len: usize,
        last: impl FnOnce(&[Tap<A>], &[&[D::Sum]], usize),
    ) {
        let halo = self.across.last().map_or(0, |tap| tap.shift);
        let middle = &mut self.middle[..(len.next_multiple_of(LANES) + halo).next_multiple_of(LANES)];
        fold(self.arch, &self.down, rows, at, middle);
        last(&self.across, &[middle], 0);
    }

    fn group_sums(
        &mut self,
        rows: &[&[T]],
        at: usize,
        len: usize,
        mut last: impl FnMut(usize, &[Tap<A>], &[&[D::Sum]], usize),
    ) -> bool {
        let halo = self.across.last().map_or(0, |tap| tap.shift);
        let len = (len.next_multiple_of(LANES) + halo).next_multiple_of(LANES);
        self.group.resize(GROUP * len, D::Sum::zeroed());
        // Sums of three rows are as fast one row at a time, on AVX2 twice as fast.
        if !self.down_group::<5, { 5 + GROUP - 1 }>(rows, at, len) {
            return false;
        }
        for (row, middle) in self.group.chunks_exact(len).enumerate() {
            last(row, &self.across, &[middle], 0);
        }
        true
    }
}

impl<T: Copy + Zeroable, D: Term<T>, A> Separable<T, D, A> {
    /// Sums down columns for a group of rows, if windows have `N` rows and all count.
    fn down_group<const N: usize, const READ: usize>(
        &mut self,
        rows: &[&[T]],
        at: usize,
        len: usize,
    ) -> bool {
        let (Some(taps), Some(rows)) = (self.down.first_chunk::<N>(), rows.first_chunk::<READ>()) else {
            return false;
        };
        if rows.len() != READ || self.down.len() != N || taps.iter().zip(0..).any(|(tap, row)| tap.row != row)
        {
            return false;
        }
        let mut outs = self.group.chunks_exact_mut(len);
        let outs = std::array::from_fn(|_| outs.next().unwrap_or_default());
        let (terms, rows) = (taps.map(|tap| tap.term), rows.map(|row| &row[at..][..len]));
        self.arch.dispatch(GroupPass { terms, rows, outs });
        true
    }
}

/// Converts sums to results: `P` and `W` are the pixel and the term types of the last pass over the window.
pub(super) trait Finish<P, W: Term<P>, U> {
    /// Does the last pass. `sums` has room for as many sums as `out` has elements, rounded up to [`LANES`].
    fn finish(&self, arch: Arch, last: (&[Tap<W>], &[&[P]], usize), sums: &mut [W::Sum], out: &mut [U]);
}

/// The sums are the results.
pub(super) struct Keep;

impl<U: Number, W: Term<U, Sum = U>> Finish<U, W, U> for Keep {
    fn finish(
        &self,
        arch: Arch,
        (taps, rows, at): (&[Tap<W>], &[&[U]], usize),
        sums: &mut [U],
        out: &mut [U],
    ) {
        fold(arch, taps, rows, at, sums);
        out.copy_from_slice(&sums[..out.len()]);
    }
}

/// Computes the results from the sums of a last pass, in one loop if it has few taps.
pub(super) fn fold_into<P: Copy + Zeroable, W: Term<P>, U: Number>(
    arch: Arch,
    (taps, rows, at): (&[Tap<W>], &[&[P]], usize),
    sums: &mut [W::Sum],
    out: &mut [U],
    result: impl Fn(W::Sum) -> U,
) {
    if !fold_few(arch, taps, rows, at, out, &result) {
        fold(arch, taps, rows, at, sums);
        each(arch, sums, out, result);
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
    sums: Vec<V>,
    finish: F,
}

impl<S, V: Zeroable + Clone, F> Finished<S, V, F> {
    pub(super) fn new(arch: Arch, of: S, finish: F) -> Self {
        Self { arch, of, sums: zeroed_vec(CHUNK), finish }
    }
}

impl<T, U, S, F> Kernel<T, U> for Finished<S, <S::Term as Term<S::Pixel>>::Sum, F>
where
    S: Sums<T>,
    F: Finish<S::Pixel, S::Term, U>,
{
    fn run(&mut self, rows: &[&[T]], out: &mut [U]) {
        let Self { arch, of, sums, finish } = self;
        for (index, out) in out.chunks_mut(CHUNK).enumerate() {
            let sums = &mut sums[..out.len().next_multiple_of(LANES)];
            of.sums(rows, index * CHUNK, out.len(), |taps, rows, at| {
                finish.finish(*arch, (taps, rows, at), sums, out);
            });
        }
    }

    fn run_group(&mut self, rows: &[&[T]], outs: &mut [&mut [U]]) {
        let Self { arch, of, sums, finish } = self;
        let window = rows.len() + 1 - outs.len();
        let len = outs.first().map_or(0, |out| out.len());
        for at in (0..len).step_by(GROUP_CHUNK) {
            let part = at..len.min(at + GROUP_CHUNK);
            let sums = &mut sums[..part.len().next_multiple_of(LANES)];
            let grouped = outs.len() == GROUP
                && of.group_sums(rows, at, part.len(), |row, taps, middle, from| {
                    finish.finish(*arch, (taps, middle, from), sums, &mut outs[row][part.clone()]);
                });
            if !grouped {
                for (index, out) in outs.iter_mut().enumerate() {
                    self.run(&rows[index..][..window], out);
                }
                return;
            }
        }
    }
}
