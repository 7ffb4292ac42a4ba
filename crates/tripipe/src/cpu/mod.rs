//! The built-in CPU path: every operation of the library on the machine's own cores.
//!
//! The functions take slices and write into a slice the caller brings. Apart from some rows in a filter, tiles of converted
//! operands, and the packing buffers of the matrix product they allocate nothing: at the speed they run, the page
//! faults of a fresh output buffer would cost more than the work.
//!
//! *SIMD.* There is no `unsafe` and no intrinsic here. The loops are written over arrays of a fixed length, which the
//! compiler turns into vector code, and `pulp` picks at run time the version compiled for AVX-512, for AVX2, or for the
//! target's baseline (SSE2, NEON).
//!
//! *Threads.* [`Threads::All`] cuts the output into bands, which the calling thread shares with the current `rayon` pool; small work
//! stays on the calling thread. [`Threads::One`] never leaves it. The result is the same, bit for bit, for everything but the
//! floating-point matrix products, whose order of summation is the business of the library that does them.
//!
//! *Sizes.* [`filter`], [`resize`] and [`gemm`] say where their operands lie; those of the others are dense and row-major. A size of zero is no
//! error: there is nothing to write, and nothing is written.

#![allow(
    clippy::inline_always,
    reason = "a body that is not inlined into pulp's dispatch is compiled for the baseline, without the wider vectors"
)]

mod bands;
mod error;
mod filter;
mod gemm;
mod laplace;
mod map;
mod reduce;
mod rgb_planar;
mod transpose;
mod vector;
mod wide;

pub use error::CpuError;
pub use filter::{filter, resize, rgb_to_frame, rgb_to_semiplanar, semiplanar_to_rgb};
pub use gemm::{Element, Gemm, Operand, Place, gemm, gemm_f16, gemm_f32, gemm_f64, gemm_i8};
pub use laplace::{laplace_gray, laplace_rgb, laplace_rgba};
pub(crate) use map::map;
pub(crate) use reduce::reduce;
pub use rgb_planar::{planes_to_rgb, rgb_to_planes};
pub use transpose::{transpose_f32, transpose_u8};
pub use vector::{saxpy, vector_add};

/// How many threads an operation may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Threads {
    /// The calling thread alone, still with SIMD.
    One,
    /// All threads of the current `rayon` pool, by default one for each core.
    #[default]
    All,
}
