//! Products of a few vectors and a matrix of weights in 16, 8 or 4 bits, in the layout that kernels read.
//!
//! A thread takes some columns and walks down all of K: the lines of a block are read once for up to four vectors, and
//! neighbouring columns are the lanes of vector registers. Sums of a block stay in registers; the totals of the columns in
//! the first-level cache.

use half::f16;
use half::slice::HalfFloatSliceExt;
use tripipe_kernels::gemm::Extents;
use tripipe_kernels::quantised::{BLOCK, PackedLayout, QuantisedProduct, WeightFormat};

use crate::bands::share_out;
use crate::error::check_length;
use crate::gemm::widened;
use crate::wide::Wide;
use crate::{CpuError, Threads, vectors};

/// Columns whose sums of a block are in registers at the same time; half as many at the end of the lines, whose length is
/// a multiple of 16.
const LANES: usize = 32;
/// Columns that a thread takes at a time, at most: four kilobytes of each line, long enough for the processor to fetch
/// ahead, and four totals of each stay in the first-level cache.
const TILE: usize = 1024;
/// Tiles for each thread at least: while one wakes up, the others have work.
const TILES_PER_THREAD: usize = 4;
/// Steps along K for which totals of halves are loaded once.
const STEPS: usize = 8;
/// Below this number of weights, another thread is not woken.
const SMALL: usize = 1 << 16;

/// A number type of x and y.
pub trait QuantisedNumber: Copy + Send + Sync {
    /// Converts x to `f32`.
    fn widen(from: &[Self], to: &mut [f32]);

    /// Rounds y.
    fn narrow(from: &[f32], to: &mut [Self]);
}

impl QuantisedNumber for f32 {
    fn widen(from: &[Self], to: &mut [f32]) {
        to.copy_from_slice(from);
    }

    fn narrow(from: &[f32], to: &mut [Self]) {
        to.copy_from_slice(from);
    }
}

impl QuantisedNumber for f16 {
    fn widen(from: &[Self], to: &mut [f32]) {
        from.convert_to_f32_slice(to);
    }

    fn narrow(from: &[f32], to: &mut [Self]) {
        to.convert_from_f32_slice(from);
    }
}

/// y = x W with weights and scales packed in `layout` ([`PackedLayout::pack`]); x and y begin and are spaced as in
/// `product`. Sums are in `f32`. The result is within the bound of
/// [`QuantisedReference`](tripipe_kernels::quantised::QuantisedReference).
///
/// # Errors
/// A layout of other weights; slices whose length does not match: those of the weights and scales exactly, x and y at least.
pub fn quantised<T: QuantisedNumber>(
    product: &QuantisedProduct,
    layout: &PackedLayout,
    x: &[T],
    [weights, scales]: [&[u32]; 2],
    y: &mut [T],
    threads: Threads,
) -> Result<(), CpuError> {
    const NAME: &str = "quantised";
    let QuantisedProduct { format, m, n, k, x_offset, x_stride, y_offset, y_stride, .. } = *product;
    let wrong = |buffer, want, found| Err(CpuError::Length { operation: NAME, buffer, want, found });
    let [x_span, y_span] = product.spans();
    if x.len() < x_span {
        return wrong("x", x_span, x.len());
    }
    if y.len() < y_span {
        return wrong("y", y_span, y.len());
    }
    let Extents { rows: of_n, columns: of_k } = layout.extents();
    if layout.format() != format || [of_n, of_k] != [n, k] {
        return wrong("layout", n.saturating_mul(k), of_n.saturating_mul(of_k));
    }
    check_length(NAME, "weights", &[layout.weights_bytes() / 4], weights.len())?;
    check_length(NAME, "scales", &[layout.scales_bytes() / 4], scales.len())?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    // Whole blocks: steps after the end are 0, as their weights are.
    let steps = k.next_multiple_of(BLOCK);
    let mut wide = vec![0.0; m * steps];
    for (i, wide) in wide.chunks_exact_mut(steps.max(1)).enumerate() {
        T::widen(&x[x_offset + i * x_stride..][..k], &mut wide[..k]);
    }
    let packed = PackedLines { format, pitch: layout.pitch(), k, weights, scales };
    let threads = if n.saturating_mul(k) <= SMALL { Threads::One } else { threads };
    let workers = threads.count();
    let share = if workers > 1 { n.div_ceil(TILES_PER_THREAD * workers) } else { n };
    let tile = share.next_multiple_of(LANES).min(TILE);
    let mut totals = vec![0.0f32; n.div_ceil(tile) * tile * m];
    let arch = vectors::arch();
    let work = |(index, totals): (usize, &mut [f32])| {
        arch.dispatch(Wide(
            #[inline(always)]
            || columns(&packed, index * tile, tile, &wide, steps, totals),
        ));
    };
    let tiles = totals.chunks_exact_mut(tile * m).enumerate();
    share_out(tiles, threads, work);
    for (index, totals) in totals.chunks_exact(tile * m).enumerate() {
        let first = index * tile;
        let count = tile.min(n - first);
        for (i, totals) in totals.chunks_exact(tile).enumerate() {
            T::narrow(&totals[..count], &mut y[y_offset + i * y_stride + first..][..count]);
        }
    }
    Ok(())
}

/// Packed weights.
struct PackedLines<'w> {
    format: WeightFormat,
    pitch: usize,
    k: usize,
    weights: &'w [u32],
    scales: &'w [u32],
}

/// Computes `tile` columns from `first` on, for all vectors, into `totals`.
#[inline(always)]
fn columns(packed: &PackedLines<'_>, first: usize, tile: usize, x: &[f32], steps: usize, totals: &mut [f32]) {
    // The pitch is a multiple of 16, so the last columns of a tile may be those of no output.
    let count = tile.min(packed.pitch - first);
    let m = totals.len() / tile;
    let mut done = 0;
    while done < m {
        let (x, totals) = (&x[done * steps..], &mut totals[done * tile..]);
        done += match m - done {
            4.. => multiply::<4>(packed, [first, count, tile], x, steps, totals),
            2.. => multiply::<2>(packed, [first, count, tile], x, steps, totals),
            _ => multiply::<1>(packed, [first, count, tile], x, steps, totals),
        };
    }
}

/// Products of `V` vectors; returns `V`.
#[inline(always)]
fn multiply<const V: usize>(
    packed: &PackedLines<'_>,
    [first, count, tile]: [usize; 3],
    x: &[f32],
    steps: usize,
    totals: &mut [f32],
) -> usize {
    let x: [&[f32]; V] = std::array::from_fn(|v| &x[v * steps..][..steps]);
    match packed.format {
        WeightFormat::F16 => halves(packed, [first, count, tile], x, totals),
        WeightFormat::I8 | WeightFormat::Q8_0 => blocks::<8, V>(packed, [first, count, tile], x, totals),
        WeightFormat::Q4_0 => blocks::<4, V>(packed, [first, count, tile], x, totals),
    }
    if packed.format == WeightFormat::I8 {
        let scales: &[f32] = &bytemuck::cast_slice(packed.scales)[first..][..count];
        for totals in totals.chunks_exact_mut(tile).take(V) {
            for (total, scale) in totals.iter_mut().zip(scales) {
                *total *= scale;
            }
        }
    }
    V
}

#[inline(always)]
fn halves<const V: usize>(
    packed: &PackedLines<'_>,
    [first, count, tile]: [usize; 3],
    x: [&[f32]; V],
    totals: &mut [f32],
) {
    let weights: &[f16] = bytemuck::cast_slice(packed.weights);
    let line = |l: usize| &weights[l * packed.pitch + first..][..count];
    let whole = packed.k - packed.k % STEPS;
    for l in (0..whole).step_by(STEPS) {
        add_lines::<STEPS, V>(std::array::from_fn(|step| line(l + step)), x.map(|x| &x[l..]), tile, totals);
    }
    for l in whole..packed.k {
        add_lines::<1, V>([line(l)], x.map(|x| &x[l..]), tile, totals);
    }
}

/// Adds the products of `N` lines of halves and of as many elements of each vector.
#[inline(always)]
fn add_lines<const N: usize, const V: usize>(
    lines: [&[f16]; N],
    x: [&[f32]; V],
    tile: usize,
    totals: &mut [f32],
) {
    /// As many columns as a line has at least.
    const COLUMNS: usize = LANES / 2;

    let lines = lines.map(|line| line.as_chunks::<COLUMNS>().0);
    #[allow(clippy::needless_range_loop, reason = "a block of several slices at once")]
    for block in 0..lines[0].len() {
        for (x, totals) in x.iter().zip(totals.chunks_exact_mut(tile)) {
            let totals = &mut totals.as_chunks_mut::<COLUMNS>().0[block];
            let mut sums = *totals;
            for step in 0..N {
                let (x, line) = (x[step], &lines[step][block]);
                for (sum, weight) in sums.iter_mut().zip(line) {
                    *sum += widened(*weight) * x;
                }
            }
            *totals = sums;
        }
    }
}

/// The weights of eight steps along K in `LINES` lines of a block.
#[inline(always)]
fn blocks<const LINES: usize, const V: usize>(
    packed: &PackedLines<'_>,
    [first, count, tile]: [usize; 3],
    x: [&[f32]; V],
    totals: &mut [f32],
) {
    let scales: &[f16] = bytemuck::cast_slice(packed.scales);
    let has_scales = packed.format != WeightFormat::I8;
    for block in 0..packed.k.div_ceil(BLOCK) {
        let lines = &packed.weights[block * LINES * packed.pitch..];
        let lines: [&[u32]; LINES] =
            std::array::from_fn(|line| &lines[line * packed.pitch + first..][..count]);
        let scales = if has_scales { &scales[block * packed.pitch + first..][..count] } else { &[] };
        let x = x.map(|x| &x[block * BLOCK..][..BLOCK]);
        let whole = count - count % LANES;
        for from in (0..whole).step_by(LANES) {
            add_block::<LANES, LINES, V>(from, lines, scales, x, tile, totals);
        }
        for from in (whole..count).step_by(LANES / 2) {
            add_block::<{ LANES / 2 }, LINES, V>(from, lines, scales, x, tile, totals);
        }
    }
}

/// Adds the products of a block of `N` columns from `from` on; without scales, they are 1.
#[inline(always)]
fn add_block<const N: usize, const LINES: usize, const V: usize>(
    from: usize,
    lines: [&[u32]; LINES],
    scales: &[f16],
    x: [&[f32]; V],
    tile: usize,
    totals: &mut [f32],
) {
    let mut sums = [[0.0; N]; V];
    for line in 0..LINES {
        let Some(words) = lines[line][from..].first_chunk::<N>() else { return };
        for step in 0..BLOCK / LINES {
            let mut weights = [0.0; N];
            for (weight, word) in weights.iter_mut().zip(words) {
                *weight = if LINES == 4 {
                    (word >> (4 * step) & 15).cast_signed() as f32 - 8.0
                } else {
                    // The byte moves to the top of the word, and back with its sign.
                    ((word << (24 - 8 * step)).cast_signed() >> 24) as f32
                };
            }
            for (sums, x) in sums.iter_mut().zip(x) {
                let x = x[line * BLOCK / LINES + step];
                for (sum, weight) in sums.iter_mut().zip(&weights) {
                    *sum += weight * x;
                }
            }
        }
    }
    let scale: [f32; N] = match scales.get(from..).and_then(<[f16]>::first_chunk) {
        Some(scales) => scales.map(widened),
        None => [1.0; N],
    };
    for (sums, totals) in sums.iter().zip(totals.chunks_exact_mut(tile)) {
        for ((total, sum), scale) in totals[from..].iter_mut().zip(sums).zip(&scale) {
            *total += sum * scale;
        }
    }
}
