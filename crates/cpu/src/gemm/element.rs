//! The element types of matrix products.

use std::cell::Cell;

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::multiply::{Real, multiply};
use super::operand::StridedMatrix;
use super::vector;
use crate::Threads;
use crate::bands::for_each_band;
use crate::vectors;
use crate::wide::Wide;

/// The number of rows and columns of a tile of C, and of steps along K that are done together, where operands or
/// results are converted.
pub(super) const TILE: usize = 1024;

/// A type of matrix elements: `f32`, `f64`, `half::f16` and `i8`.
pub trait GemmElement: GemmArithmetic {}

impl<T: GemmArithmetic> GemmElement for T {}

/// The arithmetic of an element type.
pub trait GemmArithmetic: Copy + Send + Sync + 'static {
    /// The type in which products are summed: `f32`, `f64`, `f32` for halves, `i32` for bytes.
    type Sum: Copy + From<i8> + PartialEq + Send + Sync;

    /// The type in which sums are stored: `f32`, `f64`, `half::f16`, `i32`.
    type Result: Copy + Send + Sync;

    /// The type in which the multiplication is done.
    type Work: Real;

    /// Converts elements to the type in which they are multiplied.
    fn widen(from: &[Self], to: &mut [Self::Work]);

    /// The elements in their stored layout, if no conversion is needed.
    fn as_work(data: &[Self]) -> Option<&[Self::Work]>;

    /// The results in their stored layout, if their type is that of the sums.
    fn as_sums(data: &mut [Self::Result]) -> Option<&mut [Self::Sum]>;

    /// Calls `work` with memory for converted A, converted B, and products. The memory for halves and bytes is retained
    /// by the thread for its next product, at most 12 MiB: fresh pages would cost a fifth of the time.
    fn with_scratch(work: impl FnOnce(&mut Scratch<Self::Work>));

    /// `sums = a b`, or `sums += a b`, in rows `stride` apart. At most [`TILE`] steps along K if `Work` is not `Sum`.
    fn multiply(
        sums: (&mut [Self::Sum], usize),
        a: StridedMatrix<'_, Self::Work>,
        b: StridedMatrix<'_, Self::Work>,
        add: bool,
        products: &mut Vec<Self::Work>,
        threads: Threads,
    );

    /// `a b` for a matrix of m x k, neither of them 0, and a vector of length k; `None` when it is left to
    /// [`Self::multiply`].
    fn times_vector(
        a: StridedMatrix<'_, Self>,
        b: StridedMatrix<'_, Self>,
        threads: Threads,
    ) -> Option<Vec<Self::Sum>>;

    /// `alpha sum`.
    fn scaled(sum: Self::Sum, alpha: Self::Sum) -> Self::Sum;

    /// `sum + beta old`.
    fn add_old(sum: Self::Sum, beta: Self::Sum, old: Self::Result) -> Self::Sum;

    /// Rounds the sums to the type of the result.
    fn store(sums: &[Self::Sum], to: &mut [Self::Result]);
}

/// Memory for A, B and products.
#[derive(Default)]
pub struct Scratch<W> {
    pub(super) a: Vec<W>,
    pub(super) b: Vec<W>,
    pub(super) products: Vec<W>,
}

thread_local! {
    static KEPT: Cell<Option<Scratch<f32>>> = const { Cell::new(None) };
}

/// Calls `work` with the thread's retained memory. A nested product, which the thread starts while it waits for another
/// one, finds none and allocates its own.
fn with_thread_memory(work: impl FnOnce(&mut Scratch<f32>)) {
    let mut scratch = KEPT.take().unwrap_or_default();
    work(&mut scratch);
    KEPT.set(Some(scratch));
}

macro_rules! float {
    ($($type:ty)*) => { $(
        impl GemmArithmetic for $type {
            type Sum = $type;
            type Result = $type;
            type Work = $type;

            fn widen(from: &[$type], to: &mut [$type]) {
                to.copy_from_slice(from);
            }

            fn as_work(data: &[$type]) -> Option<&[$type]> {
                Some(data)
            }

            fn as_sums(data: &mut [$type]) -> Option<&mut [$type]> {
                Some(data)
            }

            fn with_scratch(work: impl FnOnce(&mut Scratch<$type>)) {
                work(&mut Scratch::default());
            }

            fn multiply(
                sums: (&mut [$type], usize),
                a: StridedMatrix<'_, $type>,
                b: StridedMatrix<'_, $type>,
                add: bool,
                _: &mut Vec<$type>,
                threads: Threads,
            ) {
                multiply(sums, a, b, add, threads);
            }

            fn times_vector(
                a: StridedMatrix<'_, $type>,
                b: StridedMatrix<'_, $type>,
                threads: Threads,
            ) -> Option<Vec<$type>> {
                vector::product(a, b, threads)
            }

            fn scaled(sum: $type, alpha: $type) -> $type {
                alpha * sum
            }

            fn add_old(sum: $type, beta: $type, old: $type) -> $type {
                sum + beta * old
            }

            fn store(sums: &[$type], to: &mut [$type]) {
                to.copy_from_slice(sums);
            }
        }
    )* };
}

float!(f32 f64);

impl GemmArithmetic for f16 {
    type Sum = f32;
    type Result = f16;
    type Work = f32;

    fn widen(from: &[f16], to: &mut [f32]) {
        from.convert_to_f32_slice(to);
    }

    fn as_work(_: &[f16]) -> Option<&[f32]> {
        None
    }

    fn as_sums(_: &mut [f16]) -> Option<&mut [f32]> {
        None
    }

    fn with_scratch(work: impl FnOnce(&mut Scratch<f32>)) {
        with_thread_memory(work);
    }

    fn multiply(
        sums: (&mut [f32], usize),
        a: StridedMatrix<'_, f32>,
        b: StridedMatrix<'_, f32>,
        add: bool,
        _: &mut Vec<f32>,
        threads: Threads,
    ) {
        multiply(sums, a, b, add, threads);
    }

    fn times_vector(
        a: StridedMatrix<'_, f16>,
        b: StridedMatrix<'_, f16>,
        threads: Threads,
    ) -> Option<Vec<f32>> {
        vector::product(a, b, threads)
    }

    fn scaled(sum: f32, alpha: f32) -> f32 {
        alpha * sum
    }

    fn add_old(sum: f32, beta: f32, old: f16) -> f32 {
        sum + beta * old.to_f32()
    }

    fn store(sums: &[f32], to: &mut [f16]) {
        to.convert_from_f32_slice(sums);
    }
}

/// The sum of [`TILE`] products of bytes is at most 2^24, so `f32` holds it and every partial sum exactly.
impl GemmArithmetic for i8 {
    type Sum = i32;
    type Result = i32;
    type Work = f32;

    #[inline(always)]
    fn widen(from: &[i8], to: &mut [f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = f32::from(*from);
        }
    }

    fn as_work(_: &[i8]) -> Option<&[f32]> {
        None
    }

    fn as_sums(data: &mut [i32]) -> Option<&mut [i32]> {
        Some(data)
    }

    fn with_scratch(work: impl FnOnce(&mut Scratch<f32>)) {
        with_thread_memory(work);
    }

    fn multiply(
        (sums, stride): (&mut [i32], usize),
        a: StridedMatrix<'_, f32>,
        b: StridedMatrix<'_, f32>,
        add: bool,
        products: &mut Vec<f32>,
        threads: Threads,
    ) {
        let (n, arch) = (b.columns, vectors::arch());
        if !add {
            // In the memory of the sums, which have as many bits.
            multiply((bytemuck::cast_slice_mut(sums), stride), a, b, false, threads);
            for_each_band(sums, stride, 1, threads, |_, sums| {
                arch.dispatch(Wide(
                    #[inline(always)]
                    || {
                        for sums in sums.chunks_mut(stride) {
                            for sum in sums.iter_mut().take(n) {
                                *sum = f32::from_bits(sum.cast_unsigned()) as i32;
                            }
                        }
                    },
                ));
            });
            return;
        }
        products.resize(a.rows * n, 0.0);
        multiply((products, n), a, b, false, threads);
        let products = &products[..];
        for_each_band(sums, stride, 1, threads, |first, sums| {
            arch.dispatch(Wide(
                #[inline(always)]
                || {
                    for (sums, products) in sums.chunks_mut(stride).zip(products[first * n..].chunks_exact(n))
                    {
                        for (sum, product) in sums.iter_mut().zip(products) {
                            *sum = sum.wrapping_add(*product as i32);
                        }
                    }
                },
            ));
        });
    }

    fn times_vector(
        a: StridedMatrix<'_, i8>,
        b: StridedMatrix<'_, i8>,
        threads: Threads,
    ) -> Option<Vec<i32>> {
        vector::product(a, b, threads)
    }

    fn scaled(sum: i32, alpha: i32) -> i32 {
        alpha.wrapping_mul(sum)
    }

    fn add_old(sum: i32, beta: i32, old: i32) -> i32 {
        sum.wrapping_add(beta.wrapping_mul(old))
    }

    fn store(sums: &[i32], to: &mut [i32]) {
        to.copy_from_slice(sums);
    }
}

/// The non-empty matrix, in its stored layout or converted into `scratch`.
pub(super) fn view<'a, T: GemmArithmetic>(
    matrix: StridedMatrix<'a, T>,
    scratch: &'a mut Vec<T::Work>,
    threads: Threads,
) -> StridedMatrix<'a, T::Work> {
    if let Some(data) = T::as_work(matrix.data()) {
        return matrix.over(data);
    }
    let extents @ [rows, columns] = [matrix.rows, matrix.columns];
    scratch.resize(rows * columns, T::Work::default());
    if let Some((data, stride, down)) = matrix.lines() {
        let len = if down { rows } else { columns };
        let arch = vectors::arch();
        for_each_band(scratch, len, 1, threads, |first, wide| {
            arch.dispatch(Wide(
                #[inline(always)]
                || {
                    for (line, wide) in wide.chunks_exact_mut(len).enumerate() {
                        T::widen(&data[(first + line) * stride..][..len], wide);
                    }
                },
            ));
        });
        return StridedMatrix::dense(scratch, extents, down);
    }
    for_each_band(scratch, columns, 1, threads, |first, wide| {
        for (i, wide) in wide.chunks_exact_mut(columns).enumerate() {
            for (j, wide) in wide.iter_mut().enumerate() {
                T::widen(&[matrix.at(first + i, j)], std::slice::from_mut(wide));
            }
        }
    });
    StridedMatrix::dense(scratch, extents, false)
}
