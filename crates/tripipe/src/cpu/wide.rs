//! Closures compiled for wide vectors.

use pulp::{Simd, WithSimd};

/// Work that becomes a part of what `pulp` compiles for wide vectors, which a plain closure, taken for `FnOnce`, need not. The closure is to
/// be `#[inline(always)]`, and so is what it calls.
pub(super) struct Wide<F>(pub(super) F);

impl<F: FnMut() -> R, R> WithSimd for Wide<F> {
    type Output = R;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) -> R {
        (self.0)()
    }
}
