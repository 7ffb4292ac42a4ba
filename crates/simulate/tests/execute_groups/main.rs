//! What work-items do with one another: atomics, barriers, collective functions, asynchronous copies, locks, `printf`; and
//! where they go different ways.
//!
//! Kernels in OpenCL C against models that go through the work-items one after the other.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test ends at the first surprise"
)]
#![allow(
    clippy::cast_lossless,
    clippy::items_after_statements,
    clippy::precedence,
    clippy::type_complexity,
    clippy::useless_vec,
    reason = "models in macros for all types, and tables beside the kernel they are about"
)]

mod atomics;
mod bench;
mod collectives;
mod copies;
mod limits;
mod pointers;
mod printf;
mod spins;
mod ways;
