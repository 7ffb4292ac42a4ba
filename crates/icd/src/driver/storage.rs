//! The bytes of memory objects.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use opencl_sys as cl;
use tripipe_launch::locks::lock;
use tripipe_launch::{Access, MemoryId, MemoryKind};
use tripipe_timing::VirtualGpu;

use super::device::Device;
use super::engine::{self, Engine};
use super::failure::{Failure, Outcome};
use super::image::{read_host, write_host};
use super::rect::{Pitched, Region};
use super::settings::Settings;
use super::undefined::{PATTERN, Undefined};
use crate::host::{HostBlock, HostRange};

/// Alignment of memory that the application gets pointers to: that of the largest type, `long16`.
pub const ALIGNMENT: usize = 128;

/// The bytes of a buffer or an image, which its sub-buffers and images over it share.
pub struct Storage {
    engine: Arc<Engine>,
    kind: MemoryKind,
    access: Access,
    size: usize,
    bytes: Mutex<Vec<u8>>,
    /// What sampled launches may have written without computing it.
    undefined: Mutex<Undefined>,
    /// Shared virtual memory: where the bytes are when no launch has them.
    shared: Option<HostBlock>,
    /// Whether host and GPU see each other's writes to shared virtual memory without maps (fine-grained).
    coherent: bool,
    /// Where mapped bytes are.
    mirror: Mutex<Option<HostBlock>>,
    /// The memory objects of the virtual GPUs: that of all bytes and those of parts, by device and offset.
    ids: Mutex<HashMap<(usize, usize), MemoryId>>,
}

impl Storage {
    /// Zeros for an object.
    ///
    /// # Errors
    /// There is no such memory.
    pub fn new(engine: &Arc<Engine>, kind: MemoryKind, access: Access, size: usize) -> Outcome<Arc<Self>> {
        // The allocation itself would abort.
        let mut probe: Vec<u8> = Vec::new();
        probe.try_reserve_exact(size).map_err(|error| {
            Failure::new(cl::CL_MEM_OBJECT_ALLOCATION_FAILURE, format!("{size} bytes: {error}"))
        })?;
        drop(probe);
        engine.allocate(size)?;
        Ok(Arc::new(Self {
            engine: Arc::clone(engine),
            kind,
            access,
            size,
            bytes: Mutex::new(vec![0; size]),
            undefined: Mutex::default(),
            shared: None,
            coherent: false,
            mirror: Mutex::default(),
            ids: Mutex::default(),
        }))
    }

    /// Bytes that the application and kernels share; `coherent` if they are fine-grained.
    ///
    /// # Errors
    /// There is no such memory.
    pub fn shared(engine: &Arc<Engine>, block: HostBlock, coherent: bool) -> Outcome<Arc<Self>> {
        let bytes = block.range().bytes();
        engine.allocate(bytes)?;
        Ok(Arc::new(Self {
            engine: Arc::clone(engine),
            kind: MemoryKind::Buffer { bytes },
            access: Access::ReadWrite,
            size: bytes,
            bytes: Mutex::default(),
            undefined: Mutex::default(),
            shared: Some(block),
            coherent,
            mirror: Mutex::default(),
            ids: Mutex::default(),
        }))
    }

    /// Whether host and GPU see each other's writes without maps.
    pub fn is_coherent(&self) -> bool {
        self.coherent
    }

    /// Whether it is shared virtual memory.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// The application's memory, if it is shared virtual memory.
    pub fn shared_range(&self) -> Option<HostRange> {
        self.shared.as_ref().map(HostBlock::range)
    }

    /// The number of bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Where the application has the mapped bytes: always the same memory, made at the first call.
    ///
    /// # Errors
    /// There is no such memory.
    pub fn mirror(&self) -> Outcome<HostRange> {
        if let Some(range) = self.shared_range() {
            return Ok(range);
        }
        let mut mirror = lock(&self.mirror);
        if mirror.is_none() {
            *mirror = HostBlock::new(self.size, ALIGNMENT);
        }
        let missing =
            || Failure::new(cl::CL_MAP_FAILURE, format!("no memory for {} mapped bytes", self.size));
        mirror.as_ref().map(HostBlock::range).ok_or_else(missing)
    }

    /// Marks bytes as undefined: a sampled launch may have written them without computing them. The application
    /// reads a pattern there until it, or a copy, writes them.
    pub fn undefine(&self, offset: usize, bytes: usize) {
        let end = offset.saturating_add(bytes).min(self.size);
        if let Some(range) = self.shared_range() {
            // The application reads this memory itself.
            let _ = range.write(offset, &vec![PATTERN; end.saturating_sub(offset)]);
        } else {
            lock(&self.undefined).add(offset..end);
        }
    }

    /// Replaces undefined ones among the bytes from an offset on by the pattern.
    fn cover(&self, offset: usize, bytes: &mut [u8]) {
        let covered = lock(&self.undefined).cover(offset, bytes);
        if covered > 0 {
            let settings = Settings::current();
            settings.print(&format!(
                "{covered} bytes that are read are undefined: a launch may have written them, and only samples of it were \
                 computed (TRIPIPE_EXECUTE=sample). They read as {PATTERN:#x}"
            ));
        }
    }

    fn outside(&self) -> Failure {
        Failure::new(cl::CL_INVALID_VALUE, format!("the region is not inside of the {} bytes", self.size))
    }

    /// The bytes of a box, without gaps.
    ///
    /// # Errors
    /// They are not all inside.
    pub fn read(&self, at: Pitched, region: Region) -> Outcome<Vec<u8>> {
        if at.end(region).is_none_or(|end| end > self.size) {
            return Err(self.outside());
        }
        let mut read = Vec::with_capacity(region.size().unwrap_or(0));
        let (starts, length) = at.runs(region);
        if let Some(range) = self.shared_range() {
            for start in starts {
                let begin = read.len();
                read.resize(begin + length, 0);
                if !range.read(start, &mut read[begin..]) {
                    return Err(self.outside());
                }
            }
        } else {
            let bytes = lock(&self.bytes);
            for start in starts {
                let begin = read.len();
                read.extend_from_slice(bytes.get(start..start + length).ok_or_else(|| self.outside())?);
                self.cover(start, &mut read[begin..]);
            }
        }
        Ok(read)
    }

    /// Overwrites a box with bytes without gaps.
    ///
    /// # Errors
    /// They are not all inside.
    pub fn write(&self, at: Pitched, region: Region, from: &[u8]) -> Outcome<()> {
        if at.end(region).is_none_or(|end| end > self.size) {
            return Err(self.outside());
        }
        let (starts, length) = at.runs(region);
        let mut bytes = lock(&self.bytes);
        for (start, from) in starts.zip(from.chunks_exact(length.max(1))) {
            let written = match self.shared_range() {
                Some(range) => range.write(start, from),
                None => bytes.get_mut(start..start + length).map(|to| to.copy_from_slice(from)).is_some(),
            };
            if !written {
                return Err(self.outside());
            }
            lock(&self.undefined).remove(start..start + length);
        }
        Ok(())
    }

    /// Copies a box to memory of the application, or from there.
    ///
    /// # Errors
    /// The box is not inside of either.
    pub fn exchange(
        &self,
        at: Pitched,
        (host, host_at): (HostRange, Pitched),
        region: Region,
        from_host: bool,
    ) -> Outcome<()> {
        let shared = self.shared_range().map(|range| range.address() + at.offset);
        if shared == Some(host.address() + host_at.offset) {
            // Shared virtual memory that is mapped.
            return Ok(());
        }
        if self.is_shared() {
            return if from_host {
                self.write(at, region, &read_host(host, host_at, region)?)
            } else {
                write_host(host, host_at, region, &self.read(at, region)?)
            };
        }
        if at.end(region).is_none_or(|end| end > self.size) {
            return Err(self.outside());
        }
        let mut bytes = lock(&self.bytes);
        let (pairs, length) = at.runs_with(host_at, region);
        for (start, host_start) in pairs {
            let run = bytes.get_mut(start..start + length).ok_or_else(|| self.outside())?;
            let copied = if from_host {
                lock(&self.undefined).remove(start..start + length);
                host.read(host_start, run)
            } else if lock(&self.undefined).overlaps(start..start + length) {
                let mut covered = run.to_vec();
                self.cover(start, &mut covered);
                host.write(host_start, &covered)
            } else {
                host.write(host_start, run)
            };
            if !copied {
                return Err(self.outside());
            }
        }
        Ok(())
    }

    /// Calls `with` while a virtual GPU has the bytes.
    ///
    /// # Errors
    /// Those of `with`, or the device does not support such memory.
    pub fn lend<R>(
        &self,
        device: &Device,
        gpu: &mut VirtualGpu,
        with: impl FnOnce(&mut VirtualGpu) -> Outcome<R>,
    ) -> Outcome<R> {
        let id = self.id(device, gpu, 0)?;
        let mut bytes = lock(&self.bytes);
        if let Some(range) = self.shared_range() {
            bytes.resize(self.size, 0);
            if !range.read(0, &mut bytes) {
                return Err(self.outside());
            }
        }
        gpu.swap_bytes(id, &mut bytes).map_err(|error| engine::failure(&error))?;
        let outcome = with(gpu);
        gpu.swap_bytes(id, &mut bytes).map_err(|error| engine::failure(&error))?;
        if let Some(range) = self.shared_range() {
            let written = range.write(0, &bytes);
            *bytes = Vec::new();
            if !written {
                return Err(self.outside());
            }
        }
        outcome
    }

    /// The memory object of a virtual GPU for the bytes from an offset on.
    ///
    /// # Errors
    /// The device does not support such memory.
    pub fn id(&self, device: &Device, gpu: &mut VirtualGpu, offset: usize) -> Outcome<MemoryId> {
        let mut ids = lock(&self.ids);
        let known =
            |ids: &HashMap<(usize, usize), MemoryId>, offset| ids.get(&(device.index, offset)).copied();
        if let Some(id) = known(&ids, offset) {
            return Ok(id);
        }
        let whole = match known(&ids, 0) {
            Some(id) => id,
            None => gpu.adopt(&self.kind, self.access).map_err(|error| engine::failure(&error))?,
        };
        if let Some(range) = self.shared_range() {
            gpu.set_address(whole, range.address() as u64).map_err(|error| engine::failure(&error))?;
        }
        ids.insert((device.index, 0), whole);
        if offset == 0 {
            return Ok(whole);
        }
        let bytes = self.size.saturating_sub(offset);
        let part =
            gpu.sub_buffer(whole, offset, bytes, self.access).map_err(|error| engine::failure(&error))?;
        ids.insert((device.index, offset), part);
        Ok(part)
    }
}

impl Drop for Storage {
    #[allow(clippy::iter_over_hash_type, reason = "the order in which objects are released has no effect")]
    fn drop(&mut self) {
        for ((device, _), id) in lock(&self.ids).drain() {
            self.engine.release_later(device, id);
        }
        self.engine.release(self.size);
    }
}
