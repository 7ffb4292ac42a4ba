//! The built-in CPU path: every operation of the library on the machine's own cores.
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
//! *Threads.* [`Threads::All`] divides the output into bands, which the calling thread shares with the current `rayon`
//! pool; small work stays on the calling thread. [`Threads::One`] uses only the calling thread. Both give bit-identical
//! results for everything except the floating-point matrix products, whose order of summation depends on their
//! implementation.
//!
//! *Sizes.* [`filter`], [`resize`] and [`gemm`] take descriptions of the layout of their operands; those of the others
//! are dense and row-major. A size of zero is not an error: nothing is written.

#![allow(
    clippy::inline_always,
    reason = "a body that is not inlined into pulp's dispatch is compiled for the baseline, without the wider vectors"
)]

mod aligned;
mod bands;
mod ceilings;
mod error;
mod filter;
mod gemm;
mod histogram;
mod laplace;
mod map;
mod quantised;
mod reduce;
mod rgb_planar;
mod scaled_sum;
mod transpose;
mod vector;
mod vectors;
mod wide;

pub use ceilings::{MultiplyAdd, copy_rate, multiply_add_rate};
pub use error::CpuError;
pub use filter::{filter, resize, rgb_to_frame, rgb_to_semiplanar, semiplanar_to_rgb};
pub use gemm::{Gemm, GemmElement, Position, StridedLayout, gemm, gemm_f16, gemm_f32, gemm_f64, gemm_i8};
pub(crate) use gemm::{gemm_with, small_product};
pub(crate) use histogram::histogram;
pub use laplace::{laplace_gray, laplace_rgb, laplace_rgba};
pub(crate) use map::map;
pub use quantised::{QuantisedNumber, quantised};
pub(crate) use reduce::reduce;
pub use rgb_planar::{planes_to_rgb, rgb_to_planes};
pub(crate) use scaled_sum::scaled_sum;
pub(crate) use transpose::transpose_bytes;
pub use transpose::{transpose_f32, transpose_u8};
pub use vector::{saxpy, vector_add};
pub use vectors::vectors;

/// The number of threads that an operation may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Threads {
    /// Only the calling thread, still with SIMD.
    One,
    /// All threads of the current `rayon` pool, by default one per core.
    #[default]
    All,
}
