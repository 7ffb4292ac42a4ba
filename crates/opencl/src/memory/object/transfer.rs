//! Queued transfers of a buffer's contents.

use tripipe_launch::Block;

use super::{Object, Reach, Shape};
use crate::api::commands;
use crate::code::CallError;
use crate::event::Event;
use crate::in_flight::InFlight;
use crate::memory::MemoryError;
use crate::queue::Queue;

impl Object {
    /// Enqueues a non-blocking read of this buffer. Returns the block if that is not possible: for images, for memory
    /// that the host accesses in other ways, and for zero bytes.
    pub(crate) fn read_later(
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
        // SAFETY: a live buffer of the queue's context, a region inside it, and as many bytes of the block, which does
        // not move and is not used by anything else until the command has ended: `InFlight` owns it.
        let event = unsafe { commands::enqueue_read_buffer(queue.raw(), self.raw(), offset, (start, bytes)) }
            .map_err(CallError::at("clEnqueueReadBuffer"))?;
        // SAFETY: the call returned a new event.
        Ok(Ok(InFlight::new(unsafe { Event::own(event) }, into)))
    }

    /// Enqueues a non-blocking write of this buffer, as [`Self::read_later`].
    pub(crate) fn write_later(
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
        // SAFETY: as above; nothing writes to the block.
        let event =
            unsafe { commands::enqueue_write_buffer(queue.raw(), self.raw(), offset, (start, bytes)) }
                .map_err(CallError::at("clEnqueueWriteBuffer"))?;
        // SAFETY: the call returned a new event.
        Ok(Ok(InFlight::new(unsafe { Event::own(event) }, from)))
    }

    /// Whether `bytes` bytes of it can be transferred by a queued command.
    fn travels(&self, bytes: usize) -> bool {
        let driver = matches!((self.shape, &self.reach), (Shape::Buffer { .. }, Reach::Driver));
        driver && bytes > 0 && !self.synchronous
    }
}
