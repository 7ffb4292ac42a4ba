//! Images of the simulator, compared with models of the specification and with OpenCL devices.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]

mod device;
mod formats;
mod reads;
