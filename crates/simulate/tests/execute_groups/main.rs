//! What work-items do with one another: atomics, barriers, collective functions, asynchronous copies, locks, `printf`.
//!
//! Kernels in OpenCL C against models that go through the work-items one after the other.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test ends at the first surprise")]

mod atomics;
mod bench;
mod collectives;
mod copies;
mod printf;
mod spins;
