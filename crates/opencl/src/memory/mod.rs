//! Memory objects: buffers, images, samplers, shared virtual memory.
//!
//! If memory is shared with the host ([`Strategy::Map`]), buffers are allocated host-visible and mapped, without a
//! copy. On discrete GPUs ([`Strategy::Copy`]) they are allocated on the device and contents are copied explicitly.
//! Arm recommends the former for Mali: `CL_MEM_ALLOC_HOST_PTR` and map, never `CL_MEM_USE_HOST_PTR`, which costs a
//! copy there.
//!
//! Memory allocated elsewhere (a buffer of another OpenCL user, a dma-buf, an `AHardwareBuffer`) is imported as an
//! [`External`].
//!
//! Objects never expose uninitialised memory: objects made here without contents are zero.

mod buffer;
#[cfg_attr(not(any(target_os = "linux", target_os = "android")), path = "no_dma_buf.rs")]
mod dma_buf;
mod error;
mod external;
mod footprint;
mod host;
mod image;
mod import;
mod mapped;
mod mapping;
mod object;
mod sampler;
mod strategy;
mod svm;

pub use buffer::{Buffer, SubBuffer};
pub use dma_buf::{DmaBuf, HostAccess};
pub use error::MemoryError;
pub use external::External;
pub use footprint::Footprint;
pub use host::HostMemory;
pub use image::Image;
pub use mapped::{Mapped, MappedImage, MappedMut};
pub use sampler::Sampler;
pub use strategy::Strategy;
pub use svm::{MappedSvm, SvmBuffer, SvmGrain};

pub(crate) use object::{Contents, Object, Shape};
