//! Access to an object's bytes from the host while the executor keeps working.

use std::ops::Range;
use std::sync::Arc;

use opencl_sys::{CL_MAP_READ, CL_MAP_WRITE};
use tripipe_launch::{ExecuteError, MemoryId};

use crate::devices::Device;
use crate::executor::OpenClExecutor;
use crate::executor::error::memory_error;
use crate::memory::{Mapped, MappedMut, MemoryError, Object, Strategy};
use crate::queue::Queue;

/// An object that the host is using ([`OpenClExecutor::hold`]). The executor rejects conflicting uses until this is
/// dropped.
pub struct ObjectAccess {
    memory: MemoryId,
    object: Arc<Object>,
    to_write: bool,
    queue: Queue,
    strategy: Strategy,
    device: Device,
}

/// The error for an object that the host is using.
pub(super) fn in_use(memory: MemoryId) -> ExecuteError {
    ExecuteError::Memory { memory, reason: "the host has it mapped".to_owned() }
}

impl ObjectAccess {
    pub(super) fn new(
        executor: &OpenClExecutor,
        memory: MemoryId,
        to_write: bool,
    ) -> Result<Self, ExecuteError> {
        let object = Arc::clone(executor.object(memory)?);
        if executor.host_uses(&object, to_write) || !object.hold(to_write) {
            return Err(in_use(memory));
        }
        let (queue, device) = (executor.queue.clone(), executor.device.clone());
        Ok(Self { memory, object, to_write, queue, strategy: executor.strategy, device })
    }

    fn fail(&self, error: MemoryError) -> ExecuteError {
        memory_error(&self.device, Some(self.memory), self.object.shape().bytes() as u64, error)
    }

    /// Calls `look` with a range of bytes, after all queued work. The bytes are mapped, or copied if the host cannot
    /// map them.
    ///
    /// # Errors
    /// The range is past the end, no memory for a copy, or the device failed.
    pub fn with_bytes<R>(
        &self,
        range: Range<usize>,
        look: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ExecuteError> {
        let mapping = self.object.in_place(&self.queue, self.strategy, CL_MAP_READ, &range);
        if let Some(mapping) = mapping.map_err(|error| self.fail(error))?.map(Mapped) {
            let seen = look(&mapping);
            return mapping.unmap().map(|()| seen).map_err(|error| self.fail(error));
        }
        Ok(look(&self.copy_of(&range)?))
    }

    /// Like [`Self::with_bytes`], for reading and writing.
    ///
    /// # Errors
    /// As [`Self::with_bytes`], or the object is held only for reading.
    pub fn with_bytes_mut<R>(
        &mut self,
        range: Range<usize>,
        edit: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ExecuteError> {
        if !self.to_write {
            let reason = "it is held for reading only".to_owned();
            return Err(ExecuteError::Memory { memory: self.memory, reason });
        }
        let flags = CL_MAP_READ | CL_MAP_WRITE;
        let mapping = self.object.in_place(&self.queue, self.strategy, flags, &range);
        if let Some(mut mapping) = mapping.map_err(|error| self.fail(error))?.map(MappedMut) {
            let done = edit(&mut mapping);
            return mapping.unmap().map(|()| done).map_err(|error| self.fail(error));
        }
        let mut bytes = self.copy_of(&range)?;
        let done = edit(&mut bytes);
        let written = self.object.write(&self.queue, self.strategy, range.start, &bytes);
        written.map(|()| done).map_err(|error| self.fail(error))
    }

    fn copy_of(&self, range: &Range<usize>) -> Result<Vec<u8>, ExecuteError> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(range.len()).map_err(|error| ExecuteError::OutOfMemory {
            bytes: range.len() as u64,
            reason: format!("no room for a copy: {error}"),
        })?;
        copy.resize(range.len(), 0);
        let read = self.object.read(&self.queue, self.strategy, range.start, &mut copy);
        read.map(|()| copy).map_err(|error| self.fail(error))
    }
}

impl Drop for ObjectAccess {
    fn drop(&mut self) {
        self.object.let_go(self.to_write);
    }
}

impl std::fmt::Debug for ObjectAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectAccess")
            .field("memory", &self.memory)
            .field("to_write", &self.to_write)
            .finish_non_exhaustive()
    }
}
