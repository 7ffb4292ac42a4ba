//! The vector instructions of a machine.

use pulp::WithSimd;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use pulp::{Scalar, Simd, x86::V3};

/// The vector instructions in which lanes are computed. On x86, AVX2: compiling the hundreds of functions here for
/// AVX-512 as well would lengthen the build by half and gain little, because registers of lanes are loaded from
/// memory.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arch(Option<V3>);

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
impl Arch {
    /// The instructions of this machine.
    pub(crate) fn new() -> Self {
        Self(V3::try_new())
    }

    /// Runs `work` with them.
    #[allow(clippy::inline_always, reason = "the work is compiled for the instructions selected here")]
    #[inline(always)]
    pub(crate) fn dispatch<W: WithSimd>(self, work: W) -> W::Output {
        match self.0 {
            Some(simd) => Simd::vectorize(simd, work),
            None => Simd::vectorize(Scalar, work),
        }
    }
}

/// The vector instructions in which lanes are computed.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arch(pulp::Arch);

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
impl Arch {
    /// The instructions of this machine.
    pub(crate) fn new() -> Self {
        Self(pulp::Arch::new())
    }

    /// Runs `work` with them.
    #[inline]
    pub(crate) fn dispatch<W: WithSimd>(self, work: W) -> W::Output {
        self.0.dispatch(work)
    }
}
