//! Weighted sums of pixels along one axis.

use std::ops::Range;

use bytemuck::Pod;
use pulp::Arch;
use tripipe_kernels::filter::ResizeTaps;

use super::super::kernel::blocks;
use super::super::rows::LANES;
use super::gather::Gather;
use crate::aligned::Aligned;
use crate::wide::Wide;

/// The type in which weighted sums of pixels are taken.
pub(super) trait Sum<T>: WeightedSum<T, Self::Weight> + WeightedSum<Self, Self::Weight> {
    type Weight: Pod + PartialEq + Send + Sync;

    /// The result of a sum in steps of 2^-`bits`: for integers the nearest, half rounded up.
    fn finish(self, bits: u32) -> T;
}

/// Sums of values of one type, weighted by another one.
pub(super) trait WeightedSum<I, W>: Pod {
    /// Adds one more value, whose weight is not 0.
    fn with(self, weight: W, value: I) -> Self;

    /// As [`Self::with`]; a value with weight 0 may be NaN or infinite.
    #[inline(always)]
    fn with_any(self, weight: W, value: I) -> Self {
        self.with(weight, value)
    }
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
summed!(u8, u16 => u16, u16, u16 => u16, u8, i16 => i32, i32, i16 => i32);
summed!(u8, f64 => f64, i16, f64 => f64, u16, f64 => f64, f64, f64 => f64);

impl WeightedSum<f32, f32> for f32 {
    #[inline(always)]
    fn with(self, weight: f32, value: f32) -> Self {
        self + weight * value
    }

    #[inline(always)]
    fn with_any(self, weight: f32, value: f32) -> Self {
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

/// For weights of at most 22 bits; some may be below 0.
impl Sum<u8> for i32 {
    type Weight = i16;

    #[inline(always)]
    fn finish(self, bits: u32) -> u8 {
        ((self + (1 << bits >> 1)) >> bits).clamp(0, 255) as u8
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

impl Axis<i32> {
    /// Uses the largest steps that all weights are multiples of, 2^-`bits` or more.
    pub(super) fn whole(taps: &ResizeTaps, bits: u32) -> Self {
        let steps = taps.steps(bits);
        let spare = steps.iter().fold(1 << bits, |all, step| all | step).trailing_zeros();
        let weights = steps.into_iter().map(|step| step >> spare).collect();
        let first = taps.first.iter().map(|first| *first as usize).collect();
        Self { first, count: taps.count, weights, bits: bits - spare }
    }

    pub(super) fn map<W>(self, weight: impl Fn(i32) -> W) -> Axis<W> {
        let Self { first, count, weights, bits } = self;
        Axis { first, count, weights: weights.into_iter().map(weight).collect(), bits }
    }
}

/// The weighted sums along rows of packed pixels.
pub(super) struct ColumnSums<W> {
    channels: usize,
    /// The first source pixel of each sum.
    first: Vec<u32>,
    /// Whether the sums begin at every second pixel from the first one on, and have at most two taps.
    pairs: bool,
    /// How elements of 32 bits are picked, if shuffles can.
    gather: Option<Gather>,
    /// For the first tap, the next one and so on: the weight of the pixel in every result, once for each channel;
    /// padded by [`LANES`] pixels.
    weights: Vec<Aligned<W>>,
}

/// Calls a function of the number of channels, 1 to 4, as a constant. Only what moves whole pixels is compiled for each.
macro_rules! by_channels {
    ($channels:expr, $function:ident($($argument:expr),*)) => {
        match $channels {
            1 => $function::<1, _>($($argument),*),
            2 => $function::<2, _>($($argument),*),
            3 => $function::<3, _>($($argument),*),
            _ => $function::<4, _>($($argument),*),
        }
    };
}

impl<W: Pod> ColumnSums<W> {
    /// The sums of rows of `width` pixels, whose elements have `bytes` bytes.
    pub(super) fn new(
        Axis { first, count, weights, .. }: Axis<W>,
        [width, channels]: [usize; 2],
        bytes: usize,
        arch: Arch,
    ) -> Self {
        let column = |tap: usize| {
            let mut column = Aligned::filled(W::zeroed(), (first.len() + LANES) * channels);
            by_channels!(channels, repeat(weights.iter().skip(tap).step_by(count), &mut column));
            column
        };
        let halved = count <= 2 && 2 * first.len() <= width;
        let pairs = halved && first.iter().enumerate().all(|(x, first)| *first == 2 * x);
        let weights = (0..count).map(column).collect();
        let first: Vec<u32> = first.iter().map(|first| *first as u32).collect();
        let gather = if bytes == 4 { Gather::new(arch, &first, count, [width, channels]) } else { None };
        Self { channels, first, pairs, gather, weights }
    }

    /// Memory for the pixels that are summed.
    pub(super) fn scratch<I: Pod>(&self) -> Vec<Vec<I>> {
        if self.gather.is_some() {
            return Vec::new();
        }
        vec![vec![I::zeroed(); (self.first.len() + LANES) * self.channels]; self.weights.len()]
    }

    /// The sums from element `at` on, the first of a pixel.
    pub(super) fn sums<I: Pod, S: WeightedSum<I, W>, O: Pod>(
        &self,
        arch: Arch,
        row: &[I],
        at: usize,
        scratch: &mut [Vec<I>],
        out: &mut [O],
        result: impl Fn(S) -> O,
    ) {
        if const { size_of::<I>() == 4 }
            && let Some(gather) = &self.gather
        {
            return gather.sums(row, at, &self.weights, out, result);
        }
        // All pixels are gathered before any sum: a vector load must not wait for stores of its elements that are still
        // in progress.
        let first = &self.first[at / self.channels..][..out.len() / self.channels];
        by_channels!(self.channels, pick_all(arch, row, first, self.pairs, scratch));
        arch.dispatch(Wide(
            #[inline(always)]
            || {
                blocks(
                    out,
                    #[inline(always)]
                    |index, out| {
                        let mut sums = [S::zeroed(); LANES];
                        for (weights, picked) in self.weights.iter().zip(&*scratch) {
                            let weights = &weights[at + index * LANES..][..LANES];
                            let picked = &picked[index * LANES..][..LANES];
                            for (sum, (weight, pixel)) in sums.iter_mut().zip(weights.iter().zip(picked)) {
                                *sum = sum.with_any(*weight, *pixel);
                            }
                        }
                        for (out, sum) in out.iter_mut().zip(sums) {
                            *out = result(sum);
                        }
                    },
                );
            },
        ));
    }
}

/// Writes each of `values` `C` times.
fn repeat<'a, const C: usize, T: Copy + 'a>(values: impl Iterator<Item = &'a T>, to: &mut [T]) {
    for (pixel, value) in to.as_chunks_mut::<C>().0.iter_mut().zip(values) {
        *pixel = [*value; C];
    }
}

/// Picks the pixels of each tap, of `C` channels. With `pairs`, `first` are every second pixel, and there are at most two
/// taps.
fn pick_all<const C: usize, I: Pod>(
    arch: Arch,
    row: &[I],
    first: &[u32],
    pairs: bool,
    scratch: &mut [Vec<I>],
) {
    let row = row.as_chunks::<C>().0;
    arch.dispatch(Wide(
        #[inline(always)]
        || {
            for (tap, picked) in scratch.iter_mut().enumerate() {
                let picked = &mut picked.as_chunks_mut::<C>().0[..first.len()];
                if pairs && let Some(begin) = first.first() {
                    let pairs = picked.iter_mut().zip(row[*begin as usize..].as_chunks::<2>().0);
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
        },
    ));
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

impl<W: Pod + PartialEq> Axis<W> {
    /// The sums for row `y` of the result, from element `at` of its source rows on, which `row` returns. These have
    /// [`LANES`] more elements than are summed.
    pub(super) fn sum<'r, I: Pod, S: WeightedSum<I, W>, O: Pod>(
        &self,
        arch: Arch,
        y: isize,
        row: impl Fn(usize) -> &'r [I],
        at: usize,
        out: &mut [O],
        result: impl Fn(S) -> O + Copy,
    ) {
        let weights = &self.weights[y as usize * self.count..][..self.count];
        let rows = weights.iter().zip(self.seen(y)).filter(|(weight, _)| **weight != W::zeroed());
        let mut rows = rows.map(|(weight, y)| (*weight, row(y)));
        // The most frequent numbers of rows.
        match [rows.next(), rows.next(), rows.next()] {
            [Some(first), None, _] => arch.dispatch(Wide(
                #[inline(always)]
                || few_sums([first], at, out, result),
            )),
            [Some(first), Some(second), None] => arch.dispatch(Wide(
                #[inline(always)]
                || few_sums([first, second], at, out, result),
            )),
            others => {
                let rows: Vec<_> = others.into_iter().flatten().chain(rows).collect();
                arch.dispatch(Wide(
                    #[inline(always)]
                    || sums(&rows, at, out, result),
                ));
            }
        }
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

/// The sums of rows times their weights, from element `at` on.
#[inline(always)]
fn few_sums<I: Pod, W: Copy, S: WeightedSum<I, W>, O: Pod, const N: usize>(
    rows: [(W, &[I]); N],
    at: usize,
    out: &mut [O],
    result: impl Fn(S) -> O,
) {
    let len = out.len().next_multiple_of(LANES);
    let mut lines: [&[[I; LANES]]; N] = [&[]; N];
    for (line, (_, row)) in lines.iter_mut().zip(&rows) {
        *line = row[at..][..len].as_chunks().0;
    }
    blocks(
        out,
        #[inline(always)]
        |index, out| {
            let mut sums = [S::zeroed(); LANES];
            for row in 0..N {
                let (weight, line) = (rows[row].0, &lines[row][index]);
                for i in 0..LANES {
                    sums[i] = sums[i].with(weight, line[i]);
                }
            }
            for i in 0..LANES {
                out[i] = result(sums[i]);
            }
        },
    );
}

/// As [`few_sums`], for any number of rows.
#[inline(always)]
fn sums<I: Pod, W: Copy, S: WeightedSum<I, W>, O: Pod>(
    rows: &[(W, &[I])],
    at: usize,
    out: &mut [O],
    result: impl Fn(S) -> O,
) {
    blocks(
        out,
        #[inline(always)]
        |index, out| {
            let mut sums = [S::zeroed(); LANES];
            for (weight, row) in rows {
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
