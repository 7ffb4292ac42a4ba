//! Products with few rows of A: B is read once, where it lies.
//!
//! Packing B writes and reads it once more, which takes longer than multiplying it by a few rows. Here the sums of all
//! rows of a run of columns stay in the first-level cache, and some rows of B at a time are multiplied into them: each
//! is read in memory order, as long as the run is.

use pulp::{Simd, WithSimd};

use super::multiply::{Real, with_memory};
use super::operand::StridedMatrix;
use super::tile::lanes;
use crate::Threads;
use crate::bands::share_out;
use crate::vectors;

/// The largest number of rows. With 24 it takes as long as packing B on an EPYC (Zen 5).
pub(super) const MOST_ROWS: usize = 16;

/// Bytes of sums: half of a first-level cache of 32 KiB, the smallest that is common.
const SUMS_BYTES: usize = 16 << 10;

/// The smallest number of columns of a run, where threads would get less: rows of B are read in pieces of as many.
const LEAST_COLUMNS: usize = 128;

/// The smallest K: below, storing the sums and reading them back takes as long as packing B.
const LEAST_DEPTH: usize = 32;

/// Whether [`multiply`] is the way to do a product: A has few rows, and the rows of B are contiguous.
pub(super) fn applies<T: Real>(a: &StridedMatrix<'_, T>, b: &StridedMatrix<'_, T>) -> bool {
    a.rows <= MOST_ROWS && b.strides()[1] == 1 && b.columns >= LEAST_COLUMNS && a.columns >= LEAST_DEPTH
}

/// `c = a b`, or `c += a b`, where [`applies`] is true. The rows of `c` are `stride` apart.
pub(super) fn multiply<T: Real>(
    (c, stride): (&mut [T], usize),
    a: StridedMatrix<'_, T>,
    b: StridedMatrix<'_, T>,
    add: bool,
    threads: Threads,
) {
    let (m, n, depth) = (a.rows, b.columns, a.columns);
    let workers = threads.count();
    let most = (SUMS_BYTES / size_of::<T>() / m).max(LEAST_COLUMNS);
    let fair = if workers > 1 { n.div_ceil(2 * workers).max(LEAST_COLUMNS) } else { n };
    let run = most.min(fair).next_multiple_of(LEAST_COLUMNS);
    let mut runs: Vec<Vec<&mut [T]>> = Vec::new();
    runs.resize_with(n.div_ceil(run), || Vec::with_capacity(m));
    for row in c.chunks_mut(stride) {
        for (run, piece) in runs.iter_mut().zip(row[..n].chunks_mut(run)) {
            run.push(piece);
        }
    }
    let arch = vectors::arch();
    let work = |(index, mut rows): (usize, Vec<&mut [T]>)| {
        let columns = rows[0].len();
        let b = b.part([0, index * run], [depth, columns]);
        T::with_thread_memory(|[kept, _]| {
            let len = m * columns.next_multiple_of(LEAST_COLUMNS);
            with_memory(kept, len, |sums| arch.dispatch(ColumnRun { a, b, sums, rows: &mut rows, add }));
        });
    };
    share_out(runs.into_iter().enumerate(), threads, work);
}

/// Some columns of B, and of the result.
struct ColumnRun<'a, 'c, T> {
    a: StridedMatrix<'a, T>,
    b: StridedMatrix<'a, T>,
    /// Memory for the sums: blocks of some vectors of columns, one for each row, then those of the next columns.
    sums: &'a mut [T],
    rows: &'a mut [&'c mut [T]],
    add: bool,
}

impl<T: Real> WithSimd for ColumnRun<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // As many vectors of B at a time as leave registers for a vector of A and for sums.
        if S::REGISTER_COUNT >= 32 {
            self.run::<S, 8, 2>(simd);
        } else if S::IS_SCALAR {
            self.run::<S, 4, 8>(simd);
        } else {
            self.run::<S, 4, 2>(simd);
        }
    }
}

impl<T: Real> ColumnRun<'_, '_, T> {
    /// `STEPS` rows of B and `VECTORS` vectors of columns at a time.
    #[inline(always)]
    fn run<S: Simd, const STEPS: usize, const VECTORS: usize>(self, simd: S) {
        let Self { a, b, sums, rows, add } = self;
        let (m, depth) = (a.rows, a.columns);
        let columns = b.columns;
        let width = VECTORS * lanes::<S, T>();
        let sums = &mut sums[..m * columns.next_multiple_of(width)];
        sums.fill(T::default());
        let whole = depth - depth % STEPS;
        let mut factors = [[T::default(); STEPS]; MOST_ROWS];
        for l in (0..whole).step_by(STEPS) {
            for (i, factors) in factors[..m].iter_mut().enumerate() {
                *factors = std::array::from_fn(|step| a.at(i, l + step));
            }
            let lines = std::array::from_fn(|step| b.row(l + step));
            add_steps::<S, T, STEPS, VECTORS>(simd, sums, &factors[..m], lines);
        }
        for l in whole..depth {
            let mut factors = [[T::default(); 1]; MOST_ROWS];
            for (i, factors) in factors[..m].iter_mut().enumerate() {
                *factors = [a.at(i, l)];
            }
            add_steps::<S, T, 1, VECTORS>(simd, sums, &factors[..m], [b.row(l)]);
        }
        for (j, sums) in (0..columns).step_by(width).zip(sums.chunks_exact(m * width)) {
            let here = width.min(columns - j);
            for (row, sums) in rows.iter_mut().zip(sums.chunks_exact(width)) {
                let row = &mut row[j..j + here];
                if add {
                    for (to, sum) in row.iter_mut().zip(sums) {
                        *to = to.plus(*sum);
                    }
                } else {
                    row.copy_from_slice(&sums[..here]);
                }
            }
        }
    }
}

/// Adds the products of some rows of B, `lines`, and of the factors of each row of A.
#[inline(always)]
fn add_steps<S: Simd, T: Real, const STEPS: usize, const VECTORS: usize>(
    simd: S,
    sums: &mut [T],
    factors: &[[T; STEPS]],
    lines: [&[T]; STEPS],
) {
    let width = VECTORS * lanes::<S, T>();
    let blocks = lines[0].len() / width;
    let whole = lines.map(|line| &T::vectors::<S>(line).as_chunks::<VECTORS>().0[..blocks]);
    let (sums, rest) = sums.split_at_mut(blocks * width * factors.len());
    for (index, sums) in sums.chunks_exact_mut(width * factors.len()).enumerate() {
        add_block(simd, sums, factors, std::array::from_fn(|step| whole[step][index]));
    }
    if !rest.is_empty() {
        let load = |step: usize, vector: usize| {
            let first = blocks * width + vector * lanes::<S, T>();
            T::load(simd, lines[step].get(first..).unwrap_or_default())
        };
        let block = std::array::from_fn(|step| std::array::from_fn(|vector| load(step, vector)));
        add_block::<S, T, STEPS, VECTORS>(simd, rest, factors, block);
    }
}

/// [`add_steps`] for as many columns as a block has.
#[inline(always)]
fn add_block<S: Simd, T: Real, const STEPS: usize, const VECTORS: usize>(
    simd: S,
    sums: &mut [T],
    factors: &[[T; STEPS]],
    block: [[T::Vector<S>; VECTORS]; STEPS],
) {
    let sums = T::vectors_mut::<S>(sums).as_chunks_mut::<VECTORS>().0;
    for (to, factors) in sums.iter_mut().zip(factors) {
        let mut sums = *to;
        for step in 0..STEPS {
            let factor = T::splat(simd, factors[step]);
            for vector in 0..VECTORS {
                sums[vector] = T::mul_add(simd, factor, block[step][vector], sums[vector]);
            }
        }
        *to = sums;
    }
}
