//! The 3x3 Laplace filter on 8-bit images: +9 in the centre, -1 around, saturating.
//!
//! `out = clamp(9 c - sum of the 8 neighbours, 0, 255)` for each channel, which is `10 c - sum of all 9`. The outermost
//! ring of pixels is copied from the source.
//!
//! The sums `left + centre + right` of the rows are computed first, because a row's sum serves three rows of output. So
//! several output rows are computed together (`ROWS`), block by block, in 16 bits: all values are between -2295 and
//! 2550.

use pulp::{Simd, WithSimd};
use tripipe_kernels::filter::Size;

use crate::bands::for_each_band;
use crate::error::check_length;
use crate::{CpuError, Threads, vectors};

/// The number of output rows computed together, and the bytes of each at a time: with 512-bit vectors the fastest of 3
/// to 8 rows and 32 to 128 bytes (7680 x 4320 RGB on one Zen 4 core: 3 rows 9.0 ms, 4 rows 7.9, 5 and 6 rows 7.4, 8
/// rows 8.1 to 10.0).
const ROWS: usize = 5;
const BLOCK: usize = 64;

/// Filters an 8-bit gray image of `width` x `height` pixels. Sizes of zero are allowed and write nothing.
///
/// # Errors
/// [`CpuError::Length`] when `src` or `dst` does not have `width * height` bytes, [`CpuError::TooLarge`] when that
/// overflows.
pub fn laplace_gray(
    src: &[u8],
    dst: &mut [u8],
    width: usize,
    height: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    checked::<1>("laplace_gray", src, dst, width, height, threads)
}

/// Filters an image of `width` x `height` pixels of three bytes, each channel separately. Sizes of zero are allowed and
/// write nothing.
///
/// # Errors
/// [`CpuError::Length`] when `src` or `dst` does not have `3 * width * height` bytes, [`CpuError::TooLarge`] when that
/// overflows.
pub fn laplace_rgb(
    src: &[u8],
    dst: &mut [u8],
    width: usize,
    height: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    checked::<3>("laplace_rgb", src, dst, width, height, threads)
}

/// Filters the colours of an image of `width` x `height` pixels of four bytes, each channel separately, and copies the
/// alpha channel. Sizes of zero are allowed and write nothing.
///
/// # Errors
/// [`CpuError::Length`] when `src` or `dst` does not have `4 * width * height` bytes, [`CpuError::TooLarge`] when that
/// overflows.
pub fn laplace_rgba(
    src: &[u8],
    dst: &mut [u8],
    width: usize,
    height: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    checked::<4>("laplace_rgba", src, dst, width, height, threads)
}

fn checked<const P: usize>(
    operation: &'static str,
    src: &[u8],
    dst: &mut [u8],
    width: usize,
    height: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    check_length(operation, "src", &[width, height, P], src.len())?;
    check_length(operation, "dst", &[width, height, P], dst.len())?;
    laplace(src, dst, Size::new(width, height), P, threads);
    Ok(())
}

/// The filter for 1, 3 or 4 bytes per pixel; with 4, the last one is alpha. Both slices have as many bytes as the
/// image.
pub(super) fn laplace(
    src: &[u8],
    dst: &mut [u8],
    Size { width, height }: Size,
    channels: usize,
    threads: Threads,
) {
    if width < 3 || height < 3 {
        dst.copy_from_slice(src);
        return;
    }
    let arch = vectors::arch();
    let row_len = width * channels;
    for_each_band(dst, row_len, ROWS, threads, |first, dst| match channels {
        1 => arch.dispatch(RowBand::<1> { src, dst, first, row_len, height }),
        3 => arch.dispatch(RowBand::<3> { src, dst, first, row_len, height }),
        _ => arch.dispatch(RowBand::<4> { src, dst, first, row_len, height }),
    });
}

/// The output rows from `first` on, as many as `dst` holds.
struct RowBand<'a, const P: usize> {
    src: &'a [u8],
    dst: &'a mut [u8],
    first: usize,
    row_len: usize,
    height: usize,
}

impl<const P: usize> WithSimd for RowBand<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { src, dst, first, row_len, height } = self;
        let row = |y: usize| &src[y * row_len..][..row_len];
        let rows = dst.len() / row_len;
        let mut done = 0;
        while done < rows {
            let y = first + done;
            let out = &mut dst[done * row_len..];
            if y == 0 || y == height - 1 {
                out[..row_len].copy_from_slice(row(y));
                done += 1;
            } else if done + ROWS <= rows && y + ROWS < height {
                let read: [&[u8]; ROWS + 2] = std::array::from_fn(|r| row(y - 1 + r));
                filter_rows::<P, ROWS, { ROWS + 2 }>(read, &mut out[..ROWS * row_len]);
                done += ROWS;
            } else {
                let read = [row(y - 1), row(y), row(y + 1)];
                filter_rows::<P, 1, 3>(read, &mut out[..row_len]);
                done += 1;
            }
        }
    }
}

/// Filters `N` rows: those of `read` (`READ = N + 2`) without the first and the last.
#[inline(always)]
fn filter_rows<const P: usize, const N: usize, const READ: usize>(read: [&[u8]; READ], dst: &mut [u8]) {
    let row_len = dst.len() / N;
    let inner = row_len - 2 * P;
    if inner >= BLOCK {
        let mut x = 0;
        loop {
            filter_block::<P, N, READ, BLOCK>(&read, dst, row_len, x);
            if x + BLOCK == inner {
                break;
            }
            // The last block ends with the row and computes some bytes again.
            x = (x + BLOCK).min(inner - BLOCK);
        }
    } else {
        for x in (0..inner).step_by(P) {
            filter_block::<P, N, READ, P>(&read, dst, row_len, x);
        }
    }
    for (out, source) in dst.chunks_exact_mut(row_len).zip(&read[1..]) {
        out[..P].copy_from_slice(&source[..P]);
        out[row_len - P..].copy_from_slice(&source[row_len - P..]);
    }
}

/// Filters `LEN` bytes of each of `N` rows. `x` is the offset in the row of the first left neighbour, at the start of a
/// pixel.
#[inline(always)]
fn filter_block<const P: usize, const N: usize, const READ: usize, const LEN: usize>(
    read: &[&[u8]; READ],
    dst: &mut [u8],
    row_len: usize,
    x: usize,
) {
    // A loop instead of `map`, whose closures the compiler does not inline here.
    let [mut left, mut centre, mut right] = [[&[0; LEN]; READ]; 3];
    for r in 0..READ {
        left[r] = block::<LEN>(read[r], x);
        centre[r] = block::<LEN>(read[r], x + P);
        right[r] = block::<LEN>(read[r], x + 2 * P);
    }
    // All bits set except in alpha bytes.
    let colour: [u8; LEN] = const {
        let mut colour = [0xFF; LEN];
        let mut alpha = 3;
        while alpha < LEN {
            colour[alpha] = 0;
            alpha += 4;
        }
        colour
    };
    let mut out = [[0u8; LEN]; N];
    for i in 0..LEN {
        let mut across = [0; READ];
        for r in 0..READ {
            across[r] = u16::from(left[r][i]) + u16::from(centre[r][i]) + u16::from(right[r][i]);
        }
        for r in 0..N {
            let c = u16::from(centre[r + 1][i]);
            let nine = across[r] + across[r + 1] + across[r + 2];
            let filtered = (10 * c).saturating_sub(nine).min(255) as u8;
            out[r][i] = if P == 4 { filtered & colour[i] | centre[r + 1][i] & !colour[i] } else { filtered };
        }
    }
    for (r, out) in out.iter().enumerate() {
        dst[r * row_len + x + P..][..LEN].copy_from_slice(out);
    }
}

/// The `LEN` bytes of a row from `at` on. With a plain slice instead, the filter runs more than ten times slower: only
/// an array's length lets the compiler see that no index needs checking.
#[inline(always)]
#[allow(clippy::expect_used, reason = "the callers stay inside the row; it panics as slicing would")]
fn block<const LEN: usize>(row: &[u8], at: usize) -> &[u8; LEN] {
    row[at..].first_chunk().expect("a block inside the row")
}
