//! New buffers and images.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::cl_mem_flags;
use tripipe_launch::{Access, ImageShape};

use super::{Contents, Object, Shape, access_flags};
use crate::api::objects;
use crate::code::CallError;
use crate::context::Context;
use crate::memory::external::Backing;
use crate::memory::{HostMemory, MemoryError, Strategy, image};

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
        if strategy == Strategy::Map
            && let Some(shared) = Self::shared(context, bytes, access, contents)?
        {
            return Ok(shared);
        }
        let (copied, flags) = initial(contents, bytes, strategy)?;
        let pointer = copied.as_deref().or(match contents {
            Contents::Copy(bytes) => Some(*bytes),
            _ => None,
        });
        let pointer =
            pointer.map_or(std::ptr::null_mut(), |bytes| bytes.as_ptr().cast_mut().cast::<c_void>());
        // SAFETY: with CL_MEM_COPY_HOST_PTR the driver reads `bytes` bytes during this call, and the slice has as many
        // (checked by `initial`); without it the pointer is null.
        let raw =
            unsafe { objects::create_buffer(context.raw(), access_flags(access) | flags, bytes, pointer) }
                .map_err(CallError::at("clCreateBuffer"))?;
        // SAFETY: just created.
        Ok(unsafe { Self::own(raw, context, Shape::Buffer { bytes }, None) })
    }

    /// A new buffer over host memory (`CL_MEM_USE_HOST_PTR`).
    ///
    /// # Safety
    /// `bytes` bytes at `pointer` live until the driver has destroyed the object, or `synchronous` is set and they
    /// live as long as calls with the object are made. Meanwhile they are accessed only through a mapping.
    pub(crate) unsafe fn over_host(
        context: &Context,
        pointer: *mut u8,
        bytes: usize,
        access: Access,
        synchronous: bool,
    ) -> Result<Self, MemoryError> {
        check_buffer_size(context, bytes)?;
        let flags = access_flags(access) | cl::CL_MEM_USE_HOST_PTR;
        // SAFETY: the caller guarantees the memory.
        let raw = unsafe { objects::create_buffer(context.raw(), flags, bytes, pointer.cast()) }
            .map_err(CallError::at("clCreateBuffer"))?;
        // SAFETY: just created.
        let mut object = unsafe { Self::own(raw, context, Shape::Buffer { bytes }, None) };
        object.synchronous = synchronous;
        object.foreign = true;
        let start = pointer as usize;
        object.footprint.host = Some(start..start.saturating_add(bytes));
        Ok(object)
    }

    /// A sub-buffer of `parent`, which is a buffer.
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
        // SAFETY: the parent is live, and the region is inside it.
        let raw = unsafe { objects::create_sub_buffer(parent.raw(), access_flags(access), region) }
            .map_err(CallError::at("clCreateSubBuffer"))?;
        // SAFETY: just created.
        let mut part =
            unsafe { Self::own(raw, &parent.context, Shape::Buffer { bytes }, Some(Arc::clone(parent))) };
        part.synchronous = parent.synchronous;
        part.footprint = parent.footprint.part(offset, bytes);
        Ok(part)
    }

    /// A new image with its own memory.
    pub(crate) fn image(
        context: &Context,
        shape: &ImageShape,
        access: Access,
        strategy: Strategy,
        contents: &Contents<'_>,
    ) -> Result<Self, MemoryError> {
        let bytes = image::check_own(context.device().probe(), shape)?;
        let format = image::format(shape);
        image::check_format(context, shape, access_flags(access))?;
        let description = image::description(shape, 0, std::ptr::null_mut());
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
            objects::create_image(context.raw(), access_flags(access) | flags, &format, &description, pointer)
        }
        .map_err(CallError::at("clCreateImage"))?;
        // SAFETY: just created.
        Ok(unsafe { Self::own(raw, context, Shape::Image { shape: *shape }, None) })
    }

    /// An image over a buffer's memory with rows `row_pitch_bytes` apart. An `image1d_buffer_t` ignores the pitch.
    pub(crate) fn image_over(
        buffer: &Arc<Self>,
        shape: &ImageShape,
        row_pitch_bytes: usize,
        access: Access,
    ) -> Result<Self, MemoryError> {
        let context = &buffer.context;
        image::check_over_buffer(context.device().probe(), shape, row_pitch_bytes, buffer.shape.bytes())?;
        image::check_format(context, shape, access_flags(access))?;
        let format = image::format(shape);
        let description = image::description(shape, row_pitch_bytes, buffer.raw());
        // SAFETY: format and description live for the call; the buffer is live, and large enough as checked.
        let raw = unsafe {
            objects::create_image(
                context.raw(),
                access_flags(access),
                &format,
                &description,
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

    /// A buffer over `memory` (`CL_MEM_USE_HOST_PTR`), which lives until the driver has destroyed the buffer.
    pub(crate) fn over_owned(
        context: &Context,
        memory: HostMemory,
        access: Access,
    ) -> Result<Self, MemoryError> {
        let (pointer, bytes) = (memory.pointer(), memory.len());
        // SAFETY: the memory is kept until the driver has destroyed the object, and nothing else refers to it.
        let object = unsafe { Self::over_host(context, pointer, bytes, access, false) }?;
        object.keep(Arc::new(Backing::Host(memory)))
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

/// Flags for the contents, and the zeros to copy, if any.
fn initial(
    contents: &Contents<'_>,
    bytes: usize,
    strategy: Strategy,
) -> Result<(Option<HostMemory>, cl_mem_flags), MemoryError> {
    let visible = match strategy {
        Strategy::Map => cl::CL_MEM_ALLOC_HOST_PTR,
        Strategy::Copy => 0,
    };
    match contents {
        Contents::Undefined => Ok((None, visible)),
        // The system provides zeroed pages without writing them, so this costs only the driver's copy.
        Contents::Zero => Ok((Some(HostMemory::zeroed(bytes)?), visible | cl::CL_MEM_COPY_HOST_PTR)),
        Contents::Copy(given) if given.len() == bytes => Ok((None, visible | cl::CL_MEM_COPY_HOST_PTR)),
        Contents::Copy(given) => Err(MemoryError::Length { want: bytes, found: given.len() }),
    }
}
