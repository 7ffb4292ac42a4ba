//! Element-wise operations on vectors.

use pulp::{Simd, WithSimd};

use crate::bands::for_each_band;
use crate::error::check_length;
use crate::{CpuError, Threads, vectors};

/// `c[i] = a[i] + b[i]`, wrapping around on overflow. Empty vectors are allowed.
///
/// # Errors
/// [`CpuError::Length`] when `b` or `c` has another length than `a`.
pub fn vector_add(a: &[i32], b: &[i32], c: &mut [i32], threads: Threads) -> Result<(), CpuError> {
    check_length("vector_add", "b", &[a.len()], b.len())?;
    check_length("vector_add", "c", &[a.len()], c.len())?;
    let arch = vectors::arch();
    for_each_band(c, 1, 64, threads, |first, c| {
        let (a, b) = (&a[first..][..c.len()], &b[first..][..c.len()]);
        arch.dispatch(VectorAdd { a, b, c });
    });
    Ok(())
}

/// `z[i] = a * x[i] + y[i]`, the product rounded before the sum (not fused). Empty vectors are allowed.
///
/// # Errors
/// [`CpuError::Length`] when `y` or `z` has another length than `x`.
pub fn saxpy(a: f32, x: &[f32], y: &[f32], z: &mut [f32], threads: Threads) -> Result<(), CpuError> {
    check_length("saxpy", "y", &[x.len()], y.len())?;
    check_length("saxpy", "z", &[x.len()], z.len())?;
    let arch = vectors::arch();
    for_each_band(z, 1, 64, threads, |first, z| {
        let (x, y) = (&x[first..][..z.len()], &y[first..][..z.len()]);
        arch.dispatch(Saxpy { a, x, y, z });
    });
    Ok(())
}

struct VectorAdd<'a> {
    a: &'a [i32],
    b: &'a [i32],
    c: &'a mut [i32],
}

impl WithSimd for VectorAdd<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for ((c, a), b) in self.c.iter_mut().zip(self.a).zip(self.b) {
            *c = a.wrapping_add(*b);
        }
    }
}

struct Saxpy<'a> {
    a: f32,
    x: &'a [f32],
    y: &'a [f32],
    z: &'a mut [f32],
}

impl WithSimd for Saxpy<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for ((z, x), y) in self.z.iter_mut().zip(self.x).zip(self.y) {
            *z = self.a * x + y;
        }
    }
}
