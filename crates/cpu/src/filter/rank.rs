//! Medians and extremes.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use tripipe_kernels::filter::{Morphology, Neighbourhood, Size};

use super::fold::{Least, Most, Term, lanes};
use super::kernel::{Finished, Full, Keep, Separable, blocks, chunk_len};
use super::number::Number;
use super::rows::{Input, Kernel, LANES, Rows};
use crate::aligned::Aligned;

/// The results of an erosion or a dilation.
pub(super) fn morphology<T: Number>(
    input: Input<'_, T>,
    morphology: Morphology,
    arch: Arch,
) -> Box<dyn Rows<T> + '_> {
    match morphology {
        Morphology::Erode(neighbourhood) => extremes(input, neighbourhood, Least, arch),
        Morphology::Dilate(neighbourhood) => extremes(input, neighbourhood, Most, arch),
    }
}

fn extremes<'a, T: Number>(
    input: Input<'a, T>,
    neighbourhood: Neighbourhood,
    extreme: impl Term<T, Sum = T> + 'a,
    arch: Arch,
) -> Box<dyn Rows<T> + 'a> {
    let (size, step) = (neighbourhood.size(), input.shape.channels);
    let Size { width, height } = size;
    match neighbourhood {
        Neighbourhood::Rectangle(_) => {
            let sums = Separable::new(arch, vec![Some(extreme); height], vec![Some(extreme); width], step);
            let kernel = Finished::new(arch, sums, Keep);
            input.windows(size, WithNan { kernel, arch, neighbourhood, step })
        }
        Neighbourhood::Cross(_) => {
            let places = (0..width * height).map(|i| (i % width, i / width));
            let terms = places.map(|(x, y)| neighbourhood.contains(x, y).then_some(extreme));
            let kernel = Finished::new(arch, Full::new(terms, width, step), Keep);
            input.windows(size, WithNan { kernel, arch, neighbourhood, step })
        }
    }
}

/// The medians of windows of 3 x 3 or 5 x 5.
pub(super) fn median<T: Number>(input: Input<'_, T>, size: usize, arch: Arch) -> Box<dyn Rows<T> + '_> {
    let step = input.shape.channels;
    let neighbourhood = Neighbourhood::Rectangle(Size::square(size));
    if size == 3 {
        let kernel = Median3 { arch, step };
        input.windows(Size::square(3), WithNan { kernel, arch, neighbourhood, step })
    } else {
        let kernel = Median5::new(arch, step);
        input.windows(Size::square(5), WithNan { kernel, arch, neighbourhood, step })
    }
}

/// A kernel of comparisons, which lose a NaN; here the result of every window that holds one is NaN.
pub(super) struct WithNan<K> {
    pub(super) kernel: K,
    pub(super) arch: Arch,
    pub(super) neighbourhood: Neighbourhood,
    pub(super) step: usize,
}

impl<T: Number, K: Kernel<T, T>> Kernel<T, T> for WithNan<K> {
    fn run(&mut self, rows: &[&[T]], outs: &mut [&mut [T]]) {
        self.kernel.run(rows, outs);
        let Size { width, height } = self.neighbourhood.size();
        let read = outs.first().map_or(0, |out| out.len()) + (width - 1) * self.step;
        if !T::REAL || !rows.iter().any(|row| self.arch.dispatch(HoldsNan(&row[..read]))) {
            return;
        }
        for (rows, out) in rows.windows(height).zip(outs) {
            match self.neighbourhood {
                Neighbourhood::Rectangle(_) => mark(rows, 0..width, self.step, out),
                Neighbourhood::Cross(_) => {
                    mark(rows, width / 2..width / 2 + 1, self.step, out);
                    mark(&rows[height / 2..][..1], 0..width, self.step, out);
                }
            }
        }
    }
}

/// Whether an element is NaN.
struct HoldsNan<'a, T>(&'a [T]);

impl<T: Number> WithSimd for HoldsNan<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        self.0.iter().fold(false, |found, value| found | value.is_nan())
    }
}

/// Sets results to NaN whose windows, `rows` with these columns, hold one.
fn mark<T: Number>(rows: &[&[T]], columns: Range<usize>, step: usize, out: &mut [T]) {
    let read = out.len() + (columns.end - 1) * step;
    let holds: Vec<bool> = (0..read).map(|at| rows.iter().any(|row| row[at].is_nan())).collect();
    for (at, out) in out.iter_mut().enumerate() {
        if columns.clone().any(|column| holds[at + column * step]) {
            *out = T::from_float(f32::NAN);
        }
    }
}

/// Medians of 3 x 3: the three pixels of a window in each row are sorted, once for all windows that share them.
struct Median3 {
    arch: Arch,
    step: usize,
}

impl<T: Number> Kernel<T, T> for Median3 {
    fn run(&mut self, rows: &[&[T]], outs: &mut [&mut [T]]) {
        let Self { arch, step } = *self;
        let mut done = 0;
        while done < outs.len() {
            let (rows, outs) = (&rows[done..], &mut outs[done..]);
            if let (Some(rows), Some(outs)) = (rows.first_chunk::<10>(), outs.first_chunk_mut::<8>()) {
                arch.dispatch(Middles3::<T, 8, 10> { rows, outs, step });
                done += 8;
            } else if let (Some(rows), Some(outs)) = (rows.first_chunk::<4>(), outs.first_chunk_mut::<2>()) {
                arch.dispatch(Middles3::<T, 2, 4> { rows, outs, step });
                done += 2;
            } else if let (Some(rows), Some(outs)) = (rows.first_chunk::<3>(), outs.first_chunk_mut::<1>()) {
                arch.dispatch(Middles3::<T, 1, 3> { rows, outs, step });
                done += 1;
            } else {
                return;
            }
        }
    }
}

/// The medians of `N` rows of windows, 1, 2 or 8, of `READ = N + 2` rows of pixels.
struct Middles3<'a, 'o, T, const N: usize, const READ: usize> {
    rows: &'a [&'a [T]; READ],
    outs: &'a mut [&'o mut [T]; N],
    step: usize,
}

impl<T: Number, const N: usize, const READ: usize> WithSimd for Middles3<'_, '_, T, N, READ> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        // 64 bytes: what neighbouring windows share stays in registers.
        match size_of::<T>() {
            1 => self.run::<64>(),
            2 => self.run::<32>(),
            _ => self.run::<16>(),
        }
    }
}

impl<T: Number, const N: usize, const READ: usize> Middles3<'_, '_, T, N, READ> {
    /// Computes `L` neighbouring medians of every row at a time, each operation as a loop over them. Medians are written
    /// at once: in arrays of their own they would pass through memory twice.
    #[inline(always)]
    fn run<const L: usize>(self) {
        let Self { rows, outs, step } = self;
        let len = outs[0].len();
        let whole = len / L;
        let mut last = [[T::zeroed(); L]; N];
        for is_last in [false, true] {
            let blocks = if is_last { whole..len.div_ceil(L) } else { 0..whole };
            let count = blocks.len();
            let mut lines: [[&[[T; L]]; 3]; READ] = [[&[]; 3]; READ];
            for r in 0..READ {
                for x in 0..3 {
                    lines[r][x] = &rows[r][x * step..].as_chunks().0[blocks.clone()];
                }
            }
            let mut written: [&mut [[T; L]]; N] = std::array::from_fn(|_| Default::default());
            for ((written, out), last) in written.iter_mut().zip(&mut *outs).zip(&mut last) {
                *written =
                    if is_last { &mut std::slice::from_mut(last)[..count] } else { out.as_chunks_mut().0 };
            }
            for block in 0..count {
                let mut triples = [triple(&lines[0], block), triple(&lines[1], block)];
                // Not a loop, which would be compiled before it is unrolled, with arrays in memory.
                triples = pair(0, triples, &lines, &mut written, block);
                if N > 2 {
                    triples = pair(2, triples, &lines, &mut written, block);
                    triples = pair(4, triples, &lines, &mut written, block);
                    pair(6, triples, &lines, &mut written, block);
                }
            }
        }
        for (out, last) in outs.iter_mut().zip(&last) {
            let rest = out.as_chunks_mut::<L>().1;
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }
}

/// The three pixels of windows in one row, sorted: a block of the smallest, of the middle, and of the largest ones.
#[inline(always)]
fn triple<T: Number, const L: usize>(lines: &[&[[T; L]]; 3], block: usize) -> [[T; L]; 3] {
    let [a, b, c] = [lines[0][block], lines[1][block], lines[2][block]];
    let [less, more] = [lanes(a, b, T::least), lanes(a, b, T::most)];
    let [middle, most] = [lanes(more, c, T::least), lanes(more, c, T::most)];
    [lanes(less, middle, T::least), lanes(less, middle, T::most), most]
}

/// Writes the medians of row `r` of windows and of the next one, if there is one, given the sorted triples of the first
/// two rows of pixels of the windows. Returns those of the next two rows.
#[inline(always)]
fn pair<T: Number, const N: usize, const READ: usize, const L: usize>(
    r: usize,
    [above, upper]: [[[T; L]; 3]; 2],
    lines: &[[&[[T; L]]; 3]; READ],
    written: &mut [&mut [[T; L]]; N],
    block: usize,
) -> [[[T; L]; 3]; 2] {
    let lower = triple(&lines[r + 2], block);
    let common = Common::new(upper, lower);
    written[r][block] = common.median(above);
    if r + 1 == N {
        return [upper, lower];
    }
    let below = triple(&lines[r + 3], block);
    written[r + 1][block] = common.median(below);
    [lower, below]
}

/// What two windows, one a row below the other, have in common: what is left of their two common rows when the pixels
/// that cannot be the median are dropped.
struct Common<T, const L: usize> {
    low: [T; L],
    less: [T; L],
    more: [T; L],
    high: [T; L],
}

impl<T: Number, const L: usize> Common<T, L> {
    #[inline(always)]
    fn new(upper: [[T; L]; 3], lower: [[T; L]; 3]) -> Self {
        Self {
            low: lanes(upper[0], lower[0], T::most),
            less: lanes(upper[1], lower[1], T::least),
            more: lanes(upper[1], lower[1], T::most),
            high: lanes(upper[2], lower[2], T::least),
        }
    }

    /// The medians of the windows whose third row has these triples.
    #[inline(always)]
    fn median(&self, other: [[T; L]; 3]) -> [T; L] {
        let a = lanes(self.low, other[0], T::most);
        let b = lanes(self.less, lanes(self.more, other[1], T::least), T::most);
        let c = lanes(self.high, other[2], T::least);
        lanes(lanes(a, b, T::least), lanes(lanes(a, b, T::most), c, T::least), T::most)
    }
}

/// The extent of the larger windows.
const SIDE: usize = 5;

/// Medians of 5 x 5. Columns are sorted first, once for all windows that share them.
struct Median5<T> {
    arch: Arch,
    step: usize,
    /// The smallest pixel of each column, then the next ones, and so on.
    sorted: [Aligned<T>; SIDE],
}

impl<T: Number> Median5<T> {
    fn new(arch: Arch, step: usize) -> Self {
        let len = (chunk_len::<T>() + (SIDE - 1) * step).next_multiple_of(LANES);
        Self { arch, step, sorted: std::array::from_fn(|_| Aligned::filled(T::zeroed(), len)) }
    }
}

impl<T: Number> Kernel<T, T> for Median5<T> {
    fn run(&mut self, rows: &[&[T]], outs: &mut [&mut [T]]) {
        let len = outs.first().map_or(0, |out| out.len());
        for first in (0..len).step_by(chunk_len::<T>()) {
            let part = first..len.min(first + chunk_len::<T>());
            let columns = (part.len() + (SIDE - 1) * self.step).next_multiple_of(LANES);
            for (rows, out) in rows.windows(SIDE).zip(&mut *outs) {
                let Some(rows) = rows.first_chunk::<SIDE>() else { return };
                let rows = rows.map(|row| &row[first..][..columns]);
                let sorted = self.sorted.each_mut().map(|row| &mut row[..columns]);
                self.arch.dispatch(ColumnSort { rows, sorted });
                let sorted = self.sorted.each_ref().map(|row| &row[..]);
                self.arch.dispatch(Middles { sorted, step: self.step, out: &mut out[part.clone()] });
            }
        }
    }
}

/// Sorts columns.
struct ColumnSort<'a, T> {
    rows: [&'a [T]; SIDE],
    sorted: [&'a mut [T]; SIDE],
}

impl<T: Number> WithSimd for ColumnSort<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { rows, sorted } = self;
        for at in (0..rows[0].len()).step_by(LANES) {
            let mut blocks = [[T::zeroed(); LANES]; SIDE];
            for r in 0..SIDE {
                blocks[r].copy_from_slice(&rows[r][at..][..LANES]);
            }
            #[allow(clippy::needless_range_loop, reason = "an index for all blocks at once")]
            for i in 0..LANES {
                let mut column = [T::zeroed(); SIDE];
                for r in 0..SIDE {
                    column[r] = blocks[r][i];
                }
                sort(&mut column);
                for r in 0..SIDE {
                    blocks[r][i] = column[r];
                }
            }
            for r in 0..SIDE {
                sorted[r][at..][..LANES].copy_from_slice(&blocks[r]);
            }
        }
    }
}

/// Insertion sort, whose exchanges do not depend on the values: the minimum number of exchanges for 3 values, one more
/// than the minimum for 5.
#[inline(always)]
fn sort<T: Number, const N: usize>(values: &mut [T; N]) {
    for last in 1..N {
        for i in (0..last).rev() {
            exchange(values, i, i + 1);
        }
    }
}

/// Puts the smaller value into the first of two positions.
#[inline(always)]
fn exchange<T: Number>(values: &mut [T], a: usize, b: usize) {
    (values[a], values[b]) = (values[a].least(values[b]), values[a].most(values[b]));
}

/// The medians of windows whose columns are sorted.
struct Middles<'a, T> {
    sorted: [&'a [T]; SIDE],
    step: usize,
    out: &'a mut [T],
}

impl<T: Number> WithSimd for Middles<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { sorted, step, out } = self;
        let len = out.len().next_multiple_of(LANES);
        let none = [T::zeroed(); LANES];
        let mut lines: [[&[[T; LANES]]; SIDE]; SIDE] = [[&[]; SIDE]; SIDE];
        for rank in 0..SIDE {
            for x in 0..SIDE {
                lines[rank][x] = sorted[rank][x * step..][..len].as_chunks().0;
            }
        }
        blocks(
            out,
            #[inline(always)]
            |block, out| {
                let mut ranks = [[&none; SIDE]; SIDE];
                for rank in 0..SIDE {
                    for x in 0..SIDE {
                        ranks[rank][x] = &lines[rank][x][block];
                    }
                }
                for i in 0..LANES {
                    let mut window = [[T::zeroed(); SIDE]; SIDE];
                    for rank in 0..SIDE {
                        for x in 0..SIDE {
                            window[rank][x] = ranks[rank][x][i];
                        }
                    }
                    out[i] = middle(window);
                }
            },
        );
    }
}

/// The number of pixels of a 5 x 5 window that remain when those that cannot be the median are dropped.
const LEFT: usize = 13;

/// The number of them that are compared together.
const TOGETHER: usize = 8;

/// The median of a window, given the smallest of each column, the next ones, and so on.
#[inline(always)]
fn middle<T: Number>(mut window: [[T; SIDE]; SIDE]) -> T {
    for rank in &mut window {
        sort(rank);
    }
    // Now at least (i + 1) (j + 1) - 1 others are no larger than the pixel at (i, j), and at least (SIDE - i) (SIDE - j) - 1
    // are no smaller. If either number is more than 12, the pixel can be dropped; the median of all is the median of
    // those that remain.
    let mut left = [T::zeroed(); LEFT];
    let mut found = 0;
    for (i, rank) in window.iter().enumerate() {
        for (j, pixel) in rank.iter().enumerate() {
            if (i + 1) * (j + 1) <= LEFT && (SIDE - i) * (SIDE - j) <= LEFT {
                left[found] = *pixel;
                found += 1;
            }
        }
    }
    // The smallest and the largest of 8 are not the median of 13; nor are those of the other 6 and the next one, and so
    // on.
    for dropped in 0..TOGETHER - 2 {
        for i in dropped..TOGETHER - 1 {
            exchange(&mut left, i, i + 1);
        }
        for i in (dropped..TOGETHER - 2).rev() {
            exchange(&mut left, i, i + 1);
        }
        if dropped < TOGETHER - 3 {
            left[TOGETHER - 1] = left[TOGETHER + dropped];
        }
    }
    left[TOGETHER - 2]
}
