//! The memory objects of an executor: how they are made, found and protected from access by both host and kernels.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use tripipe_launch::{Access, ExecuteError, MemoryId, MemoryKind};

use super::error::memory_error;
use super::{OpenClExecutor, object_access};
use crate::devices::Device;
use crate::memory::{Contents, Object, Sampler, Strategy};
use crate::queue::Queue;

/// Number of pending zero fills that are stored before their outcome is checked.
const FILLS: usize = 64;

impl OpenClExecutor {
    pub(super) fn object(&self, memory: MemoryId) -> Result<&Arc<Object>, ExecuteError> {
        self.objects.get(&memory).ok_or_else(|| ExecuteError::Memory {
            memory,
            reason: "it is not one of this executor, or was released".to_owned(),
        })
    }

    /// An object that the host is not writing.
    pub(super) fn readable(&self, memory: MemoryId) -> Result<&Arc<Object>, ExecuteError> {
        let object = self.object(memory)?;
        if self.host_uses(object, false) { Err(object_access::in_use(memory)) } else { Ok(object) }
    }

    /// An object that the host is not using.
    pub(super) fn writable(&self, memory: MemoryId) -> Result<&Arc<Object>, ExecuteError> {
        let object = self.object(memory)?;
        if self.host_uses(object, true) { Err(object_access::in_use(memory)) } else { Ok(object) }
    }

    /// Whether the host is using an object so that it must not be read, or, with `to_write`, written. Imported memory
    /// may be shared by several objects.
    pub(super) fn host_uses(&self, object: &Object, to_write: bool) -> bool {
        let also = |other: &Object| {
            other.borrows() && other.is_held(to_write) && other.footprint().overlaps(object.footprint())
        };
        object.is_held(to_write) || (object.borrows() && self.objects.values().any(|other| also(other)))
    }

    /// Checks the outcome of pending zero fills; those that have not ended stay pending.
    pub(super) fn look_at_fills(&mut self) -> Result<(), ExecuteError> {
        let mut outcome = Ok(());
        let mut still = Vec::new();
        for fill in self.fills.drain(..) {
            match fill.is_done() {
                Ok(false) => still.push(fill),
                Ok(true) | Err(_) => outcome = outcome.and(fill.outcome()),
            }
        }
        self.fills = still;
        outcome.map_err(|error| self.fail(error))
    }

    pub(super) fn add(&mut self, object: Object) -> MemoryId {
        self.last_id += 1;
        let id = MemoryId(self.last_id);
        self.objects.insert(id, Arc::new(object));
        id
    }

    /// Makes an object with `contents`. For `Strategy::Copy`, the contents are written after the object is made: with
    /// `CL_MEM_COPY_HOST_PTR` a driver may make a copy of its own that the first kernel waits for. For 256 MiB that
    /// takes an NVIDIA H200 (driver 580) 250 ms, while making the object and then writing it takes 37 ms. Zeros are
    /// not transferred if the device can fill memory.
    pub(super) fn make(
        &mut self,
        kind: &MemoryKind,
        access: Access,
        contents: Contents<'_>,
    ) -> Result<MemoryId, ExecuteError> {
        let bytes = match kind {
            MemoryKind::Buffer { bytes } => *bytes,
            MemoryKind::Image(shape) => shape.bytes(),
            _ => {
                return Err(ExecuteError::NotOffered {
                    what: "a memory object of this kind".to_owned(),
                    device: self.device.probe().name.clone(),
                });
            }
        };
        let fills = matches!((kind, &contents), (MemoryKind::Buffer { .. }, Contents::Zero))
            && self.device.version() >= (1, 2);
        let written = match contents {
            Contents::Copy(given) if self.strategy == Strategy::Copy && given.len() == bytes => Some(given),
            _ => None,
        };
        let first = if fills || written.is_some() { Contents::Undefined } else { contents };
        let made = match kind {
            MemoryKind::Image(shape) => Object::image(&self.context, shape, access, self.strategy, &first),
            _ => Object::buffer(&self.context, bytes, access, self.strategy, &first),
        };
        let next = MemoryId(self.last_id + 1);
        let fail = |device: &Device, error| memory_error(device, Some(next), bytes as u64, error);
        let object = made.map_err(|error| fail(&self.device, error))?;
        if fills {
            let fill =
                object.fill_with_zeros(&self.queue, bytes).map_err(|error| fail(&self.device, error))?;
            if self.fills.len() >= FILLS {
                self.look_at_fills()?;
            }
            self.fills.push(fill);
        }
        if let Some(given) = written {
            let queue = match self.uploads.take() {
                Some(queue) => queue,
                None => Queue::new(&self.context).map_err(|error| self.fail(error))?,
            };
            let written = object.write(&queue, self.strategy, 0, given);
            self.uploads = Some(queue);
            written.map_err(|error| fail(&self.device, error))?;
        }
        self.allocated_bytes += bytes as u64;
        Ok(self.add(object))
    }

    /// Makes a sampler unless there is one of that description.
    pub(super) fn make_sampler(&mut self, description: tripipe_launch::Sampler) -> Result<(), ExecuteError> {
        if let Entry::Vacant(place) = self.samplers.entry(description) {
            let sampler = Sampler::new(&self.context, &description)
                .map_err(|error| memory_error(&self.device, None, 0, error))?;
            place.insert(Arc::new(sampler));
        }
        Ok(())
    }

    /// A copy of a range of an object's bytes, which must be inside the object.
    pub(super) fn copy_of(
        &self,
        memory: MemoryId,
        offset: usize,
        bytes: usize,
    ) -> Result<Vec<u8>, ExecuteError> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(bytes).map_err(|error| ExecuteError::OutOfMemory {
            bytes: bytes as u64,
            reason: format!("no room for a copy: {error}"),
        })?;
        copy.resize(bytes, 0);
        let fail = |error| memory_error(&self.device, Some(memory), 0, error);
        self.object(memory)?.read(&self.queue, self.strategy, offset, &mut copy).map_err(fail)?;
        Ok(copy)
    }
}
