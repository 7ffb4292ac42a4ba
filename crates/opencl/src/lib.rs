//! A safe interface to the OpenCL driver.
//!
//! The library is located and loaded at run time ([`library`]); a machine without OpenCL gets an ordinary error.
//! [`devices`] lists the devices, each with its [`tripipe_device::Probe`]. [`OpenClExecutor`] runs
//! [`tripipe_launch::Launch`]es on one of them; it is built on [`Context`], [`Queue`], [`Program`], [`Kernel`] and the
//! memory objects of [`memory`].
//!
//! Nothing here panics or prints. Driver errors are returned as [`CallError`] with the code's name and meaning; errors
//! that can be detected without calling the driver (argument types, index ranges, bounds) are this crate's own.
//!
//! # What is trusted
//! A kernel is compiled code that runs outside Rust's rules: one that writes past its buffers corrupts memory as C
//! does; on a CPU device, the host's own memory. Kernels are part of the program, like a linked C function; this crate
//! guards everything around them.
//!
//! # The one place that talks to the driver
//! `api` is a table of the library's functions, with the types of the Khronos headers (`opencl-sys`), filled when the
//! library is loaded. The types in `handle` release the objects they own and never panic, because drivers refuse even
//! a release after a device was lost.
#![allow(unsafe_code, reason = "calls into a C driver; each block says why it is sound")]

mod api;
mod build_log;
mod cache;
mod code;
mod context;
mod devices;
#[cfg(feature = "nvml")]
pub mod energy;
mod event;
mod executor;
mod exit;
mod handle;
mod in_flight;
mod info;
mod kernel;
pub mod library;
pub mod memory;
mod probe;
mod program;
mod queue;
mod range;
mod recording;
mod tape;
pub mod transfer;

pub use build_log::Complaint;
pub use code::{CallError, Code};
pub use context::{Context, ContextError};
pub use devices::{Device, DevicesError, PlatformProblem, Survey, devices, survey};
pub use event::Event;
pub use executor::{Builder, BuiltProgram, ExecutorOptions, ObjectAccess, OpenClExecutor};
pub use exit::at_exit;
pub use handle::live_objects;
pub use kernel::{Arg, ArgumentInfo, Kernel, KernelArguments, LaunchError, Space};
pub use program::{BuildError, Program};
pub use queue::Queue;
pub use range::RangeError;
pub use tripipe_cache::{Cache, CacheChoice};
