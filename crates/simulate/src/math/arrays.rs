//! Applies a function to arrays, in the widest vectors of the processor.

use pulp::{Simd, WithSimd};

use crate::arch::Arch;

/// A function of the elements of one array, and its results.
pub(crate) struct Map1<'a, A, D, F>(pub(crate) &'a [A], pub(crate) &'a mut [D], pub(crate) F);

impl<A: Copy, D, F: Fn(A) -> D> WithSimd for Map1<'_, A, D, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (d, a) in self.1.iter_mut().zip(self.0) {
            *d = (self.2)(*a);
        }
    }
}

/// A function of the elements of two arrays, and its results.
pub(crate) struct Map2<'a, A, B, D, F>(
    pub(crate) &'a [A],
    pub(crate) &'a [B],
    pub(crate) &'a mut [D],
    pub(crate) F,
);

impl<A: Copy, B: Copy, D, F: Fn(A, B) -> D> WithSimd for Map2<'_, A, B, D, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for ((d, a), b) in self.2.iter_mut().zip(self.0).zip(self.1) {
            *d = (self.3)(*a, *b);
        }
    }
}

/// A function of the elements of three arrays, and its results.
pub(crate) struct Map3<'a, A, B, C, D, F>(
    pub(crate) &'a [A],
    pub(crate) &'a [B],
    pub(crate) &'a [C],
    pub(crate) &'a mut [D],
    pub(crate) F,
);

impl<A: Copy, B: Copy, C: Copy, D, F: Fn(A, B, C) -> D> WithSimd for Map3<'_, A, B, C, D, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (((d, a), b), c) in self.3.iter_mut().zip(self.0).zip(self.1).zip(self.2) {
            *d = (self.4)(*a, *b, *c);
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
