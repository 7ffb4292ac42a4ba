//! Queued reads and writes of memory.

use std::sync::{Arc, Mutex, PoisonError};

use tripipe_launch::{Block, Reading, Submission};

use super::{MEMORY, Memory, Place, lock, zeros};
use crate::context::Engine;
use crate::{Context, Error, Pending};

/// A copy of this many bytes takes less time than waking another thread.
const SMALL_BYTES: usize = 32 << 10;

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
        let bytes = into.bytes().len();
        let rests_on: Vec<_> = self.rests_on().into_iter().collect();
        let queued = |submission: &Arc<dyn Submission>| {
            let outcome = self.core().line().add("a reading", submission, rests_on);
            Pending::queued(Arc::clone(submission), self.core().line(), &outcome)
        };
        let numbers = |block: Option<Block>| block.and_then(Block::into_vec).ok_or(Error::ValueTaken);
        match (&self.0.place, self.context().engine()) {
            (Place::Device(id), Engine::Kernels(kernels)) => {
                let mut executor = kernels.executor();
                let reading: Arc<dyn Reading> = Arc::from(executor.read_later(*id, offset, into)?);
                let submission: Arc<dyn Submission> = Arc::clone(&reading) as _;
                // The executor is still locked: what is queued last is the last in line.
                Ok(queued(&submission).then(move |()| numbers(reading.take())))
            }
            (Place::Host(cells), Engine::Host(queue)) => {
                let (cells, found) = (Arc::clone(cells), Arc::new(Mutex::new(Some(into))));
                let filled = Arc::clone(&found);
                let task = queue.submit(bytes <= SMALL_BYTES, move || {
                    let cells = cells.read().unwrap_or_else(PoisonError::into_inner);
                    if let Some(block) = &mut *lock(&filled) {
                        block.bytes_mut().copy_from_slice(&bytemuck::cast_slice(&cells)[offset..][..bytes]);
                    }
                    Ok(())
                });
                let submission: Arc<dyn Submission> = task;
                Ok(queued(&submission).then(move |()| numbers(lock(&found).take())))
            }
            _ => Err(Error::NoMemory { bytes }),
        }
    }

    /// Queues a write that overwrites all of it.
    ///
    /// # Errors
    /// Another number of bytes; it is mapped; the device is gone.
    pub(crate) fn write_later(&self, from: Block) -> Result<Pending, Error> {
        let bytes = from.bytes().len();
        if bytes != self.0.bytes {
            return Err(Error::Length { operand: "the contents", want: self.0.bytes, found: bytes });
        }
        self.check_free(MEMORY, true)?;
        let queued = |submission: Arc<dyn Submission>| {
            let outcome = self.core().line().add("a writing", &submission, Vec::new());
            self.rest_on(Some(Arc::clone(&outcome)));
            Pending::queued(submission, self.core().line(), &outcome)
        };
        match (&self.0.place, self.context().engine()) {
            _ if bytes == 0 => Ok(Pending::done()),
            (Place::Device(id), Engine::Kernels(kernels)) => {
                let mut executor = kernels.executor();
                let submission = executor.write_later(*id, 0, from)?;
                Ok(queued(Arc::from(submission)))
            }
            (Place::Host(cells), Engine::Host(queue)) => {
                let cells = Arc::clone(cells);
                Ok(queued(queue.submit(bytes <= SMALL_BYTES, move || {
                    let mut cells = cells.write().unwrap_or_else(PoisonError::into_inner);
                    bytemuck::cast_slice_mut(&mut cells)[..bytes].copy_from_slice(from.bytes());
                    Ok(())
                })))
            }
            _ => Err(Error::NoMemory { bytes }),
        }
    }

    /// New memory, and a queued write of its contents.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn new_later<T: bytemuck::Pod + Send + Sync>(
        context: &Context,
        contents: Vec<T>,
    ) -> Result<Pending<Self>, Error> {
        let contents = Block::new(contents);
        // Zeros, which devices write in order, instead of a copy that has to be waited for.
        let memory = Self::new(context, contents.bytes().len(), None)?;
        Ok(memory.write_later(contents)?.with(memory))
    }
}
