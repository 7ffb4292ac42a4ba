//! Conformance: the same cases on every executor.
//!
//! The cases are the ladders of `tripipe-ladders`: every step, every variant, at many sizes. They run on the CPU path
//! and on every OpenCL device found; the reference is the family's serial one. The same cases run again under Oclgrind,
//! which checks every memory access. See `tests/ladders.rs`.

pub mod cliffs;
pub mod defaults;
pub mod phone;
pub mod programs;
pub mod sizes;
