//! Virtual GPUs as an OpenCL driver.
//!
//! The ICD loader loads this library (`libtripipe_icd.so`) and lists its platform, whose devices are GPUs that are not
//! there: kernels run in the simulator, and the times of events are predicted. `docs/driver.md` says how to use it.
//!
//! - [`driver`] has the objects of the API in safe Rust: one file an object.
//! - `entry` has the functions of the API. They read their arguments, find the objects of the handles, and call the
//!   driver. No panic leaves them.
//! - `dispatch` is the table of all functions, to which each handle points.
//! - [`host`] is memory of the application: all that commands copy from or to it.
#![allow(unsafe_code, reason = "the boundary of a C API; each block says why it is sound")]

pub mod driver;
pub mod host;

mod dispatch;
mod entry;

pub use entry::library::{clGetExtensionFunctionAddress, clIcdGetPlatformIDsKHR};
