//! Matrix products and image filters on whatever device is there.
//!
//! - A [`Device`] is an OpenCL device of the machine, or the built-in CPU path, which is always there; a [`Context`] is one
//!   with a queue.
//! - [`Vector`], [`Matrix`] and [`Image`] live in a context. Operations on them are queued and return at once, with a
//!   [`Pending`] to wait for or to `.await`.
//! - A [`Team`] shares one operation out to several contexts.
//! - [`filter`] and [`gemm`]: the operations. Each picks its kernel for that device and says in an [`Explanation`] which,
//!   and why.
//! - [`cpu`]: the CPU path itself. It needs no OpenCL, no compiler and no system package.
//! - [`peaks`]: its measured ceilings.
//! - [`climb`]: the CPU path on the optimisation ladders of `tripipe-kernels`.

mod background;
pub mod climb;
mod context;
pub mod cpu;
mod device;
mod element;
mod elementwise;
mod error;
mod explanation;
pub mod filter;
mod frame;
pub mod gemm;
mod host_queue;
mod image;
mod interop;
mod kept;
mod line;
mod matrix;
mod memory;
mod operation;
pub mod peaks;
mod pending;
mod pool;
mod simple;
mod team;
mod trial;
mod vector;

pub use context::Context;
pub use device::{Choice, Device, Devices};
pub use element::{Element, Float, Pixel};
pub use elementwise::{Array, ArrayMut, Counted, Elementwise, Summed};
pub use error::Error;
pub use explanation::{Arithmetic, Bound, Ceilings, Chosen, Explanation, Prediction, RunnerUp};
pub use image::{Image, ImageView, ImageViewMut};
pub use matrix::{Matrix, MatrixView, MatrixViewMut, Order};
pub use pending::Pending;
pub use team::{Share, Shares, Team};
pub use vector::Vector;
