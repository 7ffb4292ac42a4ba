//! Products of a matrix and a vector: the matrix is read once in its stored layout, and no packed or widened copy is
//! written.

use std::iter::Sum;
use std::ops::{AddAssign, Mul};

use half::f16;

use super::element::GemmArithmetic;
use super::operand::StridedMatrix;
use crate::cpu::Threads;
use crate::cpu::bands::share_out;
use crate::cpu::vectors;
use crate::cpu::wide::Wide;

/// The number of elements of the matrix that a thread takes at a time.
const BAND: usize = 1 << 18;

/// The number of elements that are converted together; small enough that sums of products of bytes are exact in `f32`.
const PIECE: usize = 512;

/// Operations on lines of a matrix and a vector.
pub(super) trait Lines: GemmArithmetic {
    /// The sum of the products of two vectors with the same length.
    fn dot(a: &[Self], b: &[Self::Work]) -> Self::Sum;

    /// Adds `factor` times `line` to `sums`, which has the same length.
    fn add_scaled(sums: &mut [Self::Sum], factor: Self::Work, line: &[Self]);
}

macro_rules! float {
    ($($type:ty)*) => { $(
        impl Lines for $type {
            #[inline(always)]
            fn dot(a: &[$type], b: &[$type]) -> $type {
                dot(a, b)
            }

            #[inline(always)]
            fn add_scaled(sums: &mut [$type], factor: $type, line: &[$type]) {
                for (sum, value) in sums.iter_mut().zip(line) {
                    *sum += factor * *value;
                }
            }
        }
    )* };
}

float!(f32 f64);

impl Lines for f16 {
    #[inline(always)]
    fn dot(a: &[f16], b: &[f32]) -> f32 {
        let mut piece = [0.0; PIECE];
        let pieces = a.chunks(PIECE).zip(b.chunks(PIECE));
        pieces.fold(0.0, |sum, (a, b)| {
            let piece = &mut piece[..a.len()];
            Self::widen(a, piece);
            sum + dot(piece, b)
        })
    }

    #[inline(always)]
    fn add_scaled(sums: &mut [f32], factor: f32, line: &[f16]) {
        let mut piece = [0.0; PIECE];
        for (sums, line) in sums.chunks_mut(PIECE).zip(line.chunks(PIECE)) {
            let piece = &mut piece[..line.len()];
            Self::widen(line, piece);
            for (sum, value) in sums.iter_mut().zip(piece) {
                *sum += factor * *value;
            }
        }
    }
}

impl Lines for i8 {
    #[inline(always)]
    fn dot(a: &[i8], b: &[f32]) -> i32 {
        let mut piece = [0.0; PIECE];
        let pieces = a.chunks(PIECE).zip(b.chunks(PIECE));
        pieces.fold(0, |sum: i32, (a, b)| {
            let piece = &mut piece[..a.len()];
            Self::widen(a, piece);
            sum.wrapping_add(dot(piece, b) as i32)
        })
    }

    #[inline(always)]
    fn add_scaled(sums: &mut [i32], factor: f32, line: &[i8]) {
        let factor = factor as i32;
        for (sum, value) in sums.iter_mut().zip(line) {
            *sum = sum.wrapping_add(factor * i32::from(*value));
        }
    }
}

#[inline(always)]
fn dot<T: Copy + Default + AddAssign + Mul<Output = T> + Sum>(a: &[T], b: &[T]) -> T {
    // Enough sums to hide the latency of an addition.
    const SUMS: usize = 64;
    let mut sums = [T::default(); SUMS];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<SUMS>(), b.as_chunks::<SUMS>());
    for (a, b) in a.iter().zip(b) {
        for i in 0..SUMS {
            sums[i] += a[i] * b[i];
        }
    }
    for (sum, (a, b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum += *a * *b;
    }
    sums.into_iter().sum()
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
    let mut sums = vec![T::Sum::from(0); m];
    let arch = vectors::arch();
    let band = |first: usize, sums: &mut [T::Sum]| {
        arch.dispatch(Wide(
            #[inline(always)]
            || {
                if down {
                    for (l, factor) in vector.iter().enumerate() {
                        T::add_scaled(sums, *factor, &data[l * stride + first..][..sums.len()]);
                    }
                } else {
                    for (i, sum) in sums.iter_mut().enumerate() {
                        *sum = T::dot(&data[(first + i) * stride..][..k], &vector);
                    }
                }
            },
        ));
    };
    if threads == Threads::One || m.saturating_mul(k) <= BAND {
        band(0, &mut sums);
    } else {
        // Columns are divided into only as many parts as there are threads: each part of each column is at a separate
        // location.
        let rows = if down { m.div_ceil(rayon::current_num_threads()) } else { (BAND / k).max(1) };
        share_out(sums.chunks_mut(rows).enumerate(), |(index, sums)| band(index * rows, sums));
    }
    Some(sums)
}
