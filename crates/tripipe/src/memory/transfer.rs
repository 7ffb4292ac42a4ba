//! Queued reads and writes of memory.

use std::borrow::Cow;
use std::sync::Arc;

use tripipe_launch::{Block, Submission};

use super::{MEMORY, Memory, buffer, zeros};
use crate::engine::Initial;
use crate::error::Fault;
use crate::operation_queue::Outcome;
use crate::{Context, Error, Event, Pending};

impl Memory {
    /// Queues a read of `count` elements from byte `offset` on.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn enqueue_read<T: bytemuck::Pod + Send + Sync>(
        &self,
        offset: usize,
        count: usize,
    ) -> Result<Pending<Vec<T>>, Error> {
        self.check(offset, count.saturating_mul(size_of::<T>()))?;
        self.check_free(MEMORY, false)?;
        let into = Block::new(zeros::<T>(count)?);
        let read = self.storage().enqueue_read(self, offset, into)?;
        Ok(read.then(|block| block.into_vec().ok_or(Error::from(Fault::ValueTaken))))
    }

    /// Queues a write that overwrites all of it.
    ///
    /// # Errors
    /// Another number of bytes; it is mapped; the device is gone.
    pub(crate) fn enqueue_write(&self, from: Block) -> Result<Event, Error> {
        let bytes = from.bytes().len();
        if bytes != self.0.bytes {
            return Err(Error::from(Fault::Length {
                operand: "the contents",
                want: self.0.bytes,
                found: bytes,
            }));
        }
        self.check_free(MEMORY, true)?;
        if bytes == 0 { Ok(Event::done()) } else { self.storage().enqueue_write(self, from) }
    }

    /// Records that a read of it was queued, whose contents depended on `rests_on`.
    pub(crate) fn reading(&self, submission: Arc<dyn Submission>, rests_on: Option<Arc<Outcome>>) -> Event {
        let queue = self.core().queue();
        let outcome = queue.add("a reading", &submission, rests_on.into_iter().collect());
        Event::queued(submission, queue, &outcome)
    }

    /// Records that a write of all of it was queued.
    pub(crate) fn writing(&self, submission: Arc<dyn Submission>) -> Event {
        let queue = self.core().queue();
        let outcome = queue.add("a writing", &submission, Vec::new());
        let event = Event::queued(submission, queue, &outcome);
        self.set_event(Some(event.clone()));
        event
    }

    /// Memory that holds these elements: a slice is copied in the call; a `Vec` becomes the memory of the CPU path, and a
    /// write to that of a device is queued.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn with_contents<T: bytemuck::Pod + Send + Sync>(
        context: &Context,
        contents: Cow<'_, [T]>,
    ) -> Result<Self, Error> {
        let bytes = size_of_val(&*contents);
        match contents {
            Cow::Borrowed(contents) => Self::new::<T>(context, bytes, Some(bytemuck::cast_slice(contents))),
            Cow::Owned(contents) if bytes == 0 || context.core().engine().takes_over() => {
                Self::owning(context, contents)
            }
            Cow::Owned(contents) => {
                let memory = Self::allocated::<T>(context, &buffer(bytes), bytes, Initial::Queued)?;
                drop(memory.enqueue_write(Block::new(contents))?);
                Ok(memory)
            }
        }
    }
}
