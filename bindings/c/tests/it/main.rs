//! The C library, as applications have it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test ends at the first surprise"
)]

#[cfg(target_os = "linux")]
mod android;
#[cfg(target_os = "linux")]
mod examples;
#[cfg(target_os = "linux")]
mod gemm;
mod header;
#[cfg(target_os = "linux")]
mod refusals;
mod support;
