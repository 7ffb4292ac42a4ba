//! Tiles of C in registers.

use pulp::Simd;

use super::multiply::Real;

/// The number of elements of a vector.
#[inline(always)]
pub(super) const fn lanes<S: Simd, T: Real>() -> usize {
    size_of::<T::Vector<S>>() / size_of::<T>()
}

/// Multiplies a panel of A by the first `USED` vectors of a panel of B, for columns from `j` on.
#[inline(always)]
pub(super) fn tile<S: Simd, T: Real, const ROWS: usize, const VECTORS: usize, const USED: usize>(
    simd: S,
    a: &[T],
    b: &[T],
    rows: &mut [&mut [T]],
    j: usize,
    add: bool,
) {
    let mut sums = [[T::splat(simd, T::default()); USED]; ROWS];
    let (a, b) = (a.as_chunks::<ROWS>().0, T::vectors::<S>(b).as_chunks::<VECTORS>().0);
    for (a, b) in a.iter().zip(b) {
        for (sums, a) in sums.iter_mut().zip(a) {
            let a = T::splat(simd, *a);
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = T::mul_add(simd, a, *b, *sum);
            }
        }
    }
    write_tile(simd, sums, rows, j, add);
}

/// As [`tile`], for rows of A that were not packed.
#[inline(always)]
pub(super) fn tile_in_place<S: Simd, T: Real, const ROWS: usize, const VECTORS: usize, const USED: usize>(
    simd: S,
    a: [&[T]; ROWS],
    b: &[T],
    rows: &mut [&mut [T]],
    j: usize,
    add: bool,
) {
    /// The number of steps along K for which the rows are located once.
    const STEPS: usize = 8;

    let mut sums = [[T::splat(simd, T::default()); USED]; ROWS];
    let b = T::vectors::<S>(b).as_chunks::<VECTORS>().0;
    let (b, b_rest) = b.as_chunks::<STEPS>();
    let a = a.map(|a| a.as_chunks::<STEPS>());
    for (index, b) in b.iter().enumerate() {
        let a: [&[T; STEPS]; ROWS] = std::array::from_fn(|i| &a[i].0[index]);
        for l in 0..STEPS {
            for i in 0..ROWS {
                let a = T::splat(simd, a[i][l]);
                for v in 0..USED {
                    sums[i][v] = T::mul_add(simd, a, b[l][v], sums[i][v]);
                }
            }
        }
    }
    for (l, b) in b_rest.iter().enumerate() {
        for i in 0..ROWS {
            let a = T::splat(simd, a[i].1[l]);
            for v in 0..USED {
                sums[i][v] = T::mul_add(simd, a, b[v], sums[i][v]);
            }
        }
    }
    write_tile(simd, sums, rows, j, add);
}

/// Stores the sums of a tile, or adds them, in columns from `j` on.
#[inline(always)]
fn write_tile<S: Simd, T: Real, const ROWS: usize, const USED: usize>(
    simd: S,
    sums: [[T::Vector<S>; USED]; ROWS],
    rows: &mut [&mut [T]],
    j: usize,
    add: bool,
) {
    let width = USED * lanes::<S, T>();
    if rows.len() == ROWS && rows[0].len() - j >= width {
        #[allow(clippy::needless_range_loop, reason = "by constant indices the sums stay in registers")]
        for i in 0..ROWS {
            let (row, sums) = (&mut rows[i], &sums[i]);
            let to = T::vectors_mut::<S>(&mut row[j..j + width]);
            for (to, sum) in to.iter_mut().zip(sums) {
                *to = if add { T::add(simd, *sum, *to) } else { *sum };
            }
        }
        return;
    }
    // A copy, so that the sums themselves are never indexed by a variable and stay in registers.
    let sums = std::hint::black_box(sums);
    for (row, sums) in rows.iter_mut().zip(&sums) {
        for (to, sum) in row[j..].chunks_mut(lanes::<S, T>()).zip(sums) {
            let sum = if add { T::add(simd, *sum, T::load(simd, to)) } else { *sum };
            T::store(simd, to, sum);
        }
    }
}
