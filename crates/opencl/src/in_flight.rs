//! Host memory that a queued command still uses.

use std::sync::Mutex;

use tripipe_launch::Block;
use tripipe_launch::locks::{lock, recovered};

use crate::code::CallError;
use crate::event::Event;

/// Owns a block of host memory while a command reads or writes it. If it is dropped earlier, the block is freed when
/// the command has ended.
pub(crate) struct InFlight {
    event: Event,
    /// `None` after it was taken.
    block: Mutex<Option<Block>>,
}

impl InFlight {
    /// `block` is used only by the command of `event`.
    pub(crate) fn new(event: Event, block: Block) -> Self {
        Self { event, block: Mutex::new(Some(block)) }
    }

    /// The event of the command.
    pub(crate) fn event(&self) -> &Event {
        &self.event
    }

    /// The block, once. `None` before the command has ended, and if it failed.
    ///
    /// # Errors
    /// The driver does not answer.
    pub(crate) fn take(&self) -> Result<Option<Block>, CallError> {
        if !self.event.is_done()? || self.event.outcome().is_err() {
            return Ok(None);
        }
        Ok(lock(&self.block).take())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let block = recovered(self.block.get_mut());
        if let Some(block) = block.take() {
            self.event.keep_until_done(block);
        }
    }
}
