//! Compares the OpenCL C library with arbitrary precision (MPFR), and with the special values of the specification.
//!
//! `cargo test -p tripipe-simulate --test math -- --nocapture` prints the largest error of every function.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test ends at the first surprise, and says how large the errors are"
)]

mod accuracy;
mod exact;
mod geometric;
mod integers;
mod kind;
mod samples;
mod special;
mod tables;
