//! One case, every executor.
//!
//! The cases are the ladders of `tripipe-kernels`: every step, every way to run it, at many sizes. They run on the
//! CPU path and on every OpenCL device found; the oracle is the family's serial reference. The
//! same cases run again under Oclgrind, which watches every access to memory. See `tests/ladders.rs`.

pub mod phone;
pub mod programs;
pub mod sizes;
