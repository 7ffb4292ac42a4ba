//! The matrix product `C = A B` of dense row-major matrices: A is M x K, B is K x N, C is M x N.
//!
//! C is written, never read. With K = 0 it becomes zero. Not-a-number and infinity in A and B reach C as IEEE 754 says.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use half::f16;
use half::slice::HalfFloatSliceExt;

use super::bands::for_each_band;
use super::error::check_length;
use super::{CpuError, Threads};

/// `C = A B` in f32; the sums are taken in f32, in an order that is not specified.
///
/// # Errors
/// [`CpuError::Length`] when `a`, `b` or `c` does not have `m * k`, `k * n`, `m * n` elements, [`CpuError::TooLarge`]
/// when one of these overflows.
pub fn gemm_f32(
    a: &[f32],
    b: &[f32],
    c: &mut [f32],
    m: usize,
    n: usize,
    k: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    check_lengths("gemm_f32", [a.len(), b.len(), c.len()], m, n, k)?;
    matmul(
        MatMut::from_row_major_slice_mut(c, m, n),
        Accum::Replace,
        MatRef::from_row_major_slice(a, m, k),
        MatRef::from_row_major_slice(b, k, n),
        1.0,
        parallelism(m, n, k, threads),
    );
    Ok(())
}

/// `C = A B` in f64; the sums are taken in f64, in an order that is not specified.
///
/// # Errors
/// As [`gemm_f32`].
pub fn gemm_f64(
    a: &[f64],
    b: &[f64],
    c: &mut [f64],
    m: usize,
    n: usize,
    k: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    check_lengths("gemm_f64", [a.len(), b.len(), c.len()], m, n, k)?;
    matmul(
        MatMut::from_row_major_slice_mut(c, m, n),
        Accum::Replace,
        MatRef::from_row_major_slice(a, m, k),
        MatRef::from_row_major_slice(b, k, n),
        1.0,
        parallelism(m, n, k, threads),
    );
    Ok(())
}

/// `C = A B` in f16; the sums are taken in f32, in an order that is not specified, and rounded to f16 once at the end. A sum
/// beyond 65504 becomes infinite.
///
/// The operands are converted tile by tile, so the scratch space is at most 12 MiB for any size.
///
/// # Errors
/// As [`gemm_f32`].
pub fn gemm_f16(
    a: &[f16],
    b: &[f16],
    c: &mut [f16],
    m: usize,
    n: usize,
    k: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    /// Rows and columns of a tile of C, and how much of K is done at a time.
    const TILE: usize = 1024;

    check_lengths("gemm_f16", [a.len(), b.len(), c.len()], m, n, k)?;
    let (tile_m, tile_n, tile_k) = (m.min(TILE), n.min(TILE), k.min(TILE));
    let mut wide_a = vec![0.0; tile_m * tile_k];
    let mut wide_b = vec![0.0; tile_k * tile_n];
    let mut wide_c = vec![0.0; tile_m * tile_n];
    for (i, rows) in tiles(m, TILE) {
        for (j, cols) in tiles(n, TILE) {
            let wide_c = &mut wide_c[..rows * cols];
            for (l, depth) in tiles(k, TILE) {
                let wide_a = &mut wide_a[..rows * depth];
                let wide_b = &mut wide_b[..depth * cols];
                widen(&a[i * k + l..], k, wide_a, depth, threads);
                widen(&b[l * n + j..], n, wide_b, cols, threads);
                matmul(
                    MatMut::from_row_major_slice_mut(wide_c, rows, cols),
                    if l == 0 { Accum::Replace } else { Accum::Add },
                    MatRef::from_row_major_slice(wide_a, rows, depth),
                    MatRef::from_row_major_slice(wide_b, depth, cols),
                    1.0,
                    parallelism(rows, cols, depth, threads),
                );
            }
            // The rows of C this tile lies in, the columns beside it included.
            for_each_band(&mut c[i * n..][..rows * n], n, 1, threads, |first, c| {
                let wide = wide_c[first * cols..].chunks_exact(cols);
                for (narrow, wide) in c.chunks_exact_mut(n).zip(wide) {
                    narrow[j..][..cols].convert_from_f32_slice(wide);
                }
            });
        }
    }
    Ok(())
}

/// The tiles of at most `tile` that `0..size` falls into: where each begins and how long it is.
fn tiles(size: usize, tile: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size).step_by(tile).map(move |start| (start, tile.min(size - start)))
}

/// Converts rows that lie `stride` apart to dense rows of `len`.
fn widen(narrow: &[f16], stride: usize, wide: &mut [f32], len: usize, threads: Threads) {
    for_each_band(wide, len, 1, threads, |first, wide| {
        for (row, wide) in wide.chunks_exact_mut(len).enumerate() {
            narrow[(first + row) * stride..][..len].convert_to_f32_slice(wide);
        }
    });
}

fn check_lengths(
    operation: &'static str,
    [a, b, c]: [usize; 3],
    m: usize,
    n: usize,
    k: usize,
) -> Result<(), CpuError> {
    check_length(operation, "a", &[m, k], a)?;
    check_length(operation, "b", &[k, n], b)?;
    check_length(operation, "c", &[m, n], c)
}

/// How faer is told the number of threads. Products so small that waking a thread costs more than it helps stay on the calling one.
fn parallelism(m: usize, n: usize, k: usize, threads: Threads) -> Par {
    const SMALL: usize = 128 * 128 * 128;
    match threads {
        Threads::All if m.saturating_mul(n).saturating_mul(k) > SMALL => Par::rayon(0),
        Threads::All | Threads::One => Par::Seq,
    }
}
