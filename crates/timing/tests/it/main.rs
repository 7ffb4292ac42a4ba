//! Predicted times.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test reports what it leaves out"
)]

mod cpu;
mod engine;
mod limits;
mod published;
