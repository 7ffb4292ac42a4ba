//! Matrix products.
//!
//! The general product is [`gemm`]: any strides, batches, `alpha` and `beta`, and a function applied to every element
//! before it is stored. The other functions are special cases, dense and row-major.
//!
//! Halves and bytes are widened to `f32`, tile by tile, and multiplied there: sums of 1024 products of bytes are below
//! 2^24, which `f32` holds exactly.

mod element;
mod few_rows;
mod multiply;
mod operand;
mod product;
mod tile;
mod vector;

use half::f16;
use tripipe_kernels::gemm::StridedLayout;

use super::bands::share_out;
use super::error::check_length;
use super::{CpuError, Threads};
use operand::check_layout;

pub use element::GemmElement;
pub use product::small_product;
pub(super) use vector::widened;

/// `C = alpha A B + beta C`, or a batch of such products: A is m x k, B is k x n, C is m x n. `S` is the type of the
/// sums.
///
/// With `beta` 0 C is never read; with `alpha` or `k` 0 neither A nor B is read, and the sum is 0. Otherwise NaN and
/// infinity propagate to C according to IEEE 754; `alpha` is applied to the whole sum ([`tripipe_kernels::gemm`] has
/// the rule).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm<S> {
    /// The number of rows of A and C.
    pub m: usize,
    /// The number of columns of B and C.
    pub n: usize,
    /// The number of columns of A and rows of B.
    pub k: usize,
    /// Factor of the product.
    pub alpha: S,
    /// Factor of the old contents of C.
    pub beta: S,
    /// The layout of A.
    pub a: StridedLayout,
    /// The layout of B.
    pub b: StridedLayout,
    /// The layout of C. No two of its elements may share a location: the value of both is then not specified.
    pub c: StridedLayout,
    /// The number of products.
    pub batch: usize,
}

/// The position of neighbouring elements of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The index of the product in the batch.
    pub product: usize,
    /// Row of the first element.
    pub row: usize,
    /// Column of the first element.
    pub column: usize,
    /// Whether the elements are in one column instead of one row.
    pub down: bool,
}

/// Computes products of `f32`, `f64`, `half` (sums in `f32`, rounded once) or `i8` (to `i32`, exact; wrapping around on
/// overflow).
///
/// `finish` is called with every element of `alpha A B + beta C`, several neighbours at a time, before it is rounded to
/// the type of C: for biases, activations, residuals. Each element occurs once, in any order, on any thread.
///
/// The order of summation is not specified.
///
/// # Errors
/// [`CpuError::Length`] when an operand exceeds its slice, [`CpuError::TooLarge`] when it exceeds the address space.
/// Nothing is written then.
pub fn gemm<T: GemmElement>(
    gemm: &Gemm<T::Sum>,
    a: &[T],
    b: &[T],
    c: &mut [T::Result],
    finish: impl Fn(Position, &mut [T::Sum]) + Sync,
    threads: Threads,
) -> Result<(), CpuError> {
    gemm_with(gemm, a, b, c, Some(&finish), threads)
}

/// As [`gemm`]; without `finish`, sums that need no conversion are left as they were computed.
///
/// # Errors
/// As [`gemm`].
pub fn gemm_with<T: GemmElement>(
    gemm: &Gemm<T::Sum>,
    a: &[T],
    b: &[T],
    c: &mut [T::Result],
    finish: Option<&(impl Fn(Position, &mut [T::Sum]) + Sync)>,
    threads: Threads,
) -> Result<(), CpuError> {
    /// The number of multiply-adds up to which a product is left to one thread when there are others in the batch.
    const SMALL: usize = 256 * 256 * 256;

    let Gemm { m, n, k, batch, .. } = *gemm;
    check_layout(&gemm.a, "a", [m, k], batch, a.len())?;
    check_layout(&gemm.b, "b", [k, n], batch, b.len())?;
    let span = check_layout(&gemm.c, "c", [m, n], batch, c.len())?;
    if m == 0 || n == 0 || batch == 0 {
        return Ok(());
    }
    let stride = gemm.c.batch_stride;
    let products = c[gemm.c.offset..].chunks_mut(stride.max(1)).take(batch);
    if batch > 1 && stride >= span && m.saturating_mul(n).saturating_mul(k) <= SMALL && threads.count() > 1 {
        share_out(products.enumerate(), threads, |(index, c)| {
            product::product(gemm, index, a, b, c, finish, Threads::One);
        });
        return Ok(());
    }
    for index in 0..batch {
        let c = &mut c[gemm.c.offset + index * stride..];
        product::product(gemm, index, a, b, c, finish, threads);
    }
    Ok(())
}

/// `C = A B` in f32, dense and row-major; sums are in f32, in an unspecified order.
///
/// # Errors
/// [`CpuError::Length`] when `a`, `b` or `c` does not have `m * k`, `k * n`, `m * n` elements, [`CpuError::TooLarge`]
/// when one of these overflows.
pub fn gemm_f32(
    a: &[f32],
    b: &[f32],
    c: &mut [f32],
    m: usize,
    n: usize,
    k: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    dense("gemm_f32", a, b, c, [m, n, k], threads)
}

/// `C = A B` in f64, dense and row-major; sums are in f64, in an unspecified order.
///
/// # Errors
/// As [`gemm_f32`].
pub fn gemm_f64(
    a: &[f64],
    b: &[f64],
    c: &mut [f64],
    m: usize,
    n: usize,
    k: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    dense("gemm_f64", a, b, c, [m, n, k], threads)
}

/// `C = A B` in f16, dense and row-major; sums are in f32, in an unspecified order, and rounded to f16 once at the end.
/// A sum beyond 65504 becomes infinite.
///
/// The operands are converted tile by tile, so the scratch space is bounded for any size.
///
/// # Errors
/// As [`gemm_f32`].
pub fn gemm_f16(
    a: &[f16],
    b: &[f16],
    c: &mut [f16],
    m: usize,
    n: usize,
    k: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    dense("gemm_f16", a, b, c, [m, n, k], threads)
}

/// `C = A B` of bytes in 32-bit integers, dense and row-major; exact if the sums fit, as they do up to a k of 131071.
///
/// # Errors
/// As [`gemm_f32`].
pub fn gemm_i8(
    a: &[i8],
    b: &[i8],
    c: &mut [i32],
    m: usize,
    n: usize,
    k: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    dense("gemm_i8", a, b, c, [m, n, k], threads)
}

fn dense<T: GemmElement>(
    operation: &'static str,
    a: &[T],
    b: &[T],
    c: &mut [T::Result],
    [m, n, k]: [usize; 3],
    threads: Threads,
) -> Result<(), CpuError> {
    check_length(operation, "a", &[m, k], a.len())?;
    check_length(operation, "b", &[k, n], b.len())?;
    check_length(operation, "c", &[m, n], c.len())?;
    let [a_place, b_place, c_place] = [k, n, n].map(StridedLayout::row_major);
    let [alpha, beta] = [1i8, 0].map(T::Sum::from);
    let description = Gemm { m, n, k, alpha, beta, a: a_place, b: b_place, c: c_place, batch: 1 };
    gemm_with(&description, a, b, c, None::<&fn(Position, &mut [T::Sum])>, threads)
}
