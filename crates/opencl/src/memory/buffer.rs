//! Buffers and sub-buffers.

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
/// A mapping borrows the buffer exclusively, so that no kernel can use it meanwhile:
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
/// After the mapping is dropped, it can:
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
/// A buffer over borrowed host memory ends before the borrow does, and prevents all other access to the memory:
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

/// Part of a buffer, for use as a kernel argument. It borrows the buffer, so the buffer cannot be mapped meanwhile.
pub struct SubBuffer<'b> {
    object: Object,
    buffer: PhantomData<&'b Buffer<'b>>,
}

impl Buffer<'static> {
    fn from_object(object: Object) -> Self {
        Self { object: Arc::new(object), host: PhantomData }
    }

    /// A buffer of zeros, placed as suits the device: host-visible on unified memory, else on the device.
    ///
    /// # Errors
    /// A size of 0 or over the device's limit, no memory, or the driver fails.
    pub fn zeroed(context: &Context, bytes: usize, access: Access) -> Result<Self, MemoryError> {
        let strategy = Strategy::for_device(context.device().probe());
        Object::buffer(context, bytes, access, strategy, &Contents::Zero).map(Self::from_object)
    }

    /// A buffer of zeros that the host can map without a copy if memory is unified (`CL_MEM_ALLOC_HOST_PTR`; pinned
    /// memory on discrete GPUs).
    ///
    /// # Errors
    /// As [`Self::zeroed`].
    pub fn alloc_host(context: &Context, bytes: usize, access: Access) -> Result<Self, MemoryError> {
        Object::buffer(context, bytes, access, Strategy::Map, &Contents::Zero).map(Self::from_object)
    }

    /// A buffer of zeros in the device's own memory.
    ///
    /// # Errors
    /// As [`Self::zeroed`].
    pub fn on_device(context: &Context, bytes: usize, access: Access) -> Result<Self, MemoryError> {
        Object::buffer(context, bytes, access, Strategy::Copy, &Contents::Zero).map(Self::from_object)
    }

    /// A buffer with a copy of `contents` (`CL_MEM_COPY_HOST_PTR`), placed as suits the device.
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
        Object::buffer(context, bytes.len(), access, strategy, &Contents::Copy(bytes)).map(Self::from_object)
    }

    /// A buffer over `memory` (`CL_MEM_USE_HOST_PTR`), which it owns until no kernel needs it any more. Kernels use it
    /// without the waits that [`Self::over`] needs.
    ///
    /// # Errors
    /// As [`Self::zeroed`].
    pub fn over_owned(context: &Context, memory: HostMemory, access: Access) -> Result<Self, MemoryError> {
        Object::over_owned(context, memory, access).map(Self::from_object)
    }
}

impl<'h> Buffer<'h> {
    /// A buffer over borrowed host memory (`CL_MEM_USE_HOST_PTR`). Every launch with it waits for its kernel, so that
    /// no kernel uses the memory after the borrow ends. Map it to see what a kernel wrote.
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

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.object.shape().bytes()
    }

    /// Copies from the buffer, starting at byte `offset`; returns when the copy is complete.
    ///
    /// # Errors
    /// A range past the end, a queue of another context, or the driver fails.
    pub fn read<T: bytemuck::Pod>(
        &self,
        queue: &Queue,
        offset: usize,
        into: &mut [T],
    ) -> Result<(), MemoryError> {
        self.object.read(queue, Strategy::Copy, offset, bytemuck::cast_slice_mut(into))
    }

    /// Copies into the buffer, starting at byte `offset`; returns when `from` may be reused.
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

    /// Like [`Self::read`], by mapping: if memory is unified, the driver does not copy.
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

    /// Like [`Self::write`], by mapping without fetching the old contents.
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
    /// An empty range or one past the end, a queue of another context, or the driver fails.
    pub fn map(&mut self, queue: &Queue, range: Range<usize>) -> Result<Mapped<'_>, MemoryError> {
        self.mapping(queue, CL_MAP_READ, range).map(Mapped)
    }

    /// Like [`Self::map`], for reading and writing.
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

    /// A sub-buffer of `bytes` bytes starting at `offset`.
    ///
    /// # Errors
    /// Empty, past the end, or an offset that is not a multiple of the device's
    /// [`tripipe_device::Probe::base_alignment_bytes`].
    pub fn part(&self, offset: usize, bytes: usize, access: Access) -> Result<SubBuffer<'_>, MemoryError> {
        let object = Object::part(&self.object, offset, bytes, access)?;
        Ok(SubBuffer { object, buffer: PhantomData })
    }

    /// A 2D image over the buffer's memory with rows `row_pitch_bytes` apart, or an `image1d_buffer_t`, which ignores
    /// the pitch.
    ///
    /// # Errors
    /// Other dimensions, not offered, an unsupported pitch, an image that does not fit, or an unsupported format.
    pub fn image(
        &self,
        shape: &ImageShape,
        row_pitch_bytes: usize,
        access: Access,
    ) -> Result<Image<'_>, MemoryError> {
        Object::image_over(&self.object, shape, row_pitch_bytes, access).map(Image::from_object)
    }
}

impl SubBuffer<'_> {
    /// Its size in bytes.
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
