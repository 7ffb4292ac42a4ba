//! The OpenCL C library on single numbers.
//!
//! Every function of [`Builtin`] that works lane by lane, for [`half::f16`], [`f32`] and [`f64`], and for integers of 8,
//! 16, 32 and 64 bits; [`geometric`] has those that take a vector to a number. Results keep to the error bounds of the
//! full profile ([`Builtin::ulp`](tripipe_ir::op::Builtin::ulp)) and to the special values of the OpenCL C specification
//! 3.0, section 7.5; subnormals are kept. Where the specification leaves the result open, the doc comment says what
//! comes. `half_...` and `native_...` functions are the precise ones.
//!
//! They come in three forms: by name, to be written into a loop ([`basic`], [`elementary`], [`int`]); by [`Builtin`] as a
//! pointer ([`float1`], [`int1`] ...); and by [`Builtin`] over arrays, which is vector code and many times as fast as
//! the pointer called for each number ([`array1`] ...).
//!
//! [`Builtin`]: tripipe_ir::op::Builtin
//!
//! Results are the same to the bit on every machine: no function of the system's mathematical library is called but
//! for those whose result is exact or correctly rounded by their definition.

#![allow(
    clippy::inline_always,
    reason = "loops over these functions become vector code only if nothing is called"
)]

mod arrays;
pub mod basic;
pub mod double;
pub mod elementary;
mod float;
pub mod geometric;
pub mod int;
mod single;
mod table;

pub use float::{Float, Real};
pub use int::{Int, Narrow};
pub use table::{
    Array1, Array2, Array3, Join, array1, array2, array3, float_int, float_to_int, float1, float2, float3,
    floats_to_int, int_to_float, int1, int2, int3, upsample,
};
