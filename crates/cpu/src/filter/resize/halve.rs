//! Images at half their width: every second pixel, and means of 2 x 2 pixels.

use pulp::{Arch, Simd, WithSimd};

use super::super::number::Number;
use super::super::rows::{GROUP, Rows, Source};

/// The number of pixels of the result that are computed together.
const PIXELS: usize = 32;

/// A type of pixels with their means.
pub(super) trait Mean: Number {
    /// A number that the sum of four fits in.
    type Sum: Copy;

    /// The sum of two neighbours in memory.
    fn pair(first: Self, second: Self) -> Self::Sum;

    /// The mean of four numbers, given the sums of two and two; of integers half rounded up.
    fn mean(first: Self::Sum, second: Self::Sum) -> Self;
}

macro_rules! integer_mean {
    ($($type:ty => $sum:ty),*) => { $(
        impl Mean for $type {
            type Sum = $sum;

            #[inline(always)]
            fn pair(first: $type, second: $type) -> $sum {
                <$sum>::from(first) + <$sum>::from(second)
            }

            #[inline(always)]
            fn mean(first: $sum, second: $sum) -> $type {
                ((first + second + 2) >> 2) as $type
            }
        }
    )* };
}

integer_mean!(i16 => i32, u16 => u32);

impl Mean for u8 {
    type Sum = u16;

    #[inline(always)]
    fn pair(first: u8, second: u8) -> u16 {
        // As one number of 16 bits: where the two are neighbours in memory, no element changes its place.
        let pair = u16::from_le_bytes([first, second]);
        (pair & 255) + (pair >> 8)
    }

    #[inline(always)]
    fn mean(first: u16, second: u16) -> u8 {
        ((first + second + 2) >> 2) as u8
    }
}

impl Mean for f32 {
    type Sum = f32;

    #[inline(always)]
    fn pair(first: f32, second: f32) -> f32 {
        // A sum of four may be too large.
        0.25 * first + 0.25 * second
    }

    #[inline(always)]
    fn mean(first: f32, second: f32) -> f32 {
        first + second
    }
}

/// The pixels of `out` are those of `row` at twice their place.
pub(super) fn every_second<const C: usize>(arch: Arch, row: &[u8], out: &mut [u8]) {
    arch.dispatch(Halve::<u8, C, 1> { rows: &[[row]], outs: &mut [out] });
}

/// The rows of a result of half the width and height whose pixels are means of four.
pub(super) struct HalvedRows<'a, T, const C: usize> {
    input: Source<'a>,
    /// Rows of the source that cannot be read in place.
    rows: [[Vec<T>; 2]; GROUP],
    arch: Arch,
}

impl<'a, T: Number, const C: usize> HalvedRows<'a, T, C> {
    pub(super) fn new(input: Source<'a>, arch: Arch) -> Self {
        Self { input, rows: Default::default(), arch }
    }
}

impl<T: Mean, const C: usize> Rows<T> for HalvedRows<'_, T, C> {
    fn part(&mut self, y: isize, at: usize, out: &mut [T]) {
        self.parts(y, at, &mut [out]);
    }

    fn group(&self) -> usize {
        GROUP
    }

    fn parts(&mut self, y: isize, at: usize, outs: &mut [&mut [T]]) {
        let Self { input, rows, arch } = self;
        let len = outs.first().map_or(0, |out| out.len());
        let mut read: [[&[T]; 2]; GROUP] = Default::default();
        for ((y, read), rows) in (2 * y as usize..).step_by(2).zip(&mut read).zip(rows).take(outs.len()) {
            for ((y, read), row) in (y..).zip(read).zip(rows) {
                *read = input.part_of_row(y, 2 * at, 2 * len, row);
            }
        }
        arch.dispatch(Halve::<T, C, 2> { rows: &read[..outs.len()], outs });
    }
}

/// Of each row `R` rows are read: one of which every second pixel is taken, or two for means.
struct Halve<'a, 'o, T, const C: usize, const R: usize> {
    rows: &'a [[&'a [T]; R]],
    outs: &'a mut [&'o mut [T]],
}

impl<T: Mean, const C: usize, const R: usize> WithSimd for Halve<'_, '_, T, C, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { rows, outs } = self;
        for (rows, out) in rows.iter().zip(outs) {
            match C {
                1 => run::<T, C, R, { PIXELS }, { 2 * PIXELS }>(*rows, out),
                2 => run::<T, C, R, { 2 * PIXELS }, { 4 * PIXELS }>(*rows, out),
                3 => run::<T, C, R, { 3 * PIXELS }, { 6 * PIXELS }>(*rows, out),
                _ => run::<T, C, R, { 4 * PIXELS }, { 8 * PIXELS }>(*rows, out),
            }
        }
    }
}

/// `LEN` elements of the result at a time, of twice as many (`FROM`) of each row.
#[inline(always)]
fn run<T: Mean, const C: usize, const R: usize, const LEN: usize, const FROM: usize>(
    rows: [&[T]; R],
    out: &mut [T],
) {
    let (blocks, rest) = out.as_chunks_mut::<LEN>();
    let done = blocks.len();
    // Not by `map`, whose functions would be compiled for every type, number of channels and kind of vectors.
    let mut lines: [&[[T; FROM]]; R] = [&[]; R];
    for r in 0..R {
        lines[r] = &rows[r].as_chunks::<FROM>().0[..done];
    }
    for (index, out) in blocks.iter_mut().enumerate() {
        let mut read = [&lines[0][index]; R];
        for r in 1..R {
            read[r] = &lines[r][index];
        }
        block::<T, C, R, LEN, FROM>(read, out);
    }
    if !rest.is_empty() {
        let mut padded = [[T::zeroed(); FROM]; R];
        for (padded, row) in padded.iter_mut().zip(rows) {
            padded[..2 * rest.len()].copy_from_slice(&row[done * FROM..][..2 * rest.len()]);
        }
        let mut block_out = [T::zeroed(); LEN];
        block::<T, C, R, LEN, FROM>(padded.each_ref(), &mut block_out);
        rest.copy_from_slice(&block_out[..rest.len()]);
    }
}

#[inline(always)]
fn block<T: Mean, const C: usize, const R: usize, const LEN: usize, const FROM: usize>(
    rows: [&[T; FROM]; R],
    out: &mut [T; LEN],
) {
    if C == 1 {
        for i in 0..LEN {
            out[i] = if R == 1 {
                rows[0][2 * i]
            } else {
                let pair = |row: &[T; FROM]| T::pair(row[2 * i], row[2 * i + 1]);
                T::mean(pair(rows[0]), pair(rows[R - 1]))
            };
        }
        return;
    }
    let mut means = [T::zeroed(); FROM];
    let all = if R == 1 {
        rows[0]
    } else {
        for i in 0..FROM - C {
            let pair = |row: &[T; FROM]| T::pair(row[i], row[i + C]);
            means[i] = T::mean(pair(rows[0]), pair(rows[R - 1]));
        }
        &means
    };
    match C {
        2 => {
            for i in 0..LEN / 2 {
                out[2 * i] = all[4 * i];
                out[2 * i + 1] = all[4 * i + 1];
            }
        }
        3 => {
            // Four elements at a time; the next pixel overwrites the fourth.
            for i in 0..LEN / 3 - 1 {
                out[3 * i..3 * i + 4].copy_from_slice(&all[6 * i..6 * i + 4]);
            }
            out[LEN - 3..].copy_from_slice(&all[FROM - 6..FROM - 3]);
        }
        _ => {
            for i in 0..LEN / 4 {
                out[4 * i..4 * i + 4].copy_from_slice(&all[8 * i..8 * i + 4]);
            }
        }
    }
}
