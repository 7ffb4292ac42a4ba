//! Runs OpenCL kernels without their GPU.
//!
//! [`math`] is the OpenCL C library on single numbers, [`image`] reads and writes images as the specification has
//! it, [`watch`] says what goes wrong.

pub mod image;
pub mod math;
pub mod watch;

mod arch;
mod execute;
mod simulator;

pub use execute::state::Schedule;
pub use simulator::{Checked, Options, Prebuilt, Report, RunError, Simulator};
