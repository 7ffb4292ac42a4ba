//! The functions of the API.
//!
//! Each reads its arguments, finds the objects of the handles, and calls [`crate::driver`]. `function!` and
//! `constructor!` write what all of them have in common: a panic becomes `CL_OUT_OF_RESOURCES`, a failure its code.

#[macro_use]
mod boundary;

pub(crate) mod buffers;
pub(crate) mod contexts;
pub(crate) mod devices;
pub(crate) mod events;
pub(crate) mod images;
pub(crate) mod kernels;
pub(crate) mod library;
pub(crate) mod maps;
pub(crate) mod memory;
pub(crate) mod not_offered;
pub(crate) mod programs;
pub(crate) mod queues;
pub(crate) mod run;
pub(crate) mod samplers;
pub(crate) mod svm;
