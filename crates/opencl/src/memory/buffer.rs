//! Buffers, and parts of them.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use opencl_sys::{CL_MAP_READ, CL_MAP_WRITE, cl_map_flags};
use tripipe_launch::{Access, ImageShape};

use crate::context::Context;
use crate::kernel::Arg;
use crate::memory::mapping::RawMapping;
use crate::memory::object::{Contents, Object};
use crate::memory::{HostMemory, Image, Mapped, MappedMut, MemoryError, Strategy};
use crate::queue::Queue;

/// A buffer. Sizes and offsets are bytes.
///
/// A mapped region borrows the buffer exclusively, so no kernel can be given it meanwhile:
///
/// ```compile_fail,E0502
/// # use tripipe_opencl::{Kernel, Queue, LaunchError, memory::{Buffer, MemoryError}};
/// # use tripipe_launch::NdRange;
/// # fn f(kernel: &Kernel, queue: &Queue, mut buffer: Buffer<'_>) -> Result<(), Box<dyn std::error::Error>> {
/// let mut mapped = buffer.map_mut(queue, 0..4)?;
/// kernel.launch(queue, &[(&buffer).into()], &NdRange::d1(1))?; // still mapped
/// mapped[0] = 1;
/// # Ok(())
/// # }
/// ```
///
/// After the guard is gone it can:
///
/// ```
/// # use tripipe_opencl::{Kernel, Queue, LaunchError, memory::{Buffer, MemoryError}};
/// # use tripipe_launch::NdRange;
/// # fn f(kernel: &Kernel, queue: &Queue, mut buffer: Buffer<'_>) -> Result<(), Box<dyn std::error::Error>> {
/// let mut mapped = buffer.map_mut(queue, 0..4)?;
/// mapped[0] = 1;
/// mapped.unmap()?;
/// kernel.launch(queue, &[(&buffer).into()], &NdRange::d1(1))?;
/// # Ok(())
/// # }
/// ```
///
/// A buffer over borrowed host memory ends before the memory does, and keeps everyone else from it:
///
/// ```compile_fail,E0499
/// # use tripipe_opencl::{Context, memory::{Buffer, MemoryError}};
/// # use tripipe_launch::Access;
/// # fn f(context: &Context) -> Result<(), MemoryError> {
/// let mut pixels = vec![0u8; 4096];
/// let buffer = Buffer::over(context, &mut pixels, Access::ReadWrite)?;
/// pixels[0] = 1; // the buffer's
/// println!("{}", buffer.bytes());
/// # Ok(())
/// # }
/// ```
pub struct Buffer<'h> {
    object: Arc<Object>,
    host: PhantomData<&'h mut [u8]>,
}

/// Part of a buffer, to be given to kernels. Lives no longer than the buffer is left unmapped.
pub struct SubBuffer<'b> {
    object: Object,
    buffer: PhantomData<&'b Buffer<'b>>,
}

impl Buffer<'static> {
    fn made(object: Object) -> Self {
        Self { object: Arc::new(object), host: PhantomData }
    }

    /// A buffer of zeros, where it suits the device: host-visible on unified memory, else on the device.
    ///
    /// # Errors
    /// A size of 0 or over the device's limit, no memory, the driver fails.
    pub fn zeroed(context: &Context, bytes: usize, access: Access) -> Result<Self, MemoryError> {
        let strategy = Strategy::for_device(context.device().probe());
        Object::buffer(context, bytes, access, strategy, &Contents::Zero).map(Self::made)
    }

    /// A buffer of zeros the host can map without a copy where memory is unified
    /// (`CL_MEM_ALLOC_HOST_PTR`; pinned memory on discrete GPUs).
    ///
    /// # Errors
    /// As [`Self::zeroed`].
    pub fn alloc_host(context: &Context, bytes: usize, access: Access) -> Result<Self, MemoryError> {
        Object::buffer(context, bytes, access, Strategy::Map, &Contents::Zero).map(Self::made)
    }

    /// A buffer of zeros in the device's own memory.
    ///
    /// # Errors
    /// As [`Self::zeroed`].
    pub fn on_device(context: &Context, bytes: usize, access: Access) -> Result<Self, MemoryError> {
        Object::buffer(context, bytes, access, Strategy::Copy, &Contents::Zero).map(Self::made)
    }

    /// A buffer with a copy of `contents` (`CL_MEM_COPY_HOST_PTR`), where it suits the device.
    ///
    /// # Errors
    /// As [`Self::zeroed`].
    pub fn copied_from<T: bytemuck::NoUninit>(
        context: &Context,
        contents: &[T],
        access: Access,
    ) -> Result<Self, MemoryError> {
        let bytes: &[u8] = bytemuck::cast_slice(contents);
        let strategy = Strategy::for_device(context.device().probe());
        Object::buffer(context, bytes.len(), access, strategy, &Contents::Copy(bytes)).map(Self::made)
    }

    /// A buffer over `memory` (`CL_MEM_USE_HOST_PTR`), which it owns until no kernel needs it any more.
    /// Kernels run on it without the waits that [`Self::over`] needs.
    ///
    /// # Errors
    /// As [`Self::zeroed`].
    pub fn over_owned(context: &Context, memory: HostMemory, access: Access) -> Result<Self, MemoryError> {
        Object::over_owned(context, memory, access).map(Self::made)
    }
}

impl<'h> Buffer<'h> {
    /// A buffer over borrowed host memory (`CL_MEM_USE_HOST_PTR`). Every launch with it waits for its
    /// kernel, so that none runs on memory that was given back. Map it to see what a kernel wrote.
    ///
    /// # Errors
    /// As [`Self::zeroed`].
    pub fn over<T: bytemuck::Pod>(
        context: &Context,
        memory: &'h mut [T],
        access: Access,
    ) -> Result<Self, MemoryError> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(memory);
        // SAFETY: the slice is borrowed exclusively for 'h; every call with the object has ended by then,
        // as the object is synchronous and this type does not outlive 'h.
        let object = unsafe { Object::over_host(context, bytes.as_mut_ptr(), bytes.len(), access, true) }?;
        Ok(Self { object: Arc::new(object), host: PhantomData })
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.object.shape().bytes()
    }

    /// Copies from the buffer, from byte `offset` on; returns when it is done.
    ///
    /// # Errors
    /// Past the end, a queue of another context, the driver fails.
    pub fn read<T: bytemuck::Pod>(
        &self,
        queue: &Queue,
        offset: usize,
        into: &mut [T],
    ) -> Result<(), MemoryError> {
        self.object.read(queue, Strategy::Copy, offset, bytemuck::cast_slice_mut(into))
    }

    /// Copies into the buffer, from byte `offset` on; returns when `from` may be reused.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn write<T: bytemuck::NoUninit>(
        &self,
        queue: &Queue,
        offset: usize,
        from: &[T],
    ) -> Result<(), MemoryError> {
        self.object.write(queue, Strategy::Copy, offset, bytemuck::cast_slice(from))
    }

    /// As [`Self::read`], by mapping: where memory is unified the driver copies nothing.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_mapped<T: bytemuck::Pod>(
        &mut self,
        queue: &Queue,
        offset: usize,
        into: &mut [T],
    ) -> Result<(), MemoryError> {
        self.object.read(queue, Strategy::Map, offset, bytemuck::cast_slice_mut(into))
    }

    /// As [`Self::write`], by mapping without fetching the old contents.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn write_mapped<T: bytemuck::NoUninit>(
        &mut self,
        queue: &Queue,
        offset: usize,
        from: &[T],
    ) -> Result<(), MemoryError> {
        self.object.write(queue, Strategy::Map, offset, bytemuck::cast_slice(from))
    }

    /// Maps a range of bytes for reading, after all work of the context on other queues and on this one.
    ///
    /// # Errors
    /// An empty range or one past the end, a queue of another context, the driver fails.
    pub fn map(&mut self, queue: &Queue, range: Range<usize>) -> Result<Mapped<'_>, MemoryError> {
        self.mapping(queue, CL_MAP_READ, range).map(Mapped)
    }

    /// As [`Self::map`], for reading and writing.
    ///
    /// # Errors
    /// As [`Self::map`].
    pub fn map_mut(&mut self, queue: &Queue, range: Range<usize>) -> Result<MappedMut<'_>, MemoryError> {
        self.mapping(queue, CL_MAP_READ | CL_MAP_WRITE, range).map(MappedMut)
    }

    fn mapping(
        &mut self,
        queue: &Queue,
        flags: cl_map_flags,
        range: Range<usize>,
    ) -> Result<RawMapping<'_>, MemoryError> {
        let len = range.end.saturating_sub(range.start);
        if len == 0 {
            return Err(MemoryError::Empty);
        }
        self.object.check_range(range.start, len)?;
        RawMapping::new(&self.object, queue, flags, range.start, len)
    }

    /// The `bytes` bytes from `offset` on as an argument of their own.
    ///
    /// # Errors
    /// Empty, past the end, an offset that is no multiple of the device's
    /// [`tripipe_device::Probe::base_alignment_bytes`].
    pub fn part(&self, offset: usize, bytes: usize, access: Access) -> Result<SubBuffer<'_>, MemoryError> {
        let object = Object::part(&self.object, offset, bytes, access)?;
        Ok(SubBuffer { object, buffer: PhantomData })
    }

    /// A 2D image over the buffer's memory, rows `row_pitch_bytes` apart, or an `image1d_buffer_t`, which ignores
    /// the pitch.
    ///
    /// # Errors
    /// Other dimensions, not offered, a pitch the device cannot take, an image that does not fit, a format that is
    /// not offered.
    pub fn image(
        &self,
        shape: &ImageShape,
        row_pitch_bytes: usize,
        access: Access,
    ) -> Result<Image<'_>, MemoryError> {
        Object::image_over(&self.object, shape, row_pitch_bytes, access).map(Image::made)
    }
}

impl SubBuffer<'_> {
    /// Its size.
    pub fn bytes(&self) -> usize {
        self.object.shape().bytes()
    }
}

impl<'a> From<&'a Buffer<'_>> for Arg<'a> {
    fn from(buffer: &'a Buffer<'_>) -> Self {
        Arg::memory(&buffer.object)
    }
}

impl<'a> From<&'a SubBuffer<'_>> for Arg<'a> {
    fn from(part: &'a SubBuffer<'_>) -> Self {
        Arg::memory(&part.object)
    }
}
