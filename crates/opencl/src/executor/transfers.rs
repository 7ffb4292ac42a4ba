//! Queued transfers.

use std::sync::{Arc, Mutex};

use tripipe_launch::{Block, ExecuteError, Executor, MemoryId, Reading, Submission};

use crate::executor::OpenClExecutor;
use crate::executor::error::memory_error;
use crate::executor::submitted::Transferred;
use crate::in_flight::InFlight;

impl OpenClExecutor {
    /// Queues a write; complete when it returns, if the object takes no queued transfers.
    pub(super) fn put_write(
        &mut self,
        memory: MemoryId,
        offset: usize,
        from: Block,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        let object = self.writable(memory)?;
        let fail = |error| memory_error(&self.device, Some(memory), object.shape().bytes() as u64, error);
        let object = Arc::clone(object);
        match object.enqueue_write(&self.queue, offset, from).map_err(fail)? {
            Ok(transfer) => Ok(Box::new(self.transferred(transfer)?)),
            Err(from) => {
                self.write(memory, offset, from.bytes())?;
                Ok(Box::new(self.submitted(Vec::new())))
            }
        }
    }

    /// Queues a read; complete when it returns, if the object takes no queued transfers.
    pub(super) fn put_read(
        &mut self,
        memory: MemoryId,
        offset: usize,
        into: Block,
    ) -> Result<Box<dyn Reading>, ExecuteError> {
        let object = self.readable(memory)?;
        let fail = |error| memory_error(&self.device, Some(memory), object.shape().bytes() as u64, error);
        let object = Arc::clone(object);
        match object.enqueue_read(&self.queue, offset, into).map_err(fail)? {
            Ok(transfer) => Ok(Box::new(self.transferred(transfer)?)),
            Err(mut into) => {
                self.read(memory, offset, into.bytes_mut())?;
                Ok(Box::new(Transferred {
                    transfer: Err(Mutex::new(Some(into))),
                    of: self.submitted(Vec::new()),
                }))
            }
        }
    }

    /// The submission of an enqueued transfer. After an error the block is freed when the command has ended.
    fn transferred(&mut self, transfer: InFlight) -> Result<Transferred, ExecuteError> {
        self.queue.flush().map_err(|error| self.fail(error))?;
        Ok(Transferred { transfer: Ok(transfer), of: self.submitted(Vec::new()) })
    }
}
