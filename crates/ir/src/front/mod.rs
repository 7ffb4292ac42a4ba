//! Front ends that produce the IR: OpenCL C through clang, SPIR-V directly.

pub mod clang;
mod condition;
mod live;
pub mod spirv;

pub use live::{LiveError, live};
