//! Memory of a device.

use std::sync::Arc;

use tripipe_launch::{Access, Block, MemoryId, Reading, Submission};

use super::Kernels;
use super::runner::Imported;
use crate::engine::Storage;
use crate::error::Fault;
use crate::memory::{Memory, zeros};
use crate::{Error, Event, Pending, process};

/// An object on a device; released when dropped.
pub(crate) struct DeviceMemory {
    kernels: Arc<Kernels>,
    id: MemoryId,
    bytes: usize,
    /// `None` for memory of its own.
    imported: Option<Imported>,
}

impl DeviceMemory {
    pub(super) fn new(kernels: Arc<Kernels>, id: MemoryId, bytes: usize, imported: Option<Imported>) -> Self {
        Self { kernels, id, bytes, imported }
    }

    /// The id, if it is an object of this device.
    pub(super) fn id_on(&self, kernels: &Arc<Kernels>) -> Option<MemoryId> {
        Arc::ptr_eq(&self.kernels, kernels).then_some(self.id)
    }

    /// Whether the CPU path can work on it.
    #[cfg(feature = "cpu")]
    pub(super) fn is_accessible(&self) -> bool {
        self.imported.as_ref().is_none_or(|imported| imported.is_accessible)
    }

    /// A copy of all bytes.
    fn copy_to_host(&self) -> Result<Vec<u8>, Error> {
        let mut copy = zeros(self.bytes)?;
        self.kernels.runner().executor().read(self.id, 0, &mut copy)?;
        Ok(copy)
    }
}

impl Storage for DeviceMemory {
    fn device(&self) -> Option<&DeviceMemory> {
        Some(self)
    }

    fn overlaps(&self, other: &dyn Storage) -> bool {
        let other = other.device().and_then(|other| other.imported.as_ref());
        self.imported.as_ref().zip(other).is_some_and(|(one, other)| one.footprint.overlaps(&other.footprint))
    }

    fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), Error> {
        process::check()?;
        if !into.is_empty() {
            self.kernels.runner().executor().read(self.id, offset, into)?;
        }
        Ok(())
    }

    fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        process::check()?;
        if !bytes.is_empty() {
            self.kernels.runner().executor().write(self.id, offset, bytes)?;
        }
        Ok(())
    }

    fn with(&self, look: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        process::check()?;
        let held = self.kernels.runner().hold(self.id, Access::Read)?;
        match held {
            Some(held) => held.with_bytes(0..self.bytes.max(1), |found| look(&found[..self.bytes]))?,
            None => look(&self.copy_to_host()?),
        }
        Ok(())
    }

    fn with_mut(&self, edit: &mut dyn FnMut(&mut [u8])) -> Result<(), Error> {
        process::check()?;
        let held = self.kernels.runner().hold(self.id, Access::ReadWrite)?;
        if let Some(mut held) = held {
            held.with_bytes_mut(0..self.bytes.max(1), |found| edit(&mut found[..self.bytes]))?;
            return Ok(());
        }
        let mut copy = self.copy_to_host()?;
        edit(&mut copy);
        self.write(0, &copy)
    }

    fn enqueue_read(&self, memory: &Memory, offset: usize, into: Block) -> Result<Pending<Block>, Error> {
        process::check()?;
        let mut runner = self.kernels.runner();
        let reading: Arc<dyn Reading> = Arc::from(runner.executor().enqueue_read(self.id, offset, into)?);
        let submission: Arc<dyn Submission> = Arc::clone(&reading) as _;
        // The executor is still locked: what is submitted last is the last in the queue.
        Ok(memory
            .reading(submission, memory.rests_on())
            .then(move |()| reading.take().ok_or(Error::from(Fault::ValueTaken))))
    }

    fn enqueue_write(&self, memory: &Memory, from: Block) -> Result<Event, Error> {
        process::check()?;
        let mut runner = self.kernels.runner();
        let submission = runner.executor().enqueue_write(self.id, 0, from)?;
        // The executor is still locked, as above.
        Ok(memory.writing(Arc::from(submission)))
    }

    fn duplicate(&self, memory: &Memory) -> Result<Option<Memory>, Error> {
        let copy = Memory::uninitialised::<u8>(memory.context(), self.bytes)?;
        let to = copy.storage().device().and_then(|copy| copy.id_on(&self.kernels));
        if let Some(to) = to.filter(|_| self.bytes > 0) {
            let mut runner = self.kernels.runner();
            let copied: Arc<dyn Submission> =
                Arc::from(runner.executor().copy(self.id, 0, to, 0, self.bytes)?);
            let rests_on = memory.rests_on().into_iter().collect();
            let outcome = self.kernels.queue.add("a copy", &copied, rests_on);
            copy.set_event(Some(Event::queued(copied, &self.kernels.queue, &outcome)));
        }
        Ok(Some(copy))
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        self.kernels.release(self.id);
    }
}
