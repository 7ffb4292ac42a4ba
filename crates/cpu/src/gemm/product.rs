//! One product.

use super::element::{GemmArithmetic, TILE, view};
use super::multiply::tile_shape;
use super::operand::StridedMatrix;
use super::{Gemm, Position};
use crate::Threads;
use crate::bands::for_each_band;

/// The number of multiply-adds up to which a product stays on the calling thread: what it does in 2^16 cycles, by two
/// vectors in each.
pub fn small_product() -> usize {
    tile_shape::<f32>().columns << 16
}

/// Computes product `index` of a batch. `c` begins with its first element; neither extent of C is 0.
pub(super) fn product<T: GemmArithmetic>(
    gemm: &Gemm<T::Sum>,
    index: usize,
    a: &[T],
    b: &[T],
    c: &mut [T::Result],
    finish: Option<&(impl Fn(Position, &mut [T::Sum]) + Sync)>,
    threads: Threads,
) {
    let Gemm { mut m, mut n, k, alpha, beta, .. } = *gemm;
    let k = if alpha == 0.into() { 0 } else { k };
    let mut a = StridedMatrix::new(a, &gemm.a, index, [m, k]);
    let mut b = StridedMatrix::new(b, &gemm.b, index, [k, n]);
    let mut strides = [gemm.c.row_stride, gemm.c.column_stride];
    // If the columns of C are contiguous, its transpose is computed.
    let down = strides[1] != 1 && n > 1 && (strides[0] == 1 || m == 1);
    if down {
        (m, n) = (n, m);
        (a, b) = (b.transposed(), a.transposed());
        strides.reverse();
    }
    let finish = finish.map(|finish| {
        move |i: usize, j: usize, sums: &mut [T::Sum]| {
            let [row, column] = if down { [j, i] } else { [i, j] };
            finish(Position { product: index, row, column, down }, sums);
        }
    });
    if (strides[1] == 1 || n == 1) && (strides[0] >= n || m == 1) {
        RowsProduct { a, b, extents: [m, n, k], alpha, beta, threads }.run(
            c,
            strides[0].max(n),
            finish.as_ref(),
        );
        return;
    }
    // Otherwise the result is computed in dense memory first.
    let place = |index: usize| index / n * strides[0] + index % n * strides[1];
    let mut dense: Vec<T::Result> = (0..m * n).map(|index| c[place(index)]).collect();
    RowsProduct { a, b, extents: [m, n, k], alpha, beta, threads }.run(&mut dense, n, finish.as_ref());
    for (index, result) in dense.into_iter().enumerate() {
        c[place(index)] = result;
    }
}

/// A product whose rows are contiguous.
struct RowsProduct<'a, T: GemmArithmetic> {
    a: StridedMatrix<'a, T>,
    b: StridedMatrix<'a, T>,
    /// m, n, k.
    extents: [usize; 3],
    alpha: T::Sum,
    beta: T::Sum,
    threads: Threads,
}

impl<T: GemmArithmetic> RowsProduct<'_, T> {
    /// The rows of `c` are `stride` apart.
    fn run(
        &self,
        c: &mut [T::Result],
        stride: usize,
        finish: Option<&(impl Fn(usize, usize, &mut [T::Sum]) + Sync)>,
    ) {
        let Self { a, b, extents: [m, n, k], alpha, beta, threads } = *self;
        let is_finished = finish.is_none();
        let finish = |i: usize, j: usize, sums: &mut [T::Sum]| {
            if let Some(finish) = finish {
                finish(i, j, sums);
            }
        };
        let [zero, one] = [0i8, 1].map(T::Sum::from);
        if k > 0 && (m == 1 || n == 1) {
            let sums = if n == 1 {
                T::times_vector(a, b, threads)
            } else {
                T::times_vector(b.transposed(), a.transposed(), threads)
            };
            if let Some(mut sums) = sums {
                // One row of C, or one row for each sum.
                for (row, sums) in sums.chunks_mut(n).enumerate() {
                    let c = &mut c[row * stride..][..n];
                    self.scale(sums, c);
                    finish(row, 0, sums);
                    T::store(sums, c);
                }
                return;
            }
        }
        // The sums of a small product are finished by the thread that computed them.
        let finishing = if is_shared([m, n, k], threads) { threads } else { Threads::One };
        // Operands that need no conversion are not tiled here; the multiplication does that.
        let tile = if T::as_work(&[]).is_some() { usize::MAX } else { TILE };
        let mut scratch = Vec::new();
        for (i, rows) in tiles(m, tile) {
            let c = &mut c[i * stride..][..(rows - 1) * stride + n];
            for (j, columns) in tiles(n, tile) {
                let added = beta == one && alpha == one;
                if let Some(c) = T::as_sums(c).filter(|_| beta == zero || added) {
                    self.multiply(&mut c[j..], stride, [i, j], [rows, columns], added);
                    if is_finished && alpha == one {
                        continue;
                    }
                    for_each_band(c, stride, 1, finishing, |first, c| {
                        for (row, c) in c.chunks_mut(stride).enumerate() {
                            let sums = &mut c[j..][..columns];
                            if alpha != one {
                                for sum in &mut *sums {
                                    *sum = T::scaled(*sum, alpha);
                                }
                            }
                            finish(i + first + row, j, sums);
                        }
                    });
                    continue;
                }
                scratch.resize(rows * columns, zero);
                self.multiply(&mut scratch, columns, [i, j], [rows, columns], false);
                let scratch = &scratch[..];
                for_each_band(c, stride, 1, finishing, |first, c| {
                    let mut line = vec![zero; columns];
                    let sums = scratch[first * columns..].chunks_exact(columns);
                    for (row, (c, sums)) in c.chunks_mut(stride).zip(sums).enumerate() {
                        let c = &mut c[j..][..columns];
                        line.copy_from_slice(sums);
                        self.scale(&mut line, c);
                        finish(i + first + row, j, &mut line);
                        T::store(&line, c);
                    }
                });
            }
        }
    }

    /// `sums = alpha sums + beta old`.
    fn scale(&self, sums: &mut [T::Sum], old: &[T::Result]) {
        let [zero, one] = [0i8, 1].map(T::Sum::from);
        if self.alpha != one {
            for sum in &mut *sums {
                *sum = T::scaled(*sum, self.alpha);
            }
        }
        if self.beta != zero {
            for (sum, old) in sums.iter_mut().zip(old) {
                *sum = T::add_old(*sum, self.beta, *old);
            }
        }
    }

    /// Computes the sums of a tile of C from (i, j) on, or with `add` adds them, in rows `stride` apart.
    fn multiply(
        &self,
        sums: &mut [T::Sum],
        stride: usize,
        [i, j]: [usize; 2],
        [rows, columns]: [usize; 2],
        add: bool,
    ) {
        let Self { a, b, extents: [_, _, k], threads, .. } = *self;
        if k == 0 && !add {
            for sums in sums.chunks_mut(stride) {
                let len = columns.min(sums.len());
                sums[..len].fill(0.into());
            }
        }
        let tile = if T::as_work(&[]).is_some() { usize::MAX } else { TILE };
        T::with_scratch(|scratch| {
            for (l, depth) in tiles(k, tile) {
                let a = view(a.part([i, l], [rows, depth]), &mut scratch.a, threads);
                let b = view(b.part([l, j], [depth, columns]), &mut scratch.b, threads);
                let threads = if is_shared([rows, columns, depth], threads) { threads } else { Threads::One };
                T::multiply((&mut *sums, stride), a, b, add || l > 0, &mut scratch.products, threads);
            }
        });
    }
}

/// The tiles of at most `tile` into which `0..size` is divided: start and length of each.
fn tiles(size: usize, tile: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size).step_by(tile).map(move |start| (start, tile.min(size - start)))
}

/// Whether several threads compute a product. A product so small that waking a thread costs more than it saves stays on
/// the calling thread.
pub(super) fn is_shared([m, n, k]: [usize; 3], threads: Threads) -> bool {
    m.saturating_mul(n).saturating_mul(k) > small_product() && threads.count() > 1
}
