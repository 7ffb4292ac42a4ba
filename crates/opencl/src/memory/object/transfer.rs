//! Transfers of contents: by mapping, by commands that block, and by queued commands.

use std::ops::Range;

use opencl_sys as cl;
use opencl_sys::cl_map_flags;
use tripipe_launch::Block;

use super::{Object, Reach, Shape};
use crate::api::commands;
use crate::code::CallError;
use crate::event::Event;
use crate::in_flight::InFlight;
use crate::memory::mapping::RawMapping;
use crate::memory::{MemoryError, Strategy, image};
use crate::queue::Queue;
use crate::tape::Enqueued;

impl Object {
    /// Maps `range` if that needs no copy: `None` for an image, for an empty range, and if contents are transferred by
    /// copies.
    pub(crate) fn in_place(
        &self,
        queue: &Queue,
        strategy: Strategy,
        flags: cl_map_flags,
        range: &Range<usize>,
    ) -> Result<Option<RawMapping<'_>>, MemoryError> {
        let &Range { start, end } = range;
        let len = end.checked_sub(start).ok_or(MemoryError::Reversed { start, end })?;
        self.check_context(queue)?;
        self.check_range(start, len)?;
        match (self.way(strategy), self.shape) {
            (Strategy::Map, Shape::Buffer { .. }) if len > 0 => {
                RawMapping::new(self, queue, flags, start, len).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Enqueues a copy of bytes from this buffer to another. `None` if the driver cannot: for images, for memory that
    /// accepts no commands, and for overlapping regions.
    pub(crate) fn copy_to(
        &self,
        queue: &Queue,
        from_offset: usize,
        to: &Self,
        to_offset: usize,
        bytes: usize,
    ) -> Result<Option<Event>, MemoryError> {
        for (object, offset) in [(self, from_offset), (to, to_offset)] {
            object.check_context(queue)?;
            object.check_range(offset, bytes)?;
        }
        let takes = |object: &Self| {
            matches!(object.shape, Shape::Buffer { .. })
                && matches!(object.reach, Reach::Driver | Reach::Shared(_) | Reach::Mapped(_))
        };
        let overlap = self.raw() == to.raw() && from_offset.abs_diff(to_offset) < bytes;
        if bytes == 0 || overlap || !takes(self) || !takes(to) {
            return Ok(None);
        }
        let call = queue.call();
        // SAFETY: both are live buffers of the queue's context, the regions are inside them and do not overlap.
        let event = unsafe {
            commands::enqueue_copy_buffer(
                queue.raw(),
                (self.raw(), from_offset),
                (to.raw(), to_offset),
                bytes,
            )
        }
        .map_err(CallError::at("clEnqueueCopyBuffer"))?;
        // SAFETY: the call returned a new event.
        let event = unsafe { Event::own(event) };
        call.enqueued(&event, &Enqueued::Transfer { what: "copy", bytes });
        Ok(Some(event))
    }

    /// Reads into `into`, as `strategy` selects; returns when the data is there.
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
        match self.way(strategy) {
            Strategy::Map => {
                let mapping = RawMapping::new(self, queue, cl::CL_MAP_READ, offset, into.len())?;
                mapping.copy_to(into);
                mapping.unmap()
            }
            Strategy::Copy => self.read_explicitly(queue, offset, into),
        }
    }

    /// Writes `bytes`, as `strategy` selects; returns when they may be reused.
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
        match self.way(strategy) {
            Strategy::Map => {
                // The whole region is overwritten, so its old contents need not be fetched. The flag was added in
                // OpenCL 1.2.
                let flags = if self.context.device().version() >= (1, 2) {
                    cl::CL_MAP_WRITE_INVALIDATE_REGION
                } else {
                    cl::CL_MAP_WRITE
                };
                let mapping = RawMapping::new(self, queue, flags, offset, bytes.len())?;
                mapping.copy_from(bytes);
                mapping.unmap()
            }
            Strategy::Copy => self.write_explicitly(queue, offset, bytes),
        }
    }

    /// Enqueues a fill of this buffer, of at least one byte, with zeros. Requires OpenCL 1.2.
    pub(crate) fn fill_with_zeros(&self, queue: &Queue, bytes: usize) -> Result<Event, MemoryError> {
        self.check_context(queue)?;
        self.check_range(0, bytes)?;
        let call = queue.call();
        // SAFETY: the region is inside the buffer, as checked.
        let event = unsafe { commands::enqueue_fill_buffer(queue.raw(), self.raw(), 0, bytes) };
        let event = event.map_err(CallError::at("clEnqueueFillBuffer"))?;
        // SAFETY: just created.
        let event = unsafe { Event::own(event) };
        call.enqueued(&event, &Enqueued::Transfer { what: "fill", bytes });
        Ok(event)
    }

    /// How contents are transferred: by `strategy` if the object allows both.
    fn way(&self, strategy: Strategy) -> Strategy {
        if matches!(self.reach, Reach::Driver | Reach::Shared(_)) { strategy } else { Strategy::Map }
    }

    fn read_explicitly(&self, queue: &Queue, offset: usize, into: &mut [u8]) -> Result<(), MemoryError> {
        let call = queue.call();
        let event = match self.shape {
            // SAFETY: a blocking read of `into.len()` bytes, inside the object as checked, into memory
            // borrowed exclusively for the call.
            Shape::Buffer { .. } => unsafe { commands::read_buffer(queue.raw(), self.raw(), offset, into) }
                .map_err(CallError::at("clEnqueueReadBuffer"))?,
            Shape::Image { shape } => {
                let whole = image::whole(&shape);
                // SAFETY: a blocking read of the whole image, tightly packed (both pitches 0): exactly
                // `into.len()` bytes as checked.
                unsafe { commands::read_image(queue.raw(), self.raw(), &whole, into) }
                    .map_err(CallError::at("clEnqueueReadImage"))?
            }
        };
        // SAFETY: the call returned a new event.
        let event = unsafe { Event::own(event) };
        call.ended(event, &Enqueued::Transfer { what: "read", bytes: into.len() });
        Ok(())
    }

    fn write_explicitly(&self, queue: &Queue, offset: usize, bytes: &[u8]) -> Result<(), MemoryError> {
        let call = queue.call();
        let event = match self.shape {
            // SAFETY: a blocking write of `bytes.len()` bytes, inside the object as checked.
            Shape::Buffer { .. } => unsafe { commands::write_buffer(queue.raw(), self.raw(), offset, bytes) }
                .map_err(CallError::at("clEnqueueWriteBuffer"))?,
            Shape::Image { shape } => {
                let whole = image::whole(&shape);
                // SAFETY: a blocking write of the whole image, tightly packed (both pitches 0): exactly
                // `bytes.len()` bytes as checked.
                unsafe { commands::write_image(queue.raw(), self.raw(), &whole, bytes) }
                    .map_err(CallError::at("clEnqueueWriteImage"))?
            }
        };
        // SAFETY: the call returned a new event.
        let event = unsafe { Event::own(event) };
        call.ended(event, &Enqueued::Transfer { what: "write", bytes: bytes.len() });
        Ok(())
    }

    /// Enqueues a non-blocking read of this buffer. Returns the block if that is not possible: for images, for memory
    /// that the host accesses in other ways, and for zero bytes.
    pub(crate) fn enqueue_read(
        &self,
        queue: &Queue,
        offset: usize,
        mut into: Block,
    ) -> Result<Result<InFlight, Block>, MemoryError> {
        let bytes = into.bytes().len();
        self.check_context(queue)?;
        self.check_range(offset, bytes)?;
        if !self.travels(bytes) {
            return Ok(Err(into));
        }
        let start = into.bytes_mut().as_mut_ptr();
        let call = queue.call();
        // SAFETY: a live buffer of the queue's context, a region inside it, and as many bytes of the block, which does
        // not move and is not used by anything else until the command has ended: `InFlight` owns it.
        let event = unsafe { commands::enqueue_read_buffer(queue.raw(), self.raw(), offset, (start, bytes)) }
            .map_err(CallError::at("clEnqueueReadBuffer"))?;
        // SAFETY: the call returned a new event.
        let event = unsafe { Event::own(event) };
        call.enqueued(&event, &Enqueued::Transfer { what: "read", bytes });
        Ok(Ok(InFlight::new(event, into)))
    }

    /// Enqueues a non-blocking write of this buffer, as [`Self::enqueue_read`].
    pub(crate) fn enqueue_write(
        &self,
        queue: &Queue,
        offset: usize,
        from: Block,
    ) -> Result<Result<InFlight, Block>, MemoryError> {
        let bytes = from.bytes().len();
        self.check_context(queue)?;
        self.check_range(offset, bytes)?;
        if !self.travels(bytes) {
            return Ok(Err(from));
        }
        let start = from.bytes().as_ptr();
        let call = queue.call();
        // SAFETY: as above; nothing writes to the block.
        let event =
            unsafe { commands::enqueue_write_buffer(queue.raw(), self.raw(), offset, (start, bytes)) }
                .map_err(CallError::at("clEnqueueWriteBuffer"))?;
        // SAFETY: the call returned a new event.
        let event = unsafe { Event::own(event) };
        call.enqueued(&event, &Enqueued::Transfer { what: "write", bytes });
        Ok(Ok(InFlight::new(event, from)))
    }

    /// Whether `bytes` bytes of it can be transferred by a queued command.
    fn travels(&self, bytes: usize) -> bool {
        let driver =
            matches!((self.shape, &self.reach), (Shape::Buffer { .. }, Reach::Driver | Reach::Shared(_)));
        driver && bytes > 0 && !self.synchronous
    }
}
