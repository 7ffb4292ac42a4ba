//! Commands that move bytes: reads, writes, copies, fills, maps.

use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::{cl_command_type, cl_map_flags};
use tripipe_launch::locks::lock;

use super::event::Event;
use super::failure::{Failure, Outcome, require};
use super::handle::ApiObject;
use super::image::{read_host, write_host};
use super::memory::{Mapping, Memory};
use super::queue::{Queue, Waits};
use super::rect::{Pitched, Region};
use super::storage::Storage;
use super::timeline::Span;
use crate::host::HostRange;

/// Where bytes are read or written.
#[derive(Clone)]
pub enum Side {
    /// A memory object; offsets count from its own first byte.
    Object(Arc<Memory>, Pitched),
    /// Shared virtual memory, or any bytes of the application.
    Host(HostRange, Pitched),
    /// Shared virtual memory by its storage.
    Shared(Arc<Storage>, Pitched),
}

impl Side {
    /// Checks that the region is inside, and that the queue can use the object.
    fn check(&self, queue: &Queue, region: Region) -> Outcome<()> {
        match self {
            Self::Object(memory, at) => {
                check_object(memory, queue)?;
                let inside = at.end(region).is_some_and(|end| end <= memory.size);
                require(inside, cl::CL_INVALID_VALUE, "the region is not inside of the memory object")
            }
            Self::Host(range, at) => {
                let inside = at.end(region).is_some_and(|end| end <= range.bytes());
                require(inside, cl::CL_INVALID_VALUE, "the region is not inside of the host memory")
            }
            Self::Shared(storage, at) => {
                let inside = at.end(region).is_some_and(|end| end <= storage.size());
                require(inside, cl::CL_INVALID_VALUE, "the region is not inside of the shared memory")
            }
        }
    }

    fn read(&self, region: Region) -> Outcome<Vec<u8>> {
        match self {
            Self::Object(memory, at) => memory.storage.read(at.shifted(memory.offset), region),
            Self::Host(range, at) => read_host(*range, *at, region),
            Self::Shared(storage, at) => storage.read(*at, region),
        }
    }

    fn write(&self, region: Region, bytes: &[u8]) -> Outcome<()> {
        match self {
            Self::Object(memory, at) => memory.storage.write(at.shifted(memory.offset), region, bytes),
            Self::Host(range, at) => write_host(*range, *at, region, bytes),
            Self::Shared(storage, at) => storage.write(*at, region, bytes),
        }
    }
}

/// Fails unless a queue can use a memory object.
///
/// # Errors
/// Another context's object, or a sub-buffer that is not aligned for the queue's device.
pub fn check_object(memory: &Memory, queue: &Queue) -> Outcome<()> {
    let own = Arc::ptr_eq(memory.owner(), queue.owner());
    require(own, cl::CL_INVALID_CONTEXT, "the memory object and the queue are of different contexts")?;
    let aligned = !memory.is_buffer()
        || memory.parent.is_none()
        || memory.offset.is_multiple_of(queue.device().alignment());
    require(
        aligned,
        cl::CL_MISALIGNED_SUB_BUFFER_OFFSET,
        "the sub-buffer is not aligned for the device of the queue",
    )
}

/// Copies a region.
///
/// # Errors
/// The region is not inside, or the queue cannot use an object.
pub fn copy(
    queue: &Arc<Queue>,
    kind: cl_command_type,
    from: Side,
    to: Side,
    region: Region,
    wait: Vec<Arc<Event>>,
) -> Outcome<Arc<Event>> {
    from.check(queue, region)?;
    to.check(queue, region)?;
    let device = Arc::clone(queue.device());
    let action = move || {
        match (&from, &to) {
            (Side::Object(memory, at), Side::Host(host, host_at)) => {
                memory.storage.exchange(at.shifted(memory.offset), (*host, *host_at), region, false)?;
            }
            (Side::Host(host, host_at), Side::Object(memory, at)) => {
                memory.storage.exchange(at.shifted(memory.offset), (*host, *host_at), region, true)?;
            }
            _ => to.write(region, &from.read(region)?)?,
        }
        Ok(Span::copy(&device, region.size().unwrap_or(0)))
    };
    queue.submit(kind, wait, Waits::Queue, Box::new(action))
}

/// Fills a region with a pattern, whose size divides the rows of the region.
///
/// # Errors
/// As [`copy`].
pub fn fill(
    queue: &Arc<Queue>,
    kind: cl_command_type,
    pattern: &[u8],
    to: Side,
    region: Region,
    wait: Vec<Arc<Event>>,
) -> Outcome<Arc<Event>> {
    to.check(queue, region)?;
    let device = Arc::clone(queue.device());
    let pattern = pattern.to_vec();
    let action = move || {
        let size = region.size().unwrap_or(0);
        let bytes: Vec<u8> = pattern.repeat(size / pattern.len().max(1));
        to.write(region, &bytes)?;
        Ok(Span::copy(&device, size))
    };
    queue.submit(kind, wait, Waits::Queue, Box::new(action))
}

/// A region to map.
#[derive(Clone, Copy, Debug)]
pub struct MapRegion {
    /// The region in the object.
    pub inside: Pitched,
    /// The region in the application's memory that has the whole object.
    pub at: Pitched,
    /// Its extent.
    pub region: Region,
}

/// Maps a region of an object; returns its address, which the command fills, and the event.
///
/// # Errors
/// Wrong flags, the host may not use the object, or no memory.
pub fn map(
    queue: &Arc<Queue>,
    kind: cl_command_type,
    memory: &Arc<Memory>,
    flags: cl_map_flags,
    MapRegion { inside, at, region }: MapRegion,
    wait: Vec<Arc<Event>>,
) -> Outcome<(usize, Arc<Event>)> {
    check_object(memory, queue)?;
    let known = cl::CL_MAP_READ | cl::CL_MAP_WRITE | cl::CL_MAP_WRITE_INVALIDATE_REGION;
    let invalidates = flags & cl::CL_MAP_WRITE_INVALIDATE_REGION != 0;
    let alone = !invalidates || flags & (cl::CL_MAP_READ | cl::CL_MAP_WRITE) == 0;
    require(flags & !known == 0 && alone, cl::CL_INVALID_VALUE, "the map flags are wrong")?;
    let writes = flags & (cl::CL_MAP_WRITE | cl::CL_MAP_WRITE_INVALIDATE_REGION) != 0;
    memory.check_host(flags & cl::CL_MAP_READ != 0, writes)?;
    // Of memory without a host pointer, the mirror has the layout of the storage.
    let (host, at) = match memory.host {
        Some(host) => (host, at),
        None => (memory.storage.mirror()?, inside.shifted(memory.offset)),
    };
    let address = host.address() + at.offset;
    let mapping = Mapping { address, flags, inside, host, at, region };
    lock(&memory.mappings).push(mapping);
    let (owned, device) = (Arc::clone(memory), Arc::clone(queue.device()));
    let action = move || {
        // Bytes that the application does not write have to stay as they are, whatever the flags say.
        owned.storage.exchange(inside.shifted(owned.offset), (host, at), region, false)?;
        // What the application overwrites need not be visible to it.
        let bytes = if invalidates { 0 } else { region.size().unwrap_or(0) };
        Ok(Span::map(&device, bytes, if owned.host.is_some() { bytes } else { 0 }))
    };
    let event = queue.submit(kind, wait, Waits::Queue, Box::new(action));
    if event.is_err() {
        let mut mappings = lock(&memory.mappings);
        if let Some(index) = mappings.iter().position(|other| other.address == address) {
            mappings.swap_remove(index);
        }
    }
    Ok((address, event?))
}

/// Unmaps a region.
///
/// # Errors
/// The address is not that of a mapped region of the object.
pub fn unmap(
    queue: &Arc<Queue>,
    memory: &Arc<Memory>,
    address: usize,
    wait: Vec<Arc<Event>>,
) -> Outcome<Arc<Event>> {
    check_object(memory, queue)?;
    let mapping = {
        let mut mappings = lock(&memory.mappings);
        let index = mappings.iter().position(|mapping| mapping.address == address);
        let index = index.ok_or_else(|| {
            let handle = memory.handle().pointer();
            Failure::new(
                cl::CL_INVALID_VALUE,
                format!("{address:#x} is not mapped of memory object {handle:?}"),
            )
        })?;
        mappings.remove(index)
    };
    let Mapping { flags, inside, host, at, region, .. } = mapping;
    let (owned, device) = (Arc::clone(memory), Arc::clone(queue.device()));
    let action = move || {
        let writes = flags & (cl::CL_MAP_WRITE | cl::CL_MAP_WRITE_INVALIDATE_REGION) != 0;
        if writes {
            owned.storage.exchange(inside.shifted(owned.offset), (host, at), region, true)?;
        }
        let bytes = if writes { region.size().unwrap_or(0) } else { 0 };
        Ok(Span::map(&device, bytes, if owned.host.is_some() { bytes } else { 0 }))
    };
    queue.submit(cl::CL_COMMAND_UNMAP_MEM_OBJECT, wait, Waits::Queue, Box::new(action))
}
