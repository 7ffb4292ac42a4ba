//! Applies a function to arrays, in the widest vectors of the processor.

use pulp::{Simd, WithSimd};

use crate::arch::Arch;

struct Map1<'a, T, F>(&'a [T], &'a mut [T], F);

impl<T: Copy, F: Fn(T) -> T> WithSimd for Map1<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (out, x) in self.1.iter_mut().zip(self.0) {
            *out = (self.2)(*x);
        }
    }
}

struct Map2<'a, T, F>(&'a [T], &'a [T], &'a mut [T], F);

impl<T: Copy, F: Fn(T, T) -> T> WithSimd for Map2<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for ((out, x), y) in self.2.iter_mut().zip(self.0).zip(self.1) {
            *out = (self.3)(*x, *y);
        }
    }
}

struct Map3<'a, T, F>(&'a [T], &'a [T], &'a [T], &'a mut [T], F);

impl<T: Copy, F: Fn(T, T, T) -> T> WithSimd for Map3<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (((out, x), y), z) in self.3.iter_mut().zip(self.0).zip(self.1).zip(self.2) {
            *out = (self.4)(*x, *y, *z);
        }
    }
}

struct All<'a, T, F>(&'a [T], F);

impl<T: Copy, F: Fn(T) -> bool> WithSimd for All<'_, T, F> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        // Do not stop early: a loop with an early exit is not vectorised.
        self.0.iter().fold(true, |all, &x| all & (self.1)(x))
    }
}

#[inline(always)]
pub(super) fn map1<T: Copy>(x: &[T], out: &mut [T], f: impl Fn(T) -> T) {
    Arch::new().dispatch(Map1(x, out, f));
}

#[inline(always)]
pub(super) fn map2<T: Copy>(x: &[T], y: &[T], out: &mut [T], f: impl Fn(T, T) -> T) {
    Arch::new().dispatch(Map2(x, y, out, f));
}

#[inline(always)]
pub(super) fn map3<T: Copy>(x: &[T], y: &[T], z: &[T], out: &mut [T], f: impl Fn(T, T, T) -> T) {
    Arch::new().dispatch(Map3(x, y, z, out, f));
}

/// Whether all numbers satisfy `f`.
#[inline(always)]
pub(super) fn all<T: Copy>(x: &[T], f: impl Fn(T) -> bool) -> bool {
    Arch::new().dispatch(All(x, f))
}
