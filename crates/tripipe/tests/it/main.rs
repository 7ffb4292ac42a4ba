//! The library, on every device.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[cfg(all(feature = "cpu", feature = "opencl"))]
mod library;
#[cfg(all(feature = "cpu", feature = "opencl"))]
#[path = "../../../opencl/tests/it/support/raw.rs"]
mod raw;
#[cfg(all(feature = "cpu", feature = "opencl", feature = "trace"))]
mod trace;
#[cfg(all(feature = "cpu", feature = "virtual"))]
mod virtual_gpus;
#[cfg(not(feature = "cpu"))]
mod without_cpu;
