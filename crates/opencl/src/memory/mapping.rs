//! Driver mappings, used by the public guards and by reads and writes through mappings.

use opencl_sys as cl;
use opencl_sys::cl_map_flags;
use tripipe_launch::Access;

use crate::api::commands;
use crate::code::CallError;
use crate::memory::HostAccess;
use crate::memory::MemoryError;
use crate::memory::image;
use crate::memory::object::{Object, Reach, Shape};
use crate::queue::Queue;
use crate::tape::Enqueued;

/// A mapped region; unmapped when dropped if not before.
pub(crate) struct RawMapping<'a> {
    object: &'a Object,
    queue: Queue,
    pointer: *mut u8,
    /// Bytes of a row; for a buffer, of the whole mapping.
    row_bytes: usize,
    /// Bytes from one row to the next, and from one slice to the next.
    row_pitch: usize,
    slice_pitch: usize,
    /// Rows per slice.
    height: usize,
    slices: usize,
    /// Whether the driver mapped it; otherwise the host can access the memory directly.
    by_driver: bool,
    access: Option<HostAccess<'a>>,
    open: bool,
}

impl<'a> RawMapping<'a> {
    /// Maps `len` bytes from `offset` (for an image, the whole image). The caller has checked the range. Waits until
    /// the host may access the bytes; all queues of the context have finished by then.
    pub(crate) fn new(
        object: &'a Object,
        queue: &Queue,
        flags: cl_map_flags,
        offset: usize,
        len: usize,
    ) -> Result<Self, MemoryError> {
        object.check_context(queue)?;
        object.context().finish(Some(queue.handle()))?;
        let under = match object.reach() {
            Reach::Driver => None,
            Reach::Mapped(under) => Some(under),
            Reach::Shared(start) => {
                queue.finish()?;
                // In place; the caller has checked the range.
                return Ok(Self::in_place(object, queue, start.pointer().wrapping_add(offset), len, None));
            }
            Reach::InPlace(under) => {
                queue.finish()?;
                Some(under)
            }
            Reach::Closed => {
                let what = "access by the host to this imported memory (use its owner, or the buffer it was \
                    imported as)";
                return Err(MemoryError::NotOffered { what: what.to_owned() });
            }
        };
        let access = match under {
            // Writing part of a cache line requires reading the rest of it.
            Some(under) if flags != cl::CL_MAP_READ => under.host_access(Access::ReadWrite)?,
            Some(under) => under.host_access(Access::Read)?,
            None => None,
        };
        if let (Reach::InPlace(_), Some(under)) = (object.reach(), under) {
            // As above.
            let pointer = under.pointer()?.wrapping_add(offset);
            return Ok(Self::in_place(object, queue, pointer, len, access));
        }
        let (mut row_pitch, mut slice_pitch) = (len, 0);
        let call = queue.call();
        let (pointer, row_bytes, height, slices, event) = match *object.shape() {
            Shape::Buffer { .. } => {
                // SAFETY: a map of a region inside the object.
                let mapped = unsafe { commands::map_buffer(queue.raw(), object.raw(), flags, offset, len) };
                let (pointer, event) = mapped.map_err(CallError::at("clEnqueueMapBuffer"))?;
                (pointer, len, 1, 1, event)
            }
            Shape::Image { shape } => {
                let whole = image::whole(&shape);
                // SAFETY: a map of the whole image.
                let mapped = unsafe { commands::map_image(queue.raw(), object.raw(), flags, &whole) };
                let mapped = mapped.map_err(CallError::at("clEnqueueMapImage"))?;
                (row_pitch, slice_pitch) = (mapped.row_pitch, mapped.slice_pitch);
                let (height, slices) = (shape.extent.height(), shape.extent.slices());
                (mapped.start, shape.row_bytes(), height, slices, mapped.event)
            }
        };
        // SAFETY: the call returned a new event.
        let event = unsafe { crate::Event::own(event) };
        call.ended(event, &Enqueued::Transfer { what: "map", bytes: row_bytes * height * slices });
        let whole =
            row_bytes <= row_pitch && (slices == 1 || row_pitch.saturating_mul(height) <= slice_pitch);
        if pointer.is_null() || !whole {
            // The driver reported success without a usable mapping.
            let code = crate::Code(cl::CL_MAP_FAILURE);
            return Err(CallError { call: "clEnqueueMapBuffer", code }.into());
        }
        Ok(Self {
            object,
            queue: queue.clone(),
            pointer: pointer.cast(),
            row_bytes,
            row_pitch,
            slice_pitch,
            height,
            slices,
            by_driver: true,
            access,
            open: true,
        })
    }

    /// `len` bytes of a buffer at `pointer`, without the driver.
    fn in_place(
        object: &'a Object,
        queue: &Queue,
        pointer: *mut u8,
        len: usize,
        access: Option<HostAccess<'a>>,
    ) -> Self {
        Self {
            object,
            queue: queue.clone(),
            pointer,
            row_bytes: len,
            row_pitch: len,
            slice_pitch: 0,
            height: 1,
            slices: 1,
            by_driver: false,
            access,
            open: true,
        }
    }

    /// The start address of the mapping.
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// Bytes of one row; for a buffer, of the whole mapping.
    pub(crate) fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Number of rows in all slices; 1 for a buffer.
    pub(crate) fn rows(&self) -> usize {
        self.height * self.slices
    }

    /// Byte offset of row `y`, which must exist.
    fn offset(&self, y: usize) -> usize {
        y / self.height * self.slice_pitch + y % self.height * self.row_pitch
    }

    /// Start and bytes of row `y`, counted across all slices.
    pub(crate) fn row(&self, y: usize) -> Option<(*mut u8, usize)> {
        // SAFETY: the row is inside the mapping.
        (y < self.rows()).then(|| (unsafe { self.pointer.add(self.offset(y)) }, self.row_bytes))
    }

    pub(crate) fn copy_to(&self, into: &mut [u8]) {
        for (row, to) in into.chunks_exact_mut(self.row_bytes).enumerate() {
            // SAFETY: the row is inside the mapping; `into` is the caller's own memory.
            unsafe {
                let from = self.pointer.add(self.offset(row));
                std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len());
            }
        }
    }

    pub(crate) fn copy_from(&self, bytes: &[u8]) {
        for (row, from) in bytes.chunks_exact(self.row_bytes).enumerate() {
            // SAFETY: as in `copy_to`.
            unsafe {
                let to = self.pointer.add(self.offset(row));
                std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len());
            }
        }
    }

    /// Unmaps the region and waits until the device has the contents.
    pub(crate) fn unmap(mut self) -> Result<(), MemoryError> {
        self.open = false;
        self.release()
    }

    fn release(&mut self) -> Result<(), MemoryError> {
        let unmapped = if self.by_driver { self.unmap_by_driver() } else { Ok(()) };
        if let Some(access) = self.access.take() {
            access.end()?;
        }
        unmapped
    }

    fn unmap_by_driver(&self) -> Result<(), MemoryError> {
        let call = self.queue.call();
        // SAFETY: this mapping is live, and released once: by `unmap` or by `drop`, which `open` distinguishes.
        let event =
            unsafe { commands::enqueue_unmap(self.queue.raw(), self.object.raw(), self.pointer.cast()) }
                .map_err(CallError::at("clEnqueueUnmapMemObject"))?;
        // SAFETY: the call returned a new event.
        let event = unsafe { crate::Event::own(event) };
        call.enqueued(&event, &Enqueued::Transfer { what: "unmap", bytes: self.row_bytes * self.rows() });
        event.wait()?;
        Ok(())
    }
}

impl Drop for RawMapping<'_> {
    fn drop(&mut self) {
        if self.open
            && let Err(error) = self.release()
        {
            tracing::warn!(%error, "a mapped region could not be unmapped");
        }
    }
}
