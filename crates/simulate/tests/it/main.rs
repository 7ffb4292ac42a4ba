//! The simulator: results, functions, images and checks.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test ends at the first surprise, and reports what it leaves out"
)]

mod bounds;
mod depend;
mod drivers;
mod execute_groups;
mod fuzz;
mod images;
mod layers;
mod math;
mod rules;
mod threads;
mod trace;
