//! What can go wrong with memory objects.

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
    /// More than the device can give in one piece.
    #[error("{bytes} bytes are more than the device's {limit}")]
    TooLarge {
        /// Bytes asked for.
        bytes: u64,
        /// The device's limit in bytes.
        limit: u64,
    },
    /// The extent of an image is over the device's limit.
    #[error("an image of {extent} is over the device's limit of {limit}")]
    ImageTooLarge {
        /// Extent asked for.
        extent: ImageExtent,
        /// The device's limit for such images.
        limit: ImageExtent,
    },
    /// OpenCL knows no such image.
    #[error(transparent)]
    Shape(#[from] ImageShapeError),
    /// Contents of another length than the object.
    #[error("{found} bytes given for an object of {want}")]
    Length {
        /// The object's size in bytes.
        want: usize,
        /// Bytes given.
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
        /// The byte behind the last.
        end: usize,
    },
    /// An offset, pitch or address the device cannot take.
    #[error("{what} of {value} is not a multiple of {alignment}")]
    Alignment {
        /// What is misaligned, with its unit.
        what: &'static str,
        /// Its value.
        value: usize,
        /// What it must be a multiple of.
        alignment: usize,
    },
    /// The device lacks a feature.
    #[error("the device does not offer {what}")]
    NotOffered {
        /// The feature.
        what: String,
    },
    /// The object and the queue or kernel come from different contexts.
    #[error("the object belongs to another context")]
    OtherContext,
    /// An OpenCL object that is to be imported is an image or a pipe.
    #[error("the memory object is no buffer")]
    NotABuffer,
    /// A buffer that kernels are to use in another way than it was made for.
    #[error("the buffer was not made for {}", match wanted {
        Access::Read => "reading",
        Access::Write => "writing",
        Access::ReadWrite => "reading and writing",
    })]
    Access {
        /// What kernels are to do.
        wanted: Access,
    },
    /// The operating system refuses.
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
