//! Resizing of images.
//!
//! When enlarging, rows of the source are first resized to the result's width, each once, and then summed for every row
//! of the result; when shrinking, sums down columns come first. So the step across, which gathers pixels from all over
//! a row, is done for the smaller number of rows.

use std::ops::Range;

use bytemuck::Pod;
use pulp::Arch;
use tripipe_kernels::filter::{FilterError, Interpolation, PixelType, Raster, ResizeTaps};

use super::kernel::blocks;
use super::number::Number;
use super::rows::{LANES, Rows, Source};
use super::{check_length, target};
use crate::cpu::wide::Wide;
use crate::cpu::{CpuError, Threads, vectors};

/// Resizes an image to the extents of `to`, as defined by [`tripipe_kernels::filter::resize_reference`]: integers are
/// bit-identical to it. Slices are as in [`super::filter`].
///
/// # Errors
/// [`CpuError::Filter`] for different channels or elements, when only one of the images is empty, and for slices too
/// short for their rasters; nothing is written then.
pub fn resize(
    interpolation: Interpolation,
    from: &Raster,
    source: &[u8],
    to: &Raster,
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    check_length("source", from, source)?;
    check_length("result", to, result)?;
    if from.channels != to.channels || from.element != to.element || from.is_empty() != to.is_empty() {
        let error = FilterError::Result {
            want: [to.width, to.height, from.channels],
            want_element: from.element,
            found: [to.width, to.height, to.channels],
            found_element: to.element,
        };
        return Err(error.into());
    }
    if to.is_empty() {
        return Ok(());
    }
    let taps = [interpolation.taps(from.width, to.width)?, interpolation.taps(from.height, to.height)?];
    let bits = interpolation.bits(from, to);
    let axes = taps.each_ref().map(|taps| Axis::whole(taps, bits));
    let images = [from, to];
    match from.element {
        PixelType::U8 if axes[0].bits + axes[1].bits <= 8 => {
            run::<u8, u16>(axes.map(|axis| axis.map(|step| step as u16)), images, source, result, threads)
        }
        // Here weights are at most 2^11.
        PixelType::U8 if bits > 11 => {
            run::<u8, f64>(axes.map(|axis| axis.map(f64::from)), images, source, result, threads)
        }
        PixelType::U8 => {
            run::<u8, i32>(axes.map(|axis| axis.map(|step| step as i16)), images, source, result, threads)
        }
        PixelType::I16 => {
            run::<i16, f64>(axes.map(|axis| axis.map(f64::from)), images, source, result, threads)
        }
        PixelType::U16 => {
            run::<u16, f64>(axes.map(|axis| axis.map(f64::from)), images, source, result, threads)
        }
        PixelType::F16 | PixelType::F32 => {
            run::<f32, f64>(taps.map(|taps| Axis::new(&taps)), images, source, result, threads)
        }
    }
}

fn run<T: Number, S: Sum<T>>(
    axes: [Axis<S::Weight>; 2],
    images: [&Raster; 2],
    source: &[u8],
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    match images[0].channels {
        1 => run_pixels::<T, S, 1>(axes, images, source, result, threads),
        2 => run_pixels::<T, S, 2>(axes, images, source, result, threads),
        3 => run_pixels::<T, S, 3>(axes, images, source, result, threads),
        _ => run_pixels::<T, S, 4>(axes, images, source, result, threads),
    }
}

/// Resizes pixels of `C` channels.
fn run_pixels<T: Number, S: Sum<T>, const C: usize>(
    [across, down]: [Axis<S::Weight>; 2],
    [from, to]: [&Raster; 2],
    source: &[u8],
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    let (arch, bits) = (vectors::arch(), across.bits + down.bits);
    let (across, down) = (&ColumnSums::<_, C>::new(across, from.width), &down);
    target::write(to, result, 1, threads, || {
        let input = Source { raster: *from, bytes: source };
        Ok(T::pipe(if to.height < from.height {
            let len = from.width * C;
            let stride = len.next_multiple_of(LANES);
            let (slots, row) = (vec![T::zeroed(); down.count * stride], vec![S::zeroed(); len]);
            Box::new(DownFirst {
                input,
                across,
                down,
                bits,
                stride,
                slots,
                next: 0,
                row,
                scratch: across.scratch(),
                made: None,
                arch,
            })
        } else {
            let len = to.width * C;
            let stride = len.next_multiple_of(LANES);
            let (slots, row) = (vec![S::zeroed(); down.count * stride], vec![T::zeroed(); from.width * C]);
            Box::new(AcrossFirst {
                input,
                across,
                down,
                bits,
                row,
                scratch: across.scratch(),
                len,
                stride,
                slots,
                next: 0,
                arch,
            })
        }))
    })
}

/// The type in which weighted sums of pixels are taken.
trait Sum<T>: WeightedSum<T, Self::Weight> + WeightedSum<Self, Self::Weight> {
    type Weight: Pod + Send + Sync;

    /// The result of a sum in steps of 2^-`bits`: for integers the nearest, half rounded up.
    fn finish(self, bits: u32) -> T;
}

/// Sums of values of one type, weighted by another one.
trait WeightedSum<I, W>: Pod {
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
summed!(u8, u16 => u16, u16, u16 => u16, u8, i16 => i32, i32, i16 => i32, u8, f64 => f64, i16, f64 => f64, u16, f64 => f64);

impl WeightedSum<f32, f64> for f64 {
    #[inline(always)]
    fn with(self, weight: f64, value: f32) -> Self {
        self.with(weight, Self::from(value))
    }
}

impl WeightedSum<f64, f64> for f64 {
    #[inline(always)]
    fn with(self, weight: f64, value: f64) -> Self {
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

impl Sum<f32> for f64 {
    type Weight = f64;

    #[inline(always)]
    fn finish(self, _: u32) -> f32 {
        self as f32
    }
}

/// The weighted sums along one axis.
struct Axis<W> {
    /// The first source pixel of each sum.
    first: Vec<usize>,
    /// The number of weights of each sum.
    count: usize,
    /// `count` weights for each result pixel, in steps of 2^-`bits`.
    weights: Vec<W>,
    bits: u32,
}

impl Axis<f64> {
    fn new(taps: &ResizeTaps) -> Self {
        let first = taps.first.iter().map(|first| *first as usize).collect();
        Self { first, count: taps.count, weights: taps.weights(), bits: 0 }
    }
}

impl Axis<u32> {
    /// Uses the largest steps that all weights are multiples of, 2^-`bits` or more.
    fn whole(taps: &ResizeTaps, bits: u32) -> Self {
        let steps = taps.steps(bits);
        let spare = steps.iter().fold(1 << bits, |all, step| all | step).trailing_zeros();
        let weights = steps.into_iter().map(|step| step >> spare).collect();
        let first = taps.first.iter().map(|first| *first as usize).collect();
        Self { first, count: taps.count, weights, bits: bits - spare }
    }

    fn map<W>(self, weight: impl Fn(u32) -> W) -> Axis<W> {
        let Self { first, count, weights, bits } = self;
        Axis { first, count, weights: weights.into_iter().map(weight).collect(), bits }
    }
}

/// The weighted sums along rows of packed pixels.
struct ColumnSums<W, const C: usize> {
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
    fn new(Axis { first, count, weights, .. }: Axis<W>, width: usize) -> Self {
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
    fn scratch<I: Pod>(&self) -> Vec<Vec<[I; C]>> {
        vec![vec![[I::zeroed(); C]; self.first.len() + LANES]; self.weights.len()]
    }

    /// The sums from that of pixel `from` on.
    #[inline(always)]
    fn sums<I: Pod, S: WeightedSum<I, W>, O: Pod>(
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
fn pick<T: Copy>(from: &[T], places: &[u32], to: &mut [T]) {
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
    fn sums<I: Pod, S: WeightedSum<I, W>, O: Pod>(
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
    fn seen(&self, y: isize) -> Range<usize> {
        let first = self.first[y as usize];
        first..first + self.count
    }

    /// Those rows from `next` on; `next` becomes the row after them.
    fn unread(&self, y: isize, next: &mut usize) -> Range<usize> {
        let Range { start, end } = self.seen(y);
        let begin = start.max(*next);
        *next = begin.max(end);
        begin..*next
    }
}

/// Rows of a result that has at least as many rows as the source.
struct AcrossFirst<'a, T, S: Sum<T>, const C: usize> {
    input: Source<'a>,
    across: &'a ColumnSums<S::Weight, C>,
    down: &'a Axis<S::Weight>,
    bits: u32,
    /// A row of the source.
    row: Vec<T>,
    scratch: Vec<Vec<[T; C]>>,
    /// The number of elements of a row of the result.
    len: usize,
    /// The distance between slots.
    stride: usize,
    /// Rows of the source resized to the result's width; row y is in slot y modulo their number.
    slots: Vec<S>,
    /// The next row of the source to read.
    next: usize,
    arch: Arch,
}

impl<T: Number, S: Sum<T>, const C: usize> Rows<T> for AcrossFirst<'_, T, S, C> {
    fn part(&mut self, y: isize, at: usize, out: &mut [T]) {
        let Self { input, across, down, bits, row, scratch, len, stride, slots, next, arch } = self;
        for y in down.unread(y, next) {
            input.part(y as isize, 0, row);
            let slot = &mut slots[y % down.count * *stride..][..*len];
            arch.dispatch(Wide(
                #[inline(always)]
                || across.sums(row, 0, scratch, slot, |sum: S| sum),
            ));
        }
        let rows: Vec<&[S]> = down.seen(y).map(|y| &slots[y % down.count * *stride..][..*stride]).collect();
        arch.dispatch(Wide(
            #[inline(always)]
            || down.sums(&rows, y, at, out, |sum: S| sum.finish(*bits)),
        ));
    }
}

/// Rows of a result that has fewer rows than the source.
struct DownFirst<'a, T, S: Sum<T>, const C: usize> {
    input: Source<'a>,
    across: &'a ColumnSums<S::Weight, C>,
    down: &'a Axis<S::Weight>,
    bits: u32,
    /// The distance between slots.
    stride: usize,
    /// Rows of the source that cannot be read in place; row y is in slot y modulo their number.
    slots: Vec<T>,
    /// The next row of the source to read.
    next: usize,
    /// Sums down columns of the source.
    row: Vec<S>,
    scratch: Vec<Vec<[S; C]>>,
    /// The row of the result that the sums are for.
    made: Option<isize>,
    arch: Arch,
}

impl<T: Number, S: Sum<T>, const C: usize> Rows<T> for DownFirst<'_, T, S, C> {
    fn part(&mut self, y: isize, at: usize, out: &mut [T]) {
        let Self { input, across, down, bits, stride, slots, next, row, scratch, made, arch } = self;
        if *made != Some(y) {
            for y in down.unread(y, next) {
                if input.packed_row::<T>(y).is_none() {
                    input.part(y as isize, 0, &mut slots[y % down.count * *stride..][..row.len()]);
                }
            }
            let slot = |y: usize| &slots[y % down.count * *stride..][..*stride];
            let rows: Vec<&[T]> =
                down.seen(y).map(|y| input.packed_row(y).unwrap_or_else(|| slot(y))).collect();
            arch.dispatch(Wide(
                #[inline(always)]
                || down.sums(&rows, y, 0, row, |sum: S| sum),
            ));
            *made = Some(y);
        }
        arch.dispatch(Wide(
            #[inline(always)]
            || across.sums(row, at / C, scratch, out, |sum: S| sum.finish(*bits)),
        ));
    }
}
