//! The driver as applications have it.

#![allow(
    unsafe_code,
    unused_unsafe,
    clippy::unwrap_used,
    clippy::macro_metavars_in_unsafe,
    reason = "tests of a C API"
)]

#[macro_use]
mod support;

#[path = "support/agreeing.rs"]
mod agreeing;
mod applications;
mod callbacks;
mod device;
mod driver;
mod images;
mod inject;
mod modules;
mod objects;
mod offered;
#[cfg(unix)]
mod process;
mod programs;
mod sample;
mod svm;
mod tolerated;
