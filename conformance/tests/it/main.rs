//! Kernels against their references, on every executor.

#![allow(
    clippy::print_stderr,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests report what they leave out, and panic"
)]

mod analysis;
mod cliffs;
mod compile;
mod filter_candidates;
mod filters;
mod gemm;
mod image_kernels;
mod math_kernels;
mod quantised;
mod random;
mod spirv;
mod tester;
