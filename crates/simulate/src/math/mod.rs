//! The OpenCL C library on single numbers.
//!
//! Implements every function of [`Builtin`] that works lane by lane, for [`half::f16`], [`f32`] and [`f64`], and for
//! integers of 8, 16, 32 and 64 bits; [`geometric`] has those that map vectors to a number. Results keep the error
//! bounds of the full profile ([`Builtin::ulp`](tripipe_ir::op::Builtin::ulp)) and the special values of the OpenCL C
//! specification 3.0, section 7.5; subnormals are preserved. Where the specification leaves the result open, the doc
//! comment states it. `half_...` and `native_...` functions are the precise ones.
//!
//! The functions have three forms: by name, for use in a loop ([`basic`], [`elementary`], [`int`]); by [`Builtin`] as
//! a function pointer ([`float1`], [`int1`] ...); and by [`Builtin`] over arrays, which is vector code and many times
//! as fast as calling the pointer for each number ([`array1`] ...).
//!
//! [`Builtin`]: tripipe_ir::op::Builtin
//!
//! Results are bit-identical on every machine: the only functions of the system's math library that are called are
//! those with an exact or correctly rounded result by definition.

#![allow(
    clippy::inline_always,
    reason = "loops over these functions become vector code only if nothing is called"
)]

pub(crate) mod arrays;
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
