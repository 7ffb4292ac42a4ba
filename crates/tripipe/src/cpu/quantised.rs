//! Products of a few vectors and a matrix of weights in 16, 8 or 4 bits, in the layout that kernels read.
//!
//! A thread takes some columns and walks down all of K: the lines of a block are read once for up to four vectors, and
//! neighbouring columns are the lanes of vector registers. Sums of a block stay in registers; the totals of the columns in
//! the first-level cache.

use half::f16;
use half::slice::HalfFloatSliceExt;
use pulp::Arch;
use tripipe_kernels::quantised::{BLOCK, PackedLayout, QuantisedProduct, WeightFormat};

use super::bands::share_out;
use super::error::check_length;
use super::wide::Wide;
use super::{CpuError, Threads};

/// Columns whose sums of a block are in registers at the same time.
const LANES: usize = 32;
/// Columns that a thread takes at a time: a kilobyte of each line.
const TILE: usize = 256;
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
    let [of_n, of_k] = layout.extents();
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
    let alone = threads == Threads::One || n.saturating_mul(k) <= SMALL;
    let workers = if alone { 1 } else { rayon::current_num_threads() };
    let tile = n.div_ceil(workers).next_multiple_of(LANES).min(TILE);
    let mut totals = vec![0.0f32; n.div_ceil(tile) * tile * m];
    let arch = Arch::new();
    let work = |(index, totals): (usize, &mut [f32])| {
        arch.dispatch(Wide(
            #[inline(always)]
            || columns(&packed, index * tile, tile, &wide, steps, totals),
        ));
    };
    let tiles = totals.chunks_exact_mut(tile * m).enumerate();
    if alone {
        tiles.for_each(work);
    } else {
        share_out(tiles, work);
    }
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
            4.. => vectors::<4>(packed, [first, count, tile], x, steps, totals),
            2.. => vectors::<2>(packed, [first, count, tile], x, steps, totals),
            _ => vectors::<1>(packed, [first, count, tile], x, steps, totals),
        };
    }
}

/// `V` vectors; returns `V`.
#[inline(always)]
fn vectors<const V: usize>(
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
    let mut line = [0.0; TILE];
    for l in 0..packed.k {
        let line = &mut line[..count];
        weights[l * packed.pitch + first..][..count].convert_to_f32_slice(line);
        for (x, totals) in x.iter().zip(totals.chunks_exact_mut(tile)) {
            let x = x[l];
            for (total, weight) in totals.iter_mut().zip(&*line) {
                *total += weight * x;
            }
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
    let mut scale = [1.0; TILE];
    for block in 0..packed.k.div_ceil(BLOCK) {
        if has_scales {
            scales[block * packed.pitch + first..][..count].convert_to_f32_slice(&mut scale[..count]);
        }
        let lines = &packed.weights[block * LINES * packed.pitch..][..LINES * packed.pitch];
        for from in (0..count).step_by(LANES) {
            let lanes = LANES.min(count - from);
            let mut sums = [[0.0; LANES]; V];
            for line in 0..LINES {
                let at = line * packed.pitch + first + from;
                let mut words = [0; LANES];
                words[..lanes].copy_from_slice(&lines[at..][..lanes]);
                let l = block * BLOCK + line * BLOCK / LINES;
                for step in 0..BLOCK / LINES {
                    let mut weights = [0.0; LANES];
                    for (weight, word) in weights.iter_mut().zip(&words) {
                        *weight = if LINES == 4 {
                            (word >> (4 * step) & 15).cast_signed() as f32 - 8.0
                        } else {
                            // The byte moves to the top of the word, and back with its sign.
                            ((word << (24 - 8 * step)).cast_signed() >> 24) as f32
                        };
                    }
                    for (sums, x) in sums.iter_mut().zip(x) {
                        let x = x[l + step];
                        for (sum, weight) in sums.iter_mut().zip(&weights) {
                            *sum += weight * x;
                        }
                    }
                }
            }
            let scale = &scale[from..][..lanes];
            for (sums, totals) in sums.iter().zip(totals.chunks_exact_mut(tile)) {
                for ((total, sum), scale) in totals[from..].iter_mut().zip(sums).zip(scale) {
                    *total += sum * scale;
                }
            }
        }
    }
}
