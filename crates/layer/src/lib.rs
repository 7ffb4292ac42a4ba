//! A layer between an application and its OpenCL driver.
//!
//! The ICD loader loads this library (`libtripipe_layer.so`, variable `OPENCL_LAYERS`), or the application itself does,
//! under the name `libOpenCL.so`. It passes every call on, and writes what happened: a trace of all calls and commands,
//! captures of launches, leaks and misuse. `docs/layer.md` says how to use it.
//!
//! - `functions` is the table of the functions, with their parameters; `function` the same as data.
//! - `entry` has the functions: it passes a call on and tells the [`layer`] about it. No panic leaves it. `driver` has the
//!   calls that the layer makes itself. Only these two have `unsafe`.
//! - `layer` has the parts: `objects`, `calls`, `log`, `commands`, `capture`, `misuse`, `report`, each in its file.
//!
//! No lock is held while the driver is called, as it may call the application, which may call the layer.
#![allow(unsafe_code, reason = "the boundary of a C API; each block says why it is sound")]

mod call;
mod calls;
mod capture;
mod capture_files;
mod commands;
mod driver;
mod entry;
mod function;
mod functions;
mod layer;
mod log;
mod misuse;
mod names;
mod objects;
mod report;
mod settings;

pub use entry::library::{clDeinitLayer, clGetLayerInfo, clInitLayer, clInitLayerWithProperties};
