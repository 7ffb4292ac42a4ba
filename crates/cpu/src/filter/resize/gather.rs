//! Picking of elements of 32 bits at any places of a row, and their weighted sums.
//!
//! A shuffle picks 16 elements (8 with AVX2) out of one or two vectors at once, and what it picked stays in registers
//! until it is summed. Picking them one by one, storing and loading them again took almost half of the time of bilinear
//! resizing.

use std::marker::PhantomData;

use bytemuck::Pod;
use pulp::Arch;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use pulp::{
    Simd,
    core_arch::x86::{Avx2, Avx512f},
    x86::{V3, V4},
};
// No such instructions are used on other machines.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
use std::convert::Infallible as V3;

use super::sums::WeightedSum;
use crate::aligned::Aligned;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use crate::wide::Wide;

/// A processor's shuffles of `L` elements.
trait Shuffle<const L: usize>: Copy {
    /// Element i is `window[places[i]]`; the places are below `L`.
    fn near(self, window: [f32; L], places: [u32; L]) -> [f32; L];

    /// As [`Self::near`] for a window of two vectors; the places are below 2 `L`.
    fn far(self, window: [[f32; L]; 2], places: [u32; L]) -> [f32; L];
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
impl Shuffle<16> for Avx512f {
    #[inline(always)]
    fn near(self, window: [f32; 16], places: [u32; 16]) -> [f32; 16] {
        pulp::cast(self._mm512_permutexvar_ps(pulp::cast(places), pulp::cast(window)))
    }

    #[inline(always)]
    fn far(self, [low, high]: [[f32; 16]; 2], places: [u32; 16]) -> [f32; 16] {
        pulp::cast(self._mm512_permutex2var_ps(pulp::cast(low), pulp::cast(places), pulp::cast(high)))
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
impl Shuffle<8> for Avx2 {
    #[inline(always)]
    fn near(self, window: [f32; 8], places: [u32; 8]) -> [f32; 8] {
        pulp::cast(self._mm256_permutevar8x32_ps(pulp::cast(window), pulp::cast(places)))
    }

    #[inline(always)]
    fn far(self, [low, high]: [[f32; 8]; 2], places: [u32; 8]) -> [f32; 8] {
        let [low, high] = [low, high].map(|window| pulp::cast(self.near(window, places)));
        let upper = self._mm256_cmpgt_epi32(pulp::cast(places), pulp::cast([7; 8]));
        pulp::cast(self._mm256_blendv_epi8(low, high, upper))
    }
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
impl Shuffle<8> for V3 {
    fn near(self, _: [f32; 8], _: [u32; 8]) -> [f32; 8] {
        match self {}
    }

    fn far(self, _: [[f32; 8]; 2], _: [u32; 8]) -> [f32; 8] {
        match self {}
    }
}

#[derive(Clone, Copy)]
#[cfg_attr(
    not(any(target_arch = "x86", target_arch = "x86_64")),
    allow(dead_code, reason = "other machines have no such shuffles")
)]
enum Shuffles {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Sixteen(V4),
    Eight(V3),
}

impl Shuffles {
    fn of(arch: Arch) -> Option<Self> {
        match arch {
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Arch::V4(simd) => Some(Self::Sixteen(simd)),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Arch::V3(simd) => Some(Self::Eight(simd)),
            _ => None,
        }
    }

    /// The number of elements that are picked together.
    fn lanes(self) -> usize {
        match self {
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Self::Sixteen(_) => 16,
            Self::Eight(_) => 8,
        }
    }
}

/// The places of the elements of a result's rows in the rows of the source.
pub(super) struct Gather {
    shuffles: Shuffles,
    /// Whether windows are single vectors.
    near: bool,
    /// For each vector of elements: the first element of its window.
    from: Vec<u32>,
    /// The places of all elements in their windows; padded to whole vectors.
    places: Aligned<u32>,
    /// The number of elements from one pixel to the next.
    step: usize,
}

impl Gather {
    /// `first` are the columns of the first pixel of each sum of `taps` pixels, in rows of `width` pixels.
    ///
    /// `None` if the pixels that neighbours are picked from are too far apart, if the row is too short, or if the
    /// machine has no such shuffles.
    pub(super) fn new(arch: Arch, first: &[u32], taps: usize, [width, channels]: [usize; 2]) -> Option<Self> {
        let shuffles = Shuffles::of(arch)?;
        u32::try_from(width.checked_mul(channels)?).ok()?;
        let lanes = shuffles.lanes();
        let len = first.len() * channels;
        let mut places = Aligned::filled(0, len.next_multiple_of(lanes));
        for (places, column) in places.chunks_exact_mut(channels).zip(first) {
            let begin = column * channels as u32;
            places.iter_mut().zip(begin..).for_each(|(place, element)| *place = element);
        }
        let mut reach = 0;
        let mut from = Vec::with_capacity(places.len().div_ceil(lanes));
        for places in places[..len].chunks_mut(lanes) {
            let begin = places.iter().copied().min()?;
            for place in &mut *places {
                *place -= begin;
                reach = reach.max(*place);
            }
            from.push(begin);
        }
        // Windows end with the row.
        let near = (reach as usize) < lanes;
        let window = if near { lanes } else { 2 * lanes };
        let last = (width * channels).checked_sub(window + (taps - 1) * channels)?;
        for (from, places) in from.iter_mut().zip(places.chunks_exact_mut(lanes)) {
            let beyond = from.saturating_sub(u32::try_from(last).ok()?);
            if beyond > 0 {
                *from -= beyond;
                for place in places.iter_mut() {
                    *place += beyond;
                }
                reach = reach.max(places.iter().copied().max()?);
            }
        }
        let fits = (reach as usize) < window;
        fits.then_some(Self { shuffles, near, from, places, step: channels })
    }

    /// The picked elements of `row`, from element `at` of the result's row on. They have 32 bits.
    pub(super) fn copy<T: Pod>(&self, row: &[T], at: usize, out: &mut [T]) {
        let (Ok(row), Ok(out)) = (bytemuck::try_cast_slice(row), bytemuck::try_cast_slice_mut(out)) else {
            return;
        };
        self.vectors(row, at, out, &Copied);
    }

    /// The sums of the elements of `row`, which have 32 bits, from element `at` of the result's row on. Each of `weights`
    /// has the weights of one tap, padded to whole vectors.
    pub(super) fn sums<I: Pod, W: Pod, S: WeightedSum<I, W>, O: Pod>(
        &self,
        row: &[I],
        at: usize,
        weights: &[Aligned<W>],
        out: &mut [O],
        result: impl Fn(S) -> O,
    ) {
        let Ok(row) = bytemuck::try_cast_slice(row) else { return };
        if let [first, second] = weights {
            // The most frequent number of taps.
            let weights: [&[W]; 2] = [first, second];
            self.vectors(row, at, out, &TapSums { weights, result, of: PhantomData });
        } else {
            let weights: Vec<&[W]> = weights.iter().map(|weights| &**weights).collect();
            self.vectors(row, at, out, &TapSums { weights: &weights[..], result, of: PhantomData });
        }
    }

    /// The elements from `at` on that are made of `row`, compiled only for the vectors that the shuffles are of.
    fn vectors<O: Pod>(&self, row: &[f32], at: usize, out: &mut [O], make: &impl Make<O>) {
        match self.shuffles {
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Shuffles::Sixteen(simd) => Simd::vectorize(
                simd,
                Wide(
                    #[inline(always)]
                    || self.near_or_far::<16, O>(simd.avx512f, row, at, out, make),
                ),
            ),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Shuffles::Eight(simd) => Simd::vectorize(
                simd,
                Wide(
                    #[inline(always)]
                    || self.near_or_far::<8, O>(simd.avx2, row, at, out, make),
                ),
            ),
            #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
            Shuffles::Eight(none) => self.near_or_far::<8, O>(none, row, at, out, make),
        }
    }

    #[inline(always)]
    fn near_or_far<const L: usize, O: Pod>(
        &self,
        shuffle: impl Shuffle<L>,
        row: &[f32],
        at: usize,
        out: &mut [O],
        make: &impl Make<O>,
    ) {
        if self.near {
            self.vectors_by::<L, true, O>(shuffle, row, at, out, make);
        } else {
            self.vectors_by::<L, false, O>(shuffle, row, at, out, make);
        }
    }

    #[inline(always)]
    fn vectors_by<const L: usize, const NEAR: bool, O: Pod>(
        &self,
        shuffle: impl Shuffle<L>,
        row: &[f32],
        at: usize,
        out: &mut [O],
        make: &impl Make<O>,
    ) {
        // Parts of rows need not begin or end with a vector.
        let skipped = at % L;
        let (head, out) = out.split_at_mut(((L - skipped) % L).min(out.len()));
        let (whole, rest) = out.as_chunks_mut::<L>();
        let (first, count) = (at.div_ceil(L), whole.len());
        let mut single = [[O::zeroed(); L]];
        let parts = [(at / L, head.is_empty()), (first, count == 0), (first + count, rest.is_empty())];
        for (part, (first, _)) in parts.into_iter().enumerate().filter(|(_, (_, is_empty))| !is_empty) {
            let outs = if part == 1 { &mut *whole } else { &mut single[..] };
            let all = first..first + outs.len();
            let (from, places) = (&self.from[all.clone()], &self.places.as_chunks::<L>().0[all]);
            let source = Picks::<_, L, NEAR> { shuffle, row, from, places, step: self.step };
            make.write(first, source, outs);
            if part == 0 {
                head.copy_from_slice(&single[0][skipped..][..head.len()]);
            } else if part == 2 {
                rest.copy_from_slice(&single[0][..rest.len()]);
            }
        }
    }
}

/// The picked elements of some vectors of a row.
struct Picks<'a, S, const L: usize, const NEAR: bool> {
    shuffle: S,
    row: &'a [f32],
    from: &'a [u32],
    places: &'a [[u32; L]],
    step: usize,
}

impl<S: Shuffle<L>, const L: usize, const NEAR: bool> Picks<'_, S, L, NEAR> {
    /// The row from the pixel of a tap on. As long for each tap, so that the bounds of all are checked at once.
    #[inline(always)]
    fn row_of(&self, tap: usize, taps: usize) -> &[f32] {
        &self.row[tap * self.step..][..self.row.len() - (taps - 1) * self.step]
    }

    /// Those of a vector in the row of a tap.
    #[inline(always)]
    fn picked(&self, row: &[f32], vector: usize) -> [f32; L] {
        let begin = self.from[vector] as usize;
        let window = &row[begin..begin + if NEAR { L } else { 2 * L }];
        let low = window.first_chunk().copied().unwrap_or([0.0; L]);
        if NEAR {
            self.shuffle.near(low, self.places[vector])
        } else {
            let high = window[L..].first_chunk().copied().unwrap_or([0.0; L]);
            self.shuffle.far([low, high], self.places[vector])
        }
    }
}

/// What is made of picked elements.
trait Make<O> {
    /// Writes vectors, the first of which is vector `first` of the row.
    fn write<S: Shuffle<L>, const L: usize, const NEAR: bool>(
        &self,
        first: usize,
        picks: Picks<'_, S, L, NEAR>,
        outs: &mut [[O; L]],
    );
}

/// The elements themselves.
struct Copied;

impl Make<f32> for Copied {
    #[inline(always)]
    fn write<S: Shuffle<L>, const L: usize, const NEAR: bool>(
        &self,
        _: usize,
        picks: Picks<'_, S, L, NEAR>,
        outs: &mut [[f32; L]],
    ) {
        for (vector, out) in outs.iter_mut().enumerate() {
            *out = picks.picked(picks.row, vector);
        }
    }
}

/// Results of weighted sums of type `S` of elements of type `I`.
struct TapSums<W, F, I, S> {
    /// For each tap.
    weights: W,
    result: F,
    of: PhantomData<(I, S)>,
}

impl<O: Pod, I: Pod, W: Pod, T: WeightedSum<I, W>, F: Fn(T) -> O, const N: usize> Make<O>
    for TapSums<[&[W]; N], F, I, T>
{
    #[inline(always)]
    fn write<S: Shuffle<L>, const L: usize, const NEAR: bool>(
        &self,
        first: usize,
        picks: Picks<'_, S, L, NEAR>,
        outs: &mut [[O; L]],
    ) {
        let (mut weights, mut rows): ([&[[W; L]]; N], [&[f32]; N]) = ([&[]; N], [&[]; N]);
        for tap in 0..N {
            weights[tap] = &self.weights[tap].as_chunks().0[first..][..outs.len()];
            rows[tap] = picks.row_of(tap, N);
        }
        for (vector, out) in outs.iter_mut().enumerate() {
            let mut sums = [T::zeroed(); L];
            for tap in 0..N {
                sums = weighted(sums, picks.picked(rows[tap], vector), &weights[tap][vector]);
            }
            *out = finished(sums, &self.result);
        }
    }
}

impl<O: Pod, I: Pod, W: Pod, T: WeightedSum<I, W>, F: Fn(T) -> O> Make<O> for TapSums<&[&[W]], F, I, T> {
    #[inline(always)]
    fn write<S: Shuffle<L>, const L: usize, const NEAR: bool>(
        &self,
        first: usize,
        picks: Picks<'_, S, L, NEAR>,
        outs: &mut [[O; L]],
    ) {
        for (vector, out) in outs.iter_mut().enumerate() {
            let mut sums = [T::zeroed(); L];
            for (tap, weights) in self.weights.iter().enumerate() {
                let picked = picks.picked(picks.row_of(tap, self.weights.len()), vector);
                sums = weighted(sums, picked, &weights.as_chunks().0[first + vector]);
            }
            *out = finished(sums, &self.result);
        }
    }
}

/// Adds values of another tap.
#[inline(always)]
fn weighted<const L: usize, I: Pod, W: Copy, S: WeightedSum<I, W>>(
    mut sums: [S; L],
    values: [f32; L],
    weights: &[W; L],
) -> [S; L] {
    for i in 0..L {
        sums[i] = sums[i].with_any(weights[i], bytemuck::cast(values[i]));
    }
    sums
}

#[inline(always)]
fn finished<const L: usize, S: Copy, O: Pod>(sums: [S; L], result: impl Fn(S) -> O) -> [O; L] {
    // Not in place: a store to bytes might change what the function sees.
    let mut out = [O::zeroed(); L];
    for i in 0..L {
        out[i] = result(sums[i]);
    }
    out
}
