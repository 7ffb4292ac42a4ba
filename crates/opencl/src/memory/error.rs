//! Errors of memory objects.

use thiserror::Error;
use tripipe_launch::{Access, ImageExtent, ImageShapeError};

use crate::code::CallError;

/// Why a memory object cannot be made or used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// 0 bytes or texels.
    #[error("a memory object of size 0")]
    Empty,
    /// More than the device can allocate in one piece.
    #[error("{bytes} bytes are more than the device's {limit}")]
    TooLarge {
        /// Requested bytes.
        bytes: u64,
        /// The device's limit in bytes.
        limit: u64,
    },
    /// The extent of an image is over the device's limit.
    #[error("an image of {extent} is over the device's limit of {limit}")]
    ImageTooLarge {
        /// Requested extent.
        extent: ImageExtent,
        /// The device's limit for such images.
        limit: ImageExtent,
    },
    /// An image shape that OpenCL does not support.
    #[error(transparent)]
    Shape(#[from] ImageShapeError),
    /// The length of the contents differs from that of the object.
    #[error("{found} bytes given for an object of {want}")]
    Length {
        /// The object's size in bytes.
        want: usize,
        /// Bytes that were given.
        found: usize,
    },
    /// A range past the end.
    #[error("bytes {offset} to {end} are not inside an object of {bytes}", end = offset.saturating_add(*len))]
    Bounds {
        /// First byte.
        offset: usize,
        /// Number of bytes.
        len: usize,
        /// The object's size in bytes.
        bytes: usize,
    },
    /// A range whose end is before its start.
    #[error("a range that ends at {end} cannot begin at {start}")]
    Reversed {
        /// First byte.
        start: usize,
        /// The first byte after the range.
        end: usize,
    },
    /// An offset, pitch or address that the device does not support.
    #[error("{what} of {value} is not a multiple of {alignment}")]
    Alignment {
        /// What is misaligned, with its unit.
        what: &'static str,
        /// Its value.
        value: usize,
        /// The required divisor.
        alignment: usize,
    },
    /// The device lacks a feature.
    #[error("the device does not support {what}")]
    NotOffered {
        /// The feature.
        what: String,
    },
    /// The object and the queue or kernel come from different contexts.
    #[error("the object belongs to another context")]
    OtherContext,
    /// The OpenCL object to be imported is an image or a pipe.
    #[error("the memory object is not a buffer")]
    NotABuffer,
    /// Kernels are to use a buffer with an access that it was not made for.
    #[error("the buffer was not made for {}", match wanted {
        Access::Read => "reading",
        Access::Write => "writing",
        Access::ReadWrite => "reading and writing",
    })]
    Access {
        /// The access that kernels need.
        wanted: Access,
    },
    /// The operating system returned an error.
    #[error("{call}: {}", std::io::Error::from_raw_os_error(*code))]
    System {
        /// The call.
        call: &'static str,
        /// Its `errno`.
        code: i32,
    },
    /// The driver failed.
    #[error(transparent)]
    Call(#[from] CallError),
}
