//! Matrix products and image filters on whatever device is there.
//!
//! - [`Device`]s: the OpenCL devices of the machine, and the built-in CPU path, which is always there.
//! - [`filter`] and [`gemm`]: operations on a device. Each picks its kernel for that device and says in an
//!   [`Explanation`] which, and why.
//! - [`cpu`]: the CPU path itself. It needs no OpenCL, no compiler and no system package.
//! - [`peaks`]: its measured ceilings.
//! - [`climb`]: the CPU path on the optimisation ladders of `tripipe-kernels`.

pub mod climb;
pub mod cpu;
mod device;
mod error;
mod explanation;
pub mod filter;
pub mod gemm;
pub mod peaks;
mod run;

pub use device::{Choice, Device, Devices, devices};
pub use error::Error;
pub use explanation::Explanation;
