//! The memory objects of the simulator.

use std::collections::HashMap;

use tripipe_launch::{Access, ExecuteError, ImageShape, MemoryId, MemoryKind};

use crate::execute::memory_map::SharedBuffer;
use crate::watch::objects::Bits;

/// A memory object.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) kind: MemoryKind,
    pub(super) access: Access,
    /// The storage that holds the bytes: its own, or that of the underlying buffer.
    storage: MemoryId,
    /// Where its bytes begin in the storage.
    pub(super) offset: usize,
    pub(super) row_pitch_bytes: usize,
}

#[derive(Debug, Default)]
pub(super) struct Storage {
    pub(super) bytes: Vec<u8>,
    /// Bytes that were written; `None` means all of them.
    pub(super) written: Option<Bits>,
    owners: usize,
    /// Where the application has the bytes, if kernels know them by that address.
    address: Option<u64>,
}

/// All memory objects.
#[derive(Debug)]
pub(super) struct Objects {
    next: u64,
    /// Maximum total size in bytes.
    limit: u64,
    all: HashMap<MemoryId, Object>,
    storage: HashMap<MemoryId, Storage>,
}

impl Objects {
    /// No objects; they may have `limit` bytes in total.
    pub(super) fn new(limit: u64) -> Self {
        Self { next: 1, limit, all: HashMap::new(), storage: HashMap::new() }
    }

    fn new_id(&mut self) -> MemoryId {
        self.next += 1;
        MemoryId(self.next - 1)
    }

    pub(super) fn object(&self, memory: MemoryId) -> Result<&Object, ExecuteError> {
        self.all.get(&memory).ok_or_else(|| ExecuteError::Memory {
            memory,
            reason: "it was released, or belongs to another executor".into(),
        })
    }

    /// The storage of an object, and its total size in bytes.
    pub(super) fn bytes_of(&self, memory: MemoryId) -> Result<(MemoryId, usize), ExecuteError> {
        let object = self.object(memory)?;
        Ok((object.storage, self.storage.get(&object.storage).map_or(0, |storage| storage.bytes.len())))
    }

    /// The permitted access of an object; of an object that was released, any.
    pub(super) fn access(&self, memory: MemoryId) -> Access {
        self.all.get(&memory).map_or(Access::ReadWrite, |object| object.access)
    }

    /// The bytes of a storage.
    pub(super) fn stored(&self, storage: MemoryId) -> Option<&[u8]> {
        self.storage.get(&storage).map(|storage| &storage.bytes[..])
    }

    pub(super) fn storage(&mut self, storage: MemoryId) -> Option<&mut Storage> {
        self.storage.get_mut(&storage)
    }

    pub(super) fn allocate(
        &mut self,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
        device: &str,
    ) -> Result<MemoryId, ExecuteError> {
        let (bytes, row_pitch_bytes) = match kind {
            MemoryKind::Buffer { bytes } => (*bytes, 0),
            MemoryKind::Image(shape) => {
                shape.check().map_err(|error| ExecuteError::NotOffered {
                    what: error.to_string(),
                    device: device.to_owned(),
                })?;
                (shape.bytes(), shape.extent.width() * shape.texel_bytes())
            }
            _ => {
                return Err(ExecuteError::NotOffered {
                    what: "this kind of memory".into(),
                    device: device.to_owned(),
                });
            }
        };
        let used: u64 = self.storage.values().map(|storage| storage.bytes.len() as u64).sum();
        if bytes == 0 || used.checked_add(bytes as u64).is_none_or(|all| all > self.limit) {
            let reason = if bytes == 0 {
                "a memory object has at least one byte".to_owned()
            } else {
                format!("all objects together may have {} bytes, {used} are used", self.limit)
            };
            return Err(ExecuteError::OutOfMemory { bytes: bytes as u64, reason });
        }
        let contents = match initial {
            Some(initial) if initial.len() != bytes => {
                return Err(ExecuteError::OutOfMemory {
                    bytes: bytes as u64,
                    reason: format!("{} bytes of contents were given", initial.len()),
                });
            }
            Some(initial) => initial.to_vec(),
            None => vec![0; bytes],
        };
        let id = self.new_id();
        let written = initial.is_none().then(|| Bits::new(bytes));
        self.storage.insert(id, Storage { bytes: contents, written, owners: 1, address: None });
        self.all.insert(id, Object { kind: kind.clone(), access, storage: id, offset: 0, row_pitch_bytes });
        Ok(id)
    }

    pub(super) fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError> {
        let refused = |reason: String| ExecuteError::Memory { memory: buffer, reason };
        let (storage, all) = self.bytes_of(buffer)?;
        let Object { access, offset, .. } = *self.object(buffer)?;
        let bytes = all.saturating_sub(offset);
        let row = shape.extent.width() * shape.texel_bytes();
        let rows = shape.extent.height() * shape.extent.slices();
        let needed = row_pitch_bytes.checked_mul(rows - 1).and_then(|all| all.checked_add(row));
        if row_pitch_bytes < row || needed.is_none_or(|needed| needed > bytes) {
            return Err(refused(format!(
                "rows of {row} bytes, {row_pitch_bytes} apart, {rows} of them, do not fit in {bytes} bytes"
            )));
        }
        let id = self.new_id();
        if let Some(storage) = self.storage.get_mut(&storage) {
            storage.owners += 1;
        }
        let kind = MemoryKind::Image(*shape);
        self.all.insert(id, Object { kind, access, storage, offset, row_pitch_bytes });
        Ok(id)
    }

    /// An object whose bytes [`Self::swap_bytes`] brings for as long as they are needed.
    pub(super) fn adopt(&mut self, kind: &MemoryKind, access: Access) -> MemoryId {
        let row_pitch_bytes = match kind {
            MemoryKind::Image(shape) => shape.row_bytes(),
            _ => 0,
        };
        let id = self.new_id();
        self.storage.insert(id, Storage { bytes: Vec::new(), written: None, owners: 1, address: None });
        self.all.insert(id, Object { kind: kind.clone(), access, storage: id, offset: 0, row_pitch_bytes });
        id
    }

    /// Exchanges the bytes of an object's storage; all of them count as written.
    pub(super) fn swap_bytes(&mut self, memory: MemoryId, bytes: &mut Vec<u8>) -> Result<(), ExecuteError> {
        let storage = self.object(memory)?.storage;
        if let Some(storage) = self.storage.get_mut(&storage) {
            std::mem::swap(&mut storage.bytes, bytes);
            storage.written = None;
        }
        Ok(())
    }

    /// Sets the application's address of an object's first byte.
    pub(super) fn set_address(&mut self, memory: MemoryId, address: u64) -> Result<(), ExecuteError> {
        let storage = self.object(memory)?.storage;
        if let Some(storage) = self.storage.get_mut(&storage) {
            storage.address = Some(address);
        }
        Ok(())
    }

    /// The storages that have an address of the application and, now, bytes.
    pub(super) fn reached(&self) -> Vec<SharedBuffer> {
        let mut reached: Vec<SharedBuffer> = self
            .storage
            .iter()
            .filter(|(_, storage)| !storage.bytes.is_empty())
            .filter_map(|(memory, storage)| {
                Some(SharedBuffer { memory: *memory, address: storage.address?, bytes: storage.bytes.len() })
            })
            .collect();
        reached.sort_by_key(|each| each.address);
        reached
    }

    /// A part of a buffer as an object of its own, which keeps the buffer's storage alive.
    pub(super) fn sub_buffer(
        &mut self,
        buffer: MemoryId,
        offset: usize,
        bytes: usize,
        access: Access,
    ) -> Result<MemoryId, ExecuteError> {
        let object = self.object(buffer)?;
        let (storage, offset) = (object.storage, object.offset + offset);
        let id = self.new_id();
        if let Some(storage) = self.storage.get_mut(&storage) {
            storage.owners += 1;
        }
        let kind = MemoryKind::Buffer { bytes };
        self.all.insert(id, Object { kind, access, storage, offset, row_pitch_bytes: 0 });
        Ok(id)
    }

    pub(super) fn release(&mut self, memory: MemoryId) -> Result<(), ExecuteError> {
        let storage = self.object(memory)?.storage;
        self.all.remove(&memory);
        if let Some(owned) = self.storage.get_mut(&storage) {
            owned.owners -= 1;
            if owned.owners == 0 {
                self.storage.remove(&storage);
            }
        }
        Ok(())
    }

    pub(super) fn write(
        &mut self,
        memory: MemoryId,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), ExecuteError> {
        let storage = self.object(memory)?.storage;
        if let Some(storage) = self.storage.get_mut(&storage)
            && let Some(written) = &mut storage.written
            && offset.checked_add(bytes.len()).is_some_and(|end| end <= storage.bytes.len())
        {
            written.set(offset, bytes.len());
        }
        let all = self.storage.get_mut(&storage).map(|storage| &mut storage.bytes[..]).unwrap_or_default();
        let size = all.len();
        match offset.checked_add(bytes.len()).and_then(|end| all.get_mut(offset..end)) {
            Some(to) => {
                to.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(ExecuteError::Memory {
                memory,
                reason: format!("{} bytes at {offset} are not inside its {size} bytes", bytes.len()),
            }),
        }
    }

    pub(super) fn read(
        &mut self,
        memory: MemoryId,
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), ExecuteError> {
        let storage = self.object(memory)?.storage;
        let all = self.storage.get(&storage).map(|storage| &storage.bytes[..]).unwrap_or_default();
        match offset.checked_add(into.len()).and_then(|end| all.get(offset..end)) {
            Some(from) => {
                into.copy_from_slice(from);
                Ok(())
            }
            None => Err(ExecuteError::Memory {
                memory,
                reason: format!("{} bytes at {offset} are not inside its {} bytes", into.len(), all.len()),
            }),
        }
    }
}
