//! Matrix products.
//!
//! The general one is [`gemm`]: any strides, batches, `alpha` and `beta`, and a last say over every element before it is stored.
//! The others are its plain cases, dense and row-major.
//!
//! Halves and bytes are widened to `f32`, tile by tile, and multiplied there: sums of 1024 products of bytes are below 2^24, which `f32`
//! holds exactly.

mod element;
mod multiply;
mod operand;
mod product;
mod vector;

use half::f16;

use super::bands::share_out;
use super::error::check_length;
use super::{CpuError, Threads};

pub use element::Element;
pub use operand::Operand;

/// `C = alpha A B + beta C`, a batch of them: A is m x k, B is k x n, C is m x n. `S` is the type of the sums.
///
/// With `beta` 0 C is never read, with `alpha` or `k` 0 neither A nor B, and the sum is 0. Otherwise NaN and infinity reach C as
/// IEEE 754 says; `alpha` is applied to the whole sum ([`tripipe_kernels::gemm`] has the rule).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm<S> {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// Factor of the product.
    pub alpha: S,
    /// Factor of what C was.
    pub beta: S,
    /// Where A lies.
    pub a: Operand,
    /// Where B lies.
    pub b: Operand,
    /// Where C lies. No two of its elements may share a place: what both get is not specified.
    pub c: Operand,
    /// How many products.
    pub batch: usize,
}

/// Neighbouring elements of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which product of the batch.
    pub product: usize,
    /// Row of the first one.
    pub row: usize,
    /// Column of the first one.
    pub column: usize,
    /// Whether they lie below each other, not side by side.
    pub down: bool,
}

/// Products of `f32`, `f64`, `half` (sums in `f32`, rounded once) or `i8` (to `i32`, exactly; wrapping around beyond it).
///
/// `finish` gets every element of `alpha A B + beta C`, some neighbours at a time, before it is rounded to the type of C: biases,
/// activations, residuals. Each element comes once, in any order, on any thread.
///
/// The order of the sums is not specified.
///
/// # Errors
/// [`CpuError::Length`] where an operand leaves its slice, [`CpuError::TooLarge`] where it leaves memory. Nothing is written then.
pub fn gemm<T: Element>(
    gemm: &Gemm<T::Sum>,
    a: &[T],
    b: &[T],
    c: &mut [T::Result],
    finish: impl Fn(Place, &mut [T::Sum]) + Sync,
    threads: Threads,
) -> Result<(), CpuError> {
    /// Multiply-adds of a product that is left to one thread when there are others of the batch.
    const SMALL: usize = 256 * 256 * 256;

    let Gemm { m, n, k, batch, .. } = *gemm;
    gemm.a.check("a", [m, k], batch, a.len())?;
    gemm.b.check("b", [k, n], batch, b.len())?;
    let span = gemm.c.check("c", [m, n], batch, c.len())?;
    if m == 0 || n == 0 || batch == 0 {
        return Ok(());
    }
    let stride = gemm.c.batch_stride;
    let products = c[gemm.c.offset..].chunks_mut(stride.max(1)).take(batch);
    if batch > 1
        && stride >= span
        && m.saturating_mul(n).saturating_mul(k) <= SMALL
        && threads == Threads::All
    {
        share_out(products.enumerate(), |(index, c)| {
            product::product(gemm, index, a, b, c, &finish, Threads::One);
        });
        return Ok(());
    }
    let mut all = || {
        for index in 0..batch {
            product::product(gemm, index, a, b, &mut c[gemm.c.offset + index * stride..], &finish, threads);
        }
    };
    if T::as_work(&[]).is_none() && product::is_shared([m, n, k], threads) {
        // Inside the pool, so that between conversion and multiplication no thread has to be woken.
        rayon::scope(|_| all());
    } else {
        all();
    }
    Ok(())
}

/// `C = A B` in f32, dense and row-major; the sums are taken in f32, in an order that is not specified.
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

/// `C = A B` in f64, dense and row-major; the sums are taken in f64, in an order that is not specified.
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

/// `C = A B` in f16, dense and row-major; the sums are taken in f32, in an order that is not specified, and rounded to f16 once at the end.
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

/// `C = A B` of bytes in 32-bit integers, dense and row-major; exact where the sums fit, as they do up to a k of 131071.
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

fn dense<T: Element>(
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
    let [a_place, b_place, c_place] = [k, n, n].map(Operand::row_major);
    let [alpha, beta] = [1i8, 0].map(T::Sum::from);
    let description = Gemm { m, n, k, alpha, beta, a: a_place, b: b_place, c: c_place, batch: 1 };
    gemm(&description, a, b, c, |_, _| (), threads)
}
