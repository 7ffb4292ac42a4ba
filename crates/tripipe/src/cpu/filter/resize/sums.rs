//! Weighted sums of pixels along one axis.

use std::ops::Range;

use bytemuck::Pod;
use tripipe_kernels::filter::ResizeTaps;

use super::super::kernel::blocks;
use super::super::rows::LANES;

/// The type in which weighted sums of pixels are taken.
pub(super) trait Sum<T>: WeightedSum<T, Self::Weight> + WeightedSum<Self, Self::Weight> {
    type Weight: Pod + Send + Sync;

    /// The result of a sum in steps of 2^-`bits`: for integers the nearest, half rounded up.
    fn finish(self, bits: u32) -> T;
}

/// Sums of values of one type, weighted by another one.
pub(super) trait WeightedSum<I, W>: Pod {
    /// Adds one more value. A value with weight 0 may be NaN or infinite.
    fn with(self, weight: W, value: I) -> Self;
}

macro_rules! summed {
    ($($value:ty, $weight:ty => $sum:ty),*) => { $(
        impl WeightedSum<$value, $weight> for $sum {
            #[inline(always)]
            fn with(self, weight: $weight, value: $value) -> Self {
                self + Self::from(weight) * Self::from(value)
            }
        }
    )* };
}

// Integers first, whose sums along one axis are weighted again along the other.
summed!(u8, u16 => u16, u16, u16 => u16, u8, i16 => i32, i32, i16 => i32, u8, f64 => f64, i16, f64 => f64, u16, f64 => f64, f64, f64 => f64);

impl WeightedSum<f32, f32> for f32 {
    #[inline(always)]
    fn with(self, weight: f32, value: f32) -> Self {
        self + if weight == 0.0 { 0.0 } else { weight * value }
    }
}

/// For weights of at most 8 bits, both axes together.
impl Sum<u8> for u16 {
    type Weight = u16;

    #[inline(always)]
    fn finish(self, bits: u32) -> u8 {
        ((self + (1 << bits >> 1)) >> bits) as u8
    }
}

/// For weights of at most 22 bits.
impl Sum<u8> for i32 {
    type Weight = i16;

    #[inline(always)]
    fn finish(self, bits: u32) -> u8 {
        ((self + (1 << bits >> 1)) >> bits) as u8
    }
}

/// For weights of at most 36 bits, where all sums are exact.
macro_rules! wide_sum {
    ($($pixel:ty),*) => { $(
        impl Sum<$pixel> for f64 {
            type Weight = f64;

            #[inline(always)]
            fn finish(self, bits: u32) -> $pixel {
                (self / (1u64 << bits) as f64 + 0.5).floor() as $pixel
            }
        }
    )* };
}

wide_sum!(u8, i16, u16);

impl Sum<f32> for f32 {
    type Weight = f32;

    #[inline(always)]
    fn finish(self, _: u32) -> f32 {
        self
    }
}

/// The weighted sums along one axis.
pub(super) struct Axis<W> {
    /// The first source pixel of each sum.
    pub(super) first: Vec<usize>,
    /// The number of weights of each sum.
    pub(super) count: usize,
    /// `count` weights for each result pixel, in steps of 2^-`bits`.
    pub(super) weights: Vec<W>,
    pub(super) bits: u32,
}

impl Axis<f32> {
    pub(super) fn new(taps: &ResizeTaps) -> Self {
        let first = taps.first.iter().map(|first| *first as usize).collect();
        let weights = taps.weights().into_iter().map(|weight| weight as f32).collect();
        Self { first, count: taps.count, weights, bits: 0 }
    }
}

impl Axis<u32> {
    /// Uses the largest steps that all weights are multiples of, 2^-`bits` or more.
    pub(super) fn whole(taps: &ResizeTaps, bits: u32) -> Self {
        let steps = taps.steps(bits);
        let spare = steps.iter().fold(1 << bits, |all, step| all | step).trailing_zeros();
        let weights = steps.into_iter().map(|step| step >> spare).collect();
        let first = taps.first.iter().map(|first| *first as usize).collect();
        Self { first, count: taps.count, weights, bits: bits - spare }
    }

    pub(super) fn map<W>(self, weight: impl Fn(u32) -> W) -> Axis<W> {
        let Self { first, count, weights, bits } = self;
        Axis { first, count, weights: weights.into_iter().map(weight).collect(), bits }
    }
}

/// The weighted sums along rows of packed pixels.
pub(super) struct ColumnSums<W, const C: usize> {
    /// The first source pixel of each sum.
    first: Vec<u32>,
    /// Whether the sums begin at every second pixel from the first one on, and have at most two taps.
    pairs: bool,
    /// For the first tap, the next one and so on: the weight of the pixel in every result, once for each channel;
    /// padded by [`LANES`] pixels.
    weights: Vec<Vec<[W; C]>>,
}

impl<W: Pod, const C: usize> ColumnSums<W, C> {
    /// The sums of rows of `width` pixels.
    pub(super) fn new(Axis { first, count, weights, .. }: Axis<W>, width: usize) -> Self {
        let column = |tap: usize| {
            let mut column: Vec<_> =
                weights.iter().skip(tap).step_by(count).map(|weight| [*weight; C]).collect();
            column.resize(column.len() + LANES, [W::zeroed(); C]);
            column
        };
        let halved = count <= 2 && 2 * first.len() <= width;
        let pairs = halved && first.iter().enumerate().all(|(x, first)| *first == 2 * x);
        let first = first.iter().map(|first| *first as u32).collect();
        Self { first, pairs, weights: (0..count).map(column).collect() }
    }

    /// Memory for the pixels that are summed.
    pub(super) fn scratch<I: Pod>(&self) -> Vec<Vec<[I; C]>> {
        vec![vec![[I::zeroed(); C]; self.first.len() + LANES]; self.weights.len()]
    }

    /// The sums from that of pixel `from` on.
    #[inline(always)]
    pub(super) fn sums<I: Pod, S: WeightedSum<I, W>, O: Pod>(
        &self,
        row: &[I],
        from: usize,
        scratch: &mut [Vec<[I; C]>],
        out: &mut [O],
        result: impl Fn(S) -> O,
    ) {
        let row = row.as_chunks::<C>().0;
        let first = &self.first[from..][..out.len() / C];
        // All pixels are gathered before any sum: a vector load must not wait for stores of its elements that are still
        // in progress.
        for (tap, picked) in scratch.iter_mut().enumerate() {
            let picked = &mut picked[..first.len()];
            if self.pairs {
                let pairs = picked.iter_mut().zip(row[2 * from..].as_chunks::<2>().0);
                // A separate loop for each tap, which the compiler vectorises.
                if tap == 0 {
                    pairs.for_each(|(picked, pair)| *picked = pair[0]);
                } else {
                    pairs.for_each(|(picked, pair)| *picked = pair[1]);
                }
            } else {
                pick(&row[tap..], first, picked);
            }
        }
        blocks(
            out,
            #[inline(always)]
            |index, out| {
                let mut sums = [S::zeroed(); LANES];
                for (weights, picked) in self.weights.iter().zip(&*scratch) {
                    let weights = &weights[from..].as_flattened()[index * LANES..][..LANES];
                    let picked = &picked.as_flattened()[index * LANES..][..LANES];
                    for (sum, (weight, pixel)) in sums.iter_mut().zip(weights.iter().zip(picked)) {
                        *sum = sum.with(*weight, *pixel);
                    }
                }
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = result(sum);
                }
            },
        );
    }
}

/// `to[i] = from[places[i]]`, eight at a time: twice as fast.
#[inline(always)]
pub(super) fn pick<T: Copy>(from: &[T], places: &[u32], to: &mut [T]) {
    let ((eights, rest), (places, places_rest)) = (to.as_chunks_mut::<8>(), places.as_chunks::<8>());
    for (to, places) in eights.iter_mut().zip(places) {
        for i in 0..8 {
            to[i] = from[places[i] as usize];
        }
    }
    for (to, place) in rest.iter_mut().zip(places_rest) {
        *to = from[*place as usize];
    }
}

impl<W: Pod> Axis<W> {
    /// The sums for row `y` of the result, from element `at` of its source rows on. These have [`LANES`] more elements
    /// than are summed.
    #[inline(always)]
    pub(super) fn sums<I: Pod, S: WeightedSum<I, W>, O: Pod>(
        &self,
        rows: &[&[I]],
        y: isize,
        at: usize,
        out: &mut [O],
        result: impl Fn(S) -> O,
    ) {
        let weights = &self.weights[y as usize * self.count..][..self.count];
        blocks(
            out,
            #[inline(always)]
            |index, out| {
                let mut sums = [S::zeroed(); LANES];
                for (weight, row) in weights.iter().zip(rows) {
                    let row = &row[at + index * LANES..][..LANES];
                    for (sum, value) in sums.iter_mut().zip(row) {
                        *sum = sum.with(*weight, *value);
                    }
                }
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = result(sum);
                }
            },
        );
    }

    /// The rows of the source that contribute to row `y` of the result.
    pub(super) fn seen(&self, y: isize) -> Range<usize> {
        let first = self.first[y as usize];
        first..first + self.count
    }

    /// Those rows from `next` on; `next` becomes the row after them.
    pub(super) fn unread(&self, y: isize, next: &mut usize) -> Range<usize> {
        let Range { start, end } = self.seen(y);
        let begin = start.max(*next);
        *next = begin.max(end);
        begin..*next
    }
}
