//! Matrix products and image filters on any available device.
//!
//! ```
//! use tripipe::filter::{Border, Chain};
//! use tripipe::{Context, Device, Extents, Image, Matrix, Size};
//!
//! # fn main() -> Result<(), tripipe::Error> {
//! // The strongest OpenCL GPU; without one, the CPU path.
//! let context = Context::new(&Device::best()?)?;
//!
//! let a = Matrix::from_slice(&context, Extents::new(2, 3), &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let b = Matrix::from_slice(&context, Extents::new(3, 1), &[1.0f32, 0.0, -1.0])?;
//! let c = a.matmul(&b)?; // queued; does not wait
//! assert_eq!(c.to_vec()?, [-2.0, -2.0]); // waits
//!
//! let photo = Image::from_slice(&context, Size::new(64, 48), 3, &[100u8; 64 * 48 * 3])?;
//! let chain = Chain::parse("gray,gaussian:5,laplace8", Border::Reflect101)?;
//! let edges: Image<u8> = photo.filtered(&chain)?;
//! assert_eq!(edges.to_vec()?, [0; 64 * 48]);
//! # Ok(())
//! # }
//! ```
//!
//! - A [`Device`] is an OpenCL device of the machine, or the built-in CPU path, which needs no driver; a [`Context`] is a
//!   device with a queue.
//! - [`Vector`], [`Matrix`] and [`Image`] live in a context. Operations on them are queued and return at once, with an
//!   [`Event`], or a [`Pending`] value, to wait for or to `.await`.
//! - A [`Team`] shares one operation among several contexts.
//! - [`filter`], [`gemm`] and [`quantised`]: the operations. Each picks its kernel for the device and reports in an [`Explanation`]
//!   which one, and why.
//! - The CPU path needs no OpenCL, no compiler and no system package; `Threads` limits the threads that it uses.
//!
//! # Features
//! - `opencl` (default): OpenCL devices. Without it the library is the CPU path, and loads no driver.
//! - `cpu` (default): the CPU path, as a device of its own ([`Device`]`::Cpu`) and as a fallback for others. Without it,
//!   devices are OpenCL devices alone, [`Device::best`] fails if there is none, and an operation that its device does
//!   not support is an error ([`ErrorKind::Unsupported`]) that names what the device lacks.
//! - `virtual`: GPUs that are not there ([`Device`]`::Virtual`): their results are computed on the CPU, their times are
//!   predicted by a model. On a phone's GPU, explanations predict times by the same model instead of by its ceilings.
//!   OpenCL C is compiled with clang, which must be installed.
//! - `trace` (default): with the environment variable `TRIPIPE_TRACE=FILE`, a program writes what the library runs, and
//!   when, to a file for ui.perfetto.dev (see the module `trace`).
//! - `image`: conversions from and to the types of the `image` crate, without its codecs.
//! - `ndarray`: conversions from and to the types of `ndarray`.
//!
//! Without `opencl` and without `cpu` there are no devices; [`ContextBuilder::build_over`] still runs operations on an executor of the
//! application.

#![deny(missing_docs)]

mod context;
mod device;
#[cfg(not(feature = "opencl"))]
mod driver;
mod element;
mod elementwise;
mod engine;
mod error;
mod explanation;
pub mod filter;
mod first_use;
pub mod gemm;
mod image;
mod interop;
mod matrix;
mod matrix_shape;
mod memory;
mod operation;
mod operation_cache;
mod operation_queue;
mod pending;
mod process;
pub mod quantised;
mod task;
mod team;
#[cfg(feature = "trace")]
pub mod trace;
mod vector;
#[cfg(feature = "virtual")]
mod virtual_device;

#[cfg(feature = "cpu")]
use tripipe_cpu as cpu;
#[cfg(feature = "opencl")]
use tripipe_opencl as driver;

pub use context::{Context, ContextBuilder};
pub use device::{Choice, Device, Devices};
pub use element::{Element, Float, Pixel};
pub use elementwise::{Array, ArrayMut, Counted, Elementwise, ImagePosition, MatrixPosition, Summed};
pub use engine::kernels::Compilation;
pub use error::{Error, ErrorKind};
pub use explanation::{Arithmetic, Bound, Ceilings, Chosen, Explanation, Prediction, RunnerUp};
pub use image::{Image, ImageView, ImageViewMut};
pub use matrix::{Matrix, MatrixView, MatrixViewMut};
pub use pending::{Event, Pending};
pub use team::{Share, Shares, Team};
#[cfg(feature = "cpu")]
pub use tripipe_cpu::Threads;
pub use vector::Vector;
#[cfg(feature = "virtual")]
pub use virtual_device::VirtualDevice;

/// The programs of the documents, as tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/library.md")]
    struct Library;
}

#[cfg(feature = "image")]
pub use interop::Depth;

/// What an executor is made of, for [`ContextBuilder::build_over`].
pub mod launch {
    pub use tripipe_launch::{
        Access, Addressing, Argument, Block, ChannelOrder, ChannelType, ExecuteError, Executor, Filter,
        ImageExtent, ImageShape, KernelFacts, Launch, MemoryId, MemoryKind, NdRange, OverBytes, Part,
        Prepared, Program, Reading, Sampler, ScalarType, Source, Submission, Text, TimeSource, Timing, Value,
    };
}

// Types of other crates in signatures.
pub use half::f16;
pub use tripipe_cache::{Cache, CacheChoice};
pub use tripipe_device::{Identification, Probe};
pub use tripipe_kernels::filter::Size;
pub use tripipe_kernels::gemm::{Extents, Order};

/// OpenCL: devices, executors with options of their own, memory to import. Without the feature `opencl` there are no
/// devices.
pub mod opencl {
    pub use crate::driver::memory::External;
    pub use crate::driver::{Device, DevicesError};
    #[cfg(feature = "opencl")]
    pub use tripipe_opencl::{CacheChoice, ContextError, ExecutorOptions, OpenClExecutor, Queue};
}
