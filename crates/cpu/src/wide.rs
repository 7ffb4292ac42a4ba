//! Closures compiled for wide vectors.

use pulp::{Simd, WithSimd};

/// Work that is compiled as a part of `pulp`'s dispatch for wide vectors; a plain closure, accepted as `FnOnce`, may
/// not be. The closure should be `#[inline(always)]`, and so should everything it calls.
pub(super) struct Wide<F>(pub(super) F);

impl<F: FnMut() -> R, R> WithSimd for Wide<F> {
    type Output = R;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) -> R {
        (self.0)()
    }
}
