//! Kernels, loaded from sources, modules and texts.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

mod build;
mod dialect;
mod expect;
mod flow;
mod fuzz;
mod load;
mod meaning;
mod ranges;
mod refused;
mod support;
mod verify;
