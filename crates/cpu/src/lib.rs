//! The CPU path of `tripipe`: every operation of the library on the machine's own cores.
//!
//! The functions take slices and write into a slice of the caller. Apart from some rows in a filter, tiles of converted
//! operands, and the packing buffers of the matrix product they allocate nothing: at the speed they run, the page
//! faults of a fresh output buffer would cost more than the work.
//!
//! *SIMD.* There is no `unsafe` here, and except for the shuffles of resizing no intrinsic. The loops iterate over
//! arrays of a fixed length, which the compiler turns into vector code, and `pulp` selects at run time the version
//! compiled for AVX-512, for AVX2, or for the target's baseline (SSE2, NEON); [`vectors`] names it, and limits it for
//! comparisons.
//!
//! *Threads.* Work is divided into pieces, which the calling thread does one after the other, together with those threads
//! of the CPU path that get a processor meanwhile; small work stays on the calling thread. [`Threads::One`] uses only the
//! calling thread. All give bit-identical results for everything except the floating-point matrix products, whose order
//! of summation depends on their implementation.
//!
//! *Sizes.* [`filter`], [`resize`], [`affine`], [`gemm`], [`map`], [`reduce`] and [`histogram`] take descriptions of the layout of
//! their operands; those of the others are dense and row-major. A size of zero is not an error: nothing is written.

#![allow(
    clippy::inline_always,
    reason = "a body that is not inlined into pulp's dispatch is compiled for the baseline, without the wider vectors"
)]

use std::num::NonZeroUsize;

mod aligned;
mod bands;
mod ceilings;
mod error;
mod filter;
mod gemm;
mod helpers;
mod histogram;
mod laplace;
mod map;
mod name;
mod quantised;
mod reduce;
mod rgb_planar;
mod scaled_sum;
mod transpose;
mod vector;
mod vectors;
mod wide;

use helpers::helpers;

pub use ceilings::{MultiplyAdd, copy_rate, multiply_add_rate};
pub use error::CpuError;
pub use filter::{affine, filter, filter_inside, resize, rgb_to_frame, rgb_to_semiplanar, semiplanar_to_rgb};
pub use gemm::{
    Gemm, GemmElement, Position, gemm, gemm_f16, gemm_f32, gemm_f64, gemm_i8, gemm_with, small_product,
};
pub use histogram::histogram;
pub use laplace::{laplace_gray, laplace_rgb, laplace_rgba};
pub use map::map;
pub use name::name;
pub use quantised::{QuantisedNumber, quantised};
pub use reduce::reduce;
pub use rgb_planar::{planes_to_rgb, rgb_to_planes};
pub use scaled_sum::scaled_sum;
pub use transpose::{transpose_bytes, transpose_f32, transpose_u8};
pub use tripipe_kernels::gemm::StridedLayout;
pub use vector::{saxpy, vector_add};
pub use vectors::vectors;

/// The number of threads that an operation may use, with the calling thread. They do SIMD in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Threads {
    /// Only the calling thread.
    One,
    /// At most this number.
    AtMost(NonZeroUsize),
    /// One for each processor that the process may use, or as many as the environment variable `RAYON_NUM_THREADS` says.
    #[default]
    All,
}

impl Threads {
    /// The number of threads, at least 1.
    pub fn count(self) -> usize {
        let most = match self {
            Self::One => return 1,
            Self::AtMost(most) => most.get(),
            Self::All => usize::MAX,
        };
        if most == 1 { 1 } else { most.min(helpers().map_or(1, |helpers| helpers.count + 1)) }
    }

    /// Whichever allows fewer.
    #[must_use]
    pub fn limited_to(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, other) | (other, Self::All) => other,
            (Self::AtMost(one), Self::AtMost(other)) => Self::AtMost(one.min(other)),
            (Self::One, _) | (_, Self::One) => Self::One,
        }
    }
}
