//! Queued reads and writes of memory.

use std::sync::Arc;

use tripipe_launch::{Block, Submission};

use super::{MEMORY, Memory, zeros};
use crate::error::Fault;
use crate::line::Outcome;
use crate::{Context, Error, Event, Pending};

impl Memory {
    /// Queues a read of `count` elements from byte `offset` on.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn read_later<T: bytemuck::Pod + Send + Sync>(
        &self,
        offset: usize,
        count: usize,
    ) -> Result<Pending<Vec<T>>, Error> {
        self.check(offset, count.saturating_mul(size_of::<T>()))?;
        self.check_free(MEMORY, false)?;
        let into = Block::new(zeros::<T>(count)?);
        let read = self.storage().read_later(self, offset, into)?;
        Ok(read.then(|block| block.into_vec().ok_or(Error::from(Fault::ValueTaken))))
    }

    /// Queues a write that overwrites all of it.
    ///
    /// # Errors
    /// Another number of bytes; it is mapped; the device is gone.
    pub(crate) fn write_later(&self, from: Block) -> Result<Event, Error> {
        let bytes = from.bytes().len();
        if bytes != self.0.bytes {
            return Err(Error::from(Fault::Length {
                operand: "the contents",
                want: self.0.bytes,
                found: bytes,
            }));
        }
        self.check_free(MEMORY, true)?;
        if bytes == 0 { Ok(Event::done()) } else { self.storage().write_later(self, from) }
    }

    /// Records that a read of it was queued, whose contents depended on `rests_on`.
    pub(crate) fn reading(&self, submission: Arc<dyn Submission>, rests_on: Option<Arc<Outcome>>) -> Event {
        let line = self.core().line();
        let outcome = line.add("a reading", &submission, rests_on.into_iter().collect());
        Event::queued(submission, line, &outcome)
    }

    /// Records that a write of all of it was queued.
    pub(crate) fn writing(&self, submission: Arc<dyn Submission>) -> Event {
        let line = self.core().line();
        let outcome = line.add("a writing", &submission, Vec::new());
        self.rest_on(Some(Arc::clone(&outcome)));
        Event::queued(submission, line, &outcome)
    }

    /// New memory, and a queued write of its contents.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn new_later<T: bytemuck::Pod + Send + Sync>(
        context: &Context,
        contents: Vec<T>,
    ) -> Result<Pending<Self>, Error> {
        if context.core().engine().takes_over() {
            return Ok(Event::done().with(Self::owning(context, contents)?));
        }
        let contents = Block::new(contents);
        // Zeros, which devices write in order, instead of a copy that has to be waited for.
        let memory = Self::new::<T>(context, contents.bytes().len(), None)?;
        Ok(memory.write_later(contents)?.with(memory))
    }
}
