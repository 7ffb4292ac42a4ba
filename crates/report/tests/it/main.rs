//! Every report in every format.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test ends at the first surprise, and says what it skips"
)]

mod browser;
mod devices;
mod findings;
mod gallery;
mod ladder;
mod page;
mod peaks;
mod run;
mod sarif_shape;
mod simulation;
mod why;
