//! The driver's memory object under a buffer or an image, and all traffic with it.

use std::ffi::c_void;
use std::sync::Arc;

use cl3::memory as cl;
use cl3::types::{cl_mem, cl_mem_flags};
use thiserror::Error;
use tripipe_launch::{Access, ImageExtent, ImageShape, ImageShapeError};

use crate::code::CallError;
use crate::context::Context;
use crate::handle::MemHandle;
use crate::memory::Strategy;
use crate::memory::mapping::RawMapping;
use crate::queue::Queue;

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
    /// The driver failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// What kind of object, how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Buffer { bytes: usize },
    Image { shape: ImageShape },
}

impl Shape {
    /// Size in bytes on the host side, rows and slices tightly packed.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Buffer { bytes } => *bytes,
            Self::Image { shape } => shape.bytes(),
        }
    }
}

/// Where a new object's memory comes from.
pub(crate) enum Contents<'a> {
    /// Undefined. Only for objects that are never mapped.
    Undefined,
    /// Zeros.
    Zero,
    /// A copy of these bytes, as many as the object has.
    Copy(&'a [u8]),
}

/// A buffer or an image.
pub(crate) struct Object {
    handle: MemHandle,
    context: Context,
    shape: Shape,
    /// The object whose memory this one shows: of a sub-buffer, of an image made from a buffer.
    parent: Option<Arc<Object>>,
    /// The memory is borrowed from the host, so no kernel may still run on it once a call returned.
    synchronous: bool,
}

fn access_flags(access: Access) -> cl_mem_flags {
    match access {
        Access::Read => cl::CL_MEM_READ_ONLY,
        Access::Write => cl::CL_MEM_WRITE_ONLY,
        Access::ReadWrite => cl::CL_MEM_READ_WRITE,
    }
}

impl Object {
    /// A new buffer.
    pub(crate) fn buffer(
        context: &Context,
        bytes: usize,
        access: Access,
        strategy: Strategy,
        contents: &Contents<'_>,
    ) -> Result<Self, MemoryError> {
        check_buffer_size(context, bytes)?;
        let (copied, flags) = initial(contents, bytes, strategy)?;
        let pointer = copied.as_deref().or(match contents {
            Contents::Copy(bytes) => Some(*bytes),
            _ => None,
        });
        let pointer =
            pointer.map_or(std::ptr::null_mut(), |bytes| bytes.as_ptr().cast_mut().cast::<c_void>());
        // SAFETY: with CL_MEM_COPY_HOST_PTR the driver reads `bytes` bytes during this call, and the
        // slice has as many (checked by `initial`); without it the pointer is null.
        let raw = unsafe { cl::create_buffer(context.raw(), access_flags(access) | flags, bytes, pointer) }
            .map_err(CallError::at("clCreateBuffer"))?;
        // SAFETY: just created.
        Ok(unsafe { Self::own(raw, context, Shape::Buffer { bytes }, None) })
    }

    /// A new buffer over host memory (`CL_MEM_USE_HOST_PTR`).
    ///
    /// # Safety
    /// `bytes` bytes at `pointer` live until the driver has destroyed the object, or `synchronous` is
    /// set and they live as long as calls with the object are made; and nobody else touches them
    /// meanwhile but through a mapping.
    pub(crate) unsafe fn over_host(
        context: &Context,
        pointer: *mut u8,
        bytes: usize,
        access: Access,
        synchronous: bool,
    ) -> Result<Self, MemoryError> {
        check_buffer_size(context, bytes)?;
        let flags = access_flags(access) | cl::CL_MEM_USE_HOST_PTR;
        // SAFETY: the caller vouches for the memory.
        let raw = unsafe { cl::create_buffer(context.raw(), flags, bytes, pointer.cast()) }
            .map_err(CallError::at("clCreateBuffer"))?;
        // SAFETY: just created.
        let mut object = unsafe { Self::own(raw, context, Shape::Buffer { bytes }, None) };
        object.synchronous = synchronous;
        Ok(object)
    }

    /// A part of `parent`, a buffer.
    pub(crate) fn part(
        parent: &Arc<Self>,
        offset: usize,
        bytes: usize,
        access: Access,
    ) -> Result<Self, MemoryError> {
        if bytes == 0 {
            return Err(MemoryError::Empty);
        }
        parent.check_range(offset, bytes)?;
        let alignment = parent.context.device().probe().base_alignment_bytes.max(1);
        if !offset.is_multiple_of(alignment) {
            return Err(MemoryError::Alignment {
                what: "a sub-buffer offset in bytes",
                value: offset,
                alignment,
            });
        }
        let region = cl::cl_buffer_region { origin: offset, size: bytes };
        // SAFETY: the region lives for the call and lies inside the parent.
        let raw = unsafe {
            cl::create_sub_buffer(
                parent.raw(),
                access_flags(access),
                cl::CL_BUFFER_CREATE_TYPE_REGION,
                (&raw const region).cast(),
            )
        }
        .map_err(CallError::at("clCreateSubBuffer"))?;
        // SAFETY: just created.
        let mut part =
            unsafe { Self::own(raw, &parent.context, Shape::Buffer { bytes }, Some(Arc::clone(parent))) };
        part.synchronous = parent.synchronous;
        Ok(part)
    }

    /// A new image with memory of its own.
    pub(crate) fn image(
        context: &Context,
        shape: &ImageShape,
        access: Access,
        strategy: Strategy,
        contents: &Contents<'_>,
    ) -> Result<Self, MemoryError> {
        let bytes = super::image::check_own(context.device().probe(), shape)?;
        let format = super::image::format(shape);
        super::image::check_format(context, shape, access_flags(access))?;
        let description = super::image::description(shape, 0, std::ptr::null_mut());
        let (copied, flags) = initial(contents, bytes, strategy)?;
        let pointer = copied.as_deref().or(match contents {
            Contents::Copy(bytes) => Some(*bytes),
            _ => None,
        });
        let pointer =
            pointer.map_or(std::ptr::null_mut(), |bytes| bytes.as_ptr().cast_mut().cast::<c_void>());
        // SAFETY: format and description live for the call; with CL_MEM_COPY_HOST_PTR and a row pitch of
        // 0 the driver reads tightly packed rows and slices, `bytes` bytes, and the slice has as many.
        let raw = unsafe {
            cl::create_image(
                context.raw(),
                access_flags(access) | flags,
                &raw const format,
                &raw const description,
                pointer,
            )
        }
        .map_err(CallError::at("clCreateImage"))?;
        // SAFETY: just created.
        Ok(unsafe { Self::own(raw, context, Shape::Image { shape: *shape }, None) })
    }

    /// An image over a buffer's memory, rows `row_pitch_bytes` apart. An `image1d_buffer_t` ignores the pitch.
    pub(crate) fn image_over(
        buffer: &Arc<Self>,
        shape: &ImageShape,
        row_pitch_bytes: usize,
        access: Access,
    ) -> Result<Self, MemoryError> {
        let context = &buffer.context;
        super::image::check_over_buffer(
            context.device().probe(),
            shape,
            row_pitch_bytes,
            buffer.shape.bytes(),
        )?;
        super::image::check_format(context, shape, access_flags(access))?;
        let format = super::image::format(shape);
        let description = super::image::description(shape, row_pitch_bytes, buffer.raw());
        // SAFETY: format and description live for the call; the buffer is live, and large enough as checked.
        let raw = unsafe {
            cl::create_image(
                context.raw(),
                access_flags(access),
                &raw const format,
                &raw const description,
                std::ptr::null_mut(),
            )
        }
        .map_err(CallError::at("clCreateImage"))?;
        let shape = Shape::Image { shape: *shape };
        // SAFETY: just created.
        let mut image = unsafe { Self::own(raw, context, shape, Some(Arc::clone(buffer))) };
        image.synchronous = buffer.synchronous;
        Ok(image)
    }

    /// # Safety
    /// `raw` is live, of that shape, and its reference is given up by the caller.
    unsafe fn own(raw: cl_mem, context: &Context, shape: Shape, parent: Option<Arc<Self>>) -> Self {
        // SAFETY: handed on.
        let handle = unsafe { MemHandle::own(raw) };
        Self { handle, context: context.clone(), shape, parent, synchronous: false }
    }

    pub(crate) fn raw(&self) -> cl_mem {
        self.handle.raw()
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether it shows a buffer's memory instead of its own.
    pub(crate) fn over_buffer(&self) -> bool {
        self.parent.is_some()
    }

    pub(crate) fn synchronous(&self) -> bool {
        self.synchronous
    }

    /// Whether `len` bytes from `offset` lie inside; of an image only the whole can be asked for.
    pub(crate) fn check_range(&self, offset: usize, len: usize) -> Result<(), MemoryError> {
        let bytes = self.shape.bytes();
        let inside = offset.checked_add(len).is_some_and(|end| end <= bytes);
        let whole = offset == 0 && len == bytes;
        match self.shape {
            Shape::Buffer { .. } if inside => Ok(()),
            Shape::Image { .. } if whole => Ok(()),
            Shape::Image { .. } if offset == 0 => Err(MemoryError::Length { want: bytes, found: len }),
            _ => Err(MemoryError::Bounds { offset, len, bytes }),
        }
    }

    pub(crate) fn check_context(&self, queue: &Queue) -> Result<(), MemoryError> {
        if self.context.is(queue.context()) { Ok(()) } else { Err(MemoryError::OtherContext) }
    }

    /// Reads into `into`, by the way `strategy` says, and returns when it is there.
    pub(crate) fn read(
        &self,
        queue: &Queue,
        strategy: Strategy,
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), MemoryError> {
        self.check_context(queue)?;
        self.check_range(offset, into.len())?;
        if into.is_empty() {
            return Ok(());
        }
        match strategy {
            Strategy::Map => {
                let mapping = RawMapping::new(self, queue, cl3::memory::CL_MAP_READ, offset, into.len())?;
                mapping.copy_to(into);
                mapping.unmap()
            }
            Strategy::Copy => self.read_explicitly(queue, offset, into),
        }
    }

    /// Writes `bytes`, by the way `strategy` says, and returns when they may be reused.
    pub(crate) fn write(
        &self,
        queue: &Queue,
        strategy: Strategy,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), MemoryError> {
        self.check_context(queue)?;
        self.check_range(offset, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        match strategy {
            Strategy::Map => {
                // All of the region is overwritten, so its old contents need not be fetched. The flag came
                // with OpenCL 1.2.
                let flags = if self.context.device().version() >= (1, 2) {
                    cl3::memory::CL_MAP_WRITE_INVALIDATE_REGION
                } else {
                    cl3::memory::CL_MAP_WRITE
                };
                let mapping = RawMapping::new(self, queue, flags, offset, bytes.len())?;
                mapping.copy_from(bytes);
                mapping.unmap()
            }
            Strategy::Copy => self.write_explicitly(queue, offset, bytes),
        }
    }

    fn read_explicitly(&self, queue: &Queue, offset: usize, into: &mut [u8]) -> Result<(), MemoryError> {
        let pointer = into.as_mut_ptr().cast::<c_void>();
        let event = match self.shape {
            // SAFETY: a blocking read of `into.len()` bytes, inside the object as checked, into memory
            // borrowed exclusively for the call.
            Shape::Buffer { .. } => unsafe {
                cl3::command_queue::enqueue_read_buffer(
                    queue.raw(),
                    self.raw(),
                    cl3::types::CL_TRUE,
                    offset,
                    into.len(),
                    pointer,
                    0,
                    std::ptr::null(),
                )
            }
            .map_err(CallError::at("clEnqueueReadBuffer"))?,
            Shape::Image { shape } => {
                let (origin, region) = super::image::whole(&shape);
                // SAFETY: a blocking read of the whole image, tightly packed (both pitches 0): exactly
                // `into.len()` bytes as checked.
                unsafe {
                    cl3::command_queue::enqueue_read_image(
                        queue.raw(),
                        self.raw(),
                        cl3::types::CL_TRUE,
                        origin.as_ptr(),
                        region.as_ptr(),
                        0,
                        0,
                        pointer,
                        0,
                        std::ptr::null(),
                    )
                }
                .map_err(CallError::at("clEnqueueReadImage"))?
            }
        };
        // SAFETY: the call returned a new event.
        drop(unsafe { crate::Event::own(event) });
        Ok(())
    }

    fn write_explicitly(&self, queue: &Queue, offset: usize, bytes: &[u8]) -> Result<(), MemoryError> {
        let pointer = bytes.as_ptr().cast::<c_void>();
        let event = match self.shape {
            // SAFETY: a blocking write of `bytes.len()` bytes, inside the object as checked.
            Shape::Buffer { .. } => unsafe {
                cl3::command_queue::enqueue_write_buffer(
                    queue.raw(),
                    self.raw(),
                    cl3::types::CL_TRUE,
                    offset,
                    bytes.len(),
                    pointer,
                    0,
                    std::ptr::null(),
                )
            }
            .map_err(CallError::at("clEnqueueWriteBuffer"))?,
            Shape::Image { shape } => {
                let (origin, region) = super::image::whole(&shape);
                // SAFETY: a blocking write of the whole image, tightly packed (both pitches 0): exactly
                // `bytes.len()` bytes as checked.
                unsafe {
                    cl3::command_queue::enqueue_write_image(
                        queue.raw(),
                        self.raw(),
                        cl3::types::CL_TRUE,
                        origin.as_ptr(),
                        region.as_ptr(),
                        0,
                        0,
                        pointer.cast_mut(),
                        0,
                        std::ptr::null(),
                    )
                }
                .map_err(CallError::at("clEnqueueWriteImage"))?
            }
        };
        // SAFETY: the call returned a new event.
        drop(unsafe { crate::Event::own(event) });
        Ok(())
    }
}

fn check_buffer_size(context: &Context, bytes: usize) -> Result<(), MemoryError> {
    let limit = context.device().probe().max_buffer_bytes;
    match bytes as u64 {
        0 => Err(MemoryError::Empty),
        bytes if limit > 0 && bytes > limit => Err(MemoryError::TooLarge { bytes, limit }),
        _ => Ok(()),
    }
}

/// Flags for the contents, and the zeros to copy when there are any.
fn initial(
    contents: &Contents<'_>,
    bytes: usize,
    strategy: Strategy,
) -> Result<(Option<Vec<u8>>, cl_mem_flags), MemoryError> {
    let visible = match strategy {
        Strategy::Map => cl::CL_MEM_ALLOC_HOST_PTR,
        Strategy::Copy => 0,
    };
    match contents {
        Contents::Undefined => Ok((None, visible)),
        // Zeroed pages come from the system without being touched, so this costs the driver's copy only.
        Contents::Zero => Ok((Some(vec![0; bytes]), visible | cl::CL_MEM_COPY_HOST_PTR)),
        Contents::Copy(given) if given.len() == bytes => Ok((None, visible | cl::CL_MEM_COPY_HOST_PTR)),
        Contents::Copy(given) => Err(MemoryError::Length { want: bytes, found: given.len() }),
    }
}
