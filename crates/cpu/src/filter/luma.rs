//! Luma of packed bytes.
//!
//! Shuffles move the channels of four pixels into 16-bit halves, which one instruction multiplies by two weights each and
//! adds, instead of a product in 32 bits for each byte.

use pulp::core_arch::x86::Avx2;
use pulp::{Arch, Simd, WithSimd};
use tripipe_kernels::filter::Color;

/// The number of pixels that are computed together.
const TOGETHER: usize = 32;

/// Writes the luma of the first pixels of `row`, which have `channels` bytes; red, green and blue are at these places in
/// each. Returns the number of pixels: the last ones, and all where there are no such instructions, are left.
pub(super) fn luma(arch: Arch, row: &[u8], channels: usize, places: [usize; 3], out: &mut [u8]) -> usize {
    let avx2 = match arch {
        Arch::V4(simd) => simd.avx2,
        Arch::V3(simd) => simd.avx2,
        _ => return 0,
    };
    // As many bytes as the windows of the pixels extend over.
    match channels {
        3 => arch.dispatch(LumaRows::<3, { 3 * TOGETHER + 4 }> { avx2, row, places, out }),
        4 => arch.dispatch(LumaRows::<4, { 4 * TOGETHER }> { avx2, row, places, out }),
        _ => 0,
    }
}

/// The luma of pixels of `C` bytes, [`TOGETHER`] at a time from `READ` bytes.
struct LumaRows<'a, const C: usize, const READ: usize> {
    avx2: Avx2,
    row: &'a [u8],
    places: [usize; 3],
    out: &'a mut [u8],
}

impl<const C: usize, const READ: usize> WithSimd for LumaRows<'_, C, READ> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        /// A place whose byte is zero.
        const ZERO: u8 = 128;
        /// The bytes that four pixels are picked from.
        const WINDOW: usize = 16;

        let Self { avx2, row, places: [red, green, blue], out } = self;
        let (mut two_places, mut one_place) = ([ZERO; 2 * WINDOW], [ZERO; 2 * WINDOW]);
        for pixel in 0..8 {
            let byte = |place: usize| (pixel % 4 * C + place) as u8;
            two_places[4 * pixel] = byte(red);
            two_places[4 * pixel + 2] = byte(green);
            one_place[4 * pixel] = byte(blue);
        }
        let [r, g, b] = Color::LUMA_STEPS.map(|weight| weight as i16);
        let two_weights = pulp::cast([[r, g]; 8]);
        let one_weight = pulp::cast([[b, 0]; 8]);
        let (two_places, one_place) = (pulp::cast(two_places), pulp::cast(one_place));
        let half = pulp::cast([1i32 << 14; 8]);
        let order = pulp::cast([0i32, 4, 1, 5, 2, 6, 3, 7]);
        let mut done = 0;
        for (index, out) in out.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
            let Some(bytes) = row[index * TOGETHER * C..].first_chunk::<READ>() else { break };
            let eight = |first: usize| {
                let mut windows = [[0; WINDOW]; 2];
                for (half, window) in windows.iter_mut().enumerate() {
                    window.copy_from_slice(&bytes[(first + 4 * half) * C..][..WINDOW]);
                }
                let windows = pulp::cast(windows);
                let two = avx2._mm256_madd_epi16(avx2._mm256_shuffle_epi8(windows, two_places), two_weights);
                let one = avx2._mm256_madd_epi16(avx2._mm256_shuffle_epi8(windows, one_place), one_weight);
                let sum = avx2._mm256_add_epi32(avx2._mm256_add_epi32(two, one), half);
                avx2._mm256_srli_epi32::<15>(sum)
            };
            let low = avx2._mm256_packs_epi32(eight(0), eight(8));
            let high = avx2._mm256_packs_epi32(eight(16), eight(24));
            // Packing leaves the two halves of every vector apart.
            let packed = avx2._mm256_packus_epi16(low, high);
            *out = pulp::cast(avx2._mm256_permutevar8x32_epi32(packed, order));
            done += TOGETHER;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pixel_is_the_rounded_sum_of_its_channels() {
        let bytes: Vec<u8> = (0..4 * 333u32).map(|i| (i.wrapping_mul(0x9E37_79B9) >> 21) as u8).collect();
        // Noise, and the largest sums.
        for bytes in [bytes, vec![255; 4 * 333]] {
            for (channels, [r, g, b]) in [(3, [0, 1, 2]), (3, [2, 1, 0]), (4, [0, 1, 2]), (4, [2, 1, 0])] {
                for pixels in [0, 1, 31, 32, 33, 34, 63, 64, 100, 333] {
                    let row = &bytes[..channels * pixels];
                    let mut out = vec![1; pixels];
                    let done = luma(Arch::new(), row, channels, [r, g, b], &mut out);
                    assert!(done <= pixels);
                    for (pixel, found) in row.chunks_exact(channels).zip(&out).take(done) {
                        let channel = |place: usize| f64::from(pixel[place]);
                        let [red, green, blue] = Color::LUMA_STEPS.map(f64::from);
                        let sum = red * channel(r) + green * channel(g) + blue * channel(b);
                        assert_eq!(f64::from(*found), (sum / 32768.0 + 0.5).floor());
                    }
                    assert!(out[done..].iter().all(|byte| *byte == 1));
                }
            }
        }
    }
}
