//! Matrix transposition.
//!
//! A block has as many columns as fill one cache line and as many rows, so that each line is read once and written
//! once, whatever the strides (strides of a power of two map to few cache sets and would evict lines that are not full
//! yet). Blocks are processed tile by tile, which keeps the number of pages in use small enough for the TLBs: for 4096
//! x 4096 f32 on a Zen 4 core the fastest run went from 28 ms to 17 ms.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use tripipe_kernels::gemm::Extents;

use crate::bands::for_each_band;
use crate::error::check_length;
use crate::{CpuError, Threads, vectors};
use tripipe_launch::{elements_of, elements_of_mut};

/// Rows and columns of a tile.
const TILE: usize = 256;

/// Transposes a row-major matrix of `rows` x `cols`: `dst[c * rows + r] = src[r * cols + c]`. Sizes of zero are
/// allowed and write nothing.
///
/// # Errors
/// [`CpuError::Length`] when `src` or `dst` does not have `rows * cols` elements, [`CpuError::TooLarge`] when that
/// overflows.
pub fn transpose_f32(
    src: &[f32],
    dst: &mut [f32],
    rows: usize,
    cols: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    transpose::<f32, 8>("transpose_f32", src, dst, rows, cols, threads)
}

/// Transposes a row-major matrix of bytes, as [`transpose_f32`] does.
///
/// # Errors
/// As [`transpose_f32`].
pub fn transpose_u8(
    src: &[u8],
    dst: &mut [u8],
    rows: usize,
    cols: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    transpose::<u8, 16>("transpose_u8", src, dst, rows, cols, threads)
}

/// Transposes a row-major matrix whose elements have this number of bytes.
///
/// # Errors
/// As [`transpose_f32`].
pub fn transpose_bytes(
    from: &[u8],
    to: &mut [u8],
    Extents { rows, columns }: Extents,
    element_bytes: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    match element_bytes {
        1 => transpose_u8(&from[..rows * columns], &mut to[..rows * columns], rows, columns, threads),
        4 => transpose_f32(
            &elements_of(from)[..rows * columns],
            &mut elements_of_mut(to)[..rows * columns],
            rows,
            columns,
            threads,
        ),
        _ => {
            for (i, row) in from.chunks_exact(columns.max(1) * element_bytes).take(rows).enumerate() {
                for (j, element) in row.chunks_exact(element_bytes).enumerate() {
                    to[(j * rows + i) * element_bytes..][..element_bytes].copy_from_slice(element);
                }
            }
            Ok(())
        }
    }
}

fn transpose<T: Copy + Default + Send + Sync, const BLOCK: usize>(
    operation: &'static str,
    src: &[T],
    dst: &mut [T],
    rows: usize,
    cols: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    check_length(operation, "src", &[rows, cols], src.len())?;
    check_length(operation, "dst", &[rows, cols], dst.len())?;
    let arch = vectors::arch();
    for_each_band(dst, rows, BLOCK, threads, |first, dst| {
        arch.dispatch(ColumnBand::<T, BLOCK> { src, dst, first, rows, cols });
    });
    Ok(())
}

/// The columns of `src` from `first` on, as many as `dst` has rows.
struct ColumnBand<'a, T, const BLOCK: usize> {
    src: &'a [T],
    dst: &'a mut [T],
    first: usize,
    rows: usize,
    cols: usize,
}

impl<T: Copy + Default, const BLOCK: usize> WithSimd for ColumnBand<'_, T, BLOCK> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { src, dst, first, rows, cols } = self;
        let mine = dst.len() / rows;
        for (c0, c1) in steps(0..mine, TILE) {
            for (r0, r1) in steps(0..rows, TILE) {
                for (c, c_end) in steps(c0..c1, BLOCK) {
                    for (r, r_end) in steps(r0..r1, BLOCK) {
                        let (src, dst) = (&src[r * cols + first + c..], &mut dst[c * rows + r..]);
                        if r_end - r == BLOCK && c_end - c == BLOCK {
                            transpose_block::<T, BLOCK>(src, cols, dst, rows);
                        } else {
                            for j in 0..c_end - c {
                                for i in 0..r_end - r {
                                    dst[j * rows + i] = src[i * cols + j];
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The pieces of at most `step` into which a range is divided: start and end of each.
#[inline(always)]
fn steps(range: Range<usize>, step: usize) -> impl Iterator<Item = (usize, usize)> {
    let end = range.end;
    range.step_by(step).map(move |start| (start, end.min(start + step)))
}

/// Transposes `N` x `N` elements through an array, so that each row of `dst` is written at once.
#[inline(always)]
fn transpose_block<T: Copy + Default, const N: usize>(
    src: &[T],
    src_stride: usize,
    dst: &mut [T],
    dst_stride: usize,
) {
    let mut block = [[T::default(); N]; N];
    for r in 0..N {
        let row = &src[r * src_stride..][..N];
        for c in 0..N {
            block[c][r] = row[c];
        }
    }
    for (r, row) in block.iter().enumerate() {
        dst[r * dst_stride..][..N].copy_from_slice(row);
    }
}
