//! Which vectors a machine has.

use pulp::WithSimd;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use pulp::{Scalar, Simd, x86::V3};

/// The vectors that lanes are computed in. Of an x86 those of AVX2: the hundreds of functions here, compiled for AVX-512 as well, would
/// take half as long again to build and gain little, as registers of lanes come from memory.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arch(Option<V3>);

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
impl Arch {
    /// This machine's.
    pub(crate) fn new() -> Self {
        Self(V3::try_new())
    }

    /// Does the work in them.
    #[allow(clippy::inline_always, reason = "the work is compiled for the instructions that are chosen here")]
    #[inline(always)]
    pub(crate) fn dispatch<W: WithSimd>(self, work: W) -> W::Output {
        match self.0 {
            Some(simd) => Simd::vectorize(simd, work),
            None => Simd::vectorize(Scalar, work),
        }
    }
}

/// The vectors that lanes are computed in.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arch(pulp::Arch);

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
impl Arch {
    /// This machine's.
    pub(crate) fn new() -> Self {
        Self(pulp::Arch::new())
    }

    /// Does the work in them.
    #[inline]
    pub(crate) fn dispatch<W: WithSimd>(self, work: W) -> W::Output {
        self.0.dispatch(work)
    }
}
