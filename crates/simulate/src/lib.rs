//! Runs OpenCL kernels without a GPU.
//!
//! [`math`] is the OpenCL C library on single numbers, [`image`] implements reads and writes of images by the
//! specification, [`watch`] finds errors, [`drivers`] knows what drivers do wrong, [`bounds`] tells which results the language allows, and [`depend`]
//! which lines a result depends on.

pub mod bounds;
pub mod depend;
pub mod drivers;
pub mod image;
pub mod math;
pub mod trace;
pub mod watch;

mod arch;
mod execute;
mod shadow;
mod simulator;
mod source;

pub use execute::schedule::Schedule;
pub use simulator::{Checked, Options, Prebuilt, Report, RunError, Simulator};
