//! Kernel launches, independent of the device that runs them.
//!
//! A [`Launch`] is a kernel of a [`Program`] with its arguments and its index range. An [`Executor`] runs launches; an
//! OpenCL device is one, a simulated GPU is another, and nothing here depends on which. Plans that are made before
//! memory exists use `Launch<M>` with their own slot type instead of [`MemoryId`]; [`Launch::map_memory`] converts one
//! to the other.

mod block;
mod elements;
mod error;
mod executor;
mod layer;
pub mod locks;
mod memory;
mod program;
mod range;
mod text;
mod value;

use std::fmt;
use std::sync::Arc;

pub use block::Block;
pub use elements::{elements_of, elements_of_mut};
pub use error::ExecuteError;
pub use executor::{
    CountedEnergy, CpuLoad, CpuTime, Executor, KernelFacts, OverBytes, Prepared, Reading, Submission,
    TimeSource, Timing, count_energy,
};
pub use layer::{Intercept, Layer};
pub use memory::{
    Access, Addressing, ChannelOrder, ChannelType, Filter, ImageExtent, ImageShape, ImageShapeError,
    MemoryId, MemoryKind, Sampler,
};
pub use program::{Program, Source};
pub use range::NdRange;
pub use text::{Part, Text};
pub use value::{ScalarType, Value};

/// One kernel argument.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Argument<M = MemoryId> {
    /// A buffer or an image.
    Memory(M),
    /// A scalar or vector, by value.
    Value(Value),
    /// Local memory.
    Local {
        /// Size in bytes.
        bytes: usize,
    },
    /// A sampler.
    Sampler(Sampler),
    /// A struct by value: its bytes in the device's layout, including padding.
    Bytes(Arc<[u8]>),
    /// `NULL` instead of a buffer.
    Null,
}

impl<M> fmt::Display for Argument<M> {
    /// What it is in a few words: `a value (float4)`, `local memory`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(_) => f.write_str("a memory object"),
            Self::Value(value) => write!(f, "a value ({})", value.opencl_name()),
            Self::Local { .. } => f.write_str("local memory"),
            Self::Sampler(_) => f.write_str("a sampler"),
            Self::Bytes(bytes) => write!(f, "{} bytes of a struct", bytes.len()),
            Self::Null => f.write_str("NULL"),
        }
    }
}

impl<M, V: Into<Value>> From<V> for Argument<M> {
    fn from(value: V) -> Self {
        Self::Value(value.into())
    }
}

/// A kernel, its arguments in order, and its index range.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch<M = MemoryId> {
    /// The program that contains the kernel.
    pub program: Arc<Program>,
    /// The kernel's name.
    pub entry: String,
    /// All its arguments, in order.
    pub arguments: Vec<Argument<M>>,
    /// Number of work-items, and the work-group size.
    pub range: NdRange,
}

impl<M> Launch<M> {
    /// Converts the launch to other identifiers of memory objects.
    ///
    /// # Errors
    /// Any error of `name`.
    pub fn map_memory<N, E>(&self, mut name: impl FnMut(&M) -> Result<N, E>) -> Result<Launch<N>, E> {
        let arguments = self
            .arguments
            .iter()
            .map(|argument| {
                Ok(match argument {
                    Argument::Memory(memory) => Argument::Memory(name(memory)?),
                    Argument::Value(value) => Argument::Value(value.clone()),
                    Argument::Local { bytes } => Argument::Local { bytes: *bytes },
                    Argument::Sampler(sampler) => Argument::Sampler(*sampler),
                    Argument::Bytes(bytes) => Argument::Bytes(Arc::clone(bytes)),
                    Argument::Null => Argument::Null,
                })
            })
            .collect::<Result<_, E>>()?;
        Ok(Launch {
            program: Arc::clone(&self.program),
            entry: self.entry.clone(),
            arguments,
            range: self.range,
        })
    }
}
