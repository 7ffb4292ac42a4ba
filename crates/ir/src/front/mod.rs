//! Front ends that produce the IR: OpenCL C through clang, SPIR-V directly.

pub mod clang;
pub mod spirv;
