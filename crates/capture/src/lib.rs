//! Captured launches: what an application ran on its device, with the memory before and after.
//!
//! [`intercept`] reads the folders that the OpenCL intercept layer writes, one for each captured enqueue. A
//! [`Recorded`] launch becomes a launch file ([`Recorded::files`]), whose inputs are what was before, and whose
//! expectations are what was after. [`verdict`] judges what the device computed.

mod error;
pub mod intercept;
mod recorded;
pub mod trace;
pub mod verdict;

pub use error::CaptureError;
pub use recorded::{Recorded, RecordedArgument, RecordedMemory};
