//! The workbench's kernels: optimisation ladders, measured ceilings, published figures.
//!
//! A *family* is one folder: its `.cl` files (which compile separately with their defaults), the Rust code that
//! launches them ([`tripipe_kernels::Plan`]), the constraints, and a serial reference on the CPU. A [`ladder::Ladder`]
//! orders the kernels of a family from the simplest to the fastest. [`ladder::climb`] verifies and times them on any
//! [`tripipe_launch::Executor`], or on any other [`ladder::Climber`].

pub mod catalog;
pub mod ladder;
pub mod peaks;
pub mod photo;
pub mod problem;
pub mod published;
pub mod spirv;

pub mod gemm;
pub mod gemv;
pub mod gemv_q4;
pub mod laplace;
pub mod laplace_gray;
pub mod rgb_planar;
pub mod saxpy;
pub mod transpose;
pub mod vector_add;

pub use photo::Photo;
pub use problem::{Data, Expected, Inputs, Mismatch, Problem, ProblemError, Size, SizeKind, Work};
