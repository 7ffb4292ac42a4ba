//! Medians and extremes.

use pulp::{Arch, Simd, WithSimd};
use tripipe_kernels::filter::{Morphology, Neighbourhood};

use super::fold::{Least, Most, Term};
use super::kernel::{CHUNK, Finished, Full, Keep, Separable, blocks};
use super::number::Number;
use super::rows::{Input, Kernel, LANES, Rows};

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
    let [width, height] = size;
    match neighbourhood {
        Neighbourhood::Rectangle(_) => {
            let sums = Separable::new(arch, vec![Some(extreme); height], vec![Some(extreme); width], step);
            input.windows(size, Finished::new(arch, sums, Keep))
        }
        Neighbourhood::Cross(_) => {
            let places = (0..width * height).map(|i| [i % width, i / width]);
            let terms = places.map(|at| neighbourhood.holds(at).then_some(extreme));
            input.windows(size, Finished::new(arch, Full::new(terms, size, step), Keep))
        }
    }
}

/// The medians of windows of 3 x 3 or 5 x 5.
pub(super) fn median<T: Number>(input: Input<'_, T>, size: usize, arch: Arch) -> Box<dyn Rows<T> + '_> {
    let step = input.shape.channels;
    if size == 3 {
        input.windows([3; 2], Median::<T, 3>::new(arch, step))
    } else {
        input.windows([5; 2], Median::<T, 5>::new(arch, step))
    }
}

/// Columns are sorted first, once for all windows that share them.
struct Median<T, const N: usize> {
    arch: Arch,
    step: usize,
    /// The smallest pixel of each column, then the next ones, and so on.
    sorted: [Vec<T>; N],
}

impl<T: Number, const N: usize> Median<T, N> {
    fn new(arch: Arch, step: usize) -> Self {
        let len = (CHUNK + (N - 1) * step).next_multiple_of(LANES);
        Self { arch, step, sorted: std::array::from_fn(|_| vec![T::zeroed(); len]) }
    }
}

impl<T: Number, const N: usize> Kernel<T, T> for Median<T, N> {
    fn run(&mut self, rows: &[&[T]], out: &mut [T]) {
        for (index, out) in out.chunks_mut(CHUNK).enumerate() {
            let len = (out.len() + (N - 1) * self.step).next_multiple_of(LANES);
            let Some(rows) = rows.first_chunk::<N>() else { return };
            let rows = rows.map(|row| &row[index * CHUNK..][..len]);
            let sorted = self.sorted.each_mut().map(|row| &mut row[..len]);
            self.arch.dispatch(ColumnSort { rows, sorted });
            let sorted = self.sorted.each_ref().map(|row| &row[..]);
            self.arch.dispatch(Middles { sorted, step: self.step, out });
        }
    }
}

/// Sorts columns.
struct ColumnSort<'a, T, const N: usize> {
    rows: [&'a [T]; N],
    sorted: [&'a mut [T]; N],
}

impl<T: Number, const N: usize> WithSimd for ColumnSort<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { rows, sorted } = self;
        for at in (0..rows[0].len()).step_by(LANES) {
            let mut blocks = [[T::zeroed(); LANES]; N];
            for r in 0..N {
                blocks[r].copy_from_slice(&rows[r][at..][..LANES]);
            }
            #[allow(clippy::needless_range_loop, reason = "an index for all blocks at once")]
            for i in 0..LANES {
                let mut column = [T::zeroed(); N];
                for r in 0..N {
                    column[r] = blocks[r][i];
                }
                sort(&mut column);
                for r in 0..N {
                    blocks[r][i] = column[r];
                }
            }
            for r in 0..N {
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

#[inline(always)]
fn middle_of_three<T: Number>(a: T, b: T, c: T) -> T {
    a.least(b).most(a.most(b).least(c))
}

/// The medians of windows whose columns are sorted.
struct Middles<'a, T, const N: usize> {
    sorted: [&'a [T]; N],
    step: usize,
    out: &'a mut [T],
}

impl<T: Number, const N: usize> WithSimd for Middles<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { sorted, step, out } = self;
        let len = out.len().next_multiple_of(LANES);
        let none = [T::zeroed(); LANES];
        let mut lines: [[&[[T; LANES]]; N]; N] = [[&[]; N]; N];
        for rank in 0..N {
            for x in 0..N {
                lines[rank][x] = sorted[rank][x * step..][..len].as_chunks().0;
            }
        }
        blocks(
            out,
            #[inline(always)]
            |block, out| {
                let mut ranks = [[&none; N]; N];
                for rank in 0..N {
                    for x in 0..N {
                        ranks[rank][x] = &lines[rank][x][block];
                    }
                }
                for i in 0..LANES {
                    let mut window = [[T::zeroed(); N]; N];
                    for rank in 0..N {
                        for x in 0..N {
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

/// The median of a window, given the smallest of each column, the next ones, and so on; N is 3 or 5.
#[inline(always)]
fn middle<T: Number, const N: usize>(mut window: [[T; N]; N]) -> T {
    if N == 3 {
        let [low, mid, high] = [window[0], window[1], window[2]];
        return middle_of_three(
            low[0].most(low[1]).most(low[2]),
            middle_of_three(mid[0], mid[1], mid[2]),
            high[0].least(high[1]).least(high[2]),
        );
    }
    for rank in &mut window {
        sort(rank);
    }
    // Now at least (i + 1) (j + 1) - 1 others are no larger than the pixel at (i, j), and at least (N - i) (N - j) - 1
    // are no smaller. If either number is more than 12, the pixel can be dropped; the median of all is the median of
    // those that remain.
    let mut left = [T::zeroed(); LEFT];
    let mut found = 0;
    for (i, rank) in window.iter().enumerate() {
        for (j, pixel) in rank.iter().enumerate() {
            if (i + 1) * (j + 1) <= LEFT && (N - i) * (N - j) <= LEFT {
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
