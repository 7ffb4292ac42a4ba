//! Products of a matrix and a vector: the matrix is read once in its stored layout, and no packed or widened copy is
//! written.

use std::ops::{Add, AddAssign, Mul};
use std::sync::OnceLock;

use half::f16;

use super::element::GemmArithmetic;
use super::operand::StridedMatrix;
use crate::Threads;
use crate::bands::share_out;
use crate::vectors;
use crate::wide::Wide;

/// The number of elements of the matrix up to which a product stays on the calling thread: it reads them in some 100 us,
/// less than some systems take to wake another.
const SMALL: usize = 1 << 20;

/// The number of elements of the matrix that a thread takes at a time.
const BAND: usize = 1 << 16;

/// The largest number of parts of a sum of lines: some for each thread, so that others can begin while one wakes up.
const MOST_PARTS: usize = 32;

/// The smallest number of lines of a part, whose sums are stored and added to those of others.
const PART_LINES: usize = 32;

/// The number of elements that are converted together; small enough that sums of products of bytes are exact in `f32`.
const PIECE: usize = 512;

/// Operations on lines of a matrix and a vector.
pub(super) trait Lines: GemmArithmetic {
    /// The sum of the products of two vectors with the same length.
    fn dot(a: &[Self], b: &[Self::Work]) -> Self::Sum;

    /// The sum of two sums.
    fn plus(one: Self::Sum, other: Self::Sum) -> Self::Sum;

    /// Adds `factor` times `line` to `sums`, which has the same length.
    fn add_scaled(sums: &mut [Self::Sum], factor: Self::Work, line: &[Self]);

    /// The sums of several lines: one after the other, or together where that is faster.
    #[inline(always)]
    fn dots(lines: [&[Self]; TOGETHER], b: &[Self::Work]) -> [Self::Sum; TOGETHER] {
        lines.map(|line| Self::dot(line, b))
    }

    /// Adds several lines: one after the other, or together where that is faster.
    #[inline(always)]
    fn add_all_scaled(sums: &mut [Self::Sum], factors: [Self::Work; TOGETHER], lines: [&[Self]; TOGETHER]) {
        for (factor, line) in factors.into_iter().zip(lines) {
            Self::add_scaled(sums, factor, line);
        }
    }
}

/// The number of lines that are read together: more of them are on their way from memory at a time, and the vector or
/// the sums are loaded once for all.
const TOGETHER: usize = 4;

macro_rules! float {
    ($($type:ty)*) => { $(
        impl Lines for $type {
            #[inline(always)]
            fn dot(a: &[$type], b: &[$type]) -> $type {
                dot(a, b, |value| value)
            }

            fn plus(one: $type, other: $type) -> $type {
                one + other
            }

            #[inline(always)]
            fn add_scaled(sums: &mut [$type], factor: $type, line: &[$type]) {
                for (sum, value) in sums.iter_mut().zip(line) {
                    *sum += factor * *value;
                }
            }

            #[inline(always)]
            fn dots(lines: [&[$type]; TOGETHER], b: &[$type]) -> [$type; TOGETHER] {
                dots(lines, b, |value| value)
            }

            #[inline(always)]
            fn add_all_scaled(
                sums: &mut [$type],
                factors: [$type; TOGETHER],
                lines: [&[$type]; TOGETHER],
            ) {
                add_all_scaled(sums, factors, lines, |value| value);
            }
        }
    )* };
}

float!(f32 f64);

/// Halves are widened where they are used: the half crate widens a slice, which would have to be stored and loaded again.
impl Lines for f16 {
    #[inline(always)]
    fn dot(a: &[f16], b: &[f32]) -> f32 {
        dot(a, b, widened)
    }

    fn plus(one: f32, other: f32) -> f32 {
        one + other
    }

    #[inline(always)]
    fn add_scaled(sums: &mut [f32], factor: f32, line: &[f16]) {
        for (sum, value) in sums.iter_mut().zip(line) {
            *sum += factor * widened(*value);
        }
    }

    #[inline(always)]
    fn dots(lines: [&[f16]; TOGETHER], b: &[f32]) -> [f32; TOGETHER] {
        dots(lines, b, widened)
    }

    #[inline(always)]
    fn add_all_scaled(sums: &mut [f32], factors: [f32; TOGETHER], lines: [&[f16]; TOGETHER]) {
        add_all_scaled(sums, factors, lines, widened);
    }
}

/// The same number, by operations on integers that the compiler uses vectors for.
#[inline(always)]
pub(crate) fn widened(half: f16) -> f32 {
    /// What a normal exponent of a half lacks to that of the same number in `f32`.
    const BIAS: u32 = (127 - 15) << 23;
    /// The smallest normal half.
    const NORMAL: f32 = f32::from_bits(BIAS + (1 << 23));

    let bits = u32::from(half.to_bits());
    let (sign, rest) = ((bits & 0x8000) << 16, (bits & 0x7fff) << 13);
    let normal = rest + BIAS;
    // Infinity and NaN: the largest exponent of `f32`. Below the normal numbers: steps of the smallest one's last place.
    let large = if bits & 0x7c00 == 0x7c00 { normal + BIAS } else { normal };
    let small = (f32::from_bits(normal + (1 << 23)) - NORMAL).to_bits();
    f32::from_bits(sign | if bits & 0x7c00 == 0 { small } else { large })
}

impl Lines for i8 {
    #[inline(always)]
    fn dot(a: &[i8], b: &[f32]) -> i32 {
        let mut piece = [0.0; PIECE];
        let pieces = a.chunks(PIECE).zip(b.chunks(PIECE));
        pieces.fold(0, |sum: i32, (a, b)| {
            let piece = &mut piece[..a.len()];
            Self::widen(a, piece);
            sum.wrapping_add(dot(piece, b, |value| value) as i32)
        })
    }

    fn plus(one: i32, other: i32) -> i32 {
        one.wrapping_add(other)
    }

    #[inline(always)]
    fn add_scaled(sums: &mut [i32], factor: f32, line: &[i8]) {
        let factor = factor as i32;
        for (sum, value) in sums.iter_mut().zip(line) {
            *sum = sum.wrapping_add(factor * i32::from(*value));
        }
    }
}

/// The number of sums of a line: enough to hide the latency of an addition.
const SUMS: usize = 64;

/// The number of sums of each of several lines, which hide the latency of each other's additions. Few, because a short
/// line ends with their addition.
const SUMS_EACH: usize = 16;

#[inline(always)]
fn dot<A: Copy, T: Copy + Default + AddAssign + Mul<Output = T>>(
    a: &[A],
    b: &[T],
    widened: impl Fn(A) -> T,
) -> T {
    let mut sums = [T::default(); SUMS];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<SUMS>(), b.as_chunks::<SUMS>());
    for (a, b) in a.iter().zip(b) {
        for i in 0..SUMS {
            sums[i] += widened(a[i]) * b[i];
        }
    }
    for (sum, (a, b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum += widened(*a) * *b;
    }
    total(sums)
}

/// Adds several lines, each with a factor.
#[inline(always)]
fn add_all_scaled<A: Copy, T: Copy + AddAssign + Add<Output = T> + Mul<Output = T>>(
    sums: &mut [T],
    factors: [T; TOGETHER],
    lines: [&[A]; TOGETHER],
    widened: impl Fn(A) -> T,
) {
    let [a, b, c, d] = lines.map(|line| &line[..sums.len()]);
    for i in 0..sums.len() {
        let first = factors[0] * widened(a[i]) + factors[1] * widened(b[i]);
        sums[i] += first + (factors[2] * widened(c[i]) + factors[3] * widened(d[i]));
    }
}

/// The dot products of several lines with a vector.
#[inline(always)]
fn dots<A: Copy, T: Copy + Default + AddAssign + Mul<Output = T>>(
    lines: [&[A]; TOGETHER],
    b: &[T],
    widened: impl Fn(A) -> T,
) -> [T; TOGETHER] {
    let (b, b_rest) = b.as_chunks::<SUMS_EACH>();
    let parts = lines.map(|line| line.as_chunks::<SUMS_EACH>());
    let [first, second, third, fourth] = parts.map(|(whole, _)| &whole[..b.len()]);
    // Separate arrays, which stay in registers.
    let [mut w, mut x, mut y, mut z] = [[T::default(); SUMS_EACH]; TOGETHER];
    for (index, b) in b.iter().enumerate() {
        let (first, second, third, fourth) = (&first[index], &second[index], &third[index], &fourth[index]);
        for i in 0..SUMS_EACH {
            w[i] += widened(first[i]) * b[i];
        }
        for i in 0..SUMS_EACH {
            x[i] += widened(second[i]) * b[i];
        }
        for i in 0..SUMS_EACH {
            y[i] += widened(third[i]) * b[i];
        }
        for i in 0..SUMS_EACH {
            z[i] += widened(fourth[i]) * b[i];
        }
    }
    let mut sums = [w, x, y, z];
    for (sums, (_, rest)) in sums.iter_mut().zip(parts) {
        for (sum, (a, b)) in sums.iter_mut().zip(rest.iter().zip(b_rest)) {
            *sum += widened(*a) * *b;
        }
    }
    sums.map(total)
}

/// The sum of all: halves are added to each other, so that few additions wait for another.
#[inline(always)]
fn total<T: Copy + AddAssign, const N: usize>(mut sums: [T; N]) -> T {
    let mut len = N;
    while len > 1 {
        len /= 2;
        for i in 0..len {
            let other = sums[len + i];
            sums[i] += other;
        }
    }
    sums[0]
}

/// `A b` for a matrix of m x k, neither of them 0, and a vector of length k; `None` when neither rows nor columns of A
/// are contiguous.
pub(super) fn product<T: Lines>(
    a: StridedMatrix<'_, T>,
    b: StridedMatrix<'_, T>,
    threads: Threads,
) -> Option<Vec<T::Sum>> {
    let StridedMatrix { rows: m, columns: k, .. } = a;
    let (data, stride, down) = a.lines()?;
    let elements: Vec<T> = (0..k).map(|l| b.at(l, 0)).collect();
    let mut vector = vec![T::Work::default(); k];
    T::widen(&elements, &mut vector);
    let arch = vectors::arch();
    let threads = if m.saturating_mul(k) <= SMALL { Threads::One } else { threads };
    if down {
        return Some(sum_of_lines((data, stride), m, &vector, threads));
    }
    let mut sums = vec![T::Sum::from(0); m];
    let band = |first: usize, sums: &mut [T::Sum]| {
        arch.dispatch(Wide(
            #[inline(always)]
            || {
                let line = |i: usize| &data[(first + i) * stride..][..k];
                let (fours, rest) = sums.as_chunks_mut::<TOGETHER>();
                let done = fours.len() * TOGETHER;
                for (index, sums) in fours.iter_mut().enumerate() {
                    *sums = T::dots(std::array::from_fn(|i| line(index * TOGETHER + i)), &vector);
                }
                for (index, sum) in rest.iter_mut().enumerate() {
                    *sum = T::dot(line(done + index), &vector);
                }
            },
        ));
    };
    if threads.count() == 1 {
        band(0, &mut sums);
    } else {
        let rows = (BAND / k).max(1);
        share_out(sums.chunks_mut(rows).enumerate(), threads, |(index, sums)| band(index * rows, sums));
    }
    Some(sums)
}

/// The sum of the products of lines of `len` elements, whose starts are `stride` apart, with a factor each. The parts
/// that threads take do not depend on their number, so neither does the result.
fn sum_of_lines<T: Lines>(
    (data, stride): (&[T], usize),
    len: usize,
    factors: &[T::Work],
    threads: Threads,
) -> Vec<T::Sum> {
    let lines = factors.len().div_ceil(MOST_PARTS).max(PART_LINES);
    let arch = vectors::arch();
    let sum = |sums: &mut [T::Sum], first: usize, factors: &[T::Work]| {
        arch.dispatch(Wide(
            #[inline(always)]
            || {
                let line = |l: usize| &data[(first + l) * stride..][..len];
                let (fours, rest) = factors.as_chunks::<TOGETHER>();
                for (index, factors) in fours.iter().enumerate() {
                    let lines = std::array::from_fn(|i| line(index * TOGETHER + i));
                    T::add_all_scaled(sums, *factors, lines);
                }
                for (index, factor) in rest.iter().enumerate() {
                    T::add_scaled(sums, *factor, line(fours.len() * TOGETHER + index));
                }
            },
        ));
    };
    let zeros = || vec![T::Sum::from(0); len];
    let add = |sums: &mut [T::Sum], part: &[T::Sum]| {
        sums.iter_mut().zip(part).for_each(|(to, sum)| *to = T::plus(*to, *sum));
    };
    let mut sums = zeros();
    if threads.count() == 1 {
        // The same additions, in memory that stays in the cache.
        let mut part = zeros();
        for (index, factors) in factors.chunks(lines).enumerate() {
            part.fill(T::Sum::from(0));
            sum(&mut part, index * lines, factors);
            add(&mut sums, &part);
        }
        return sums;
    }
    let parts: Vec<OnceLock<Vec<T::Sum>>> = factors.chunks(lines).map(|_| OnceLock::new()).collect();
    share_out(parts.iter().zip(factors.chunks(lines)).enumerate(), threads, |(index, (part, factors))| {
        part.get_or_init(|| {
            let mut part = zeros();
            sum(&mut part, index * lines, factors);
            part
        });
    });
    for part in parts.into_iter().filter_map(OnceLock::into_inner) {
        add(&mut sums, &part);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_widened_exactly() {
        for bits in 0..=u16::MAX {
            let (half, wide) = (f16::from_bits(bits), widened(f16::from_bits(bits)));
            // The half crate is the oracle; a NaN stays one, and keeps its sign.
            let same = wide.to_bits() == half.to_f32().to_bits();
            let both_nan =
                half.is_nan() && wide.is_nan() && half.is_sign_negative() == wide.is_sign_negative();
            assert!(same || both_nan, "{bits:#06x}: {wide}");
        }
    }
}
