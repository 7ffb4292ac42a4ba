//! OpenCL on the machine's device, and on stand-in drivers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests fail by panicking, and say what they skip"
)]

mod cache;
#[path = "support/child.rs"]
mod child;
#[cfg(feature = "nvml")]
mod energy;
mod executor;
mod faults;
mod import;
mod in_place;
mod memory;
#[cfg(unix)]
mod pixel;
mod prepared;
#[path = "support/raw.rs"]
mod raw;
#[path = "support/stand_in.rs"]
mod stand_in;
mod submission;
mod support;
mod threads;
mod trace;
mod transfer;
